package calls_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

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

// TestQueued: a Lock that is given up does not count as another in the queue, is undone if it was granted, and a fresh lock takes its place.
func TestQueued(t *testing.T) {
	made, queue := 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	goOn, undone := make(chan error), make(chan int, 1)
	unheld := errors.New("not held")
	queued := calls.NewQueued(calls.Library[int]{
		Fresh: func() int { made++; return made },
		Lock: func(lock int) error {
			if lock > 1 {
				return nil
			}
			cancel()
			return <-goOn
		},
		Unlock: func(lock int) error { undone <- lock; return unheld },
		Queue:  func() (int, error) { return queue, nil },
		Unheld: []error{unheld},
	})
	if done, err := queued.Try(ctx); done || err != context.Canceled {
		t.Error(done, err)
	}
	for length, free := range map[int]bool{1: true, 2: false} { // the one that was given up, and another
		queue = length
		if done, err := queued.Try(t.Context()); done != free || err != nil {
			t.Error(length, done, err)
		}
	}
	if done, err := queued.Release(t.Context()); done || err != nil || <-undone != 2 {
		t.Error(done, err)
	}
	goOn <- nil
	if lock := <-undone; lock != 1 {
		t.Error(lock)
	}
	queue = 1
	for done := true; done; { // until it does not count any more
		done, _ = queued.Try(t.Context())
		runtime.Gosched()
	}
}

// TestQueuedWaits: after its time a Wait reads the queue, and what that says is the answer. A cancelled one does not.
func TestQueuedWaits(t *testing.T) {
	broken := errors.New("broken")
	goOn := make(chan error)
	defer close(goOn)
	queued := calls.NewQueued(calls.Library[int]{
		Fresh: func() int { return 0 }, Lock: func(int) error { return <-goOn }, Unlock: func(int) error { return nil },
		Queue: func() (int, error) { return 0, broken },
	})
	if done, err := queued.Wait(t.Context(), 1); done || err != broken {
		t.Error(done, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if done, err := queued.Wait(ctx, time.Hour); done || err != context.Canceled {
		t.Error(done, err)
	}
}

// TestHold: it ends once, in the order of its functions. A loss is told while it lasts.
func TestHold(t *testing.T) {
	var hold calls.Hold
	if done, err := hold.End(t.Context()); done || err != nil {
		t.Error("there is none", done, err)
	}
	ended := ""
	hold.Begin(t.Context(), func() { t.Error("it was not lost") }, func() { ended += "a" }, func() { ended += "b" })
	if done, err := hold.End(t.Context()); !done || err != nil || ended != "ab" {
		t.Error(done, err, ended)
	}
	if done, err := hold.End(t.Context()); done || err != nil {
		t.Error("it has ended", done, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	lost := make(chan bool)
	hold.Begin(ctx, func() { close(lost) })
	cancel()
	<-lost
}
