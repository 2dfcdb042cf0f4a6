// Package history is the record of a run: operations with invocation and response, the commands that reached a server, faults, and the
// lab's own observations.
//
// It owns the types of events, their JSON Lines codec, and the effect of a command on a key by the states around it. It must not know what
// an event means for a lock, which package timeline owns.
package history

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Version is the schema version that the header of a history carries. A reader refuses any other.
const Version = 1

// Kind says what an event records.
type Kind uint8

// The kinds of events, with the fields of an Event that each uses.
const (
	// KindOpen: Client opened Lock. Detail: Contract, Lease, Session, Unseen, Servers; Work, with the initial data, unless the work
	// is a Counter.
	KindOpen Kind = iota + 1
	// KindCall: the lab is about to ask Client for operation Op with number ID on Lock. Detail (optional): Bound.
	KindCall
	// KindReturn: the lab has the answer to operation ID: Outcome, and Valid or Fence where the lock declares them.
	// Detail (optional): Error, GaveUp; for OpWork Read and Wrote.
	KindReturn
	// KindLost: Client's lock announced that it is lost; ID is the acquire that began the hold in question, zero if it did not say. Detail: Why.
	KindLost
	// KindValid: Client's lock declared in the background (a renewal) that its hold is valid for Valid from now.
	KindValid
	// KindExit: Client's process, or the thread in it that used the lock, has ended, and its holds with it. Detail: Why.
	KindExit
	// KindCommand: a server answered a command of Client. ID and Op are the operation during which the command arrived at the tap, zero if
	// that is uncertain. Detail: Command.
	KindCommand
	// KindFault: a fault was injected, was observed to take effect, or ended. Detail: Fault.
	KindFault
	// KindStep: the script reached a line. Detail: Line, Text; Why, if the step was skipped.
	KindStep
	// KindFinal: the lab read the data that Lock protects after the script. Detail: Value; Work, with all the data, unless the work is a
	// Counter.
	KindFinal
	// KindEnd: how the script ended. A history without it was cut short. Detail: Text is one of the Ended constants, Why the reason, if any.
	KindEnd
)

// The ways in which a script ends, in Detail.Text of a KindEnd.
const (
	EndedComplete = "complete" // every step was carried out, and every precondition observed
	EndedNA       = "n/a"      // the script does not apply to this lock, client or server
	EndedLacks    = "lacks"    // the same, because the lock, its client or the servers lack what the script needs
	EndedPremise  = "premise"  // a precondition was not observed, without a host stall
	EndedStalled  = "stalled"  // a host stall may have ended a lease too early
	EndedUnknown  = "unknown"  // the client misbehaved, or the time of the cell was over
	EndedFailed   = "failed"   // the lab or a server failed
	// EndedInterrupted: whoever ran the cell ended it early, by a signal or a time limit.
	EndedInterrupted = "interrupted"
)

// ValidityExpired is the Valid of a hold that the lock declared to be over: in a KindValid or an answer to renew it ends the hold, and an
// acquire answered with it begins none. Zero would mean that nothing was declared.
const ValidityExpired = time.Nanosecond

// Op is an operation on a lock, or the work under it.
type Op uint8

// The operations of a client.
const (
	OpNone Op = iota
	OpAcquire
	OpRelease
	OpRenew
	OpCheck
	OpWork
)

// Outcome is the three-valued answer to an operation.
type Outcome uint8

// The outcomes. A time-out or a lost reply is always Unknown; No means definitely not.
const (
	OutcomeNone Outcome = iota
	OK
	No
	Unknown
)

