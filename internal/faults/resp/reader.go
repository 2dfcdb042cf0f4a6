package resp

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

const (
	firstBuffer   = 4 << 10
	keepBuffer    = 64 << 10 // a buffer that a large message has grown beyond this is released,
	keepArguments = 64       // and so is the room for more arguments than these
	noProgress    = 100      // empty reads in a row after which a read fails
)

// Reader reads messages from a stream. It is not safe for concurrent use.
type Reader struct {
	src    io.Reader
	limits Limits
	buf    []byte
	from   int // where the current message begins in buf
	end    int // where the bytes received so far end in buf
	pos    int // how much of the current message has been read
	spans  []span
	args   [][]byte
	held   int // bytes of the above
	left   int // elements that the current reply may still have
	keep   shape
}

// span is an argument's place within the current message.
type span struct{ from, to int }

// NewReader reads messages from src within limits.
func NewReader(src io.Reader, limits Limits) *Reader {
	return &Reader{src: src, limits: limits.withDefaults()}
}

// Reply is one message of a server: a reply, or a push message.
type Reply struct {
	Raw  []byte // as it came; valid until the next call of the Reader
	Kind Kind   // of the value itself, after any attributes
}

// Line is Value.String of a simple string or an integer, without parsing; false for any other reply.
func (r Reply) Line() ([]byte, bool) {
	kind := Kind(r.Raw[0])
	if kind != KindSimple && kind != KindInteger {
		return nil, false
	}
	return r.Raw[1 : len(r.Raw)-2], true
}

// ReadReply reads one message of a server. The error is io.EOF between messages, io.ErrUnexpectedEOF within one, a *LimitError,
// a SyntaxError, or the stream's.
func (r *Reader) ReadReply() (Reply, error) {
	r.begin()
	r.left = r.limits.Elements
	kind, err := r.value(0, nil)
	if err != nil {
		return Reply{}, r.explain(err)
	}
	return Reply{Raw: r.raw(), Kind: kind}, nil
}

// Rest returns the bytes received beyond the last message, followed by the rest of the stream.
func (r *Reader) Rest() io.Reader {
	r.begin()
	received := bytes.Clone(r.buf[r.from:r.end])
	r.end = r.from
	return io.MultiReader(bytes.NewReader(received), r.src)
}

// begin drops the message read last.
func (r *Reader) begin() {
	r.from += r.pos
	r.pos = 0
	if cap(r.args) > keepArguments {
		r.limits.Held.Give(r.held - len(r.buf))
		r.spans, r.args, r.held = nil, nil, len(r.buf)
	}
	if r.from < r.end {
		return
	}
	r.from, r.end = 0, 0
	if len(r.buf) > keepBuffer {
		r.Close()
	}
}

// Close releases what the Reader holds. One that is used again gets a new buffer.
func (r *Reader) Close() {
	r.limits.Held.Give(r.held)
	r.spans, r.args, r.held = nil, nil, 0
	r.buf, r.from, r.end, r.pos = nil, 0, 0, 0
}

// take asks for n more bytes to be held.
func (r *Reader) take(n int) error {
	err := r.limits.Held.Take(n)
	if err == nil {
		r.held += n
	}
	return err
}

// raw is the part of the current message that has been read.
func (r *Reader) raw() []byte { return r.buf[r.from : r.from+r.pos : r.from+r.pos] }

func (r *Reader) explain(err error) error {
	if err == io.EOF && r.end > r.from {
		return io.ErrUnexpectedEOF
	}
	return err
}

