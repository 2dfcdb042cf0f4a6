package report

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
		require.NoError(t, os.WriteFile(filepath.Join(dir, BenchFile), text, 0o600))
		record, err := ReadBench(dir)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		var out, page bytes.Buffer
		require.NoError(t, Bench(&out, record, dir, TerminalOptions{}))
		require.NoError(t, BenchHTML(&page, record))
		require.True(t, utf8.ValidString(out.String()))
		require.Negative(t, strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }))
	})
}
