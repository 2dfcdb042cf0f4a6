// Package lua reads the scripts that clients send to a Redis server. It lists every command that a script can call, with what can be known of its
// arguments whatever happens at run time.
//
// It owns the rule that makes this possible: a script reaches the server by redis.call('NAME', …) alone, and never changes KEYS. What it cannot
// follow is an error. It must not know a command, a key or a server.
package lua

import (
	"bytes"
	"regexp"
)

// Kind says what is known of an argument.
type Kind uint8

// The kinds of arguments.
const (
	Computed Kind = iota // nothing
	Literal              // it is Arg.Text
	Key                  // it is an element of KEYS
	HasKey               // it contains an element of KEYS
	Keys                 // it stands for any number of arguments, each an element of KEYS
	Spread               // it stands for any number of arguments
)

// Arg is an argument of a call.
type Arg struct {
	Kind Kind
	Text string // of a Literal
}

// Call is a call of a command, which Args[0] names.
type Call struct {
	Line int
	Args []Arg
}

// maxScript bounds the scripts that are read.
const maxScript = 256 << 10

// header is the first line by which Redis 7 knows the language of a script.
var header = regexp.MustCompile(`^#!lua(?: [^\n\r\x00]*)?\n`)

// Calls lists the commands that a script can call.
func Calls(source []byte) ([]Call, error) {
	text := lexer{rest: source, line: 1}
	switch found := header.Find(source); {
	case len(source) > maxScript:
		return nil, text.errorf("the script has %d bytes, more than the %d that the lab reads", len(source), maxScript)
	case bytes.IndexByte(source, 0) >= 0:
		return nil, text.errorf("the script has a zero byte")
	case found != nil:
		text = lexer{rest: source[len(found):], line: 2}
	}
	p := new(parser)
	p.tokens, p.cut = text.all()
	p.block()
	if t := p.peek(0); t.kind != endOfText {
		p.failf("%s is out of place", t)
	}
	if p.err != nil {
		return nil, p.err
	}
	calls := make([]Call, len(p.calls))
	for i, c := range p.calls {
		calls[i] = Call{Line: c.line, Args: make([]Arg, len(c.args))}
		for j, arg := range c.args {
			calls[i].Args[j] = arg.known(j == len(c.args)-1)
		}
	}
	return calls, nil
}

// call is a Call while not all of the script has been read.
type call struct {
	line int
	args []value
}

// value is what an expression can be.
type value struct {
	Arg
	of *variable // if set, it is what this variable is: Arg holds only if nothing is ever assigned to it
	// global: it is, or was read from, what all scripts share, so nothing may be assigned to it or within it.
	global bool
	called bool // it is a call
}

// known is what is known of an argument when all of the script has been read. Only the last stands for any number.
func (v value) known(last bool) Arg {
	switch {
	case v.of != nil && !v.of.isKey():
		return Arg{}
	case v.Kind == Keys && !last:
		return Arg{Kind: Key}
	case v.Kind == Spread && !last:
		return Arg{}
	}
	return v.Arg
}

// variable is a local one.
type variable struct {
	name     string
	key      bool      // it began as an element of KEYS
	from     *variable // if set, it began as what this variable is
	assigned bool      // it may be something else later
}

func (v *variable) isKey() bool {
	for ; v != nil; v = v.from {
		if !v.key || v.assigned {
			return false
		}
	}
	return true
}

// variableOf is a new variable that begins as a value.
func variableOf(name string, began value) *variable {
	return &variable{name: name, key: began.Kind == Key, from: began.of}
}
