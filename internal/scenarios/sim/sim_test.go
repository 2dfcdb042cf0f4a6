package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/scenarios"
)

// playText runs a lock through the text of a script.
func playText(t *testing.T, lock, text, wait string) (record.Cell, []history.Event) {
	t.Helper()
	script, err := scenarios.Parse("test.lab", []byte("# A test.\n"+text))
	require.NoError(t, err)
	spec, ok := impls.Find(lock)
	require.True(t, ok, lock)
	var events []history.Event
	runner := lab.Runner{World: sim.Open(sim.Config{CellTimeout: time.Minute, Wait: wait}), Keep: func(_ record.Cell, _ history.Header, all []history.Event) error {
		events = all
		return nil
	}}
	cell := runner.Run(t.Context(), lab.Case{Subject: play.SubjectOf(spec), Script: script, Round: 1})
	require.Empty(t, cell.Failure)
	return cell, events
}

// TestTimesOfTheModel asserts how long things take: messages a tenth of a millisecond, a delay as long as it says, a client that
// sleeps by a clock that runs fast so much less.
func TestTimesOfTheModel(t *testing.T) {
	tests := map[string]struct {
		lock, text string
		op         history.Op
		want       time.Duration
	}{
		"two messages":           {"setnx-del", "C1 acquire => ok", history.OpAcquire, 200 * time.Microsecond},
		"of a link that is slow": {"setnx-del", "C1 delay 40ms\nC1 acquire => ok\nC1 heal", history.OpAcquire, 80*time.Millisecond + 200*time.Microsecond},
		"patience is real":       {"setnx-del", "C2 clock rate 50\nC1 acquire => ok\nC2 acquire within 1s => no", history.OpAcquire, time.Second + 200*time.Microsecond},
		"nothing on a server":    {"local", "C1 acquire => ok", history.OpAcquire, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clients := "C1"
			if strings.Contains(test.text, "C2") {
				clients = "C1 C2"
			}
			_, events := playText(t, test.lock, "lease 60s\nclients "+clients+"\n"+test.text, "")
			var called, took time.Duration
			for _, e := range events {
				switch {
				case e.Op != test.op:
				case e.Kind == history.KindCall:
					called = e.At
				case e.Kind == history.KindReturn:
					took = e.At - called
				}
			}
			assert.Equal(t, test.want, took)
		})
	}
}

// TestWaysToWait asserts that each way to wait ends in its time, also that of a client that asks nobody and never sleeps.
func TestWaysToWait(t *testing.T) {
	const text = `
		lease 60s
		clients C1 C1/2
		C1 acquire => ok
		C1/2 acquire within 50ms => no
		C1/2 acquire within 10s in background
		C1 release => ok
		C1/2 await => ok
		C1/2 release => ok`
	for _, way := range []string{"spin", "yield", "sleep:5ms", "spin-yield:10ms", "yield-sleep:10ms,5ms", "backoff:1ms,9ms,1"} {
		for _, lock := range []string{"local", "setpx-lua"} {
			cell, events := playText(t, lock, text, way)
			assert.Equal(t, "safe", cell.Verdict.String(), "%s by %s", lock, way)
			assert.Less(t, events[len(events)-1].At, time.Second)
		}
	}
	cell, _ := playText(t, "redisson", text, "wake")
	assert.Equal(t, "safe", cell.Verdict.String())
	cell, _ = playText(t, "setpx-lua", text, "wake")
	assert.Equal(t, `n/a: the lock, or its client, cannot wait by "wake"`, cell.Verdict.String())
}

// TestScriptsThatProveNothing asserts that what did not happen as the script demands is never judged.
func TestScriptsThatProveNothing(t *testing.T) {
	const lost = "; C1's acquire was answered unknown: the connection was lost before the reply came"
	tests := map[string]struct{ text, verdict, end string }{
		"another result": {"C1 acquire => no", `unknown: line 4: "C1 acquire => no" came to ok`, "premise"},
		"never acquired": {"C1 refuse\nC1 acquire => unknown\nC1 heal", "unknown: no acquire succeeded" + lost, "complete"},
		"a trap missed":  {"C1 acquire hold before second SET\nC1 continue", "n/a: C1's acquire returned ok without a SET number 2", "n/a"},
		"an early error": {"C1 refuse\nC1 acquire hold before first SET\nC1 continue\nC1 heal", "unknown: C1's acquire returned unknown without a SET" + lost, "premise"},
		"silence": {"C1 acquire => ok\nC1 cut off\nC1 release in background\nC1 await\nC1 heal",
			"unknown: C1 did not answer release: the cell took longer than 1m0s", "unknown"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cell, events := playText(t, "setpx-lua", "lease 60s\nclients C1\n"+test.text, "")
			assert.Equal(t, test.verdict, cell.Verdict.String())
			assert.Equal(t, test.end, events[len(events)-1].Detail.Text)
		})
	}
}
