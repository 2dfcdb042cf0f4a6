package process

import (
	"reflect"
	"unsafe"
)

// Beside is what the locks remember while background tasks live, and what each task waits for. If an operation leaves it as it was, it has changed nothing:
// what it shares with the tasks it reaches by what its lock remembers only, and they have not run meanwhile. So that it has not put something equal in the
// place of what a task still has, it counts which object each is; it is compared within one process. The result is false where no task lives, an operation
// is under way, or a lock keeps something opaque, as for Memory. A function that ends a task is not opaque: how often one was called is counted.
func (p *Process) Beside() ([]byte, bool) {
	m := memory{bytes: make([]byte, 0, usualMemory), whole: true, stopCode: p.stopCode}
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
	m.number(p.stopped)
	p.remembered(&m)
	return m.bytes, m.whole && !m.overlaps()
}

// stop encodes a function that ends a task as the one that it is. It says whether it is one.
func (m *memory) stop(v reflect.Value) bool {
	if m.stopCode == 0 || v.Pointer() != m.stopCode || !v.CanAddr() {
		return false
	}
	m.number(int64(*(*uintptr)(unsafe.Pointer(v.UnsafeAddr()))))
	return true
}
