package live

import (
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// WantsClock says whether the client's clock may have to be set from outside: it is not the lab's, and the cell sets clocks.
func (p *peer) WantsClock() bool { return p.foreign() && p.cell.setsClocks() }

// setsClocks says whether clients' clocks are among the faults of the cell, or of those that a greeting is for.
func (c *cell) setsClocks() bool {
	if c.storm != nil {
		return slices.Contains(c.storm.Plan.Faults, faults.Skew)
	}
	return c.clocks || setsClocks(c.run.Script)
}

func setsClocks(script *scenarios.Script) bool {
	return slices.ContainsFunc(script.Steps, func(s scenarios.Step) bool { return s.Verb == scenarios.VerbClock })
}

// reachClock finds out whether the clock of a client that cannot set it itself can be set from outside, and sets it right: the process may have
// served another cell.
func (p *peer) reachClock() error {
	if p.worker.Clock == nil || slices.Contains(p.hello.Verbs, protocol.Skew) {
		return nil
	}
	if p.noClock = p.worker.Clock.Reached(p.worker.Proc.PID()); p.noClock != "" {
		return nil
	}
	p.outside = true
	p.hello.Verbs = append(slices.Clone(p.hello.Verbs), protocol.Skew)
	return p.worker.Clock.Set(0, 1)
}
