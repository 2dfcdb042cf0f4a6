package diagram

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/report/rundir"
)

// Whatever lab explain says of the saved cells, its JSON says, too.
func TestExplainJSONSaysAll(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "cmd", "lab", "testdata", "runs", "suite")
	run, err := rundir.ReadRun(dir)
	require.NoError(t, err)
	for _, cell := range run.Cells {
		file, err := history.ReadFile(t.Context(), filepath.Join(dir, cell.Dir, "history.jsonl"))
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, ExplainJSON(&out, cell, file.Events))
		var said cellRecord
		decoder := json.NewDecoder(&out)
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&said))
		require.Len(t, said.Events, len(file.Events))
		require.Len(t, said.Anomalies, len(cell.Verdict.Anomalies))

		var text bytes.Buffer
		require.NoError(t, Explain(&text, cell, file.Events, ExplainOptions{Width: 5000}))
		assert.Contains(t, text.String(), said.Outcome)
		assert.Contains(t, text.String(), "status: "+said.Status)
		left := map[int]bool{} // the text leaves some out
		for _, r := range Of(file.Events).rowsOf(cell, 400) {
			for i := range r.left {
				left[r.event+i] = true
			}
		}
		for i, e := range said.Events {
			assert.Equal(t, i+1, e.Number)
			switch {
			case left[i]:
			case e.Kind == "step":
				assert.Contains(t, text.String(), "── "+e.Text)
			case e.Kind == "command":
				assert.Contains(t, text.String(), e.Text)
				fallthrough
			default: // the clients' columns are too narrow for other texts
				assert.Contains(t, text.String(), stamp(e.At))
			}
		}
		for _, m := range said.Moments {
			assert.Contains(t, text.String(), stamp(m.At))
		}
		for _, a := range said.Anomalies {
			assert.Contains(t, text.String(), a.Meaning)
			assert.Contains(t, text.String(), a.Why)
			for _, number := range a.Events {
				assert.Contains(t, said.Events[number-1].Shows, a.Number)
			}
		}
		for _, h := range said.Holds {
			assert.LessOrEqual(t, h.From, h.To)
		}
	}
}
