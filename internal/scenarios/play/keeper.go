package play

import (
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/scenarios"
)

// KeeperLimits are what a single ZooKeeper lacks, in any world.
func KeeperLimits() Limits {
	return Limits{
		faults.ServerState: "the lab neither restarts a ZooKeeper nor changes its clock or its nodes",
		faults.SetClock:    "the session is kept by timers of the client library, which the lab does not set",
		faults.Repeat:      "a ZooKeeper gets the requests of a session once, in their order",
	}
}

// LackInModel says what the lock, its client or the model lacks for a script, or "".
func (t Traits) LackInModel(script *scenarios.Script) string {
	if t.ZooKeeper {
		return t.LackOnKeeper(script, KeeperLimits())
	}
	return t.Lack(script, nil)
}

// LackOnKeeper says what a lock on a ZooKeeper, its client or the world lacks for a script, or "".
func (t Traits) LackOnKeeper(script *scenarios.Script, world Limits) string {
	if goesOnAfterLoss(script) {
		return "after a lost reply its client can do nothing until it notices that the connection is dead"
	}
	lacks := t.Lack(script, world)
	if name := otherCommand(script); lacks == "" && name != "" {
		lacks = "a ZooKeeper has no operation " + name
	}
	return lacks
}

// otherCommand is the command of a breakpoint at the lock server that no ZooKeeper has, or "".
func otherCommand(script *scenarios.Script) string {
	for _, step := range script.Steps {
		for _, at := range step.Breakpoints {
			if _, known := jute.Find(at.Match.Command); step.Op != history.OpWork && at.Match.Kind == faults.MatchCommand && !known {
				return at.Match.Command
			}
		}
	}
	return ""
}

// goesOnAfterLoss says whether a client is to do something after a reply to it was lost, and nothing lets the time of a session pass before. On
// Redis it would take another connection.
func goesOnAfterLoss(script *scenarios.Script) bool {
	lost := map[string]bool{}
	for _, step := range script.Steps {
		if step.Op != history.OpNone && lost[step.Client] {
			return true
		}
		if slices.ContainsFunc(step.Breakpoints, func(at faults.Breakpoint) bool { return at.Action == faults.ActDropReply }) {
			lost[step.Client] = true
		}
		if step.Waits() && step.Verb != scenarios.VerbOp {
			clear(lost)
		}
	}
	return false
}
