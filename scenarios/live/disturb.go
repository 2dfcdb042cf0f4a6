package live

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/faults/tap"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/worker/protocol"
)

var actions = map[scenarios.Action]tap.Action{
	scenarios.HoldRequest: tap.HoldRequest,
	scenarios.HoldReply:   tap.HoldReply,
	scenarios.DropReply:   tap.DropReply,
	scenarios.Duplicate:   tap.Duplicate,
	scenarios.HoldCopy:    tap.HoldCopy,
}

var sides = map[scenarios.Side]network.Side{
	scenarios.BothWays: network.Both,
	scenarios.Requests: network.Requests,
	scenarios.Replies:  network.Replies,
}

// linkFault is the fault of a link that a step asks for.
func linkFault(step *scenarios.Step, lease time.Duration) (fault network.Fault, ok bool) {
	switch step.Verb {
	case scenarios.VerbCutOff:
		return network.Partition(sides[step.Side]), true
	case scenarios.VerbRefuse:
		return network.Refuse(), true
	case scenarios.VerbDelay:
		return network.Delay(step.Span.Of(lease)), true
	case scenarios.VerbLoseReplies:
		return network.LoseReplies(), true
	}
	return nil, false
}

func (cl *client) pause(ctx context.Context) error {
	cl.cell.fault(cells.FaultPause, cl.name, history.PhaseInject, "SIGSTOP")
	if err := cl.proc.Pause(ctx); err != nil {
		return fmt.Errorf("pausing %s: %w", cl.name, err)
	}
	cl.paused = true
	cl.cell.fault(cells.FaultPause, cl.name, history.PhaseEffective, "the process is stopped")
	return nil
}

func (cl *client) resume(ctx context.Context) error {
	if err := cl.proc.Resume(ctx); err != nil {
		return fmt.Errorf("resuming %s: %w", cl.name, err)
	}
	cl.paused = false
	cl.cell.fault(cells.FaultPause, cl.name, history.PhaseRecover, "SIGCONT")
	return nil
}

func (cl *client) crash(ctx context.Context) error {
	if err := cl.kill(ctx); err != nil {
		return err
	}
	for _, m := range cl.members {
		m.vanish()
	}
	return nil
}

// kill is a crash as the lab sees it; what the client was at is left to whoever plays it.
func (cl *client) kill(ctx context.Context) error {
	cl.cell.fault(cells.FaultCrash, cl.name, history.PhaseInject, "SIGKILL")
	cl.crashed.Store(true)
	if err := cl.proc.Kill(ctx); err != nil {
		return fmt.Errorf("killing %s: %w", cl.name, err)
	}
	for _, m := range cl.members {
		m.cell.rec.Add(history.Event{Kind: history.KindExit, Client: m.name, Detail: &history.Detail{Why: "killed by the script"}})
	}
	cl.cell.fault(cells.FaultCrash, cl.name, history.PhaseEffective, "the process is gone")
	return nil
}

// loseThread ends the one thread that uses this lock of the process. The lab has played that thread, and asks nothing more; what runs
// beside it in the process goes on.
func (cl *client) loseThread() {
	cl.cell.fault(cells.FaultThread, cl.name, history.PhaseInject, "an exception")
	cl.cell.fault(cells.FaultThread, cl.name, history.PhaseEffective, "nobody in the process uses the lock any more")
	cl.vanish()
	cl.cell.rec.Add(history.Event{Kind: history.KindExit, Client: cl.name, Detail: &history.Detail{Why: cells.ThreadDied}})
}

// setClock sets the client's clock: ahead or behind by offset, or running at another rate.
func (cl *client) setClock(ctx context.Context, offset time.Duration, rate float64) error {
	if rate == 0 {
		rate = 1
	}
	what := fmt.Sprintf("offset %v, rate %g", offset, rate)
	cl.cell.fault(cells.FaultSkew, cl.name, history.PhaseInject, what)
	msg, err := cl.ask(ctx, protocol.Request{Do: protocol.Skew, OffsetMS: milliseconds(offset), Rate: rate})
	if err != nil {
		return err
	}
	if msg.Outcome != protocol.OK {
		return cells.Undecided("%s did not set its clock%s", cl.name, clause(msg.Error))
	}
	cl.cell.fault(cells.FaultSkew, cl.name, history.PhaseEffective, what)
	return nil
}

