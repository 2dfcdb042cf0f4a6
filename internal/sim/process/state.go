package process

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/locklab/locklab/impls"
)

// StateFrom encodes what the locks of the process declare to keep, with each time and each impls.Reading as its difference from a time, and says whether there
// is one. Two processes with the same state do the same from here on, but for when it was. None is declared while a task lives, or where a lock declares nothing.
func (p *Process) StateFrom(now time.Duration) (state []byte, read, declared bool) {
	if slices.ContainsFunc(p.tasks, func(t *task) bool { return t != nil }) {
		return nil, false, false
	}
	d := declaration{p: p, from: now}
	state, declared = d.of(nil)
	return state, d.read, declared
}

// declaration is what the locks of a process declare, with each reading of a clock as its difference from a time.
type declaration struct {
	p    *Process
	from time.Duration
	read bool // there is such a reading
}

// of appends what each lock declares.
func (d *declaration) of(b []byte) (state []byte, all bool) {
	p := d.p
	defer func() {
		if r := recover(); r != nil {
			p.fail("%w: %v", ErrPanic, r)
		}
	}()
	for _, handle := range slices.Sorted(maps.Keys(p.handles)) {
		lock, declares := p.Lock(handle).(impls.Stateful)
		if !declares {
			return nil, false
		}
		b = d.append(fmt.Appendf(b, "%q", handle), reflect.ValueOf(lock.State()))
	}
	return b, true
}

var timeType, readingType = reflect.TypeFor[time.Time](), reflect.TypeFor[impls.Reading]()

// append appends a value, so that different values have different texts, and tokens stand in them as they are.
func (d *declaration) append(b []byte, v reflect.Value) []byte {
	switch kind := v.Kind(); {
	case kind == reflect.Invalid:
		return append(b, '-')
	case v.Type() == readingType:
		d.read = true
		return fmt.Appendf(b, " %d", v.Int()-int64(d.from))
	case v.Type() == timeType:
		return d.time(b, v.Field(0).Uint(), v.Field(1).Int())
	case kind == reflect.String:
		return fmt.Appendf(b, "%q", v.String())
	case kind <= reflect.Float64:
		return fmt.Appendf(b, " %v", v)
	case kind == reflect.Interface && v.IsNil():
		return append(b, '-')
	case kind == reflect.Interface:
		return d.append(append(b, v.Elem().Type().String()...), v.Elem())
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			b = d.append(b, v.Index(i))
		}
		return b
	case kind == reflect.Struct:
		for i := range v.NumField() {
			b = d.append(b, v.Field(i))
		}
		return b
	}
	d.p.fail("its State has a %v: it is made of numbers, strings and times, and of structs and arrays of these", v.Type())
	return b
}

// time appends a time as a reading of a clock, without its zone: nanoseconds, and seconds. No Env gives one with a monotonic reading.
func (d *declaration) time(b []byte, nanoseconds uint64, seconds int64) []byte {
	if nanoseconds>>63 != 0 {
		d.p.fail("it keeps a time of the real clock; a lock asks its Env for the time")
	}
	if nanoseconds == 0 && seconds == 0 {
		return append(b, '-')
	}
	d.read = true
	return fmt.Appendf(b, " %d", uint64(seconds)*1e9+nanoseconds-uint64(d.from))
}
