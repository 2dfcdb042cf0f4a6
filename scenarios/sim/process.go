package sim

import (
	"context"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/impls/waiting"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/sim/process"
	"github.com/locklab/locklab/worker/work"
)

// operation is what a process knows of an operation under way.
type operation struct {
	*play.Operation
	task   int
	answer history.Answer
}

// Call begins an operation of a handle.
func (p *peer) Call(asked *play.Operation) error {
	h := p.handles[asked.Handle.Name]
	op := &operation{Operation: asked}
	h.inFlight = op
	p.hand(func() {
		op.task = p.proc.Call(h.Name, op.Op, func(ctx process.Context, lock impls.Lock) history.Answer {
			op.answer = h.carryOut(ctx, lock, op)
			return history.Answer{Outcome: op.answer.Outcome}
		})
	})
	return nil
}

// carryOut is what the client does for an operation. It runs in the process.
func (h *handle) carryOut(ctx process.Context, lock impls.Lock, op *operation) history.Answer {
	switch op.Op {
	case history.OpAcquire:
		way, why := waiting.For(h.peer.cell.Wait, lock)
		if why != "" {
			return impls.Unsupported(why)
		}
		held, err := h.acquire(ctx, lock, op.Within, way)
		return impls.Granted(lock, held, err)
	case history.OpWork:
		proc := h.peer.proc
		task := work.Task{
			Resource: proc.ResourceOf(h.Name), Shared: proc.Env(h.Name).Shared, Client: h.peer.name, Key: h.Data.Key,
			Stock: h.Data.Stock, Item: h.Data.Item,
		}
		return task.Under(lock).Do(ctx.Ctx(), h.Data.Work)
	}
	return impls.Perform(ctx.Ctx(), lock, op.Op)
}

// acquire tries for some time, which is real unless the lock measures it: a client whose clock is wrong is to wait no longer and no shorter
// for it.
func (h *handle) acquire(ctx process.Context, lock impls.Lock, within time.Duration, way waiting.Way) (bool, error) {
	env := h.peer.proc.Env(h.Name)
	if within == 0 {
		return waiting.Acquire(ctx.Ctx(), ended(), env, lock, way)
	}
	if timed, ok := lock.(impls.SelfTimed); ok {
		return waiting.Acquire(ctx.Ctx(), ctx.Ctx(), env, lock, h.paced(waiting.ByLock(way, timed, within)))
	}
	patience, timer := ctx.Fork()
	h.peer.cell.after(within, func() { h.peer.expire(timer) })
	return waiting.Acquire(ctx.Ctx(), patience.Ctx(), env, lock, h.paced(way))
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// paced is a way to wait by which time goes on: a client that tries again at once, and asks nobody, would try for ever in one moment.
func (h *handle) paced(way waiting.Way) waiting.Way {
	return func(env impls.Env, lock impls.Lock) waiting.Waiter {
		return &pacer{Waiter: way(env, lock), env: env, cell: h.peer.cell, last: -1}
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
	if err == nil && p.cell.now == p.last {
		err = p.env.Sleep(ctx, hop)
	}
	p.last = p.cell.now
	return err
}

// Cancel gives an operation up.
func (p *peer) Cancel(_ context.Context, asked *play.Operation) error {
	op := p.handles[asked.Handle.Name].inFlight
	p.hand(func() {
		if !asked.Answered() {
			p.proc.Cancel(op.task)
		}
	})
	return nil
}

// TakeIn lets time pass until no background task of a lock waits for a reply.
func (p *peer) TakeIn(ctx context.Context, of *play.Handle) error {
	h := p.handles[of.Name]
	_, err := p.cell.Until(ctx, play.Ever, func() bool {
		return !slices.ContainsFunc(p.proc.Waits(), func(w process.Wait) bool {
			return w.Kind == process.Request && w.Handle == of.Name && (h.inFlight == nil || w.Task != h.inFlight.task)
		})
	})
	return err
}

// Pause stops the process: whatever comes in waits until it goes on.
func (p *peer) Pause(context.Context) error {
	p.paused = true
	return nil
}

// Resume lets the process go on, with what has come in meanwhile.
func (p *peer) Resume(context.Context) error {
	p.paused = false
	missed := p.missed
	p.missed = nil
	for _, what := range missed {
		p.cell.after(0, func() { p.hand(what) })
	}
	return nil
}

// Kill ends the process, and its connections.
func (p *peer) Kill(context.Context) error {
	p.dead = true
	for _, h := range p.client.Handles {
		for _, l := range append(p.handles[h.Name].links, p.handles[h.Name].resourceLink) {
			l.hangUpAll()
		}
	}
	return nil
}

// SetClock sets the wall clock: from now on it starts at the right time plus offset, and runs at rate.
func (p *peer) SetClock(_ context.Context, offset time.Duration, rate float64) error {
	showed := p.Now()
	p.set, p.shown, p.rate = p.cell.now, base().Add(p.cell.now+offset), rate
	if p.read {
		p.stepped += p.shown.Sub(showed)
	}
	return nil
}

// Disturb injects a fault into the process's links.
func (p *peer) Disturb(_ context.Context, fault faults.LinkFault, names []string) (string, error) {
	for _, s := range p.cell.named(names) {
		for _, l := range p.linksTo(s) {
			l.inject(p.cell, fault)
		}
	}
	return p.cell.About(names, fault.String()), nil
}

// Heal ends the faults of the process's links.
func (p *peer) Heal(_ context.Context, names []string) (healed []play.Healed, _ error) {
	var kinds []faults.Kind
	servers := make(map[faults.Kind][]string)
	for _, s := range p.cell.named(names) {
		for _, l := range p.linksTo(s) {
			if l.fault == nil {
				continue
			}
			kind := l.fault.Kind
			if servers[kind] == nil {
				kinds = append(kinds, kind)
			}
			if !contains(servers[kind], s.name) {
				servers[kind] = append(servers[kind], s.name)
			}
			l.heal(p.cell)
		}
	}
	for _, kind := range kinds {
		healed = append(healed, play.Healed{Kind: kind, Evidence: p.cell.About(servers[kind], "the link is whole")})
	}
	return healed, nil
}

// Reconnect does nothing: in the model a client notices at once that a connection is broken.
func (p *peer) Reconnect(context.Context, []string) error { return nil }
