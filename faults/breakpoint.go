package faults

import (
	"fmt"
	"strconv"
	"strings"
)

// Breakpoint is a place in an operation, by one of the requests that it sends, and what happens there.
type Breakpoint struct {
	Action Action
	Nth    int // of the requests that Match counts, from 1
	Match  Match
	Server string // by name; empty: any, and all are counted together
}

// Action is what happens at a breakpoint.
type Action uint8

// The actions.
const (
	// ActHoldRequest keeps the request back until it is let go; it is delivered even if its client has gone meanwhile.
	ActHoldRequest Action = iota + 1
	// ActHoldReply lets the request through and keeps the reply back, and with it everything behind it on that connection.
	ActHoldReply
	// ActDropReply lets the request through and loses the reply, and with it everything that follows to the client on that connection:
	// a TCP link cannot lose bytes in the middle.
	ActDropReply
	// ActDuplicate lets the request through twice in a row. The client gets the first reply, once the server has answered both.
	ActDuplicate
	// ActHoldCopy lets the request through, and a copy of it when that is let go, on a connection of its own. Nobody gets the second reply.
	ActHoldCopy
)

// Kind is the fault that the action is recorded as.
func (a Action) Kind() Kind {
	return [...]Kind{"", HoldRequest, HoldReply, ReplyLost, Duplicate, HoldCopy}[a]
}

// Words is how scripts write the action: "hold before".
func (a Action) Words() string {
	if a == ActDropReply { // of one request, where "lose replies" is about a link
		return "drop reply of"
	}
	return a.Kind().Of().Begins
}

// Stops says whether the action keeps what it meets until it is let go, and the operation with it.
func (a Action) Stops() bool { return a == ActHoldRequest || a == ActHoldReply }

// Actions lists the actions.
func Actions() []Action {
	return []Action{ActHoldRequest, ActHoldReply, ActDropReply, ActDuplicate, ActHoldCopy}
}

// Match says which requests a breakpoint counts. Only requests that name a watched key count: the lock's, or that of the data for work.
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
