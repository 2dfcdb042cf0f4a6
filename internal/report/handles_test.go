package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

// A lock with chosen bugs that only some scenarios are about stands below the table; one that all were run with has its column.
func TestVariantsStandBelowTheTable(t *testing.T) {
	safe := checker.Verdict{Kind: checker.Safe}
	broken := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.StuckLock}}}
	run := &record.Run{Finished: true, Cells: []record.Cell{
		{Lock: "getset", Scenario: "turns", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
		{Lock: "getset/always", Scenario: "turns", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
		{Lock: "getset", Scenario: "crash", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
		{Lock: "getset/always", Scenario: "crash", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
		{Lock: "getset/once", Scenario: "crash", Round: 1, Verdict: broken, Expected: record.Expectation{Verdict: safe}},
	}}
	m := newMatrix(run.Cells)
	assert.Equal(t, []string{"getset", "getset/always"}, m.columns())
	require.Len(t, m.apart(), 1)

	table := grid{m: m, width: 80}.String()
	assert.Contains(t, table, "Single bugs\n  getset/once/crash  !!stuck\n")
	assert.NotContains(t, table, "not run")

	var out bytes.Buffer
	require.NoError(t, HTML(&out, run, readBy(func(record.Cell) ([]history.Event, error) { return nil, nil }), Beside{}))
	var index pageIndex
	require.NoError(t, json.Unmarshal([]byte(inPage(t, out.String(), "index")), &index))
	for _, lock := range index.Locks {
		assert.Equal(t, lock.Name == "getset/once", lock.Apart, lock.Name)
	}
}

// What befalls a process befalls each of its locks; a breakpoint, or the end of a thread, is the business of one.
func TestFaultsOfAProcessAreSeenOnAllItsLanes(t *testing.T) {
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	fault := func(ms int, name, target string, phase history.Phase) history.Event {
		return history.Event{Kind: history.KindFault, At: at(ms), Client: target, Detail: &history.Detail{
			Fault: &history.Fault{Name: name, Target: target, Phase: phase},
		}}
	}
	events := []history.Event{
		{Kind: history.KindOpen, Client: "C2", Lock: "k", Detail: &history.Detail{}},
		{Kind: history.KindOpen, Client: "C1.b", Lock: "k", Detail: &history.Detail{}},
		{Kind: history.KindOpen, Client: "C10", Lock: "k", Detail: &history.Detail{}},
		{Kind: history.KindOpen, Client: "C1", Lock: "k", Detail: &history.Detail{}},
		fault(1, "hold", "C1", history.PhaseEffective),
		fault(2, "hold", "C1", history.PhaseRecover),
		fault(3, "pause", "C1", history.PhaseInject),
		fault(4, "pause", "C1", history.PhaseEffective),
		fault(5, "pause", "C1", history.PhaseRecover),
		fault(6, "thread-death", "C1", history.PhaseInject),
	}
	line := newChart(events)
	assert.Equal(t, []string{"C1", "C1.b", "C2", "C10"}, line.clients)
	var seen []string
	for _, s := range line.faults {
		seen = append(seen, s.Lane+" "+s.Label)
	}
	assert.ElementsMatch(t, []string{"C1 hold", "C1 pause", "C1.b pause", "C1 thread-death"}, seen)
}
