package process

import (
	"context"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// env is the Env of one lock.
type env struct {
	process *Process
	handle  string
	lock    impls.Lock
	servers []impls.Server
	session impls.Session // nil: the lock servers are no ZooKeeper
	scope   *scope        // ends when the lock is shut

	// acquiring: what the lock has to tell waits for the answer to its acquire, or a hold could end before it began.
	acquiring bool
	kept      []Notice
}

func (e *env) Server() impls.Server    { return e.servers[0] }
func (e *env) Servers() []impls.Server { return e.servers }
func (e *env) Session() impls.Session  { return e.session }

func (e *env) Now() time.Time {
	return e.process.host.Now()
}

func (e *env) Monotonic() time.Duration {
	return e.process.host.Monotonic()
}

func (e *env) Token() string {
	return e.process.host.Token()
}

func (e *env) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return e.process.ended(ctx)
	}
	_, err := e.process.await(ctx, Wait{Kind: Sleep, Length: d})
	return err
}

func (e *env) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	s := e.process.newScope(ctx)
	s.limit = d
	if d <= 0 {
		s.end(errExpired)
	}
	if keeper, ok := e.process.host.(Timekeeper); ok && d > 0 {
		e.process.timers[s.number] = s
		keeper.Begun(s.number, d)
	}
	return s, func() {
		delete(e.process.timers, s.number)
		s.end(errCanceled)
	}
}

func (e *env) Go(fn func(ctx context.Context)) (stop func()) {
	s := e.process.newScope(e.scope)
	t := e.process.spawn(ofBackground, func() { fn(s) })
	return func() {
		s.end(errCanceled)
		e.process.join(t)
	}
}

func (e *env) Shared(key string, make func() any) any {
	value, found := e.process.shared[key]
	if !found {
		value = make()
		e.process.shared[key] = value
	}
	return value
}

func (e *env) Object() string { return history.ObjectOf(e.handle) }
func (e *env) Thread() string { return history.ThreadOf(e.handle) }

func (e *env) Lost(why string) { e.tell(Notice{Kind: Lost, Handle: e.handle, Why: why}) }

func (e *env) Renewed(d time.Duration) { e.tell(Notice{Kind: Renewed, Handle: e.handle, Valid: d}) }

func (e *env) tell(n Notice) {
	if e.acquiring {
		e.kept = append(e.kept, n)
		return
	}
	e.process.say(n)
}
