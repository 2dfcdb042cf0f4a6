package sim

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// env is what a lock that is written for impls.Env gets in a bubble: time, goroutines and connections of the bubble. Its code may use its own beside.
type env struct {
	guestEnv
	guest  *guest
	lock   *guestLock
	lines  *lines
	tokens atomic.Int64
}

func (e *env) Server() impls.Server { return e.Servers()[0] }

func (e *env) Servers() (servers []impls.Server) {
	for i := range e.lock.handle.links {
		servers = append(servers, lockServer{e.lines.to(addr(i)), e.lines, addr(i)})
	}
	return servers
}

func (e *env) Session() impls.Session { return nil }

func (e *env) Token() string {
	return fmt.Sprintf("%s-token-%d", e.lock.handle.Name, e.tokens.Add(1))
}

func (e *env) Object() string { return history.ObjectOf(e.lock.handle.Name) }
func (e *env) Thread() string { return history.ThreadOf(e.lock.handle.Name) }

func (e *env) Lost(why string) { e.lock.tell(e.guest, func() { e.lock.handle.NoticeLoss(0, why) }) }

func (e *env) Renewed(valid time.Duration) {
	e.lock.tell(e.guest, func() { e.lock.handle.NoticeValidity(valid) })
}

// WithTimeout ends with the lock, too.
func (e *env) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, d)
	stop := context.AfterFunc(e.lock.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (e *env) Go(fn func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(e.lock.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(ctx)
	}()
	return func() { cancel(); <-done }
}

func (e *env) Shared(name string, fresh func() any) any {
	e.guest.mu.Lock()
	defer e.guest.mu.Unlock()
	value, known := e.guest.shared[name]
	if !known {
		value = fresh()
		e.guest.shared[name] = value
	}
	return value
}

// lockServer is a lock server as such a lock sees it.
type lockServer struct {
	asking
	lines *lines
	addr  string
}

// Watch has a line to itself.
func (s lockServer) Watch(ctx context.Context, keys []string, fn func(impls.Tx) error) error {
	l, err := s.lines.open(ctx, s.addr)
	if err != nil {
		return err
	}
	defer l.close()
	return asking(l.ask).watch(ctx, keys, fn)
}

// Subscribe has a line to itself.
func (s lockServer) Subscribe(ctx context.Context, channel string) (impls.Subscription, error) {
	l, err := s.lines.open(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	l.messages = make(chan string, 1)
	if _, err := l.ask(ctx, []string{"SUBSCRIBE", channel}); err != nil {
		l.close()
		return nil, err
	}
	return subscribed{l}, nil
}

// subscribed is a line that has subscribed.
type subscribed struct{ line *line }

var errEnded = errors.New("the subscription has ended")

func (s subscribed) Receive(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case text, goesOn := <-s.line.messages:
		if !goesOn {
			return "", errEnded
		}
		return text, nil
	}
}

func (s subscribed) Close() { s.line.close() }
