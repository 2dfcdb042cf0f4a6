// Package checker judges histories: history in, verdict out.
//
// It owns the definitions of the anomalies, each by one monitor over the facts of package timeline, and what a verdict is. Where
// calls overlap, porcupine is the second judge: it reads the history by itself, and the two must agree.
//
// It must not know a network, a clock, a lock's code or a scenario: a saved history is judged the same years later.
package checker

import (
	"slices"
	"strings"
	"time"
)

// Name is the name of an anomaly.
type Name string

// The anomalies.
const (
	DoubleHolder    Name = "double-holder"
	EarlyGrant      Name = "early-grant"
	WrongfulDelete  Name = "wrongful-delete"
	WrongfulRenew   Name = "wrongful-renew"
	Overwrite       Name = "overwrite"
	StaleWrite      Name = "stale-write"
	LostUpdate      Name = "lost-update"
	StuckLock       Name = "stuck-lock"
	GhostLock       Name = "ghost-lock"
	Unreleasable    Name = "unreleasable"
	HungOperation   Name = "hung-operation"
	MissedWakeup    Name = "missed-wakeup"
	FalseAlarm      Name = "false-alarm"
	FenceRegression Name = "fence-regression"
	Unfair          Name = "unfair"
	DeadGrant       Name = "dead-grant"
)

// UnmarshalText also reads names that anomalies had before.
func (n *Name) UnmarshalText(text []byte) error {
	*n = Named(string(text))
	return nil
}

// Named is the anomaly of that name, or of one that it had before.
func Named(name string) Name {
	if name == "no-return" {
		return HungOperation
	}
	return Name(name)
}

// Definition is an anomaly and what it means, in one line.
type Definition struct {
	Name    Name
	Meaning string
}

// Definitions lists every anomaly that the checker knows, in the order in which reports show them.
func Definitions() []Definition {
	return []Definition{
		{DoubleHolder, "two clients held the lock at the same time"},
		{EarlyGrant, "the service granted the lock before the holder's lease had ended"},
		{WrongfulDelete, "a client's command removed another client's lock"},
		{WrongfulRenew, "a client's command prolonged another client's lock"},
		{Overwrite, "a client's command overwrote another client's live lock"},
		{StaleWrite, "a write was accepted from a client that no longer held the lock"},
		{LostUpdate, "an acknowledged update is missing at the end"},
		{StuckLock, "nobody holds the lock, and nobody can acquire it in time"},
		{GhostLock, "the service holds the lock for a client that does not know it"},
		{Unreleasable, "the owner's release leaves its own lock in place"},
		{HungOperation, "an operation missed its deadline, and only the lock delayed it"},
		{MissedWakeup, "a waiter did not take a free lock within its bound, though nothing hindered it"},
		{FalseAlarm, "the lock reported a loss that had not happened"},
		{FenceRegression, "a later grant got a smaller fencing token"},
		{Unfair, "a lock that promises order granted out of order"},
		{DeadGrant, "an acquire was answered ok with a validity that was over, as the lock could know"},
	}
}

// Anomaly is one way in which a lock failed in a history.
type Anomaly struct {
	Name    Name          `json:"name"`
	Lock    string        `json:"lock"`
	Clients []string      `json:"clients"` // who did it first, then whom it hit
	At      time.Duration `json:"at_ns"`   // since the start of the cell
	// Why tells who, which command or operation, and when, in one or two sentences.
	Why string `json:"why"`
	// Command is the word for the command that did it, of the anomalies that one command makes.
	Command string `json:"command,omitempty"`
	// Events are the indexes in the history of the events that show it, in order.
	Events []int `json:"events"`
	// Beyond says, of a storm only, what befell the clients that the lock does not promise to survive. It is empty where nothing
	// excuses the lock.
	Beyond string `json:"beyond,omitempty"`
	// Breaks is the promise that it breaks, in the word of the client protocol, where the lock is judged by its promises. It is empty also where
	// nothing excuses the lock, but no promise is about it.
	Breaks string `json:"breaks,omitempty"`
}

// Kind is the kind of a verdict.
type Kind string

// The kinds of verdicts.
const (
	Safe          Kind = "safe"
	Broken        Kind = "broken"
	Undecided     Kind = "unknown"
	NotApplicable Kind = "n/a"
)

// Verdict is what came out of a cell: safe, a list of anomalies, unknown, or n/a with a reason.
type Verdict struct {
	Kind      Kind      `json:"kind"`
	Anomalies []Anomaly `json:"anomalies,omitempty"` // in order of time, in a storm those that break a promise first; several may share a name
	Reason    string    `json:"reason,omitempty"`    // of unknown and n/a
	// CheckerFault: the two judges disagreed, so the lab's own checker is at fault; the kind is then unknown.
	CheckerFault bool `json:"checker_fault,omitempty"`
}

// Names are the distinct anomalies of the verdict in the order of Definitions.
func (v Verdict) Names() []Name {
	if len(v.Anomalies) == 0 {
		return nil
	}
	var names []Name
	for _, d := range Definitions() {
		if slices.ContainsFunc(v.Anomalies, func(a Anomaly) bool { return a.Name == d.Name }) {
			names = append(names, d.Name)
		}
	}
	return names
}

// String is the verdict in one line, as the matrix writes it: "safe", "double-holder, lost-update", "n/a: …".
func (v Verdict) String() string {
	if v.Kind != Broken {
		if v.Reason == "" {
			return string(v.Kind)
		}
		return string(v.Kind) + ": " + v.Reason
	}
	words := make([]string, 0, len(v.Anomalies))
	for _, name := range v.Names() {
		words = append(words, string(name))
	}
	return strings.Join(words, ", ")
}

// Same says whether two verdicts are of one kind and name the same anomalies. Reasons and wording do not count.
func (v Verdict) Same(w Verdict) bool {
	return v.Kind == w.Kind && slices.Equal(v.Names(), w.Names())
}

// BreaksPromise says whether one of the anomalies is the lock's own doing: nothing that befell it excuses it.
func (v Verdict) BreaksPromise() bool {
	return slices.ContainsFunc(v.Anomalies, func(a Anomaly) bool { return a.Beyond == "" })
}
