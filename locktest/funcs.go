package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// Funcs are what lock libraries offer: functions that return errors. Bool makes one of a function that also returns whether it was so. The context
// of an acquire ends only while it is under way, so a library may keep it for as long as it holds the lock.
type Funcs struct {
	// TryLock acquires the lock, or is refused. Lock waits for it until its context ends. One of them may be nil.
	TryLock, Lock func(context.Context) error
	Unlock        func(context.Context) error
	// Renew starts the lease anew, and Held asks the server whether the lock is held; nil: the library has no such function.
	Renew, Held func(context.Context) error
	// Valid is for how long the lock is still held, as the library computes it, zero or less if it has ended; nil: the library does not say.
	Valid func() time.Duration
	// Done is asked after an acquire for a channel that is closed when the library finds by itself that the lock is lost, or after a release: the Done
	// of a context that lasts as long as the hold. Nil: the library does not say.
	Done func() <-chan struct{}
	// Close ends all that the lock has started; nil: nothing has to be ended.
	Close func()
	// Refused are the errors which say that another client has the lock, or that it is no longer this client's, beside ErrRefused. The outcome after
	// any other error is unknown.
	Refused []error
}

// ErrRefused says that another client has the lock, or that it is no longer this client's.
var ErrRefused = errors.New("refused")

// Bool is a function that fails with ErrRefused where the given one returns false and no error.
func Bool(do func(context.Context) (bool, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		ok, err := do(ctx)
		if err == nil && !ok {
			return ErrRefused
		}
		return err
	}
}

// Lock makes a lock of functions.
func (e Env) Lock(f Funcs) (Lock, error) {
	switch {
	case f.TryLock == nil && f.Lock == nil:
		return nil, fmt.Errorf("Funcs.TryLock and Funcs.Lock are missing: one of them acquires the lock")
	case f.Unlock == nil:
		return nil, fmt.Errorf("Funcs.Unlock is missing: it releases the lock")
	}
	l := &calling{funcs: f, env: e}
	switch {
	case f.Lock != nil && f.Valid != nil:
		return struct {
			*calling
			blocking
			limited
		}{l, blocking{l}, limited{l}}, nil
	case f.Lock != nil:
		return struct {
			*calling
			blocking
		}{l, blocking{l}}, nil
	case f.Valid != nil:
		return struct {
			*calling
			limited
		}{l, limited{l}}, nil
	}
	return l, nil
}

// aTry is how long a library that can only wait does so where a single try is meant.
const aTry = 100 * time.Millisecond

// calling is a lock that calls functions.
type calling struct {
	funcs Funcs
	env   Env

	mu    sync.Mutex
	ended chan struct{} // closed when the hold is released; nil: there was none
}

// Lacks says whether a verb of the protocol has no function: the lock has the method all the same.
func (l *calling) Lacks(verb string) bool {
	return verb == protocol.Renew && l.funcs.Renew == nil || verb == protocol.Check && l.funcs.Held == nil
}

func (l *calling) TryAcquire(ctx context.Context) (bool, error) {
	if l.funcs.TryLock != nil {
		return l.acquired(call(ctx, l.funcs.TryLock))
	}
	patience, cancel := context.WithTimeout(ctx, aTry)
	defer cancel()
	return l.wait(ctx, patience)
}

// wait waits until patience ends. That the library has given up then means that it is refused, unless a command is under way.
func (l *calling) wait(ctx, patience context.Context) (bool, error) {
	ok, err := l.acquired(call(patience, l.funcs.Lock))
	gaveUp := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if gaveUp && patience.Err() != nil && ctx.Err() == nil && !l.env.awaits() {
		return false, nil
	}
	return ok, err
}

// call calls an acquire with a context that ends with the given one while the acquire is under way, and has the same deadline.
func call(ctx context.Context, acquire func(context.Context) error) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	return acquire(until{lasting, ctx})
}

// until is a context with the deadline of another.
type until struct {
	context.Context
	other context.Context
}

func (u until) Deadline() (time.Time, bool) { return u.other.Deadline() }

// acquired is the outcome of an acquire. If it has begun a hold, the library may report its loss.
func (l *calling) acquired(err error) (bool, error) {
	ok, err := l.outcome(err)
	if ok && l.funcs.Done != nil {
		go l.watch(l.funcs.Done(), l.begin())
	}
	return ok, err
}

// watch reports a loss before the end of the hold.
func (l *calling) watch(done <-chan struct{}, ended chan struct{}) {
	select {
	case <-ended:
		return
	case <-done:
	}
	select {
	case <-ended:
	default:
		l.env.Lost("the channel of Funcs.Done was closed")
	}
}

// begin begins a hold, and end ends it.
func (l *calling) begin() (ended chan struct{}) {
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = make(chan struct{})
	return l.ended
}

func (l *calling) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		close(l.ended)
		l.ended = nil
	}
}

func (l *calling) Release(ctx context.Context) (bool, error) {
	l.end()
	return l.outcome(l.funcs.Unlock(ctx))
}

func (l *calling) Renew(ctx context.Context) (bool, error) { return l.outcome(l.funcs.Renew(ctx)) }

func (l *calling) Held(ctx context.Context) (bool, error) { return l.outcome(l.funcs.Held(ctx)) }

func (l *calling) Close() {
	l.end()
	if l.funcs.Close != nil {
		l.funcs.Close()
	}
}

func (l *calling) outcome(err error) (bool, error) {
	refused := func(why error) bool { return errors.Is(err, why) }
	if refused(ErrRefused) || slices.ContainsFunc(l.funcs.Refused, refused) {
		return false, nil
	}
	return err == nil, err
}

type blocking struct{ lock *calling }

func (b blocking) Acquire(ctx, patience context.Context) (bool, error) {
	return b.lock.wait(ctx, patience)
}

type limited struct{ lock *calling }

func (l limited) Valid() time.Duration { return l.lock.funcs.Valid() }