// need waits until n bytes beyond pos have been received. The buffer doubles when full bytes fill it, so an announced size
// alone takes no memory.
func (r *Reader) need(n int) error {
	for r.end-r.from-r.pos < n {
		if err := r.fill(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) fill() error {
	if r.end-r.from >= r.limits.Message {
		return &LimitError{What: "message", Limit: r.limits.Message}
	}
	if r.end == len(r.buf) {
		if err := r.makeRoom(); err != nil {
			return err
		}
	}
	for range noProgress {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

func (r *Reader) makeRoom() error {
	target := r.buf
	if r.end-r.from > len(r.buf)/2 || len(r.buf) == 0 {
		size := max(firstBuffer, 2*len(r.buf))
		if err := r.take(size - len(r.buf)); err != nil {
			return err
		}
		target = make([]byte, size)
	}
	copy(target, r.buf[r.from:r.end])
	r.buf, r.end, r.from = target, r.end-r.from, 0
	return nil
}

// line reads a line that ends in CRLF and returns it without the CRLF.
func (r *Reader) line() ([]byte, error) {
	line, err := r.until('\n', r.limits.Line)
	if err != nil {
		return nil, err
	}
	if len(line) < 2 || line[len(line)-2] != '\r' {
		return nil, SyntaxError(fmt.Sprintf("line %s does not end in CRLF", quote(line)))
	}
	return line[:len(line)-2], nil
}

// until reads up to and including the delimiter, and at most about limit bytes.
func (r *Reader) until(delimiter byte, limit int) ([]byte, error) {
	looked := 0
	for {
		received := r.buf[r.from+r.pos : r.end]
		if at := bytes.IndexByte(received[looked:], delimiter); at >= 0 {
			line := received[:looked+at+1]
			if len(line) > limit+2 {
				break
			}
			return line, r.advance(len(line))
		}
		looked = len(received)
		if looked > limit+2 {
			break
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
	return nil, &LimitError{What: "line", Limit: limit}
}

// size reads the length in a header line without its type; -1 stands for null.
func (r *Reader) size(digits []byte, what string, limit int) (int, error) {
	n, err := parseInt(digits)
	if err != nil || n < -1 {
		return 0, SyntaxError(fmt.Sprintf("%s has the length %s", what, quote(digits)))
	}
	if n > int64(limit) {
		return 0, &LimitError{What: fmt.Sprintf("%s of announced length %d", what, n), Limit: limit}
	}
	return int(n), nil
}

// blob reads n bytes and the CRLF behind them.
func (r *Reader) blob(n int) (span, error) {
	if err := r.need(n + 2); err != nil {
		return span{}, err
	}
	at := span{r.pos, r.pos + n}
	if end := r.bytes(span{at.to, at.to + 2}); end[0] != '\r' || end[1] != '\n' {
		return span{}, SyntaxError(fmt.Sprintf("a string of %d bytes is followed by %s", n, quote(end)))
	}
	return at, r.advance(n + 2)
}

// advance moves past n bytes of the current message.
func (r *Reader) advance(n int) error {
	r.pos += n
	if r.pos > r.limits.Message {
		return &LimitError{What: "message", Limit: r.limits.Message}
	}
	return nil
}

func (r *Reader) bytes(at span) []byte { return r.buf[r.from+at.from : r.from+at.to : r.from+at.to] }

// parseInt reads a decimal number without allocating.
func parseInt(digits []byte) (int64, error) {
	if len(digits) > 0 && len(digits) <= 18 {
		n, rest := int64(0), digits
		if rest[0] == '-' || rest[0] == '+' {
			rest = rest[1:]
		}
		for _, digit := range rest {
			if digit < '0' || digit > '9' {
				return 0, strconv.ErrSyntax
			}
			n = n*10 + int64(digit-'0')
		}
		if len(rest) == 0 {
			return 0, strconv.ErrSyntax
		}
		if digits[0] == '-' {
			n = -n
		}
		return n, nil
	}
	return strconv.ParseInt(string(digits), 10, 64)
}

// quote quotes bytes from the wire, at most 40 of them.
func quote(b []byte) string {
	const enough = 40
	if len(b) > enough {
		return strconv.Quote(string(b[:enough])) + "…"
	}
	return strconv.Quote(string(b))
}