// Event is one entry of a history. A history is in the order in which the lab observed its events, and At never decreases along it. The
// struct is small because a history of a million operations is judged in memory.
type Event struct {
	// At is the time since the start of the cell, on the lab's monotonic clock.
	At time.Duration
	// ID numbers the operations of a history from 1; call and return share it.
	ID int64
	// Client is the client's name in the script ("C1"); empty if the lab acted. A further handle in the same process is a client of its
	// own ("C1.b/2", see ProcessOf), except in faults that hit the whole process.
	Client string
	// Lock is the key of the lock that the event is about.
	Lock string
	// Valid is the remaining validity that a lock declared for its hold; zero if it declares none, ValidityExpired if the hold is over.
	Valid time.Duration
	// Fence is the fencing token of a grant; zero if the lock has none.
	Fence int64
	// Detail holds the rarer fields; nil if there are none, or if it is a command that was read from a file: see Command.
	Detail  *Detail
	Kind    Kind
	Op      Op
	Outcome Outcome
	// Where the command of an event that was read from a file lies; its Detail is then nil.
	at uint32
	in *pack
}

// Command is the command that the event records; nil if it records none. It is the caller's own copy where the event was read from a file.
func (e *Event) Command() *Command {
	if e.in != nil {
		return e.in.command(e.at, new(Room))
	}
	return e.CommandIn(nil)
}

// CommandIn is Command for those who look at one command after the other: it may lie in room, and is then good until room is used again.
func (e *Event) CommandIn(room *Room) *Command {
	switch {
	case e.Kind != KindCommand:
		return nil
	case e.in != nil:
		return e.in.command(e.at, room)
	case e.Detail == nil:
		return nil
	}
	return e.Detail.Command
}

// Fault is the fault that the event records; nil if it records none.
func (e *Event) Fault() *Fault {
	if e.Kind != KindFault || e.Detail == nil {
		return nil
	}
	return e.Detail.Fault
}

// Detail holds the rarer facts about an event. The comments of the kinds say which fields each uses.
type Detail struct {
	Contract
	Lease   time.Duration // time after which the server frees the lock
	Session bool          // it lasts as long as its client's session, whose time-out is Lease; the end of that is a command on record
	Servers int           // number of lock servers, or of the lock's keys on one: see Part; zero: one
	Need    int           // on how many of them a client must have the lock; zero: on a majority
	Unseen  Unseen        // why no command of the lock is on record; zero: they are
	GaveUp  bool          // the script cancelled the operation
	Bound   time.Duration // how long an acquire retries; zero: one try
	Error   string        // what went wrong, in the client's words
	Why     string
	Read    int64 // OpWork: the value read under the lock
	Wrote   int64 // OpWork: the value written back
	Value   int64 // KindFinal: the value found
	Line    int   // KindStep: line number in the script
	Text    string
	Command *Command
	Fault   *Fault
	Work    *Work
}

// Contract is what a lock declares of itself, and is judged by: its card and its client's hello have it, and each history's open.
type Contract struct {
	Leaseless bool `json:"leaseless,omitempty"` // it has no lease, neither the server's nor one that contenders judge: only a release frees it
	Permits   int  `json:"permits,omitempty"`   // how many clients may hold it at a time, that of a semaphore; zero: one
	Renews    bool `json:"renews,omitempty"`    // it prolongs its lease in the background while it is held
	Reentrant bool `json:"reentrant,omitempty"` // its holder can acquire it again, and holds it until as many releases
	Fair      bool `json:"fair,omitempty"`      // it promises grants in the order of asking
	// EndsWithConnection: the server frees it when its client's connection ends.
	EndsWithConnection bool `json:"ends_with_connection,omitempty"`
}

// Unseen says why no command of a lock is on record.
type Unseen uint8

// The reasons.
const (
	Local  Unseen = iota + 1 // the lock is in its client's memory and has no state on a server
	Opaque                   // what clients send to the lock's server is not read
)

// UnseenIf is a reason, if it holds.
func UnseenIf(holds bool, why Unseen) Unseen {
	if holds {
		return why
	}
	return 0
}

// OldPrimary is the name of a server that another one has replaced, and that still answers the clients on its side of a partition. What
// commands do there says nothing about the lock.
const OldPrimary = "old-primary"

