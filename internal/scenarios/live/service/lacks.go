package service

import (
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// leastLease is the shortest lease with which a restart or an election that takes some seconds leaves time for the rest of a script.
const leastLease = 20 * time.Second

// lacksOnCluster says what a script needs that a cluster, or a lock there, does not have, or "".
func lacksOnCluster(script *scenarios.Script, traits play.Traits) string {
	switch {
	case !traits.Known:
		return "a program that is not the lab's cannot be told which of its links leads to the node that a cluster names"
	case traits.Servers > 1 && !traits.Library.Masters:
		return "the lock is on several servers, and all of its keys in a cluster would have the same names"
	case traits.Library.Masters && script.Servers != 0 && script.Servers != traits.Servers:
		return "the lab's cluster has three primaries"
	case traits.Replicas:
		return play.NeedsReplicas
	}
	for _, step := range script.Steps {
		switch {
		case step.Verb == scenarios.VerbGoesDown:
			return "the lab stops no node of a cluster for a while"
		case step.Verb == scenarios.VerbRestart && script.Lease < leastLease:
			return "a primary of a cluster refuses writes for two seconds after its restart, too long for so short a lease"
		case step.Verb == scenarios.VerbRestartSaved && script.Lease < leastLease:
			return "that a replica in a cluster takes over takes too long for so short a lease"
		}
	}
	return traits.Lack(script, play.Limits{faults.Replicas: play.NeedsReplicas})
}

// KeepsAll is why an ensemble does not come back without its last writes.
const KeepsAll = "an ensemble elects by itself, and only who has all that was acknowledged"

// lacksWithEnsemble says which fault of a server in a script an ensemble does not have, or "".
func lacksWithEnsemble(script *scenarios.Script) string {
	for _, step := range script.Steps {
		fault, _ := step.Fault()
		switch fault.Kind {
		case faults.ClockJump, faults.Operator:
			return "the lab changes neither the clock nor the nodes of a ZooKeeper"
		case faults.Restart, faults.Down:
			if len(step.Servers) == 0 {
				return "the lab neither stops nor empties all servers of an ensemble: see ensemble-without-quorum"
			}
		case faults.FailOver, faults.TakeOver, faults.SplitBrain:
			return KeepsAll
		}
		if fault.Kind.Changes() && fault.Kind != faults.Isolated && script.Lease < leastLease {
			return "an election takes too long for so short a lease"
		}
	}
	return ""
}

// lacksOnKeeper says what a script needs that a lock on a ZooKeeper, its client or the lab does not have, or "".
func lacksOnKeeper(script *scenarios.Script, traits play.Traits) string {
	if !traits.ZooKeeper {
		return play.NeedsRedis
	}
	limits := play.KeeperLimits()
	if traits.Library.Ensemble {
		delete(limits, faults.ServerState)
		delete(limits, faults.Ensemble)
		if why := lacksWithEnsemble(script); why != "" {
			return why
		}
	}
	return traits.LackOnKeeper(script, limits)
}

// lacksUnread says what a script needs that a lock on such a server, its client or the lab does not have, or "".
func lacksUnread(what string, script *scenarios.Script, traits play.Traits) string {
	if traits.Opaque == "" {
		return play.NeedsProgram
	}
	for _, step := range script.Steps {
		if why := unseen(what, step, traits); why != "" {
			return why
		}
	}
	return traits.Lack(script, play.Limits{
		faults.ServerCopy: "the lab does not restart " + what + " with an older copy of its data",
		faults.Replicas:   play.NeedsReplicas,
	})
}

// unseen says why a step is not possible where nobody reads what clients send to the lock server, or "".
func unseen(what string, step scenarios.Step, traits play.Traits) string {
	switch step.Verb {
	case scenarios.VerbRenews, scenarios.VerbWaitRenewed, scenarios.VerbWaitHalf, scenarios.VerbWaits:
		return "the lab does not read what clients send to " + what
	case scenarios.VerbServerJump, scenarios.VerbOperator:
		return "the lab does not change the clock or the data of " + what
	}
	if step.Op == history.OpWork {
		return ""
	}
	for _, at := range step.Breakpoints {
		if !slices.Contains(traits.OneRequest, step.Op.String()) || !tap.CanUnread(at, step.Op) {
			return "the lab does not read what clients send to " + what + ": no breakpoint \"" + at.String() + "\" in its " + step.Op.String()
		}
	}
	return ""
}

// lacksReplicas says what a script needs that one Redis without replicas does not have, or "".
func lacksReplicas(script *scenarios.Script, traits play.Traits) string {
	if traits.Replicas {
		return play.NeedsReplicas
	}
	return traits.Lack(script, play.Limits{faults.Replicas: play.NeedsReplicas})
}

// lacksAtAddress says what a script needs that a Redis at an address does not have, or "".
func lacksAtAddress(restarts bool, script *scenarios.Script, traits play.Traits) string {
	switch {
	case traits.Replicas:
		return play.NeedsReplicas
	case max(script.Servers, traits.Servers) > 1:
		return "the lock needs several independent servers, and at the address is one"
	}
	limits := play.Limits{faults.Replicas: play.NeedsReplicas}
	if !restarts {
		limits[faults.ServerStop] = "a server at an address is never restarted (--restart-command)"
	}
	return traits.Lack(script, limits)
}
