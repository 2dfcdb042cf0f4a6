package lab_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// FuzzRuns: whatever a saved run has in its run.json, in a history and in its pack, check, explain and shrink read it without a panic. Shrinking is
// cut short: it may well take minutes.
func FuzzRuns(f *testing.F) {
	saved, err := lab.ReadRun(filepath.Join("..", "..", "cmd", "lab", "testdata", "runs", "suite"))
	require.NoError(f, err)
	for _, cell := range saved.Cells {
		text, err := os.ReadFile(lab.HistoryPath(saved, cell))
		require.NoError(f, err)
		one := *saved
		one.Cells = saved.Cells[:0:0]
		cell.Dir = "cell"
		one.Cells = append(one.Cells, cell)
		runFile, err := json.Marshal(one)
		require.NoError(f, err)
		var packed bytes.Buffer
		w := zip.NewWriter(&packed)
		to, err := w.Create(path.Join(cell.Dir, play.HistoryFile))
		require.NoError(f, err)
		_, err = to.Write(text)
		require.NoError(f, err)
		require.NoError(f, w.Close())
		f.Add(runFile, text, []byte(nil))
		f.Add(runFile, []byte(nil), packed.Bytes())
	}
	dir := f.TempDir()
	history, pack := filepath.Join(dir, "cell", play.HistoryFile), filepath.Join(dir, lab.PackFile)
	f.Fuzz(func(t *testing.T, runFile, text, packed []byte) {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "cell")))
		require.NoError(t, os.RemoveAll(pack))
		if len(text) > 0 {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "cell"), 0o755))
			require.NoError(t, os.WriteFile(history, text, 0o600))
		}
		if len(packed) > 0 {
			require.NoError(t, os.WriteFile(pack, packed, 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, rundir.RunFile), runFile, 0o600))
		if _, err := lab.Check(t.Context(), dir, false, nil); err != nil {
			require.NotEmpty(t, err.Error())
		}
		run, err := lab.ReadRun(dir)
		if err != nil {
			return
		}
		for _, cell := range run.Cells {
			cell, file, err := lab.ReadCell(t.Context(), run, cell)
			if err != nil {
				require.NotEmpty(t, err.Error())
				continue
			}
			require.NoError(t, diagram.Explain(io.Discard, cell, file.Events, diagram.ExplainOptions{}))
			spec, known := impls.Find(cell.Lock)
			if !known || len(cell.Verdict.Anomalies) == 0 {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			_, _ = lab.Shrink(ctx, lab.ShrinkPlan{
				Subject: play.SubjectOf(spec), Events: file.Events, Anomalies: cell.Verdict.Anomalies, Lease: time.Second, Setting: lab.Setting{World: lab.Sim},
			})
			cancel()
		}
	})
}
