package sim

import (
	"context"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/internal/worker/work"
)

// operation is what a process knows of an operation under way.
type operation struct {
	*play.Operation
	task   int
	answer history.Answer
}

// Call begins an operation of a handle.
func (p *peer) Call(asked *play.Operation) error {
	name := asked.Handle.Name
	op := &operation{Operation: asked}
	p.inFlight[name] = op
	p.hand(func() {
		op.task = p.proc.Call(name, op.Op, func(ctx context.Context, lock impls.Lock) history.Answer {
			op.answer = p.carryOut(ctx, lock, op)
			return history.Answer{Outcome: op.answer.Outcome}
		})
	})
	return nil
}

// carryOut is what the client does for an operation. It runs in the process.
func (p *peer) carryOut(ctx context.Context, lock impls.Lock, op *operation) history.Answer {
	name := op.Handle.Name
	task := work.Task{Resource: p.proc.ResourceOf(name), Shared: p.proc.Env(name).Shared, Client: p.name}
	return p.perform(ctx, lock, op.Operation, task, func(way waiting.Way) (bool, error) { return p.acquire(ctx, lock, op, way) })
}

// acquire tries for some time, which is real unless the lock measures it: a client whose clock is wrong is to wait no longer and no shorter
// for it.
func (p *peer) acquire(ctx context.Context, lock impls.Lock, op *operation, way waiting.Way) (bool, error) {
	env, within := p.proc.Env(op.Handle.Name), op.Within
	if within == 0 {
		return waiting.Acquire(ctx, ended(), env, lock, way)
	}
	if timed, ok := lock.(impls.SelfTimed); ok {
		return waiting.Acquire(ctx, ctx, env, lock, p.paced(waiting.ByLock(way, timed, within)))
	}
	patience, timer := process.Fork(ctx)
	p.expire(timer, within)
	return waiting.Acquire(ctx, patience, env, lock, p.paced(way))
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// paced is a way to wait by which time goes on: a client that tries again at once, and asks nobody, would try for ever in one moment.
func (p *peer) paced(way waiting.Way) waiting.Way {
	if way == nil { // the lock waits by itself
		return nil
	}
	return func(env impls.Env, lock impls.Lock) waiting.Waiter {
		return &pacer{Waiter: way(env, lock), env: env, cell: p.cell, last: -1}
	}
}

type pacer struct {
	waiting.Waiter
	env  impls.Env
	cell *cell
	last time.Duration // when the last wait ended
}

func (p *pacer) Wait(ctx context.Context) error {
	err := p.Waiter.Wait(ctx)
	if err == nil && p.cell.Now() == p.last {
		err = p.env.Sleep(ctx, hop)
	}
	p.last = p.cell.Now()
	return err
}

// Cancel gives an operation up.
func (p *peer) Cancel(_ context.Context, asked *play.Operation) error {
	op := p.inFlight[asked.Handle.Name]
	p.hand(func() {
		if !asked.Answered() {
			p.proc.Cancel(op.task)
		}
	})
	return nil
}

// TakeIn lets time pass until no background task of a lock waits for a reply.
func (p *peer) TakeIn(ctx context.Context, of *play.Handle) error {
	_, err := p.cell.Until(ctx, play.Ever, func() bool {
		if k := p.handles[of.Name].keeper; k != nil {
			return k.takenIn()
		}
		return !slices.ContainsFunc(p.proc.Waits(), func(w process.Wait) bool {
			return w.Kind == process.Request && w.Handle == of.Name && (p.inFlight[of.Name] == nil || w.Task != p.inFlight[of.Name].task)
		})
	})
	return err
}

// SetClock sets the wall clock: from now on it starts at the right time plus offset, and runs at rate.
func (p *peer) SetClock(_ context.Context, offset time.Duration, rate float64) error {
	showed := p.Now()
	p.set, p.shown, p.rate = p.cell.Now(), base().Add(p.cell.Now()+offset), rate
	if p.read {
		p.stepped += p.shown.Sub(showed)
	}
	return nil
}
