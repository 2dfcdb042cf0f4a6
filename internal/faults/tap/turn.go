package tap

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// turns has one command at a time pass.
type turns struct {
	token chan struct{} // holds the turn while no goroutine has it
	pace  pace
}

func newTurns() *turns {
	t := &turns{token: make(chan struct{}, 1), pace: pace{line: make(chan struct{}, 1), changed: make(chan struct{})}}
	t.token <- struct{}{}
	return t
}

// Exclusively runs fn while no command is in flight, except those that may block or are unordered (subscriptions, CLIENT, SCRIPT).
func (t *Tap) Exclusively(ctx context.Context, fn func() error) error {
	select {
	case <-t.turns.token:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.ctx.Done():
		return errClosed
	}
	defer t.leaveTurn()
	if t.ctx.Err() != nil {
		return errClosed
	}
	return fn()
}

// takeTurn waits for the turn, as long as a slow server lets requests wait; it returns false if the tap has been closed.
func (t *Tap) takeTurn() bool {
	leave, err := t.turns.pace.wait(t.ctx)
	if err != nil {
		return false
	}
	defer leave() // with the turn, so that requests stay in line
	select {
	case <-t.turns.token:
		return true
	default:
	}
	select {
	case <-t.turns.token:
		return true
	case <-t.ctx.Done():
		return false
	}
}

func (t *Tap) leaveTurn() { t.turns.token <- struct{}{} }

// pace is how long each request waits before its turn. Requests wait in line.
type pace struct {
	line chan struct{} // holds a token while a request is the first of the line

	mu      sync.Mutex
	each    time.Duration
	changed chan struct{} // closed when each changes
	waiting int
}

func (p *pace) set(each time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each = each
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait waits as a request does; if the pace changes, no longer than for those before it. Then the next one can go on when leave has been called.
func (p *pace) wait(ctx context.Context) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.each == 0 && p.waiting == 0 {
		return func() {}, nil
	}
	p.waiting++
	each, changed := p.each, p.changed
	p.mu.Unlock()
	leave = func() {}
	select {
	case p.line <- struct{}{}:
		leave = func() { <-p.line }
		timer := time.NewTimer(each)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
			leave()
			err = ctx.Err()
		}
		timer.Stop()
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	p.waiting--
	return leave, err
}

// Slow has each request wait before its turn, one after the other, as at a server that takes so long for each; zero: none waits any more. The error says
// that a request of the lab's own was not seen to wait.
func (t *Tap) Slow(ctx context.Context, each time.Duration) error {
	t.turns.pace.set(each)
	if each == 0 {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, slowSeen)
	defer cancel()
	began := time.Now()
	leave, err := t.turns.pace.wait(soon)
	if err == nil {
		leave()
		if took := time.Since(began); took < each {
			return fmt.Errorf("tap of %s: a request waited %v instead of %v", t.cfg.Server, took, each)
		}
	}
	return ctx.Err()
}

// slowSeen is for how long a request that waits is watched at most.
const slowSeen = 10 * time.Millisecond
