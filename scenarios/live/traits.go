package live

import (
	"slices"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/worker/protocol"
)

// Traits are what a script may need of a lock and of its client.
type Traits struct {
	Known     bool // false: the client will say
	Local     bool // the lock lives in its client's process
	Leaseless bool
	Renews    bool
	Resends   bool
	Verbs     []string // the optional verbs of the protocol that the client knows
}

// SubjectOf is a lock that comes with the lab, run by worker (the command that runs a client process).
func SubjectOf(spec impls.Spec, worker []string) Subject {
	traits := Traits{
		Known: true, Local: spec.Needs == impls.NoServer, Leaseless: spec.Leaseless, Renews: spec.Renews, Resends: spec.Resends,
		Verbs: []string{protocol.Skew, protocol.Reconnect},
	}
	if spec.CanRenew() {
		traits.Verbs = append(traits.Verbs, protocol.Renew)
	}
	if spec.CanCheck() {
		traits.Verbs = append(traits.Verbs, protocol.Check)
	}
	return Subject{Name: spec.Name, Argv: worker, Traits: traits}
}

// traitsOf is what a client says of itself.
func traitsOf(hello protocol.Hello) Traits {
	return Traits{Known: true, Leaseless: hello.Leaseless, Renews: hello.Renews, Resends: hello.Resends, Verbs: hello.Verbs}
}

// lack says what a script needs that the lock or its client does not have, or "".
func (t Traits) lack(script *scenarios.Script) string {
	if !t.Known {
		return ""
	}
	for _, need := range script.Needs {
		if why := t.lackFor(need); why != "" {
			return why
		}
	}
	for _, step := range script.Steps {
		if t.Local && (step.Verb == scenarios.VerbServerJump || step.Verb == scenarios.VerbRestart) {
			return "nothing of the lock is on a server"
		}
		if verb := neededVerb(step); verb != "" && !slices.Contains(t.Verbs, verb) {
			return without[verb]
		}
	}
	return ""
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
	case need == scenarios.NeedsLease && t.Leaseless:
		return "the lock has no lease"
	case need == scenarios.NeedsRenewal && !t.Renews:
		return "the lock does not renew itself"
	case need == scenarios.NeedsResend && !t.Resends:
		return "the client library sends nothing again by itself"
	case need == scenarios.NeedsNoResend && t.Resends:
		return "the client library sends commands again by itself"
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
	case scenarios.VerbRestart, scenarios.VerbRefuse, scenarios.VerbLoseReplies:
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
