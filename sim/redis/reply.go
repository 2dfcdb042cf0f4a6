package redis

import (
	"fmt"
	"strconv"
	"strings"
)

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

func status(text string) Reply { return Reply{Kind: Status, Text: text} }

func failure(text string) Reply { return Reply{Kind: Error, Text: text} }

func integer(n int64) Reply { return Reply{Kind: Integer, Int: n} }

func bulk(text string) Reply { return Reply{Kind: Bulk, Text: text} }

func array(list []Reply) Reply { return Reply{Kind: Array, List: list} }

func yesNo(yes bool) Reply {
	if yes {
		return integer(1)
	}
	return integer(0)
}

func bulks(texts []string) Reply {
	list := make([]Reply, len(texts))
	for i, text := range texts {
		list[i] = bulk(text)
	}
	return array(list)
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

// The errors that several commands answer, in the words of Redis 7.0.
func wrongType() Reply {
	return failure("WRONGTYPE Operation against a key holding the wrong kind of value")
}

func wrongCount(command string) Reply {
	return failure(fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(command)))
}

func notAnInteger() Reply { return failure("ERR value is not an integer or out of range") }

func badExpiry(command string) Reply {
	return failure(fmt.Sprintf("ERR invalid expire time in '%s' command", strings.ToLower(command)))
}
