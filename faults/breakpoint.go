package faults

import (
	"fmt"
	"strconv"
	"strings"
)

// Breakpoint names one of the requests that an operation sends, and what happens to it.
type Breakpoint struct {
	Action Action
	Nth    int // of the requests that Match counts, from 1
	Match  Match
	Server string // by name; empty: any, and all are counted together
	Ends   bool   // of ActDropReply: the connection ends with the reply, for a client that would wait on
}

// Action is what happens at a breakpoint.
type Action uint8

// The actions.
const (
	// ActHoldRequest holds the request until it is released. It is delivered even if its client has died meanwhile.
	ActHoldRequest Action = iota + 1
	// ActHoldReply lets the request through and holds the reply, and everything behind it on that connection.
	ActHoldReply
	// ActDropReply lets the request through and loses the reply, and with it everything that follows to the client on that connection:
	// a TCP link cannot lose bytes in the middle.
	ActDropReply
	// ActDuplicate lets the request through twice in a row. The client gets the first reply, once the server has answered both.
	ActDuplicate
	// ActHoldCopy lets the request through, and a copy of it once that is released, on a connection of its own. The second reply is dropped.
	ActHoldCopy
)

// Kind is the fault under which histories record the action.
func (a Action) Kind() Kind {
	return [...]Kind{"", HoldRequest, HoldReply, ReplyLost, Duplicate, HoldCopy}[a]
}

// Words is the action as scripts write it: "hold before".
func (a Action) Words() string {
	if a == ActDropReply { // of one request, where "lose replies" is about a link
		return "drop reply of"
	}
	return a.Kind().Of().Begins
}

// Stops says whether the operation cannot go on until the request or reply is released.
func (a Action) Stops() bool { return a == ActHoldRequest || a == ActHoldReply }

// Actions lists the actions.
func Actions() []Action {
	return []Action{ActHoldRequest, ActHoldReply, ActDropReply, ActDuplicate, ActHoldCopy}
}

// Match says which requests a breakpoint counts. Only requests that name a watched key count: the lock's, or a key of the workload's data.
type Match struct {
	Kind    MatchKind
	Command string // in upper case, of MatchCommand; EVAL and EVALSHA mean either
}

// MatchKind is the kind of a Match.
type MatchKind uint8

// The kinds. What is queued in a transaction neither writes nor removes; its EXEC may. Scripts, and commands that the lab does not know,
// may do both.
const (
	MatchAny MatchKind = iota + 1
	MatchWrite
	MatchRemoval
	MatchCommand
)

// String is the match as scripts write it: "write", "DEL".
func (m Match) String() string {
	if m.Kind == MatchCommand {
		return m.Command
	}
	return [...]string{"", "request", "write", "removal"}[m.Kind]
}

// Ordinals are the words for the first requests, in order.
func Ordinals() []string {
	return []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"}
}

// String is the breakpoint as scripts write it: "hold before first DEL on S2".
func (b Breakpoint) String() string {
	nth := strconv.Itoa(b.Nth)
	if b.Nth >= 1 && b.Nth <= len(Ordinals()) {
		nth = Ordinals()[b.Nth-1]
	}
	text := strings.Join([]string{b.Action.Words(), nth, b.Match.String()}, " ")
	if b.Server != "" {
		text += " on " + b.Server
	}
	return text
}

// Request is the request that the breakpoint is about, in words: "a DEL", "an EVAL number 2".
func (b Breakpoint) Request() string {
	what := b.Match.String()
	article := "a "
	if strings.ContainsAny(what[:1], "AEIO") {
		article = "an "
	}
	if b.Nth > 1 {
		return fmt.Sprintf("%s%s number %d", article, what, b.Nth)
	}
	return article + what
}
