package process

import (
	"reflect"
	"unsafe"
)

// What is in a channel is looked at by taking it out and putting it back in the same order. Nothing else runs meanwhile, and nobody waits at a channel: a
// lock whose task or goroutine waits is not compared.

// channel encodes what is in a channel, how much fits into it, and whether it is closed. A closed one that is not empty cannot be looked into. Nor is it
// known when one that can only be received from, such as a context's Done, will be closed: foreign.
func (m *memory) channel(c reflect.Value, foreign bool) {
	length := c.Len()
	m.number(int64(c.Cap()))
	if length == 0 {
		last, _ := c.TryRecv()
		closed := int64(0)
		if last.IsValid() {
			closed = 1
		}
		m.number(closed)
		if closed == 0 && foreign {
			m.hide(c, "something else closes it, when that cannot be seen; keep a bool")
		}
		return
	}
	added, open := tryZero(c)
	if !open {
		m.hide(c, "it is closed and not empty; keep a slice and a bool")
		return
	}
	m.number(2)
	held := make([]reflect.Value, length)
	for k := range held {
		held[k], _ = c.Recv()
		c.Send(held[k])
	}
	if added {
		c.Recv()
	}
	m.number(int64(length))
	for _, h := range held {
		m.value(h)
	}
}

// usable is the same channel, also if it was found in a field that is not exported, or can only be sent to or received from.
func usable(v reflect.Value) reflect.Value {
	at := v.UnsafePointer()
	return reflect.NewAt(reflect.ChanOf(reflect.BothDir, v.Type().Elem()), unsafe.Pointer(&at)).Elem()
}

// tryZero adds a zero value to a channel, if it is not full. It says whether the channel is open.
func tryZero(c reflect.Value) (added, open bool) {
	defer func() { _ = recover() }() // to send on a closed one panics
	added = c.TrySend(reflect.Zero(c.Type().Elem()))
	return added, true
}
