package play

import (
	"context"
	"maps"
	"sync"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// overdue waits for the pending operation until so returns true, or until its bound is over: history.Patience, after the time that an acquire
// retries. While a fault is in effect it waits on, for that may be what delays the operation. Beyond the bound the operation is given up, and the
// script ends: the checker says whether it hung.
func (h *Handle) overdue(ctx context.Context, op *Operation, so func() bool) error {
	c := h.cell
	for {
		ended, err := c.Stage.Until(ctx, op.Within+history.Patience(c.Script.Lease), so)
		switch {
		case err != nil:
			return silent(h.Name, op.Op.String(), err)
		case ended:
			return nil
		case c.inEffect.none():
			if _, err := h.giveUp(ctx); err != nil {
				return err
			}
			return PremiseMissed("%s had not answered %s after %v, and no fault was in effect", h.Name, op.Op, op.Within+history.Patience(c.Script.Lease))
		}
	}
}

// effects are the faults in effect. They are safe for concurrent use.
type effects struct {
	mu  sync.Mutex
	all map[effect]bool
}

type effect struct {
	kind   faults.Kind
	target string
}

func (e *effects) note(kind faults.Kind, target string, phase history.Phase) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch this := (effect{kind.Of().Kind, target}); {
	case phase == history.PhaseRecover:
		delete(e.all, this)
	case this.kind == faults.Crash: // what had befallen the process delays nobody any more
		maps.DeleteFunc(e.all, func(on effect, _ bool) bool { return history.ProcessOf(on.target) == target })
	case !kind.Of().OneShot:
		if e.all == nil {
			e.all = make(map[effect]bool)
		}
		e.all[this] = true
	}
}

func (e *effects) none() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.all) == 0
}
