package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

// FuzzRun: no run.json makes its reader or a renderer panic, and none gets anything to a reader that is not printable.
func FuzzRun(f *testing.F) {
	for _, run := range []*record.Run{sampleRun(), {Version: RunVersion}} {
		run.Version = RunVersion
		text, err := json.Marshal(run)
		require.NoError(f, err)
		f.Add(text)
	}
	none := readBy(func(record.Cell) ([]history.Event, error) { return nil, nil })
	f.Fuzz(func(t *testing.T, text []byte) {
		run, err := parseRun(RunFile, text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, cell := range run.Cells {
			require.True(t, cell.Dir == "" || filepath.IsLocal(cell.Dir))
		}
		var out bytes.Buffer
		require.NoError(t, feed(NewTerminal(&out, io.Discard, TerminalOptions{Verbose: true}), run))
		require.NoError(t, feed(NewJSON(&out), run))
		require.NoError(t, HTML(&out, run, none, Beside{}))
		var junit bytes.Buffer
		require.NoError(t, JUnit(&junit, run))
		require.NoError(t, xml.Unmarshal(junit.Bytes(), new(junitSuites)))
		shown := out.String() + junit.String()
		require.True(t, utf8.ValidString(shown))
		require.Negative(t, strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }))
	})
}
