package process

import (
	"reflect"
	"unsafe"
)

// Beside is what there is while tasks live, but for what these remember: what the locks remember, and for what each task waits. If an operation leaves it as
// it was, it has changed nothing: it knows the tasks by what its lock remembers only, and they have not run meanwhile. It is compared within one process.
// It is false where no task lives, an operation is under way, or a lock keeps something opaque, as for Memory; of a function that ends a task it is
// known what it does.
func (p *Process) Beside() ([]byte, bool) {
	m := memory{bytes: make([]byte, 0, usualMemory), whole: true, stops: p.stops}
	lives := false
	for _, t := range p.tasks {
		switch {
		case t == nil:
			m.number(0)
		case t.scope != nil:
			return nil, false
		default:
			m.number(int64(t.wait.Seq))
			lives = true
		}
	}
	if !lives {
		return nil, false
	}
	p.remembered(&m)
	return m.bytes, m.whole && !m.overlaps()
}

// stop encodes a function that ends a task as the one that it is. It says whether it is one.
func (m *memory) stop(v reflect.Value) bool {
	if m.stops == 0 || v.Pointer() != m.stops || !v.CanAddr() {
		return false
	}
	m.number(int64(*(*uintptr)(unsafe.Pointer(v.UnsafeAddr()))))
	return true
}
