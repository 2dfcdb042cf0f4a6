package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/scenarios"
)

// playUntil runs a lock through the text of a script, until ctx ends.
func playUntil(ctx context.Context, t *testing.T, spec impls.Spec, text string) record.Cell {
	t.Helper()
	script, err := scenarios.Parse("test.lab", []byte("# A test.\n"+text))
	require.NoError(t, err)
	runner := lab.Runner{World: sim.Open(sim.Config{CellTimeout: time.Minute})}
	return runner.Run(ctx, lab.Case{Subject: play.SubjectOf(spec), Script: script, Round: 1})
}

// TestASleepReachesItsEnd: a lock that sleeps until its clock shows a time comes to it, whatever the rate of the clock. The last nanosecond used
// to take no time at all on a fast one, again and again.
func TestASleepReachesItsEnd(t *testing.T) {
	for _, rate := range []float64{0.3, 0.7, 1.7, 3, 999} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("it takes for ever"))
			defer cancel()
			spec, ok := impls.Find("watchdog-published")
			require.True(t, ok)
			cell := playUntil(ctx, t, spec, fmt.Sprintf("lease 4s\nclients C1 C2\nC1 clock rate %g\nC1 acquire => ok\nwait until expired\nC2 acquire\nC1 release", rate))
			require.NoError(t, context.Cause(ctx))
			require.Empty(t, cell.Failure)
		})
	}
}

// neverDone is a lock that never comes to an end.
type neverDone struct{ env impls.Env }

func (l neverDone) TryAcquire(ctx context.Context) (bool, error) {
	for {
		if err := l.env.Sleep(ctx, time.Nanosecond); err != nil {
			return false, err
		}
	}
}

func (neverDone) Release(context.Context) (bool, error) { return true, nil }

// neverSent is a lock whose operations wait for ever, and send nothing.
type neverSent struct{ env impls.Env }

func (l neverSent) TryAcquire(ctx context.Context) (bool, error) {
	return false, l.env.Sleep(ctx, time.Hour)
}

func (l neverSent) Release(ctx context.Context) (bool, error) { return l.TryAcquire(ctx) }

// TestAnOperationWithoutABoundHangs: it is given up after a lease and a quarter, or ten seconds, and not when the cell's time is over.
func TestAnOperationWithoutABoundHangs(t *testing.T) {
	for lease, at := range map[string]time.Duration{"4s": 10 * time.Second, "20s": 25 * time.Second} {
		spec := impls.Spec{Card: impls.Card{Name: "never-sent"}, New: func(env impls.Env, _ impls.Options) impls.Lock { return neverSent{env} }}
		cell := playUntil(t.Context(), t, spec, "lease "+lease+"\nclients C1\nC1 acquire => ok")
		require.Equal(t, "hung-operation", cell.Verdict.String())
		require.InDelta(t, at.Seconds(), cell.Verdict.Anomalies[0].At.Seconds(), 0.1)
		require.Contains(t, cell.Verdict.Anomalies[0].Why, "No server had answered a command of it.")
	}
}

// deaf is a lock whose waiters look once.
type deaf struct {
	impls.Lock
	looked bool
}

func (l *deaf) TryAcquire(ctx context.Context) (bool, error) {
	if l.looked {
		return false, nil
	}
	l.looked = true
	return l.Lock.TryAcquire(ctx)
}

// TestAMissedWakeup: a waiter that does not look again when the lock is free misses its wake-up.
func TestAMissedWakeup(t *testing.T) {
	sound, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	broken := sound
	broken.New = func(env impls.Env, opts impls.Options) impls.Lock { return &deaf{Lock: sound.New(env, opts)} }
	for verdict, spec := range map[string]impls.Spec{"missed-wakeup": broken, "safe": sound} {
		for _, times := range []string{"lease 2s\nclients C1 C2\nC2 acquire within 3s in background", "lease 30s\nclients C1 C2\nC2 acquire within 10s in background"} {
			text := strings.Replace(times, "C2 acquire", "C1 acquire => ok\nC2 acquire", 1) + "\nC2 waits\nC1 release => ok\nC2 await"
			require.Equal(t, verdict, playUntil(t.Context(), t, spec, text).Verdict.String(), text)
		}
	}
}

// TestTheModelEndsWithItsContext: Ctrl-C ends a cell in which something happens for ever.
func TestTheModelEndsWithItsContext(t *testing.T) {
	stop := errors.New("Ctrl-C")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, stop)
	defer cancel()
	spec := impls.Spec{Card: impls.Card{Name: "never-done"}, New: func(env impls.Env, _ impls.Options) impls.Lock { return neverDone{env} }}
	cell := playUntil(ctx, t, spec, "lease 4s\nclients C1\nC1 acquire => ok")
	require.NotEqual(t, checker.Safe, cell.Verdict.Kind)
	require.ErrorIs(t, context.Cause(ctx), stop)
}
