package calls_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/locklab/locklab/adapters/go/internal/calls"
)

func TestOutcome(t *testing.T) {
	taken, broken := errors.New("taken"), errors.New("broken")
	for _, c := range []struct {
		err, unknown error
		done         bool
	}{
		{nil, nil, true}, {taken, nil, false}, {fmt.Errorf("lock: %w", taken), nil, false}, {broken, broken, false},
	} {
		if done, err := calls.Outcome(c.err, errors.New("other"), taken); done != c.done || err != c.unknown {
			t.Errorf("%v is %v, %v", c.err, done, err)
		}
	}
}

// TestLeave: a call that goes on after its context is left to itself, and what comes of it is told.
func TestLeave(t *testing.T) {
	failed := errors.New("failed")
	if err := calls.Leave(t.Context(), func() error { return failed }, nil); err != failed {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	goOn, late := make(chan error), make(chan error)
	cancel()
	if err := calls.Leave(ctx, func() error { return <-goOn }, func(err error) { late <- err }); err != context.Canceled {
		t.Error(err)
	}
	goOn <- failed
	if err := <-late; err != failed {
		t.Error(err)
	}
}

// TestTurns: an Enter that is given up counts until it has ended, is undone if it was granted, and a fresh lock takes the place of its lock.
func TestTurns(t *testing.T) {
	made := 0
	turns := calls.NewTurns(func() int { made++; return made })
	ctx, cancel := context.WithCancel(t.Context())
	goOn, undone := make(chan error), make(chan int)
	entered := func(int) error { cancel(); return <-goOn }
	if err := turns.Enter(ctx, entered, func(lock int) error { undone <- lock; return nil }); err != context.Canceled {
		t.Error(err)
	}
	if turns.Left() != 1 {
		t.Error(turns.Left())
	}
	if err := turns.Call(t.Context(), func(lock int) error { return fmt.Errorf("lock %d", lock) }); err.Error() != "lock 2" {
		t.Error(err)
	}
	goOn <- nil
	if lock := <-undone; lock != 1 {
		t.Error(lock)
	}
	for turns.Left() > 0 {
		runtime.Gosched()
	}
}
