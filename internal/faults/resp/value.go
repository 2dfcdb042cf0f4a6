package resp

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Kind is the byte that a value begins with on the wire.
type Kind byte

// The kinds of values.
const (
	KindSimple    Kind = '+'
	KindError     Kind = '-'
	KindInteger   Kind = ':'
	KindString    Kind = '$'
	KindArray     Kind = '*'
	KindNull      Kind = '_'
	KindBool      Kind = '#'
	KindDouble    Kind = ','
	KindBigNumber Kind = '('
	KindBulkError Kind = '!'
	KindVerbatim  Kind = '='
	KindMap       Kind = '%'
	KindSet       Kind = '~'
	KindPush      Kind = '>'

	kindAttribute Kind = '|'
	kindChunk     Kind = ';' // a piece of a streamed string
	kindEnd       Kind = '.' // the end of a streamed array, map, set or push
)

// Value is a parsed message of a server.
type Value struct {
	Kind Kind
	Null bool    // a null of RESP3, or a null string or array of RESP2
	Text string  // of a string, an error, a number or a bool
	List []Value // of an array, set or push; of a map, keys and values in turn
}

// Int is the number in the value, or -1.
func (v Value) Int() int64 {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// IsError says whether the value is an error reply.
func (v Value) IsError() bool { return v.Kind == KindError || v.Kind == KindBulkError }

// String shows the value in one line: errors begin with "-", arrays are in brackets.
func (v Value) String() string {
	switch {
	case v.Null:
		return "nil"
	case v.IsError():
		return "-" + v.Text
	case v.Kind != KindArray && v.Kind != KindSet && v.Kind != KindPush && v.Kind != KindMap:
		return v.Text
	}
	parts := make([]string, len(v.List))
	for i, element := range v.List {
		parts[i] = element.String()
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// Parse parses the first message in raw, without its attributes.
func Parse(raw []byte, limits Limits) (Value, error) {
	return parse(raw, limits, shape{math.MaxInt, math.MaxInt})
}

// ParseHead is Parse for who needs the beginning only: so many elements at any depth, and so many bytes of each text. The rest is checked, and takes no
// memory.
func ParseHead(raw []byte, limits Limits, elements, text int) (Value, error) {
	return parse(raw, limits, shape{elements, text})
}

// shape bounds what is kept of a message.
type shape struct{ elements, text int }

func parse(raw []byte, limits Limits, keep shape) (Value, error) {
	limits.Held = nil // raw is in the buffer of another Reader
	r := NewReader(strings.NewReader(""), limits)
	r.buf, r.end, r.left, r.keep = raw, len(raw), r.limits.Elements, keep
	var v Value
	if _, err := r.value(0, &v); err != nil {
		return Value{}, r.explain(err)
	}
	return v, nil
}

// value reads one value and the attributes before it. It fills in v unless v is nil.
func (r *Reader) value(depth int, v *Value) (Kind, error) {
	for {
		line, err := r.header()
		if err != nil {
			return 0, err
		}
		kind := Kind(line[0])
		if kind != kindAttribute {
			return kind, r.body(kind, line[1:], depth, v)
		}
		if err := r.elements(kind, line[1:], depth, nil); err != nil {
			return 0, err
		}
	}
}

func (r *Reader) header() ([]byte, error) {
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	if len(line) == 0 {
		return nil, SyntaxError("an empty line where a value should begin")
	}
	return line, nil
}

// body reads what follows a header; rest is the header without its kind.
func (r *Reader) body(kind Kind, rest []byte, depth int, v *Value) error {
	if v != nil {
		v.Kind = kind
	}
	switch kind {
	case KindSimple, KindError, KindDouble, KindBigNumber, KindBool:
		return r.text(v, rest)
	case KindInteger:
		if _, err := parseInt(rest); err != nil {
			return SyntaxError(fmt.Sprintf("integer %s", quote(rest)))
		}
		return r.text(v, rest)
	case KindNull:
		return null(v)
	case KindString, KindBulkError, KindVerbatim:
		return r.str(rest, v)
	case KindArray, KindMap, KindSet, KindPush:
		return r.elements(kind, rest, depth, v)
	}
	return SyntaxError(fmt.Sprintf("a value begins with %s", quote([]byte{byte(kind)})))
}

// text appends a text, or a piece of one.
func (r *Reader) text(v *Value, from []byte) error {
	if v != nil {
		v.Text += string(from[:min(len(from), r.keep.text-len(v.Text))])
	}
	return nil
}

func null(v *Value) error {
	if v != nil {
		v.Null = true
	}
	return nil
}

func (r *Reader) str(length []byte, v *Value) error {
	if string(length) == "?" {
		return r.streamedString(v)
	}
	n, err := r.size(length, "string", r.limits.Bulk)
	if err != nil {
		return err
	}
	if n < 0 {
		return null(v)
	}
	at, err := r.blob(n)
	if err != nil {
		return err
	}
	return r.text(v, r.bytes(at))
}

func (r *Reader) streamedString(v *Value) error {
	for total := 0; ; {
		line, err := r.header()
		if err != nil {
			return err
		}
		if Kind(line[0]) != kindChunk {
			return SyntaxError(fmt.Sprintf("a piece of a string begins with %s", quote(line)))
		}
		n, err := r.size(line[1:], "piece of a string", r.limits.Bulk-total)
		if err != nil {
			return err
		}
		if n <= 0 {
			return nil
		}
		at, err := r.blob(n)
		if err != nil {
			return err
		}
		total += n
		_ = r.text(v, r.bytes(at))
	}
}

func (r *Reader) elements(kind Kind, length []byte, depth int, v *Value) error {
	if depth >= r.limits.Depth {
		return &LimitError{What: "levels of nesting", Limit: r.limits.Depth}
	}
	if string(length) == "?" {
		return r.streamedElements(depth, v)
	}
	n, err := r.size(length, "array, set or map", r.limits.Elements)
	if err != nil {
		return err
	}
	if n < 0 {
		return null(v)
	}
	if kind == KindMap || kind == kindAttribute {
		n *= 2
	}
	if n > r.left {
		return r.tooWide()
	}
	for range n {
		if err := r.element(depth, v); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) streamedElements(depth int, v *Value) error {
	for {
		if err := r.need(1); err != nil {
			return err
		}
		if Kind(r.bytes(span{r.pos, r.pos + 1})[0]) == kindEnd {
			_, err := r.line()
			return err
		}
		if err := r.element(depth, v); err != nil {
			return err
		}
	}
}

func (r *Reader) element(depth int, v *Value) error {
	if r.left == 0 {
		return r.tooWide()
	}
	r.left--
	if v == nil || r.keep.elements == 0 {
		_, err := r.value(depth+1, nil)
		return err
	}
	r.keep.elements--
	var element Value
	_, err := r.value(depth+1, &element)
	v.List = append(v.List, element)
	return err
}

func (r *Reader) tooWide() error {
	return &LimitError{What: "elements of a reply", Limit: r.limits.Elements}
}
