package learn

import "unsafe"

// Memo is a hash table by two numbers, of which the first is not 0. The search looks up every step in one, and Go's map takes several times
// as long.
type Memo[T any] struct {
	slots []noted[T]
	count int
}

type noted[T any] struct {
	key   [2]uint64
	value T
}

// Of is the value of a key; nil: there is none. The pointer is valid until the next note.
func (m *Memo[T]) Of(key [2]uint64) *T {
	if len(m.slots) == 0 {
		return nil
	}
	if at := m.find(key); at.key[0] != 0 {
		return &at.value
	}
	return nil
}

// Note sets the value of a key.
func (m *Memo[T]) Note(key [2]uint64, value T) *T {
	if m.count*2 >= len(m.slots) {
		old := m.slots
		m.slots = make([]noted[T], max(1024, 2*len(old)))
		for i := range old {
			if old[i].key[0] != 0 {
				*m.find(old[i].key) = old[i]
			}
		}
	}
	at := m.find(key)
	if at.key[0] == 0 {
		m.count++
	}
	*at = noted[T]{key, value}
	return &at.value
}

// Once is the value of a key, which is found if it is asked for the first time.
func (m *Memo[T]) Once(key [2]uint64, find func() T) T {
	if known := m.Of(key); known != nil {
		return *known
	}
	return *m.Note(key, find())
}

// Bytes is how much memory the table takes, but for what its values point to.
func (m *Memo[T]) Bytes() int { return len(m.slots) * int(unsafe.Sizeof(noted[T]{})) }

// find is where a key is, or would be.
func (m *Memo[T]) find(key [2]uint64) *noted[T] {
	mask := uint64(len(m.slots) - 1)
	for i := Blend(key[0], key[1]) & mask; ; i = (i + 1) & mask {
		if at := &m.slots[i]; at.key == key || at.key[0] == 0 {
			return at
		}
	}
}
