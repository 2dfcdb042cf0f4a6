package cells

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/worker/protocol"
)

// Subject is a lock under test.
type Subject struct {
	Name   string
	Argv   []string // the command that runs a client of it; the model needs none
	Traits Traits
}

// Traits are what a script may need of a lock and of its client.
type Traits struct {
	Known     bool // false: the client will say
	Local     bool // the lock lives in its client's process
	Leaseless bool
	Renews    bool
	Resends   bool
	Servers   int  // how many lock servers it is tried with; less than two: one
	Majority  bool // a majority of them is enough
	Reentrant bool
	Fair      bool
	Separate  bool     // the locks of a process go their own ways to the servers
	Verbs     []string // the optional verbs of the protocol that the client knows
	Workloads []string // the kinds of work that the client knows, beside a counter
	// Sends are the commands that operations may send, where that is known.
	Sends impls.Commands
}

// SubjectOf is a lock that comes with the lab, run by worker (the command that runs a client process).
func SubjectOf(spec impls.Spec, worker []string) Subject {
	traits := Traits{
		Known: true, Local: spec.Needs == impls.NoServer, Leaseless: spec.Leaseless, Renews: spec.Renews, Resends: spec.Resends,
		Reentrant: slices.Contains(spec.Promises, impls.Reentrance), Fair: slices.Contains(spec.Promises, impls.Fairness),
		Servers: spec.Servers, Majority: spec.Needs == impls.MostServers, Separate: true, Sends: spec.Sends,
		Verbs: []string{protocol.Skew, protocol.Reconnect}, Workloads: scenarios.WorkloadNames(),
	}
	if spec.CanRenew() {
		traits.Verbs = append(traits.Verbs, protocol.Renew)
	}
	if spec.CanCheck() {
		traits.Verbs = append(traits.Verbs, protocol.Check)
	}
	return Subject{Name: spec.Name, Argv: worker, Traits: traits}
}

// TraitsOf is what a client says of itself, which was given so many servers.
func TraitsOf(hello protocol.Hello, servers int) Traits {
	t := Traits{
		Known: true, Leaseless: hello.Leaseless, Renews: hello.Renews, Resends: hello.Resends, Separate: hello.Separate,
		Reentrant: hello.Reentrant, Fair: hello.Fair, Verbs: hello.Verbs, Workloads: hello.Workloads,
	}
	if hello.Servers == protocol.Majority || hello.Servers == protocol.All {
		t.Servers, t.Majority = servers, hello.Servers == protocol.Majority
	}
	return t
}

// Can says whether the client knows an optional verb.
func (t Traits) Can(verb string) bool { return slices.Contains(t.Verbs, verb) }

// Lack says what a script needs that the lock or its client does not have, or "".
func (t Traits) Lack(script *scenarios.Script) string {
	if !t.Known {
		return ""
	}
	if script.Servers > 1 && t.Servers < 2 {
		return "the lock does not live on several servers"
	}
	for _, need := range script.Needs {
		if why := t.lackFor(need); why != "" {
			return why
		}
	}
	if work := script.Work(); work != history.Counter && !slices.Contains(t.Workloads, string(work)) {
		return LacksWork(work)
	}
	if len(script.Handles) > 0 && !t.Separate {
		return "the client does not keep the connections of its locks apart"
	}
	for _, step := range script.Steps {
		if t.Local && onServer(step.Verb) {
			return "nothing of the lock is on a server"
		}
		if verb := neededVerb(step); verb != "" && !slices.Contains(t.Verbs, verb) {
			return without[verb]
		}
		if what := t.unsent(step); what != "" {
			return fmt.Sprintf("its %v sends no %s", step.Op, what)
		}
	}
	return ""
}

// onServer says whether a verb does something to what lies on the server.
func onServer(verb scenarios.Verb) bool {
	switch verb {
	case scenarios.VerbServerJump, scenarios.VerbOperator, scenarios.VerbSave, scenarios.VerbRestartSaved, scenarios.VerbRestart:
		return true
	}
	return false
}

// unsent is what a step waits for an operation to send, if it never does, or "".
func (t Traits) unsent(step scenarios.Step) string {
	sent, known := t.Sends[step.Op]
	for _, trap := range step.Traps {
		named := trap.What.Kind == scenarios.MatchCommand
		if known && (len(sent) == 0 || named && !slices.Contains(sent, trap.What.Command)) {
			return trap.What.String()
		}
	}
	return ""
}

// LacksWork says that a client does not know a kind of work.
func LacksWork(work history.Workload) string {
	return fmt.Sprintf("the client does not know the work %q", work)
}

// without says what is missing where a client does not know an optional verb.
var without = map[string]string{
	protocol.Renew:     "the lock's user cannot renew it",
	protocol.Check:     "the lock cannot be asked whether it is still held",
	protocol.Skew:      "the client's clock cannot be set",
	protocol.Reconnect: "the client cannot be told to connect anew",
}

func (t Traits) lackFor(need scenarios.Need) string {
	switch {
	case need == scenarios.NeedsService && t.Local:
		return "the lock lives and dies with its client's process"
	case need == scenarios.NeedsMajority && !t.Majority:
		return "the lock is not content with a majority of several servers"
	case need == scenarios.NeedsLease && t.Leaseless:
		return "the lock has no lease"
	case need == scenarios.NeedsRenewal && !t.Renews:
		return "the lock does not renew itself"
	case need == scenarios.NeedsResend && !t.Resends:
		return "the client library sends nothing again by itself"
	case need == scenarios.NeedsNoResend && t.Resends:
		return "the client library sends commands again by itself"
	case need == scenarios.NeedsReentrance && !t.Reentrant:
		return "its holder cannot take the lock again"
	case need == scenarios.NeedsFairness && !t.Fair:
		return "the lock promises no order"
	case need == scenarios.NeedsCheck && !slices.Contains(t.Verbs, protocol.Check):
		return without[protocol.Check]
	case need == scenarios.NeedsRenew && !slices.Contains(t.Verbs, protocol.Renew):
		return without[protocol.Renew]
	}
	return ""
}

// neededVerb is the optional verb of the protocol that a step cannot do without.
func neededVerb(step scenarios.Step) string {
	switch step.Verb {
	case scenarios.VerbClock:
		return protocol.Skew
	case scenarios.VerbRestart, scenarios.VerbRestartSaved, scenarios.VerbRefuse, scenarios.VerbLoseReplies:
		return protocol.Reconnect // connections break, and the client must have noticed before the script goes on
	}
	switch step.Op {
	case history.OpRenew:
		return protocol.Renew
	case history.OpCheck:
		return protocol.Check
	}
	return ""
}
