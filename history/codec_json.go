package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// maxDepth bounds how deeply the values of unknown fields may nest.
const maxDepth = 64

// cursor walks over one JSON text. The first error sticks; after it every method does nothing.
type cursor struct {
	text []byte
	pos  int
	err  error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// peek skips blanks and returns the next byte, or 0 at the end of the text or after an error.
func (c *cursor) peek() byte {
	if c.err != nil {
		return 0
	}
	for c.pos < len(c.text) {
		switch b := c.text[c.pos]; b {
		case ' ', '\t', '\r', '\n':
			c.pos++
		default:
			return b
		}
	}
	return 0
}

func (c *cursor) expect(b byte) {
	if c.peek() != b {
		c.unexpected(fmt.Sprintf("%q", b))
		return
	}
	c.pos++
}

func (c *cursor) unexpected(wanted string) {
	if c.pos >= len(c.text) {
		c.fail("the line ends where %s should be", wanted)
		return
	}
	c.fail("column %d: %q where %s should be", c.pos+1, c.text[c.pos], wanted)
}

// end fails if anything is left.
func (c *cursor) end() {
	if c.peek() != 0 || c.err == nil && c.pos < len(c.text) {
		c.unexpected("the end of the line")
	}
}

// null takes a null, the zero value of every type.
func (c *cursor) null() bool {
	if c.peek() != 'n' {
		return false
	}
	c.literal("null")
	return true
}

func (c *cursor) literal(word string) {
	if len(c.text)-c.pos < len(word) || string(c.text[c.pos:c.pos+len(word)]) != word {
		c.unexpected(word)
		return
	}
	c.pos += len(word)
}

// object calls field for each field, with the cursor before the value, which field must take.
func (c *cursor) object(field func(key []byte)) {
	if c.null() {
		return
	}
	c.expect('{')
	if c.peek() == '}' {
		c.pos++
		return
	}
	for c.err == nil {
		key := c.quoted()
		c.expect(':')
		if c.err != nil {
			return
		}
		field(key)
		if c.peek() != ',' {
			c.expect('}')
			return
		}
		c.pos++
	}
}

// array calls element for each element, which element must take.
func (c *cursor) array(element func()) {
	if c.null() {
		return
	}
	c.expect('[')
	if c.peek() == ']' {
		c.pos++
		return
	}
	for c.err == nil {
		element()
		if c.peek() != ',' {
			c.expect(']')
			return
		}
		c.pos++
	}
}

// quoted takes a string. The bytes may alias the text: copy what you keep.
func (c *cursor) quoted() []byte {
	if c.peek() != '"' {
		c.unexpected("a string")
		return nil
	}
	start := c.pos + 1
	plain := true
	for i := start; i < len(c.text); i++ {
		switch b := c.text[i]; {
		case b == '"':
			c.pos = i + 1
			if plain || utf8.Valid(c.text[start:i]) {
				return c.text[start:i]
			}
			return c.unescape(start-1, i+1)
		case b == '\\':
			return c.escaped(start, i)
		case b < ' ':
			c.fail("column %d: a control character within a string", i+1)
			return nil
		case b >= utf8.RuneSelf:
			plain = false
		}
	}
	c.fail("the line ends within a string")
	return nil
}

// escaped takes the rest of a string that has an escape at i.
func (c *cursor) escaped(start, i int) []byte {
	for ; i < len(c.text); i++ {
		switch c.text[i] {
		case '\\':
			i++
		case '"':
			c.pos = i + 1
			return c.unescape(start-1, i+1)
		}
	}
	c.fail("the line ends within a string")
	return nil
}

// unescape leaves the rare hard cases to encoding/json.
func (c *cursor) unescape(from, to int) []byte {
	var s string
	if err := json.Unmarshal(c.text[from:to], &s); err != nil {
		c.fail("column %d: bad string: %w", from+1, err)
	}
	return []byte(s)
}

var errNotInteger = errors.New("not a whole number of 64 bits")

// int takes a whole number.
func (c *cursor) int() int64 {
	if c.null() {
		return 0
	}
	c.peek()
	if c.err != nil {
		return 0
	}
	start := c.pos
	i := start
	negative := i < len(c.text) && c.text[i] == '-'
	if negative {
		i++
	}
	digits := i
	var v uint64
	for ; i < len(c.text) && c.text[i] >= '0' && c.text[i] <= '9'; i++ {
		if v > (math.MaxUint64-9)/10 {
			c.fail("column %d: %w", start+1, errNotInteger)
			return 0
		}
		v = v*10 + uint64(c.text[i]-'0')
	}
	switch {
	case i == digits:
		c.unexpected("a number")
		return 0
	case c.text[digits] == '0' && i > digits+1, i < len(c.text) && (c.text[i] == '.' || c.text[i]|0x20 == 'e'):
		c.fail("column %d: %w", start+1, errNotInteger)
		return 0
	}
	c.pos = i
	if negative && v <= -math.MinInt64 {
		return -int64(v)
	}
	if v > math.MaxInt64 {
		c.fail("column %d: %w", start+1, errNotInteger)
		return 0
	}
	if negative {
		return -int64(v)
	}
	return int64(v)
}

// bool takes true or false.
func (c *cursor) bool() bool {
	switch {
	case c.null():
		return false
	case c.peek() == 't':
		c.literal("true")
		return true
	case c.peek() == 'f':
		c.literal("false")
		return false
	}
	c.unexpected("true or false")
	return false
}

// skip takes a value of any kind.
func (c *cursor) skip(depth int) {
	if depth > maxDepth {
		c.fail("values nest more than %d deep", maxDepth)
		return
	}
	switch b := c.peek(); b {
	case '{':
		c.object(func([]byte) { c.skip(depth + 1) })
	case '[':
		c.array(func() { c.skip(depth + 1) })
	case '"':
		c.quoted()
	case 't', 'f', 'n':
		c.bool()
	default:
		c.number()
	}
}

// number takes a number of any form, for skip.
func (c *cursor) number() {
	start := c.pos
	for c.pos < len(c.text) {
		switch b := c.text[c.pos]; {
		case b >= '0' && b <= '9', b == '-', b == '+', b == '.', b == 'e', b == 'E':
			c.pos++
			continue
		}
		break
	}
	if c.err == nil && !json.Valid(c.text[start:c.pos]) {
		c.unexpected("a value")
	}
}
