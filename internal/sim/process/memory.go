package process

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Memory encodes all that the locks of the process remember: two processes with the same memory behave alike from here on. It is false where
// that cannot be said: while a task lives, or where a lock keeps something opaque. Opaque are channels, functions that may have captured
// variables, and pointers into the middle of something else: which part of it they mean is not encoded.
func (p *Process) Memory() ([]byte, bool) {
	for _, t := range p.tasks {
		if t != nil {
			return nil, false
		}
	}
	m := memory{bytes: make([]byte, 0, usualMemory), whole: true}
	p.remembered(&m)
	return m.bytes, m.whole && !m.overlaps()
}

// remembered encodes what the locks remember.
func (p *Process) remembered(m *memory) {
	for _, e := range p.order {
		m.text(e.handle)
		m.value(reflect.ValueOf(e.lock))
	}
	m.value(reflect.ValueOf(p.shared))
	if m.real {
		p.fail("it remembers a time of the real clock; a lock asks its Env for the time")
	}
}

// Outline is Memory with all numbers apart.
func (p *Process) Outline() (outline []byte, numbers []float64, whole bool) {
	if slices.ContainsFunc(p.tasks, func(t *task) bool { return t != nil }) {
		return nil, nil, false
	}
	m := memory{bytes: make([]byte, 0, usualMemory), whole: true, apart: true}
	for _, e := range p.order {
		m.value(reflect.ValueOf(e.lock))
	}
	m.value(reflect.ValueOf(p.shared))
	return m.bytes, m.numbers, m.whole && !m.overlaps()
}

// Opaque names what keeps Memory from comparing what the locks remember, and says how to keep it instead; empty: nothing does, or a task lives.
func (p *Process) Opaque() string {
	if slices.ContainsFunc(p.tasks, func(t *task) bool { return t != nil }) {
		return ""
	}
	m := memory{whole: true, follows: true}
	for _, e := range p.order {
		m.path = []string{strings.TrimPrefix(reflect.TypeOf(e.lock).String(), "*")}
		m.value(reflect.ValueOf(e.lock))
	}
	m.path = []string{"what Shared keeps"}
	m.value(reflect.ValueOf(p.shared))
	if m.whole && m.overlaps() {
		return "the lock keeps pointers to parts of one array or struct; keep an index instead"
	}
	return m.opaque
}

// usualMemory is how many bytes most locks' memories take at most.
const usualMemory = 256

// memory walks through values.
type memory struct {
	bytes    []byte
	seen     references
	parts    []part
	whole    bool
	apart    bool // see Outline
	numbers  []float64
	real     bool    // it has a time of the real clock: one with a monotonic reading, which no Env gives
	stopCode uintptr // see Beside; 0: otherwise
	// follows: it keeps the path to where it is, for what is opaque.
	follows bool
	path    []string
	opaque  string
}

// hide notes that a value cannot be compared, and what to do instead.
func (m *memory) hide(v reflect.Value, instead string) {
	if m.whole && m.follows {
		m.opaque = fmt.Sprintf("%s is a %s: %s", strings.Join(m.path, ""), v.Type(), instead)
	}
	m.whole = false
}

// within follows a part of what it is at.
func (m *memory) within(part func() string, v reflect.Value) {
	if !m.follows {
		m.value(v)
		return
	}
	m.path = append(m.path, part())
	m.value(v)
	m.path = m.path[:len(m.path)-1]
}

// What to do instead of keeping what cannot be compared.
const (
	insteadOfPlain    = "keep a number, a string, a struct or a pointer to one"
	insteadOfFunction = "a function that may have captured variables; keep what it captures in fields, and make it a method or a function at the top level"
)

// reference is what a pointer, a slice or a map refers to. It is told apart by its type, too: a struct begins where its first field does.
type reference struct {
	address uintptr
	kind    reflect.Type
}

// references are those that have been met, in that order. Most locks keep few.
type references struct {
	few  []reference
	many map[reference]int // nil while there are few
}

