package report_test

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
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/report/reporttest"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/report/screen"
	"github.com/locklab/locklab/internal/report/terminal"
)

// FuzzRun: no run.json makes its reader or a renderer panic, and none gets anything to a reader that is not printable.
func FuzzRun(f *testing.F) {
	for _, run := range []*record.Run{reporttest.SampleRun(), {Version: rundir.RunVersion}} {
		run.Version = rundir.RunVersion
		text, err := json.Marshal(run)
		require.NoError(f, err)
		f.Add(text)
	}
	none := reporttest.ReadBy(func(record.Cell) ([]history.Event, error) { return nil, nil })
	f.Fuzz(func(t *testing.T, text []byte) {
		run, err := rundir.ParseRun(rundir.RunFile, text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, cell := range run.Cells {
			require.True(t, cell.Dir == "" || filepath.IsLocal(cell.Dir))
		}
		var out bytes.Buffer
		require.NoError(t, reporttest.Feed(screen.New(&out, io.Discard, terminal.Options{Verbose: true}), run))
		require.NoError(t, reporttest.Feed(report.NewJSON(&out), run))
		require.NoError(t, page.HTML(&out, run, none, page.Beside{}))
		var junit bytes.Buffer
		require.NoError(t, report.JUnit(&junit, run))
		require.NoError(t, xml.Unmarshal(junit.Bytes(), new(struct{})))
		shown := out.String() + junit.String()
		require.True(t, utf8.ValidString(shown))
		require.Negative(t, strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }))
	})
}
