package worker

import (
	"context"
	"fmt"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/impls/waiting"
	"github.com/locklab/locklab/worker/protocol"
)

// handle is an open lock. Its operations run one after another, in the order of the requests.
type handle struct {
	env   *env
	lock  impls.Lock
	close context.CancelFunc
	links links
	// last is closed when the last operation so far has ended.
	last chan struct{}
}

// turn puts an operation behind all that came before it: the operation waits for before, and closes after when it has ended. It
// is called by the session's reader only.
func (h *handle) turn() (before <-chan struct{}, after chan struct{}) {
	before, after = h.last, make(chan struct{})
	h.last = after
	return before, after
}

// shut stops what runs beside the lock. The lock is not released.
func (h *handle) shut() {
	h.close()
	h.env.tasks.Wait()
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
		h.env.endAcquire(func() { say(protocol.Reply(impls.Granted(h.lock, held, err))) })
	case protocol.Release:
		say(protocol.Reply(impls.Perform(ctx, h.lock, history.OpRelease)))
	case protocol.Renew:
		say(protocol.Reply(impls.Perform(ctx, h.lock, history.OpRenew)))
	case protocol.Check:
		say(protocol.Reply(impls.Perform(ctx, h.lock, history.OpCheck)))
	case protocol.Close:
		h.shut()
		say(done())
	default:
		say(unsupported(fmt.Sprintf("unknown verb %q", req.Do)))
	}
}
