package cells

import (
	"fmt"
	"strings"
	"time"

	"github.com/locklab/locklab/faults/commands"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// The names of the faults in a history that are neither a link's nor a breakpoint's.
const (
	FaultPause   = "pause"
	FaultCrash   = "crash"
	FaultThread  = "thread-death"
	FaultSkew    = "skew"
	FaultJump    = "clock-jump"
	FaultRestart = "restart"
	FaultLimit   = "operator"
)

// TrapFault is the name of what a breakpoint does.
func TrapFault(do scenarios.Action) string {
	switch do {
	case scenarios.HoldRequest:
		return "hold"
	case scenarios.HoldReply:
		return "hold-reply"
	case scenarios.DropReply:
		return "reply-lost"
	case scenarios.HoldCopy:
		return "hold-copy"
	}
	return "duplicate"
}

// ResultOf is what a step came to whose operation had the outcome.
func ResultOf(outcome history.Outcome) scenarios.Result {
	switch outcome {
	case history.OK:
		return scenarios.ResultOK
	case history.No:
		return scenarios.ResultNo
	}
	return scenarios.ResultUnknown
}

// Describe is a breakpoint in a sentence: "a DEL", "an EVAL number 2".
func Describe(trap scenarios.Trap) string {
	what := trap.What.String()
	article := "a "
	if strings.ContainsAny(what[:1], "AEIO") {
		article = "an "
	}
	if trap.Nth > 1 {
		return fmt.Sprintf("%s%s number %d", article, what, trap.Nth)
	}
	return article + what
}

// Opened records that a client has opened its lock, and what the work under it is done to.
func Opened(client, lock string, lease time.Duration, traits Traits, servers int, work *history.Work) history.Event {
	if servers < 2 {
		servers = 0
	}
	return history.Event{
		Kind: history.KindOpen, Client: client, Lock: lock,
		Detail: &history.Detail{
			Lease: lease, Leaseless: traits.Leaseless, Local: traits.Local, Work: work, Servers: servers,
			Reentrant: traits.Reentrant, Fair: traits.Fair,
		},
	}
}

// Called records that an operation is asked for, which tries again for so long; zero: once.
func Called(client, lock string, op history.Op, id int64, bound time.Duration) history.Event {
	e := history.Event{Kind: history.KindCall, Client: client, Lock: lock, Op: op, ID: id}
	if bound > 0 {
		e.Detail = &history.Detail{Bound: bound}
	}
	return e
}

// Declared is a validity as a history has it: there zero means that none was declared.
func Declared(d time.Duration) time.Duration { return max(d, history.Over) }

// MatchOf is which requests a breakpoint of a script counts.
func MatchOf(m scenarios.Match) commands.Match {
	kinds := map[scenarios.MatchKind]commands.MatchKind{
		scenarios.MatchAny:     commands.MatchAny,
		scenarios.MatchWrite:   commands.MatchWrite,
		scenarios.MatchRemoval: commands.MatchRemoval,
		scenarios.MatchCommand: commands.MatchCommand,
	}
	return commands.Match{Kind: kinds[m.Kind], Command: m.Command}
}

// ThreadDied is why a client ends whose thread has died.
const ThreadDied = "the thread that used the lock has died; its process lives on"

// Answer is what a client says that an operation came to.
type Answer struct {
	Outcome history.Outcome
	Error   string
	Valid   *time.Duration // nil: none is declared
	Fence   int64
	Read    *int64
	Wrote   *int64
	Did     string
}

// Returned records the answer to an operation; gaveUp: the client was to give it up, or has by itself.
func Returned(client, lock string, op history.Op, id int64, answer Answer, gaveUp bool) history.Event {
	e := history.Event{
		Kind: history.KindReturn, Client: client, Lock: lock, Op: op, ID: id, Outcome: answer.Outcome, Fence: answer.Fence,
	}
	detail := history.Detail{Error: answer.Error, GaveUp: gaveUp, Text: answer.Did}
	if answer.Valid != nil {
		e.Valid = Declared(*answer.Valid)
	}
	if answer.Read != nil {
		detail.Read = *answer.Read
	}
	if answer.Wrote != nil {
		detail.Wrote = *answer.Wrote
	}
	if detail != (history.Detail{}) {
		e.Detail = &detail
	}
	return e
}
