// Package resp reads the Redis protocol, RESP2 and RESP3, from untrusted peers. It returns whole messages byte for byte, and allocates
// memory only for bytes that have arrived, not for announced sizes.
//
// It owns the framing and its limits. It must not know what a command does.
package resp

import "fmt"

// Limits bound what one message may hold. A zero field means its default.
type Limits struct {
	Bulk      int // bytes of one string; default 512 MiB, as in Redis
	Elements  int // elements of one reply, those of its elements included; default 100,000
	Arguments int // of one request, its name included; default 10,000
	Depth     int // levels of nesting; default 64
	Line      int // bytes of a line: a simple string, an error; default 1 MiB
	Message   int // bytes of a whole message; default 1 GiB
	// Held bounds what all Readers hold that share it; nil: nothing does.
	Held *Budget
}

func (l Limits) withDefaults() Limits {
	l.Bulk = orDefault(l.Bulk, 512<<20)
	l.Elements = orDefault(l.Elements, 100_000)
	l.Arguments = orDefault(l.Arguments, 10_000)
	l.Depth = orDefault(l.Depth, 64)
	l.Line = orDefault(l.Line, 1<<20)
	l.Message = orDefault(l.Message, 1<<30)
	return l
}

func orDefault(n, fallback int) int {
	if n > 0 {
		return n
	}
	return fallback
}

// LimitError says that a message is larger than the limits allow. The rest of the stream is unreadable.
type LimitError struct {
	What  string // what is too large: "string of 1099511627776 bytes"
	Limit int
}

func (e *LimitError) Error() string { return fmt.Sprintf("%s: more than %d", e.What, e.Limit) }

// SyntaxError says that the bytes are not RESP. The rest of the stream is unreadable.
type SyntaxError string

func (e SyntaxError) Error() string { return "no valid RESP: " + string(e) }
