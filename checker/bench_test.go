package checker

import (
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// turns is a legal history of at least so many operations by ten clients that take a lock in turn: acquire, work, release. While
// one holds, the next is refused once.
func turns(operations int) []history.Event {
	const key = "locklab:turns"
	events := make([]history.Event, 0, 2*operations+8)
	now, id, value := time.Duration(0), int64(0), int64(0)
	do := func(client string, op history.Op, outcome history.Outcome, d *history.Detail) {
		id++
		e := history.Event{At: now, ID: id, Client: client, Lock: key, Kind: history.KindCall, Op: op}
		events = append(events, e)
		now += 100 * time.Microsecond
		e.At, e.Kind, e.Outcome, e.Detail = now, history.KindReturn, outcome, d
		events = append(events, e)
	}
	for turn := 0; id < int64(operations); turn++ {
		client, next := clientName(turn%10), clientName((turn+1)%10)
		do(client, history.OpAcquire, history.OK, nil)
		do(next, history.OpAcquire, history.No, nil)
		do(client, history.OpWork, history.OK, &history.Detail{Read: value, Wrote: value + 1})
		value++
		do(client, history.OpRelease, history.OK, nil)
	}
	return append(events, history.Event{At: now, Lock: key, Kind: history.KindFinal, Detail: &history.Detail{Value: value}})
}

func clientName(n int) string { return fmt.Sprintf("C%d", n+1) }

// One million operations are to be judged in at most 1.5 seconds and 512 MiB.
func BenchmarkJudgeMillionOperations(b *testing.B) {
	events := turns(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		require.Equal(b, Verdict{Kind: Safe}, Judge(events, Options{}))
	}
}

// The refused client of the middle is told that it got the lock.
func BenchmarkJudgeMillionOperationsWithADoubleGrant(b *testing.B) {
	events := turns(1_000_000)
	for i := len(events) / 2; ; i++ {
		if e := &events[i]; e.Kind == history.KindReturn && e.Outcome == history.No {
			e.Outcome = history.OK
			break
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		v := Judge(events, Options{})
		require.Equal(b, []Name{DoubleHolder}, v.Names())
	}
}

// What cutting gains: the judging of 100,000 operations beside porcupine alone on the whole history.
func BenchmarkHundredThousandOperations(b *testing.B) {
	events := turns(100_000)
	cut, whole := time.Duration(0), time.Duration(0)
	for b.Loop() {
		start := time.Now()
		require.Equal(b, Verdict{Kind: Safe}, Judge(events, Options{}))
		cut += time.Since(start)
		start = time.Now()
		for _, lock := range mutexHistories(events) {
			require.Equal(b, porcupine.Ok, judgeWindows(mutexWindowsOf(lock.spans, len(lock.spans)), time.Hour))
		}
		for _, c := range counterHistories(events) {
			require.Equal(b, porcupine.Ok, judgeWindows(counterWindowsOf(c.updates, len(c.updates)), time.Hour))
		}
		whole += time.Since(start)
	}
	b.ReportMetric(cut.Seconds()/float64(b.N), "judged-s/op")
	b.ReportMetric(whole.Seconds()/float64(b.N), "whole-s/op")
	b.ReportMetric(float64(whole)/float64(cut), "times-slower")
}
