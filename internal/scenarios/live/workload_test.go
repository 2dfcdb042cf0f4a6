//go:build linux || darwin

package live_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/scenarios"
)

// Two clients do the same work, one while the other is held up between reading and writing, then one after the other.
const overlapping = `lease 30s
clients C1 C2
C1 acquire => ok
C1 work hold before first write => held-up
C2 acquire
C2 work
C1 continue => ok
C1 release => ok
C2 release
C2 acquire within 10s => ok
C2 work
C2 release => ok
`

// Each workload is laid out, done and read back: a lock that holds keeps the data whole, and one that does not shows in it.
func TestEachWorkloadIsDoneAndRead(t *testing.T) {
	s := openStage(t, nil)
	for _, test := range []struct{ work, whole, torn string }{
		{"counter", "", ""},
		{"stock 2", "stock 2, sold 2, 0 left; too many people: 1", "stock 2, sold 3, 0 left: oversold by 1"},
		{"flash-sale-store 2", "stock 2, sold 2, 0 left; too many people: 1", "stock 2, sold 3, 0 left: oversold by 1"},
		{"ledger", "2 entries, 2 acknowledged", "3 entries, 3 acknowledged: not one after the other"},
	} {
		script := script(t, test.work, "workload "+test.work+"\n"+overlapping)
		cell, events := s.playScript(t, script, subject(t, "setpx-lua"))
		assert.Equal(t, checker.Safe, cell.Verdict.Kind, "%s: %s", test.work, cell.Verdict)
		assert.Equal(t, test.whole, cell.Data)
		final := events[len(events)-2]
		require.Equal(t, history.KindFinal, final.Kind)
		assert.Equal(t, test.work != "counter", final.Detail.Work != nil)

		cell, _ = s.playScript(t, script, subject(t, "local"))
		assert.Contains(t, cell.Verdict.Names(), checker.LostUpdate, test.work)
		assert.Equal(t, test.torn, cell.Data)
	}
}

// A stock in each process's memory makes a good lock useless.
func TestWorkloadThatTheLockDoesNotDecide(t *testing.T) {
	s := openStage(t, nil)
	cell, _ := s.playScript(t, script(t, "memory", "workload flash-sale 1\n"+overlapping), subject(t, "setpx-lua"))
	assert.Equal(t, []checker.Name{checker.LostUpdate}, cell.Verdict.Names(), cell.Data)
	assert.Equal(t, "stock 1, sold 2: oversold by 1; too many people: 1", cell.Data)
}

// A client that does not know a workload is no subject of it; every client must know the counter.
func TestClientThatDoesNotKnowTheWork(t *testing.T) {
	s := openStage(t, nil)
	quiet := func(work string) *scenarios.Script {
		return script(t, work, "workload "+work+"\nlease 30s\nclients C1\nC1 acquire => ok\nC1 work => ok\nC1 release => ok\n")
	}
	cell, _ := s.playScript(t, quiet("stock"), foreign("setpx-lua", "refuse work"))
	assert.Equal(t, `n/a: the client does not know the work "stock"`, cell.Verdict.String())
	cell, _ = s.playScript(t, quiet("counter"), foreign("setpx-lua", "refuse work"))
	assert.Equal(t, checker.Undecided, cell.Verdict.Kind)
}

// The matrix speaks of the lock under any workload, and of the data under the one that was reviewed.
func TestExpectOfAnotherWorkload(t *testing.T) {
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	expect := lab.Expect(matrix)
	lent := builtin(t, "pause-past-lease").Under(history.Ledger)
	assert.Equal(t, record.ByLock, expect(lent, play.Subject{Name: "setpx-lua"}).By)
	own := builtin(t, "last-item-two-requests").Under(history.Ledger)
	assert.Equal(t, record.ByMatrix, expect(own, play.Subject{Name: "setpx-lua"}).By)
}

// A script that does not fit the user's workload is n/a, and nothing else was expected.
func TestScriptThatDoesNotFitAnotherWorkload(t *testing.T) {
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	model := lab.Runner{World: sim.Open(sim.Config{CellTimeout: time.Minute})}
	for _, test := range []struct {
		lock, scenario string
		work           history.Workload
		want           string
	}{
		{"setpx-lua", "loss-noticed-late", history.Ledger, "n/a: the script does not fit the workload ledger: C1's work returned ok without a GET"},
		{"setpx-lua", "take-turns", history.Counter, "safe"},
	} {
		cs := lab.Case{Subject: subject(t, test.lock), Script: builtin(t, test.scenario).Under(test.work), Round: 1}
		cs.Expected = lab.Expect(matrix)(cs.Script, cs.Subject)
		cell := model.Run(t.Context(), cs)
		assert.Equal(t, test.want, cell.Verdict.String())
		assert.False(t, cell.Surprise(), "%+v", cell.Expected)
	}
}
