package calls

import (
	"context"
	"sync"
	"sync/atomic"
)

// Turns is a lock of a library that cancels no call, and serves one at a time. A call that is given up is left to itself; after an Enter that is given up
// a fresh lock takes its place.
type Turns[L any] struct {
	fresh func() L
	own   *turn[L]
	left  atomic.Int64
}

type turn[L any] struct {
	lock  L
	guard sync.Mutex
}

// NewTurns makes a lock, and a fresh one when it has to.
func NewTurns[L any](fresh func() L) *Turns[L] {
	return &Turns[L]{fresh: fresh, own: &turn[L]{lock: fresh()}}
}

// Left is how many calls of Enter were given up, and have not ended.
func (t *Turns[L]) Left() int { return int(t.left.Load()) }

// Call calls f when the calls before have ended.
func (t *Turns[L]) Call(ctx context.Context, f func(L) error) error {
	return Leave(ctx, t.own.inTurn(f), nil)
}

// Enter calls f when the calls before have ended. What is granted when nobody waits for it any more, undo gives back.
func (t *Turns[L]) Enter(ctx context.Context, f, undo func(L) error) error {
	own := t.own
	err := Leave(ctx, own.inTurn(f), func(err error) {
		defer t.left.Add(-1)
		if err == nil {
			_ = undo(own.lock) // nobody is left to be told
		}
	})
	if err != nil && err == ctx.Err() {
		t.own = &turn[L]{lock: t.fresh()}
		t.left.Add(1)
	}
	return err
}

func (o *turn[L]) inTurn(f func(L) error) func() error {
	return func() error {
		o.guard.Lock()
		defer o.guard.Unlock()
		return f(o.lock)
	}
}