// jumpClock lets time leap on the named servers, or on all, where there must be a lock.
func (c *cell) jumpClock(ctx context.Context, names []string, d time.Duration) error {
	servers := c.named(names)
	states, err := c.states(ctx, servers)
	if err != nil || states.Locked() == 0 {
		return cmp.Or(err, cells.Undecided("the server's clock would jump while there is no lock on the server"))
	}
	for _, s := range servers {
		if err := c.jump(ctx, s, d); err != nil {
			return err
		}
	}
	return nil
}

// jump lets time leap on a server while no command is in flight there.
func (c *cell) jump(ctx context.Context, s *lockServer, d time.Duration) error {
	c.fault(cells.FaultJump, s.name, history.PhaseInject, d.String())
	return s.tap.Exclusively(ctx, func() error {
		_, evidence, err := server.JumpClock(ctx, s.Addr(), 0, c.prefix, d)
		if err != nil {
			return fmt.Errorf("the server's clock: %w", err)
		}
		c.fault(cells.FaultJump, s.name, history.PhaseEffective, evidence)
		return nil
	})
}

// restart restarts the named servers, or all, and lets every client that can notice it.
func (c *cell) restart(ctx context.Context, names []string, one func(context.Context, *lockServer) error) error {
	for _, s := range c.named(names) {
		if err := one(ctx, s); err != nil {
			return err
		}
	}
	for _, name := range c.script.Clients {
		if err := c.clients[name].reconnect(ctx, c.clients[name].linksTo(names)); err != nil {
			return err
		}
	}
	return nil
}

// restartEmpty restarts a server without its data.
func (c *cell) restartEmpty(ctx context.Context, s *lockServer) error {
	restarter, ok := s.Server.(server.Restarter)
	if !ok {
		return cells.NotApplicable("%s cannot be restarted", s.Describe())
	}
	return c.restarted(ctx, s, restarter.RestartEmpty, "without its data", "the server answers again, and is empty")
}

// restartSaved restarts a server with the data that it has saved.
func (c *cell) restartSaved(ctx context.Context, s *lockServer) error {
	saver, ok := s.Server.(server.Saver)
	if !ok {
		return cells.NotApplicable("%s cannot save its data", s.Describe())
	}
	return c.restarted(ctx, s, saver.RestartSaved, "with what it has saved", "the server answers again, with what it had saved")
}

// restarted restarts a server while no command is in flight there.
func (c *cell) restarted(ctx context.Context, s *lockServer, restart func(context.Context) error, how, evidence string) error {
	c.fault(cells.FaultRestart, s.name, history.PhaseInject, how)
	if err := s.tap.Exclusively(ctx, func() error { return restart(ctx) }); err != nil {
		return fmt.Errorf("restarting the server: %w", err)
	}
	c.fault(cells.FaultRestart, s.name, history.PhaseEffective, evidence)
	return nil
}

// save has the named servers, or all, keep a copy of their data.
func (c *cell) save(ctx context.Context, names []string) error {
	for _, s := range c.named(names) {
		saver, ok := s.Server.(server.Saver)
		if !ok {
			return cells.NotApplicable("%s cannot save its data", s.Describe())
		}
		if err := s.tap.Exclusively(ctx, func() error { return saver.Save(ctx) }); err != nil {
			return fmt.Errorf("saving the server's data: %w", err)
		}
	}
	return nil
}

// limitLock sets the expiry of the lock by hand, on every server, as an operator does who takes it for one that was left behind.
func (c *cell) limitLock(ctx context.Context, d time.Duration) error {
	for _, s := range c.servers {
		c.fault(cells.FaultLimit, s.name, history.PhaseInject, "limits the lock to "+d.String())
		err := s.tap.Exclusively(ctx, func() error {
			limited, err := server.Limit(ctx, s.Addr(), c.lockKey, d)
			if err != nil {
				return fmt.Errorf("limiting the lock: %w", err)
			}
			if !limited {
				return cells.Undecided("an operator would limit the lock while there is none on the server")
			}
			c.fault(cells.FaultLimit, s.name, history.PhaseEffective, "the lock ends in "+d.String())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
