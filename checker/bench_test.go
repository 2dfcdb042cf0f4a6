package checker

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// turns is a legal history of so many operations by ten clients that take a lock in turn: acquire, work if wanted, release. The
// next one already waits for the lock when the one that has it calls release.
func turns(operations int, work bool) []history.Event {
	const key = "locklab:turns"
	events := make([]history.Event, 0, 2*operations+1)
	now, ids, value := time.Duration(0), int64(0), int64(0)
	record := func(e history.Event) {
		now += 50 * time.Microsecond
		e.At, e.Lock = now, key
		events = append(events, e)
	}
	call := func(client int, op history.Op) history.Event {
		ids++
		e := history.Event{ID: ids, Client: clientName(client % 10), Op: op, Kind: history.KindCall}
		record(e)
		e.Kind, e.Outcome = history.KindReturn, history.OK
		return e
	}
	acquire := call(0, history.OpAcquire)
	for turn := 0; ids < int64(operations); turn++ {
		record(acquire)
		if work {
			done := call(turn, history.OpWork)
			done.Detail = &history.Detail{Read: value, Wrote: value + 1}
			value++
			record(done)
		}
		acquire = call(turn+1, history.OpAcquire)
		record(call(turn, history.OpRelease))
	}
	return append(events, history.Event{At: now, Lock: key, Kind: history.KindFinal, Detail: &history.Detail{Value: value}})
}

func clientName(n int) string { return fmt.Sprintf("C%d", n+1) }

// One million operations are to be judged in at most 1.5 seconds and 512 MiB.
func BenchmarkJudgeMillionOperations(b *testing.B) {
	events := turns(1_000_000, true)
	b.ReportAllocs()
	limitMemory(b)
	for b.Loop() {
		require.Equal(b, Verdict{Kind: Safe}, Judge(events, Options{}))
	}
	reportMemory(b)
}

// One grant of the middle is given to a second client as well; it is to be found and explained in the same time.
func BenchmarkJudgeMillionOperationsWithADoubleGrant(b *testing.B) {
	events := grantedTwice(turns(1_000_000, true))
	b.ReportAllocs()
	limitMemory(b)
	for b.Loop() {
		v := Judge(events, Options{})
		require.Equal(b, []Name{DoubleHolder}, v.Names())
	}
	reportMemory(b)
}

// The same turns as a tap would have seen them, with a fifth of the operations: every acquire and release with its command, and
// every work with two, so that the ledger is kept as well.
func BenchmarkJudgeCommandsOfTwoHundredThousandOperations(b *testing.B) {
	events := withCommands(turns(200_000, true))
	b.ReportAllocs()
	for b.Loop() {
		require.Equal(b, Verdict{Kind: Safe}, Judge(events, Options{}))
	}
	b.ReportMetric(float64(len(events)), "events")
}

// withCommands puts the commands of each operation before its return.
func withCommands(events []history.Event) []history.Event {
	out := make([]history.Event, 0, 2*len(events))
	for i := range events {
		e := events[i]
		if e.Kind == history.KindReturn {
			for _, c := range commandsOf(&e) {
				out = append(out, history.Event{
					At: e.At, ID: e.ID, Client: e.Client, Lock: e.Lock, Kind: history.KindCommand, Op: e.Op,
					Detail: &history.Detail{Command: &c},
				})
			}
		}
		out = append(out, e)
	}
	return out
}

// commandsOf are the commands of an operation of turns. A client's name is its token.
func commandsOf(e *history.Event) []history.Command {
	held := history.State{Type: "string", Value: e.Client, TTL: time.Minute}
	lock := history.Command{Server: "redis", Sent: e.At, Asked: 100 * time.Microsecond, Reply: "1"}
	switch e.Op {
	case history.OpAcquire:
		lock.Args, lock.Changes = []string{"SET", e.Lock, e.Client, "NX", "PX", "60000"}, []history.Change{{Key: e.Lock, After: held}}
	case history.OpRelease:
		lock.Args, lock.Changes = []string{"EVALSHA", "release", "1", e.Lock, e.Client}, []history.Change{{Key: e.Lock, Before: held}}
	default:
		return []history.Command{
			{Server: history.Resource, Args: []string{"GET", "counter"}, Reply: fmt.Sprint(e.Detail.Read)},
			{Server: history.Resource, Args: []string{"SET", "counter", fmt.Sprint(e.Detail.Wrote)}, Reply: "OK"},
		}
	}
	return []history.Command{lock}
}

// limitMemory keeps the garbage of a judgement from doubling what its events take.
func limitMemory(b *testing.B) {
	before := debug.SetMemoryLimit(448 << 20)
	b.Cleanup(func() { debug.SetMemoryLimit(before) })
}

// reportMemory reports what the process has taken from the operating system, the events and their making included.
func reportMemory(b *testing.B) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
}

// grantedTwice answers an acquire in the middle while the client before still has the lock: before that one's call of release.
func grantedTwice(events []history.Event) []history.Event {
	for i := len(events) / 2; ; i++ {
		if e := &events[i]; e.Kind == history.KindCall && e.Op == history.OpRelease {
			// call release, return release, return acquire
			at := e.At
			events[i], events[i+1], events[i+2] = events[i+2], events[i], events[i+1]
			for n := range 3 {
				events[i+n].At = at
			}
			return events
		}
	}
}

// What cutting gains: the judging of 100,000 operations beside porcupine alone on the whole history.
func BenchmarkHundredThousandOperations(b *testing.B) {
	events := turns(100_000, false)
	cut, whole := time.Duration(0), time.Duration(0)
	for b.Loop() {
		start := time.Now()
		require.Equal(b, Verdict{Kind: Safe}, Judge(events, Options{}))
		cut += time.Since(start)
		start = time.Now()
		for _, lock := range overlap.Locks(events) {
			require.Equal(b, porcupine.Ok, searched(overlap.HoldWindowsOf(lock.Spans, len(lock.Spans))))
		}
		for _, c := range overlap.Counters(events) {
			require.Equal(b, porcupine.Ok, searched(overlap.CounterWindowsOf(c.Updates, len(c.Updates))))
		}
		whole += time.Since(start)
	}
	b.ReportMetric(cut.Seconds()/float64(b.N), "judged-s/op")
	b.ReportMetric(whole.Seconds()/float64(b.N), "whole-s/op")
	b.ReportMetric(float64(whole)/float64(cut), "times-slower")
}
