package explore

// lessons are what has been learned, by node and input. It is asked for every step of the search, so it is a plain table of numbers:
// Go's map takes several times as long.
type lessons struct {
	keys  []uint64 // 0: free
	where []uint32
	list  []*lesson
}

// of is the lesson of an input at a node; an empty one if nothing has been learned yet.
func (t *lessons) of(at uint32, in input) *lesson {
	if len(t.list)*2 >= len(t.keys) {
		t.grow()
	}
	key := uint64(at+1)<<32 | uint64(in.packed())
	i := t.find(key)
	if t.keys[i] == 0 {
		t.keys[i], t.where[i] = key, uint32(len(t.list))
		t.list = append(t.list, &lesson{})
	}
	return t.list[t.where[i]]
}

func (t *lessons) find(key uint64) uint64 {
	mask := uint64(len(t.keys) - 1)
	i := key * 0x9e3779b97f4a7c15 >> 20 & mask
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

func (t *lessons) grow() {
	old := *t
	t.keys, t.where = make([]uint64, max(1024, 2*len(old.keys))), make([]uint32, max(1024, 2*len(old.keys)))
	for i, key := range old.keys {
		if key != 0 {
			at := t.find(key)
			t.keys[at], t.where[at] = key, old.where[i]
		}
	}
}