const fewReferences = 16

// number counts references in the order in which they were met. One that is new is noted as the last.
func (s *references) number(r reference) (n int, known bool) {
	if s.many == nil {
		for i := range s.few {
			if s.few[i] == r {
				return i + 1, true
			}
		}
		if len(s.few) < fewReferences {
			s.few = append(s.few, r)
			return len(s.few), false
		}
		s.many = map[reference]int{}
		for i, met := range s.few {
			s.many[met] = i + 1
		}
	}
	if n, known = s.many[r]; !known {
		n = len(s.many) + 1
		s.many[r] = n
	}
	return n, known
}

// part is a stretch of memory that something refers to.
type part struct{ from, to uintptr }

var (
	serverType  = reflect.TypeFor[server]()
	sessionType = reflect.TypeFor[session]()
	envType     = reflect.TypeFor[env]()
	timeType    = reflect.TypeFor[time.Time]()

	serverHandle, serverIndex = field(serverType, "handle"), field(serverType, "index")
	envHandle, sessionHandle  = field(envType, "handle"), field(sessionType, "handle")
)

// field is the number of a struct's field: to find it by name each time takes long.
func field(t reflect.Type, name string) int {
	f, _ := t.FieldByName(name)
	return f.Index[0]
}

// overlaps says whether two references mean different parts of the same: a change through one is seen through the other.
func (m *memory) overlaps() bool {
	slices.SortFunc(m.parts, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(m.parts); i++ {
		if m.parts[i].from < m.parts[i-1].to {
			return true
		}
	}
	return false
}

// met says whether a reference has been met before, and encodes which it was. Otherwise it notes the size of what it refers to.
func (m *memory) met(v reflect.Value, size uintptr) bool {
	r := reference{v.Pointer(), v.Type()}
	if n, met := m.seen.number(r); met {
		m.number(int64(n))
		return true
	}
	m.number(-1)
	if m.stopCode != 0 {
		m.number(int64(r.address))
	}
	if size > 0 {
		m.parts = append(m.parts, part{r.address, r.address + size})
	}
	return false
}

func (m *memory) number(n int64) { m.bytes = binary.AppendVarint(m.bytes, n) }

// quantity encodes a number that the lock keeps.
func (m *memory) quantity(n int64) {
	if m.apart {
		m.numbers = append(m.numbers, float64(n))
		return
	}
	m.number(n)
}

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
		m.quantity(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		m.quantity(int64(v.Uint()))
	case reflect.Float32, reflect.Float64:
		if m.apart {
			m.numbers = append(m.numbers, v.Float())
			return
		}
		m.number(int64(math.Float64bits(v.Float())))
	case reflect.String:
		m.text(v.String())
	case reflect.Struct:
		m.structure(v)
	case reflect.Array:
		m.elements(v)
	default:
		m.reference(v)
	}
}

// reference encodes what refers to something else.
func (m *memory) reference(v reflect.Value) {
	switch {
	case v.Kind() == reflect.UnsafePointer, v.Kind() == reflect.Complex64, v.Kind() == reflect.Complex128:
		m.hide(v, insteadOfPlain)
	case v.IsNil():
		m.number(0)
	case v.Kind() == reflect.Pointer:
		m.pointer(v)
	case v.Kind() == reflect.Slice:
		m.slice(v)
	case v.Kind() == reflect.Map:
		if !m.met(v, 0) {
			m.dictionary(v)
		}
	case v.Kind() == reflect.Interface:
		m.dynamic(v.Elem())
	case v.Kind() == reflect.Func:
		m.function(v)
	default:
		m.hide(v, insteadOfPlain)
	}
}

// elements encodes bytes as they are, so that tokens among them are recognized.
func (m *memory) elements(v reflect.Value) {
	m.number(int64(v.Len()))
	if v.Type().Elem().Kind() == reflect.Uint8 {
		for i := range v.Len() {
			m.bytes = append(m.bytes, byte(v.Index(i).Uint()))
		}
		return
	}
	for i := range v.Len() {
		m.within(func() string { return fmt.Sprintf("[%d]", i) }, v.Index(i))
	}
}

