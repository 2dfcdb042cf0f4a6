package process

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/locklab/locklab/impls"
)

// Memory encodes all that the locks of the process remember: two processes with the same memory behave alike from here on. It is false where
// that cannot be said: while a task lives, or where a lock keeps something opaque, such as a function or a channel.
func (p *Process) Memory() ([]byte, bool) {
	for _, t := range p.tasks {
		if t != nil {
			return nil, false
		}
	}
	m := memory{seen: map[pointer]int{}, whole: true, born: p.born}
	for _, e := range p.order {
		m.text(e.handle)
		m.value(reflect.ValueOf(e.lock))
	}
	m.value(reflect.ValueOf(p.shared))
	return m.bytes, m.whole
}

// memory walks through values.
type memory struct {
	bytes []byte
	seen  map[pointer]int // by order
	whole bool
	// born are the functions that locks were made with, by where they are kept: those that are still there are the same.
	born map[uintptr]uintptr
	note bool // they are being noted
}

// remember notes the functions that a lock has been made with.
func (p *Process) remember(lock any) {
	m := memory{seen: map[pointer]int{}, born: p.born, note: true}
	m.value(reflect.ValueOf(lock))
}

// pointer is told apart by its type, too: a struct begins where its first field does.
type pointer struct {
	address uintptr
	kind    reflect.Type
}

var (
	envType    = reflect.TypeFor[impls.Env]()
	serverType = reflect.TypeFor[impls.Server]()
	timeType   = reflect.TypeFor[time.Time]()
)

func (m *memory) number(n int64) { m.bytes = binary.AppendVarint(m.bytes, n) }

func (m *memory) text(s string) {
	m.number(int64(len(s)))
	m.bytes = append(m.bytes, s...)
}

func (m *memory) value(v reflect.Value) {
	if !v.IsValid() {
		m.number(0)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		n := int64(0)
		if v.Bool() {
			n = 1
		}
		m.number(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		m.number(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		m.number(int64(v.Uint()))
	case reflect.Float32, reflect.Float64:
		m.number(int64(math.Float64bits(v.Float())))
	case reflect.String:
		m.text(v.String())
	case reflect.Struct:
		m.structure(v)
	case reflect.Array, reflect.Slice:
		m.number(int64(v.Len()))
		for i := range v.Len() {
			m.value(v.Index(i))
		}
	case reflect.Map:
		m.dictionary(v)
	case reflect.Pointer:
		m.pointer(v)
	case reflect.Interface:
		m.dynamic(v)
	case reflect.Func:
		m.function(v)
	case reflect.Chan:
		m.whole = m.whole && v.IsNil()
	default:
		m.whole = false
	}
}

// structure encodes a struct; of a time, all but the time zone.
func (m *memory) structure(v reflect.Value) {
	fields := v.NumField()
	if v.Type() == timeType {
		fields = 2
	}
	for i := range fields {
		m.value(v.Field(i))
	}
}

// function accepts only the function that the lock was made with: what a closure has captured cannot be seen.
func (m *memory) function(v reflect.Value) {
	if v.IsNil() {
		m.number(0)
		return
	}
	if !v.CanAddr() {
		m.whole = false
		return
	}
	field := v.Addr().UnsafePointer()
	at, is := uintptr(field), *(*uintptr)(field)
	if m.note {
		m.born[at] = is
	}
	m.number(1)
	m.whole = m.whole && m.born[at] == is
}

func (m *memory) pointer(v reflect.Value) {
	if v.IsNil() {
		m.number(0)
		return
	}
	p := pointer{v.Pointer(), v.Type()}
	if n, met := m.seen[p]; met {
		m.number(int64(n))
		return
	}
	m.seen[p] = len(m.seen) + 1
	m.number(-1)
	m.value(v.Elem())
}

// dynamic encodes what an interface holds, unless it belongs to the model.
func (m *memory) dynamic(v reflect.Value) {
	if v.IsNil() || v.Type() == envType || v.Type() == serverType {
		m.number(0)
		return
	}
	m.text(v.Elem().Type().String())
	m.value(v.Elem())
}

// dictionary encodes a map in the order of its encoded keys.
func (m *memory) dictionary(v reflect.Value) {
	type entry struct {
		written []byte
		value   reflect.Value
	}
	var entries []entry
	for _, key := range v.MapKeys() {
		written := memory{seen: map[pointer]int{}, whole: true, born: m.born}
		written.value(key)
		m.whole = m.whole && written.whole
		entries = append(entries, entry{written.bytes, v.MapIndex(key)})
	}
	slices.SortFunc(entries, func(a, b entry) int { return slices.Compare(a.written, b.written) })
	m.number(int64(len(entries)))
	for _, e := range entries {
		m.bytes = append(m.bytes, e.written...)
		m.value(e.value)
	}
}
