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
	"github.com/locklab/locklab/worker/protocol"
)

// The names of the faults in a history.
const (
	faultPause   = "pause"
	faultCrash   = "crash"
	faultSkew    = "skew"
	faultJump    = "clock-jump"
	faultRestart = "restart"
)

var trapFaults = map[scenarios.Action]string{
	scenarios.HoldRequest: "hold",
	scenarios.HoldReply:   "hold-reply",
	scenarios.DropReply:   "reply-lost",
	scenarios.Duplicate:   "duplicate",
}

var actions = map[scenarios.Action]tap.Action{
	scenarios.HoldRequest: tap.HoldRequest,
	scenarios.HoldReply:   tap.HoldReply,
	scenarios.DropReply:   tap.DropReply,
	scenarios.Duplicate:   tap.Duplicate,
}

var matchKinds = map[scenarios.MatchKind]tap.MatchKind{
	scenarios.MatchAny:     tap.MatchAny,
	scenarios.MatchWrite:   tap.MatchWrite,
	scenarios.MatchRemoval: tap.MatchRemoval,
	scenarios.MatchCommand: tap.MatchCommand,
}

func matchOf(m scenarios.Match) tap.Match {
	return tap.Match{Kind: matchKinds[m.Kind], Command: m.Command}
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
	cl.cell.fault(faultPause, cl.name, history.PhaseInject, "SIGSTOP")
	if err := cl.proc.Pause(ctx); err != nil {
		return fmt.Errorf("pausing %s: %w", cl.name, err)
	}
	cl.paused = true
	cl.cell.fault(faultPause, cl.name, history.PhaseEffective, "the process is stopped")
	return nil
}

func (cl *client) resume(ctx context.Context) error {
	if err := cl.proc.Resume(ctx); err != nil {
		return fmt.Errorf("resuming %s: %w", cl.name, err)
	}
	cl.paused = false
	cl.cell.fault(faultPause, cl.name, history.PhaseRecover, "SIGCONT")
	return nil
}

func (cl *client) crash(ctx context.Context) error {
	cl.cell.fault(faultCrash, cl.name, history.PhaseInject, "SIGKILL")
	cl.crashed.Store(true)
	if err := cl.proc.Kill(ctx); err != nil {
		return fmt.Errorf("killing %s: %w", cl.name, err)
	}
	cl.holds, cl.pending = false, nil
	cl.cell.rec.add(history.Event{Kind: history.KindExit, Client: cl.name, Detail: &history.Detail{Why: "killed by the script"}})
	cl.cell.fault(faultCrash, cl.name, history.PhaseEffective, "the process is gone")
	return nil
}

// setClock sets the client's clock: ahead or behind by offset, or running at another rate.
func (cl *client) setClock(ctx context.Context, offset time.Duration, rate float64) error {
	if rate == 0 {
		rate = 1
	}
	what := fmt.Sprintf("offset %v, rate %g", offset, rate)
	cl.cell.fault(faultSkew, cl.name, history.PhaseInject, what)
	msg, err := cl.ask(ctx, protocol.Request{Do: protocol.Skew, OffsetMS: milliseconds(offset), Rate: rate})
	if err != nil {
		return err
	}
	if msg.Outcome != protocol.OK {
		return undecided("%s did not set its clock%s", cl.name, clause(msg.Error))
	}
	cl.cell.fault(faultSkew, cl.name, history.PhaseEffective, what)
	return nil
}

// disturb injects a fault into the client's link to the lock server, and asserts that it has taken effect.
func (cl *client) disturb(ctx context.Context, fault network.Fault) error {
	cl.cell.fault(fault.Name(), cl.name, history.PhaseInject, fault.String())
	injected, err := cl.lockLink.Inject(ctx, fault)
	if err != nil {
		return fmt.Errorf("%s's link: %w", cl.name, err)
	}
	cl.linkFault, cl.fault = injected, fault
	cl.cell.fault(fault.Name(), cl.name, history.PhaseEffective, injected.Evidence())
	return nil
}

// heal makes the client's link whole again. A fault that broke connections leaves the client to make new ones first.
func (cl *client) heal(ctx context.Context) error {
	if cl.linkFault == nil {
		return undecided("the link of %s is whole", cl.name)
	}
	evidence, err := cl.linkFault.Recover(ctx)
	if err != nil {
		return fmt.Errorf("%s's link: %w", cl.name, err)
	}
	fault := cl.fault
	cl.linkFault = nil
	cl.cell.fault(fault.Name(), cl.name, history.PhaseRecover, evidence)
	if fault.BreaksConnections() {
		return cl.reconnect(ctx)
	}
	return nil
}

// reconnect lets a client notice, before the script goes on, that its connections were broken. Otherwise its next command
// would fail or not by the toss of a coin.
func (cl *client) reconnect(ctx context.Context) error {
	if cl.crashed.Load() || cl.paused {
		return nil
	}
	_, err := cl.ask(ctx, protocol.Request{Do: protocol.Reconnect})
	return err
}

// jumpServerClock lets time leap on the server while no command is in flight.
func (c *cell) jumpServerClock(ctx context.Context, d time.Duration) error {
	c.fault(faultJump, "redis", history.PhaseInject, d.String())
	if free, err := c.freed(ctx); err != nil || free {
		return cmp.Or(err, undecided("the server's clock would jump while there is no lock on the server"))
	}
	return c.lockTap.Exclusively(ctx, func() error {
		_, evidence, err := server.JumpClock(ctx, c.server.Addr(), 0, c.prefix, d)
		if err != nil {
			return fmt.Errorf("the server's clock: %w", err)
		}
		c.fault(faultJump, "redis", history.PhaseEffective, evidence)
		return nil
	})
}

// restartServer restarts the server without its data, and lets every client that can notice it.
func (c *cell) restartServer(ctx context.Context) error {
	restarter, ok := c.server.(server.Restarter)
	if !ok {
		return notApplicable("%s cannot be restarted", c.server.Describe())
	}
	c.fault(faultRestart, "redis", history.PhaseInject, "without its data")
	if err := c.lockTap.Exclusively(ctx, func() error { return restarter.RestartEmpty(ctx) }); err != nil {
		return fmt.Errorf("restarting the server: %w", err)
	}
	c.fault(faultRestart, "redis", history.PhaseEffective, "the server answers again, and is empty")
	for _, name := range c.script.Clients {
		if err := c.clients[name].reconnect(ctx); err != nil {
			return err
		}
	}
	return nil
}
