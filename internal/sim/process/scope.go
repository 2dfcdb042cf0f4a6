package process

import (
	"context"
	"errors"
	"slices"
	"time"
)

var (
	errCanceled = context.Canceled
	errExpired  = context.DeadlineExceeded
	errLost     = errors.New("the connection was lost before the reply came")
	errImpure   = errors.New("the model cannot go on")
)

// scope is a context that ends when the model says so. It knows its time-out, but no clock.
type scope struct {
	parent  context.Context
	process *Process
	number  int
	err     error
	limit   time.Duration // 0: no time-out
	step    int64         // in which step of the process it began
	done    chan struct{}
}

type scopeKey struct{}

func (p *Process) newScope(parent context.Context) *scope {
	s := &scope{parent: parent, process: p, number: len(p.scopes) + 1, step: p.steps.Load(), done: make(chan struct{})}
	p.scopes = append(p.scopes, s)
	return s
}

// Deadline is none: a lock that acts on it would act on a clock. That it asked is noted.
func (s *scope) Deadline() (time.Time, bool) {
	s.process.AskedDeadline = true
	return time.Time{}, false
}

func (s *scope) Done() <-chan struct{} {
	s.asked()
	return s.done
}

// asked notes that somebody asks whether a time-out is over that only ends what waits for it: neither has it begun in this step, nor has a wait within it
// ended in this step.
func (s *scope) asked() {
	p := s.process
	if _, minded := p.host.(Timekeeper); minded || s.limit == 0 || s.step == p.steps.Load() {
		return
	}
	if root() != roots.ofTasks || s.err != nil { // package context asks in goroutines of its own
		return
	}
	if t := p.running; t != nil && t.timer != s.number {
		p.AskedLate = true
	}
}

func (s *scope) Err() error {
	s.asked()
	return s.ended()
}

// ended is the same, without noting that somebody asks.
func (s *scope) ended() error {
	switch parent, ours := s.parent.(*scope); {
	case s.err != nil:
		return s.err
	case ours:
		return parent.ended()
	}
	return s.parent.Err()
}

func (s *scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s
	}
	return s.parent.Value(key)
}

// hook is what package context wants to be called at the end of a scope.
type hook struct {
	scope *scope
	call  func()
}

// AfterFunc tells package context of an end at once; otherwise it would wait for it in a goroutine, which no scheduler of ours controls.
func (s *scope) AfterFunc(call func()) (stop func() bool) {
	if s.ended() != nil {
		call()
		return func() bool { return false }
	}
	h := &hook{s, call}
	s.process.hooks = append(s.process.hooks, h)
	return func() bool { return s.process.unhook(h) }
}

func (p *Process) unhook(h *hook) bool {
	i := slices.Index(p.hooks, h)
	if i >= 0 {
		p.hooks = slices.Delete(p.hooks, i, i+1)
	}
	return i >= 0
}

// end ends the context, and wakes the tasks that wait within it.
func (s *scope) end(why error) {
	if s.ended() != nil {
		return
	}
	s.err = why
	close(s.done)
	s.process.callHooks()
	for _, t := range s.process.tasks {
		if t != nil && t.blocked != nil && t.blocked.ended() != nil {
			t.blocked = nil
			s.process.ready = append(s.process.ready, t)
		}
	}
}

// close ends the context of a process that is closed. Nothing is woken.
func (s *scope) close() {
	if s.err == nil {
		s.err = errCanceled
		close(s.done)
	}
}

// callHooks tells package context which contexts have ended.
func (p *Process) callHooks() {
	for _, h := range slices.Clone(p.hooks) {
		if h.scope.ended() != nil && p.unhook(h) {
			h.call()
		}
	}
}

// noteDerived notes that a lock keeps a context that it has made of a time-out for which nothing waits.
func (p *Process) noteDerived() {
	if _, minded := p.host.(Timekeeper); minded {
		return
	}
	for _, h := range p.hooks {
		waited := func(t *task) bool { return t != nil && t.timer == h.scope.number }
		if h.scope.limit > 0 && !slices.ContainsFunc(p.tasks, waited) {
			p.AskedLate = true
		}
	}
}

// Fork is a context within that of an operation, with the number by which Process.Expire ends it as a time-out does.
func Fork(ctx context.Context) (within context.Context, timer int) {
	p := scopeOf(ctx).process
	s := p.newScope(ctx)
	p.timers[s.number] = s
	return s, s.number
}

// scopeOf finds what the model knows about a context that a lock uses; nil: it cannot end. Such a one hides those around it.
func scopeOf(ctx context.Context) *scope {
	if ctx.Done() == nil {
		return nil
	}
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// timed is the nearest context around that has a time-out and has not ended.
func (s *scope) timed() *scope {
	for s != nil && (s.limit == 0 || s.err != nil) {
		s = scopeOf(s.parent)
	}
	return s
}

// expire ends the context around with that number.
func (s *scope) expire(number int) {
	for s != nil && s.number != number {
		s = scopeOf(s.parent)
	}
	if s != nil {
		s.end(errExpired)
	}
}
