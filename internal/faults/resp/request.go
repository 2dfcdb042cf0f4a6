package resp

import (
	"bytes"
	"fmt"
	"unsafe"
)

// maxInline is the length in bytes of the longest inline command, as in Redis.
const maxInline = 64 << 10

// firstArguments is the room for arguments of a first request.
const firstArguments = 8

// Request is one command of a client.
type Request struct {
	Raw []byte // as it came
	// Args are the command's name and arguments. There are none where the client sent an empty line or array, to which the
	// server does not answer.
	Args [][]byte
}

// ReadRequest reads one command, as an array of strings or as an inline command. The request is valid until the next call of the
// Reader. Errors are those of ReadReply.
func (r *Reader) ReadRequest() (Request, error) {
	r.begin()
	r.args = r.args[:0]
	if err := r.request(); err != nil {
		return Request{}, r.explain(err)
	}
	return Request{Raw: r.raw(), Args: r.args}, nil
}

func (r *Reader) request() error {
	if err := r.need(1); err != nil {
		return err
	}
	if r.buf[r.from] != byte(KindArray) {
		return r.inline()
	}
	line, err := r.line()
	if err != nil {
		return err
	}
	count, err := parseInt(line[1:])
	if err != nil {
		return SyntaxError(fmt.Sprintf("request of %s arguments", quote(line[1:])))
	}
	if count > int64(r.limits.Arguments) {
		return &LimitError{What: fmt.Sprintf("request of announced %d arguments", count), Limit: r.limits.Arguments}
	}
	r.spans = r.spans[:0]
	for range count {
		at, err := r.argument()
		if err != nil {
			return err
		}
		if err := r.roomForArgument(len(r.spans)); err != nil {
			return err
		}
		r.spans = append(r.spans, at)
	}
	for _, at := range r.spans {
		r.args = append(r.args, r.bytes(at))
	}
	return nil
}

// roomForArgument makes room for one more than n arguments. Room doubles when arguments fill it, so an announced number alone takes none.
func (r *Reader) roomForArgument(n int) error {
	if n < cap(r.args) {
		return nil
	}
	const each = int(unsafe.Sizeof(span{}) + unsafe.Sizeof([]byte{}))
	room := max(firstArguments, 2*n)
	if err := r.take((room - n) * each); err != nil {
		return err
	}
	spans, args := make([]span, len(r.spans), room), make([][]byte, len(r.args), room)
	copy(spans, r.spans)
	copy(args, r.args)
	r.spans, r.args = spans, args
	return nil
}

func (r *Reader) argument() (span, error) {
	line, err := r.line()
	if err != nil {
		return span{}, err
	}
	if len(line) == 0 || line[0] != byte(KindString) {
		return span{}, SyntaxError(fmt.Sprintf("an argument begins with %s, not with $", quote(line)))
	}
	n, err := r.size(line[1:], "argument", r.limits.Bulk)
	if err != nil {
		return span{}, err
	}
	if n < 0 {
		return span{}, SyntaxError("an argument is null")
	}
	return r.blob(n)
}

// inline reads an inline command, with Redis's quoting. A line with unbalanced quotes, which the server rejects, is one argument.
func (r *Reader) inline() error {
	line, err := r.until('\n', min(r.limits.Line, maxInline))
	if err != nil {
		return err
	}
	line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
	for rest := line; ; {
		rest = bytes.TrimLeft(rest, " \t\r\n\v\f\x00")
		if len(rest) == 0 {
			return nil
		}
		arg, behind, ok := inlineArg(rest)
		if !ok {
			r.args = append(r.args[:0], line)
			return nil
		}
		if len(r.args) == r.limits.Arguments {
			return &LimitError{What: "arguments of an inline request", Limit: r.limits.Arguments}
		}
		if err := r.roomForArgument(len(r.args)); err != nil {
			return err
		}
		r.args, rest = append(r.args, arg), behind
	}
}

func inlineArg(line []byte) (arg, rest []byte, ok bool) {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\r', '\n', '\v', '\f', 0:
			return append(arg, line[:i]...), line[i:], true
		case '"', '\'':
			quoted, after, ok := unquote(line[i+1:], c)
			if !ok {
				return nil, nil, false
			}
			return append(append(arg, line[:i]...), quoted...), after, true
		}
	}
	return append(arg, line...), nil, true
}

// unquote reads up to the closing quote, behind which a blank or nothing must come.
func unquote(line []byte, mark byte) (text, rest []byte, ok bool) {
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == mark:
			rest = line[i+1:]
			return text, rest, len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n\v\f\x00"), rest[0]) >= 0
		case line[i] != '\\' || i+1 == len(line):
			text = append(text, line[i])
		case mark == '\'':
			if line[i+1] == '\'' {
				i++
			}
			text = append(text, line[i])
		default:
			var taken int
			text, taken = unescape(text, line[i+1:])
			i += taken
		}
	}
	return nil, nil, false
}

// unescape appends what an escape sequence stands for, and returns its length without the backslash.
func unescape(text, behind []byte) ([]byte, int) {
	if behind[0] == 'x' && len(behind) >= 3 {
		high, low := hexDigit(behind[1]), hexDigit(behind[2])
		if high >= 0 && low >= 0 {
			return append(text, byte(high<<4|low)), 3
		}
	}
	if at := bytes.IndexByte([]byte("nrtba"), behind[0]); at >= 0 {
		return append(text, "\n\r\t\b\a"[at]), 1
	}
	return append(text, behind[0]), 1
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
