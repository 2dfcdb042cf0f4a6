package explore

import "unsafe"

// memo is a hash table by two numbers, of which the first is not 0. The search looks up every step in one, and Go's map takes several times
// as long.
type memo[T any] struct {
	slots []noted[T]
	count int
}

type noted[T any] struct {
	key   [2]uint64
	value T
}

// of is the value of a key; nil: there is none. The pointer is valid until the next note.
func (m *memo[T]) of(key [2]uint64) *T {
	if len(m.slots) == 0 {
		return nil
	}
	if at := m.find(key); at.key[0] != 0 {
		return &at.value
	}
	return nil
}

// note sets the value of a key.
func (m *memo[T]) note(key [2]uint64, value T) *T {
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

// once is the value of a key, which is found if it is asked for the first time.
func (m *memo[T]) once(key [2]uint64, find func() T) T {
	if known := m.of(key); known != nil {
		return *known
	}
	return *m.note(key, find())
}

// bytes is how much memory the table takes, but for what its values point to.
func (m *memo[T]) bytes() int { return len(m.slots) * int(unsafe.Sizeof(noted[T]{})) }

// find is where a key is, or would be.
func (m *memo[T]) find(key [2]uint64) *noted[T] {
	mask := uint64(len(m.slots) - 1)
	for i := blend(key[0], key[1]) & mask; ; i = (i + 1) & mask {
		if at := &m.slots[i]; at.key == key || at.key[0] == 0 {
			return at
		}
	}
}
