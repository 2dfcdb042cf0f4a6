// Package service is what the models of lock services have in common: how they answer, and what their users may ask of any of them.
//
// It owns replies and messages as data. It must not know what a command does, nor which service it is for.
package service

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// Server is the model of one server. It is plain data: it knows neither a real clock nor chance. It is used by one goroutine.
type Server interface {
	// Do carries out a command that has come in on a connection, and returns its reply. A connection begins with its first command.
	Do(connection int, args ...string) Reply
	// Receive takes the oldest message that a connection has got unasked, if any.
	Receive(connection int) (Message, bool)
	// Close ends a connection.
	Close(connection int)
	// Now is the server's clock, and Advance lets time pass.
	Now() time.Duration
	Advance(d time.Duration)
	// State is what the server has under a key, without a command of any client.
	State(key string) history.State
	// Unknown is the first command, or part of one, that the model has met and does not know; empty: none. A real server may know it, so nothing
	// follows from the error that it was answered with.
	Unknown() string
}

// Message is what a connection gets unasked: what was published on a channel of Redis, or happened to a node of a ZooKeeper.
type Message struct{ Channel, Text string }

// Inbox has the messages that a connection has got and not taken, the oldest first.
type Inbox []Message

// Take takes the oldest message, if any.
func (i *Inbox) Take() (Message, bool) {
	if len(*i) == 0 {
		return Message{}, false
	}
	oldest := (*i)[0]
	*i = (*i)[1:]
	return oldest, true
}

// Append appends them, so that different ones have different texts.
func (i Inbox) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(i)))
	for _, m := range i {
		b = AppendText(AppendText(b, m.Channel), m.Text)
	}
	return b
}

// AppendText appends a text with its length.
func AppendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// AppendFlags appends a sign for each flag.
func AppendFlags(b []byte, flags ...bool) []byte {
	for _, f := range flags {
		if b = append(b, '-'); f {
			b[len(b)-1] = '+'
		}
	}
	return b
}

// Kind is the kind of a reply.
type Kind uint8

// The kinds of replies, those of RESP2.
const (
	Nil Kind = iota
	Status
	Error
	Integer
	Bulk
	Array
)

// Reply is a server's answer to a command. The zero Reply is nil.
type Reply struct {
	Kind Kind
	Text string // of a status, an error or a bulk string
	Int  int64
	List []Reply
}

// String writes the reply in one line: nil, OK, (error) …, 3, "text", [1 "a"].
func (r Reply) String() string {
	switch r.Kind {
	case Status:
		return r.Text
	case Error:
		return "(error) " + r.Text
	case Integer:
		return strconv.FormatInt(r.Int, 10)
	case Bulk:
		return strconv.Quote(r.Text)
	case Array:
		words := make([]string, len(r.List))
		for i, element := range r.List {
			words[i] = element.String()
		}
		return "[" + strings.Join(words, " ") + "]"
	}
	return "nil"
}

// Recorded writes the reply as histories record it: nil, OK, -ERR …, 3, text, [1 a].
func (r Reply) Recorded() string {
	switch r.Kind {
	case Error:
		return "-" + r.Text
	case Status, Bulk:
		return r.Text
	case Array:
		words := make([]string, len(r.List))
		for i, element := range r.List {
			words[i] = element.Recorded()
		}
		return "[" + strings.Join(words, " ") + "]"
	}
	return r.String()
}

// AppendReplies appends replies, so that different ones have different texts.
func AppendReplies(b []byte, replies []Reply) []byte {
	for _, r := range replies {
		b = append(strconv.AppendInt(append(b, '|'), int64(r.Kind), 10), ' ')
		b = append(b, r.String()...)
	}
	return append(b, '.')
}
