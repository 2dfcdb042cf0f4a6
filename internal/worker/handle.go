package worker

import (
	"context"
	"fmt"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// handle is an open lock. Its operations run one after another, in the order of the requests.
type handle struct {
	env   *env
	lock  impls.Lock
	close context.CancelFunc
	links links
	// last is closed when the last operation has ended.
	last chan struct{}
}

// turn queues an operation: it must wait for before, and close after when it has ended. Only the session's reader calls it.
func (h *handle) turn() (before <-chan struct{}, after chan struct{}) {
	before, after = h.last, make(chan struct{})
	h.last = after
	return before, after
}

// shut stops the lock's background tasks. It does not release the lock.
func (h *handle) shut() {
	h.close()
	h.env.tasks.Wait()
}

// reconnectKeeper replaces the connection of the handle's session, if it has one. The background tasks of the lock that wait for that have
// acted when it returns.
func (h *handle) reconnectKeeper(ctx context.Context) error {
	if h.links.keeper == nil {
		return nil
	}
	if err := h.links.keeper.reconnect(ctx); err != nil {
		return err
	}
	select {
	case <-h.env.errands.none():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connect has a lock connect that does so by itself.
func (h *handle) connect(ctx context.Context) error {
	if connected, ok := h.lock.(impls.Connected); ok {
		return connected.Connect(ctx)
	}
	return nil
}

// perform runs an operation of the lock and answers it through say.
func (h *handle) perform(ctx context.Context, req protocol.Request, say func(protocol.Message)) {
	switch req.Do {
	case protocol.Acquire:
		way, why := waiting.For(req.Wait, h.lock)
		if why != "" {
			say(unsupported(why))
			return
		}
		h.env.beginAcquire()
		held, err := acquire(ctx, h.lock, h.env, protocol.Duration(req.WithinMS), way)
		h.env.endAcquire(func() { say(protocol.Reply(answers.Granted(h.lock, held, err))) })
	case protocol.Release:
		say(protocol.Reply(answers.Perform(ctx, h.lock, history.OpRelease)))
	case protocol.Renew:
		say(protocol.Reply(answers.Perform(ctx, h.lock, history.OpRenew)))
	case protocol.Check:
		say(protocol.Reply(answers.Perform(ctx, h.lock, history.OpCheck)))
	case protocol.Close:
		h.shut()
		say(done())
	default:
		say(unsupported(fmt.Sprintf("unknown verb %q", req.Do)))
	}
}