// Resource is the name of the server with the data that locks protect.
const Resource = "resource"

// Part is the name of the nth of several keys, from 1, that a lock has on one server. Each counts as a server of the lock. A command that names
// several of them is listed once for each.
func Part(server string, n int) string { return server + partMark + strconv.Itoa(n) }

// ServerOf is the server of a part, or the server itself.
func ServerOf(part string) string {
	server, _, _ := strings.Cut(part, partMark)
	return server
}

const partMark = "/"

// Command is a command as the tap saw it pass.
type Command struct {
	// Server is the tap's name for the server ("redis"; "S1", "S2" … where there are several; Resource; OldPrimary), with the number of the key
	// behind it if the lock has several there: see Part.
	Server string
	// Conn numbers the connections of a run.
	Conn int64
	// Args are the command and its arguments as sent; long ones are clipped and end in "…".
	Args []string
	// Reply is the server's reply in one line, clipped likewise; empty if the connection ended first.
	Reply string
	// Sent is the time since the start of the cell at which the command was let through; Event.At is when its reply was
	// complete.
	Sent time.Duration
	// Asked is the time that passed between the two state probes, from the moment before the first was sent to the moment
	// after the second was answered; zero if none were asked.
	Asked time.Duration
	// Late: the operation had already returned (or its client was gone) when the command was let through.
	Late bool
	// Again: this is the duplicate of a request.
	Again bool
	// ReplyDropped: the client never got this reply.
	ReplyDropped bool
	// Changes holds one entry for each watched key that the command names; empty without state probes.
	Changes []Change
}

// Change is the state of one key before and after a command.
type Change struct {
	Key           string
	Before, After State
}

// State is the state of a key. The zero State is an absent key.
type State struct {
	// Type is Redis's name for the type of the value ("string", "hash" …); empty if the key is absent.
	Type string
	// Value is a string itself (clipped), or a canonical rendering of any other type.
	Value string
	// TTL is the remaining time; zero if the key has no expiry.
	TTL time.Duration
}

// Exists says whether the key was there.
func (s State) Exists() bool { return s.Type != "" }

// Phase is the phase of a fault that an event records.
type Phase string

// The phases of a fault. A fault counts only after its PhaseEffective.
const (
	PhaseInject    Phase = "inject"
	PhaseEffective Phase = "effective"
	// PhaseEnding: its end was ordered. What it kept from a client arrives between then and PhaseRecover. Faults that end at once lack it.
	PhaseEnding  Phase = "ending"
	PhaseRecover Phase = "recover"
)

// Fault is a phase of a fault.
type Fault struct {
	// Name is a kind of the catalogue in package faults. A host stall, which the lab measures and does not cause, has the Target "machine";
	// Detail.Value is its begin (nanoseconds since the start of the cell), Detail.Bound its length.
	Name   string
	Target string // the client or server that it hits
	Phase  Phase
	What   string // details for people: "requests and replies", "+2s", how the effect was observed
}

// ByServer says whether a ZooKeeper did this by itself, for the client that it is on record for: a session has ended, or a node has become the first.
func (c *Command) ByServer() bool {
	return len(c.Args) > 0 && (c.Args[0] == "EXPIRED" || c.Args[0] == "FIRST")
}

// Redirected says whether a node of a cluster has sent the client to another one, or has told it to try again, since it has only some of the
// keys. The command was not carried out, and says nothing of the lock.
func (c *Command) Redirected() bool {
	sentOn := func(code string) bool { return strings.HasPrefix(c.Reply, code) }
	return len(c.Changes) == 0 && slices.ContainsFunc([]string{"-MOVED ", "-ASK ", "-TRYAGAIN "}, sentOn)
}

// Failed says whether the server answered with an error. A negative number begins like one.
func (c *Command) Failed() bool {
	return len(c.Reply) > 1 && c.Reply[0] == '-' && (c.Reply[1] < '0' || c.Reply[1] > '9')
}
