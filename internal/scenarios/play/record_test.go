package play

import (
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// slowHost is a Stage whose host did not stall. Nothing else of it is used.
type slowHost struct{ Stage }

func (slowHost) Now() time.Duration                       { return 0 }
func (slowHost) LongestStall(time.Duration) time.Duration { return 0 }
func (slowHost) Delayed() time.Duration                   { return 0 }

// TestSlowCommandsSpoilACell: a renewal in the background times out on a host on which a command takes so long, though no step of the
// script does.
func TestSlowCommandsSpoilACell(t *testing.T) {
	for _, tc := range []struct {
		name string
		took time.Duration
		why  string
	}{
		{"in time", 250 * time.Millisecond, ""},
		{"too slow", 251 * time.Millisecond, "the host was slow: a command took 251ms, more than an eighth of the lease"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			record := NewRecorder(func() time.Duration { return 0 })
			for _, took := range []time.Duration{time.Millisecond, tc.took, time.Millisecond} {
				record.Add(history.Event{Kind: history.KindCommand, Client: "C1", Detail: &history.Detail{
					Command: &history.Command{Args: []string{"EVAL"}, Asked: took},
				}})
			}
			cell := &Cell{Stage: slowHost{}, Script: &scenarios.Script{Lease: 2 * time.Second}, Record: record}
			err := cell.Play(t.Context())
			if tc.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.why)
		})
	}
}

// lateHost is a Stage whose host was late for so long.
type lateHost struct {
	slowHost
	by time.Duration
}

func (h lateHost) Delayed() time.Duration { return h.by }

// TestASlowStep: an operation that takes long spoils a cell if the host was late, and is the lock's affair if it was not. What the lab does itself
// is nobody's.
func TestASlowStep(t *testing.T) {
	const lease = time.Second
	for _, tc := range []struct {
		name       string
		verb       scenarios.Verb
		took, late time.Duration
		why        string
	}{
		{"a slow lock", scenarios.VerbOp, 400 * time.Millisecond, 50 * time.Millisecond, ""},
		{"a late host", scenarios.VerbOp, 400 * time.Millisecond, 51 * time.Millisecond, "line 0 took 400ms, more than a quarter of the lease; of that the host was late by 51ms"},
		{"in time", scenarios.VerbOp, 250 * time.Millisecond, 200 * time.Millisecond, ""},
		{"the lab's own work", scenarios.VerbRestart, 251 * time.Millisecond, 0, "line 0 took 251ms"},
		{"a wait", scenarios.VerbAwait, 10 * time.Second, 10 * time.Second, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cell := &Cell{Stage: lateHost{by: tc.late}, Script: &scenarios.Script{Lease: lease}}
			err := cell.inTime(&scenarios.Step{Verb: tc.verb}, tc.took)
			if tc.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.why)
		})
	}
	waits := &Cell{Stage: lateHost{by: time.Second}, Script: &scenarios.Script{Lease: 20 * time.Second}, Traits: Traits{MinTry: 8 * time.Second}}
	for range 3 { // nor do they add up
		require.NoError(t, waits.inTime(&scenarios.Step{Verb: scenarios.VerbOp, Op: history.OpAcquire}, 9*time.Second), "the library's own wait")
	}
	require.ErrorContains(t, waits.inTime(&scenarios.Step{Verb: scenarios.VerbOp, Op: history.OpRelease}, 7*time.Second), "took 7s, more than a quarter of the lease")

	cell := &Cell{Stage: lateHost{by: 40 * time.Millisecond}, Script: &scenarios.Script{Lease: lease}}
	for range 2 {
		require.NoError(t, cell.inTime(&scenarios.Step{Verb: scenarios.VerbOp}, 200*time.Millisecond))
	}
	require.ErrorContains(t, cell.inTime(&scenarios.Step{Verb: scenarios.VerbOp}, 200*time.Millisecond), "more than half the lease")
}

// TestSpilledEventsAreNotKept: what a long storm records is garbage as soon as it is written.
func TestSpilledEventsAreNotKept(t *testing.T) {
	const many = 200
	for _, spills := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), HistoryFile)
		file, err := os.Create(path)
		require.NoError(t, err)
		record, err := NewFileRecorder(file, history.Header{}, func() time.Duration { return time.Second })
		require.NoError(t, err)
		if spills {
			record.Spill(func() ([]history.Event, error) {
				read, err := history.ReadFile(t.Context(), path)
				if err != nil {
					return nil, err
				}
				return read.Events, nil
			})
		}
		var kept atomic.Int64
		kept.Add(many)
		for n := range many {
			detail := &history.Detail{Line: n, Text: "a step"}
			runtime.AddCleanup(detail, func(struct{}) { kept.Add(-1) }, struct{}{})
			record.Add(history.Event{Kind: history.KindStep, Detail: detail})
		}
		if spills {
			require.Eventually(t, func() bool { runtime.GC(); return kept.Load() < many/10 }, time.Minute, time.Millisecond)
		} else {
			runtime.GC()
			require.EqualValues(t, many, kept.Load())
		}
		events, err := record.Close()
		require.NoError(t, err)
		require.Len(t, events, many)
		require.Equal(t, history.Event{Kind: history.KindStep, At: time.Second, Detail: &history.Detail{Line: 7, Text: "a step"}}, events[7])
	}
}
