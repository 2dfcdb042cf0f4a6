package sim

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
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
		servers = append(servers, lockServer{e.lines, addr(i)})
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
	lines *lines
	addr  string
}

func (s lockServer) Do(ctx context.Context, args ...any) (any, error) {
	return valueOf(false)(s.lines.one(ctx, s.addr, words(args)))
}

func (s lockServer) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	command := append([]string{"EVAL", script.Source, fmt.Sprint(len(keys))}, keys...)
	return valueOf(true)(s.lines.one(ctx, s.addr, append(command, words(args)...)))
}

// valueOf makes a reply one in the terms of impls.Server.
func valueOf(script bool) func(service.Reply, error) (any, error) {
	return func(reply service.Reply, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return process.Value(reply, script)
	}
}

// Watch has a line to itself.
func (s lockServer) Watch(ctx context.Context, keys []string, fn func(impls.Tx) error) error {
	l, err := s.lines.open(ctx, s.addr)
	if err != nil {
		return err
	}
	defer l.close()
	tx := watching{l}
	if len(keys) > 0 {
		if _, err := tx.one(ctx, append([]string{"WATCH"}, keys...)); err != nil {
			return err
		}
	}
	return fn(tx)
}

// watching is a line that watches keys.
type watching struct{ line *line }

func (t watching) one(ctx context.Context, words []string) (any, error) {
	replies, err := t.line.ask(ctx, words)
	if err != nil {
		return nil, err
	}
	return process.Value(replies[0], false)
}

func (t watching) Do(ctx context.Context, args ...any) (any, error) { return t.one(ctx, words(args)) }

func (t watching) Exec(ctx context.Context, commands ...impls.Command) (replies []any, done bool, err error) {
	row := [][]string{{"MULTI"}}
	for _, command := range commands {
		row = append(row, words(command))
	}
	answers, err := t.line.ask(ctx, append(row, []string{"EXEC"})...)
	if err != nil {
		return nil, false, err
	}
	value, err := process.Value(answers[len(answers)-1], true)
	list, done := value.([]any)
	return list, done, err
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
