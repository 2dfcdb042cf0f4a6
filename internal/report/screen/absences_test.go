package screen

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/terminal"
)

// TestAbsences: the author of a client learns why most scenarios did not apply; of the lab's own locks that is known.
func TestAbsences(t *testing.T) {
	t.Parallel()
	var cells []record.Cell
	add := func(n int, lock, reason string, client ...string) {
		for range n {
			cells = append(cells, record.Cell{Lock: lock, Scenario: "race", Client: client, Verdict: checker.Verdict{Kind: checker.NotApplicable, Reason: reason}})
		}
	}
	add(2, "mine", "the lock has no renew operation", "./mine")
	add(3, "mine", "the client does not know reconnect", "./mine")
	add(4, "setpx-lua", "the lock does not renew itself")
	for _, reason := range []string{"a", "b", "c", "d", "e"} {
		add(1, "mine", reason, "./mine")
	}
	var out bytes.Buffer
	terminal := New(&out, &bytes.Buffer{}, terminal.Options{})
	require.NoError(t, terminal.Handle(report.Event{Kind: report.RunEnd, Run: &record.Run{Cells: cells, Finished: true}, Total: len(cells)}))
	assert.Contains(t, out.String(), `
Not applicable, and why
    3  the client does not know reconnect
    2  the lock has no renew operation
    1  a
    1  b
    1  c
       and 2 other reasons
`)
	assert.NotContains(t, out.String(), "renew itself")
}
