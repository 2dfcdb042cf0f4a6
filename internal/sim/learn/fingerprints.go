package learn

import "math/bits"

// Fingerprints is a set of fingerprints. It does not forget.
type Fingerprints struct {
	slots   []uint64 // 0: free
	count   int
	fetched uint64 // keeps the compiler from dropping fetch's read
}

func NewFingerprints() *Fingerprints { return &Fingerprints{slots: make([]uint64, 1<<16)} }

// Fetch has the processor load what add will look at.
func (t *Fingerprints) Fetch(fp uint64) { t.fetched |= t.slots[fp&uint64(len(t.slots)-1)] }

// Add says whether the fingerprint is new.
func (t *Fingerprints) Add(fp uint64) bool {
	if fp == 0 {
		fp = 1
	}
	if t.count*4 >= len(t.slots)*3 {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := fp & mask; ; i = (i + 1) & mask {
		switch t.slots[i] {
		case 0:
			t.slots[i] = fp
			t.count++
			return true
		case fp:
			return false
		}
	}
}

func (t *Fingerprints) grow() {
	old, factor := t.slots, 2
	if len(old) < 1<<22 { // a small table is soon too small again
		factor = 4
	}
	t.slots = make([]uint64, factor*len(old))
	mask := uint64(len(t.slots) - 1)
	for _, fp := range old {
		if fp == 0 {
			continue
		}
		i := fp & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = fp
	}
}

// Bytes is the memory that the table takes.
func (t *Fingerprints) Bytes() int { return 8 * len(t.slots) }

// Fingerprint mixes the words of a state into 64 bits: a wide multiplication for each four words, as in the public wyhash.
func Fingerprint(words []uint32) uint64 {
	const k0, k1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	h := uint64(len(words)) ^ k0
	for ; len(words) >= 4; words = words[4:] {
		h = Mix(twoWords(words)^k1, twoWords(words[2:])^h)
	}
	var tail [4]uint32
	copy(tail[:], words)
	h = Mix(twoWords(tail[:])^k1, twoWords(tail[2:])^h)
	return Mix(h^k0, k1)
}

func Mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// Blend takes another number into a fingerprint.
func Blend(h, n uint64) uint64 { return Mix(h^0xa0761d6478bd642f, n^0xe7037ed1a0b428db) }

func twoWords(words []uint32) uint64 { return uint64(words[0]) | uint64(words[1])<<32 }
