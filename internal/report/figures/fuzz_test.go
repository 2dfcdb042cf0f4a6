package figures

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/report/terminal"
)

// FuzzBench: no bench.json makes its reader or a renderer panic, and none gets anything to a terminal that is not printable.
func FuzzBench(f *testing.F) {
	for _, r := range samples() {
		text, err := json.Marshal(r)
		require.NoError(f, err)
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, File), text, 0o600))
		record, err := Read(dir)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		var out, page bytes.Buffer
		require.NoError(t, Terminal(&out, record, dir, terminal.Options{}))
		require.NoError(t, HTML(&page, record))
		require.True(t, utf8.ValidString(out.String()))
		require.Negative(t, strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }))
	})
}
