package search

import (
	"hash/maphash"

	"github.com/locklab/locklab/internal/sim/world"
)

// fingerprints is a set of states, of which it keeps two hashes each: among ten million states, that two which differ are one has a
// probability of less than 1 in 10^24.
type fingerprints struct {
	seeds [2]maphash.Seed
	slots [][2]uint64 // as many as a power of two; zero: free
	n     int
}

func newFingerprints() fingerprints {
	return fingerprints{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, slots: make([][2]uint64, 1<<10)}
}

// add says whether a state is new.
func (f *fingerprints) add(r world.State) bool {
	if 4*f.n > 3*len(f.slots) {
		old := f.slots
		f.slots = make([][2]uint64, 2*len(old))
		for _, print := range old {
			*f.slot(print) = print
		}
	}
	print := [2]uint64{maphash.Comparable(f.seeds[0], r), maphash.Comparable(f.seeds[1], r) | 1}
	at := f.slot(print)
	if *at == print {
		return false
	}
	*at = print
	f.n++
	return true
}

// bytes is how much memory it takes.
func (f *fingerprints) bytes() int { return len(f.slots) * 16 }

// slot is where a fingerprint is, or belongs.
func (f *fingerprints) slot(print [2]uint64) *[2]uint64 {
	for i := print[0]; ; i++ {
		if at := &f.slots[i&uint64(len(f.slots)-1)]; *at == print || at[1] == 0 {
			return at
		}
	}
}