// slice encodes what lies behind the slice's end, too: it can be sliced again.
func (m *memory) slice(v reflect.Value) {
	m.number(int64(v.Len()))
	if !m.met(v, uintptr(v.Cap())*v.Type().Elem().Size()) {
		m.elements(v.Slice(0, v.Cap()))
	}
}

// structure encodes a struct; of a time, all but the time zone; of what belongs to the model, which one it is.
func (m *memory) structure(v reflect.Value) {
	fields := v.NumField()
	switch v.Type() {
	case timeType:
		fields, m.real = 2, m.real || v.Field(0).Uint()>>63 != 0
		if m.apart {
			const nanoseconds = 1<<30 - 1
			m.numbers = append(m.numbers, 1e3*float64(v.Field(1).Int())+float64(v.Field(0).Uint()&nanoseconds)/1e6)
			return
		}
	case serverType:
		m.text(v.Field(serverHandle).String())
		m.number(v.Field(serverIndex).Int())
		return
	case envType:
		m.text(v.Field(envHandle).String())
		return
	case sessionType:
		m.text(v.Field(sessionHandle).String())
		return
	}
	if m.standard(v) {
		return
	}
	for i := range fields {
		m.within(func() string { return "." + v.Type().Field(i).Name }, v.Field(i))
	}
}

// captures says whether the compiler gives such a name to functions that may have captured variables: literals and method values.
func captures(name string) bool {
	if base := strings.TrimRight(name, "0123456789"); strings.HasSuffix(name, "-fm") || base != name && strings.HasSuffix(base, "wrap") {
		return true
	}
	for _, rest, found := strings.Cut(name, ".func"); found; _, rest, found = strings.Cut(rest, ".func") {
		if rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return true
		}
	}
	return false
}

// function accepts only what has captured nothing.
func (m *memory) function(v reflect.Value) {
	if m.stop(v) {
		return
	}
	name := ""
	if f := runtime.FuncForPC(v.Pointer()); f != nil {
		name = f.Name()
	}
	if name == "" || captures(name) {
		m.hide(v, insteadOfFunction)
	}
	m.text(name)
}

func (m *memory) pointer(v reflect.Value) {
	if v.Type().Elem() == envType {
		m.value(v.Elem())
		return
	}
	if !m.met(v, v.Type().Elem().Size()) {
		m.value(v.Elem())
	}
}

// dynamic encodes what an interface holds.
func (m *memory) dynamic(v reflect.Value) {
	m.text(v.Type().PkgPath())
	m.text(v.Type().String())
	m.value(v)
}

// dictionary encodes a map in the order of its encoded keys. Keys that refer to something have no order of their own.
func (m *memory) dictionary(v reflect.Value) {
	m.entries(v, func(yield func(key, value reflect.Value)) {
		for each := v.MapRange(); each.Next(); {
			yield(each.Key(), each.Value())
		}
	})
}

// entries encodes those of what works as a map.
func (m *memory) entries(v reflect.Value, all func(func(key, value reflect.Value))) {
	type entry struct {
		written []byte
		value   reflect.Value
	}
	var entries []entry
	keys := memory{whole: true}
	all(func(key, value reflect.Value) {
		from := len(keys.bytes)
		keys.value(key)
		entries = append(entries, entry{keys.bytes[from:len(keys.bytes):len(keys.bytes)], value})
	})
	if !keys.whole || len(keys.seen.few) > 0 {
		m.hide(v, "its keys refer to something; keep keys that are numbers or strings")
	}
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.written, b.written) })
	m.number(int64(len(entries)))
	for _, e := range entries {
		m.bytes = append(m.bytes, e.written...)
		m.within(func() string { return "[…]" }, e.value)
	}
}
