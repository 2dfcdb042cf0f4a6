// Package history is the record of a run: operations with call and return, the commands that reached a server, faults, and what the lab
// itself observed.
//
// It owns the types of events, which every other package shares, their JSON Lines codec, and what a command did to a key by the states
// around it. It must not know what an event means for a lock: that is package timeline's.
package history

import "time"

// Version is the schema version that the header of a history carries. A reader refuses any other.
const Version = 1

// Kind says what an event records.
type Kind uint8

// The kinds of events. Which fields of an Event a kind uses is said beside it.
const (
	// KindOpen: Client opened Lock. Detail: Lease, Leaseless, Local, Reentrant, Fair, Servers; Work, with the data as the lab left
	// it, where the work is no Counter.
	KindOpen Kind = iota + 1
	// KindCall: the lab is about to ask Client for operation Op with number ID on Lock. Detail (optional): Bound.
	KindCall
	// KindReturn: the lab has the answer to operation ID: Outcome, and Valid or Fence where the lock declares them.
	// Detail (optional): Error, GaveUp; for OpWork Read and Wrote, or as Text what was done, in the client's words.
	KindReturn
	// KindLost: Client's lock announced that it is no longer held. Detail: Why.
	KindLost
	// KindValid: Client's lock declared in the background (a renewal) that its hold is good for Valid from now.
	KindValid
	// KindExit: Client has ended: its process, whatever the reason, or the one thread in it that used the lock. Its holds end with
	// it. Detail: Why.
	KindExit
	// KindCommand: a command of Client went through to a server. ID and Op are the operation in whose time the command
	// arrived at the tap, zero where that is not certain. Detail: Command.
	KindCommand
	// KindFault: a fault was injected, seen to have taken effect, or taken back. Detail: Fault.
	KindFault
	// KindStep: the script reached a line. Detail: Line, Text.
	KindStep
	// KindFinal: the lab itself read what Lock protects after everything had ended. Detail: Value; Work, with all the data, where
	// the work is no Counter.
	KindFinal
	// KindEnd: how the script ended. A history without it was cut short. Detail: Text is one of the Ended constants, Why the
	// reason where there is one.
	KindEnd
)

// How a script can have ended: what Detail.Text of a KindEnd says.
const (
	EndedComplete = "complete" // every step was carried out and every premise was seen
	EndedNA       = "n/a"      // the script does not apply to this lock, client or server
	EndedPremise  = "premise"  // a step did not come to what must be seen, though nothing had stalled
	EndedStalled  = "stalled"  // a host stall was so long that a lease may have ended which should not have
	EndedUnknown  = "unknown"  // the client misbehaved, or the time of the cell was over
	EndedFailed   = "failed"   // the lab or a server failed
)

// ValidityExpired is the Valid of a hold that was declared to be over: of a KindValid or of an answer to renew it ends the hold, and an
// acquire that is answered with it begins none. Zero would mean that nothing was declared.
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

// Event is one entry of a history. A history is in the order in which the lab came to know its events, and At never
// decreases along it. The struct is kept small: a history of a million operations is judged in memory.
type Event struct {
	// At is the time since the start of the run, on the lab's monotonic clock.
	At time.Duration
	// ID numbers the operations of a history from 1; call and return share it.
	ID int64
	// Client is the client's name in the script ("C1"); empty where the lab itself acted. A further lock object in the same process
	// is a client of its own ("C1.b", see ProcessOf), but for faults, which name the process where they hit all of it.
	Client string
	// Lock is the key of the lock that the event is about.
	Lock string
	// Valid is the remaining time for which a lock declared its hold to be good; zero where it declares none, ValidityExpired where it
	// declares that none is left.
	Valid time.Duration
	// Fence is the fencing number handed out with a grant; zero where the lock has none.
	Fence int64
	// Detail holds what only some kinds need; nil otherwise.
	Detail  *Detail
	Kind    Kind
	Op      Op
	Outcome Outcome
}

// Command is the command that the event records; nil if it records none.
func (e *Event) Command() *Command {
	if e.Kind != KindCommand || e.Detail == nil {
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

// Detail holds the rarer facts about an event. The comments of the kinds say who uses what.
type Detail struct {
	Lease     time.Duration // time after which the service frees the lock by itself
	Leaseless bool          // the lock has no lease at all: it is freed by its release only
	Servers   int           // on how many servers the lock lives, by majority; zero: on one
	Local     bool          // the lock lies in its client's own memory: nothing of it reaches a server
	Reentrant bool          // its holder can take the lock again, and has it until as many releases
	Fair      bool          // the lock promises those who wait to be served in the order of asking
	GaveUp    bool          // the operation was cancelled by order of the script: the client gave up
	Bound     time.Duration // an acquire that tries again for so long; zero: one try
	Error     string        // what went wrong, in the client's words
	Why       string
	Read      int64 // OpWork: the value read under the lock
	Wrote     int64 // OpWork: the value written back
	Value     int64 // KindFinal: the value found
	Line      int   // KindStep: line number in the script
	Text      string
	Command   *Command
	Fault     *Fault
	Work      *Work
}

// Resource is the name of the server that has what locks protect.
const Resource = "resource"

// Command is a command as the tap saw it pass.
type Command struct {
	// Server is the tap's name for the server ("redis"; "S1", "S2" … where there are several; Resource).
	Server string
	// Conn numbers the connections of a run.
	Conn int64
	// Args are the command and its arguments as sent; long ones are clipped and end in "…".
	Args []string
	// Reply is the server's answer in one line, clipped likewise; empty if the connection ended first.
	Reply string
	// Sent is the time since the start of the run at which the command was let through; Event.At is when its reply was
	// complete.
	Sent time.Duration
	// Asked is the time that passed between the two state probes, from the moment before the first was sent to the moment
	// after the second was answered; zero if none were asked.
	Asked time.Duration
	// Late: the operation had already returned (or its client was gone) when the command was let through.
	Late bool
	// Again: the tap let this request through a second time (a duplicate).
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

// State is what the server answered about a key. The zero State is an absent key.
type State struct {
	// Type is Redis's name for the type of the value ("string", "hash" …); empty if the key is absent.
	Type string
	// Value is the value: of a string the string itself (clipped), of anything else a canonical rendering.
	Value string
	// TTL is the remaining time; zero if the key has no expiry.
	TTL time.Duration
}

// Exists says whether the key was there.
func (s State) Exists() bool { return s.Type != "" }

// Phase says which moment of a fault's life an event records.
type Phase string

// The phases of a fault. A fault counts only after its PhaseEffective.
const (
	PhaseInject    Phase = "inject"
	PhaseEffective Phase = "effective"
	PhaseRecover   Phase = "recover"
)

// Fault is a disturbance that the lab caused.
type Fault struct {
	// Name is a kind of the catalogue in package faults. A stall, which the lab has measured and not caused, has the Target "machine", and in
	// Detail.Value when it began (nanoseconds since the start of the run), in Detail.Bound how long it lasted.
	Name   string
	Target string // the client or server that it hits
	Phase  Phase
	What   string // details for people: "requests and replies", "+2s", how the effect was seen
}
