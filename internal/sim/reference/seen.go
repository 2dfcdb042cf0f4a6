package reference

import "hash/maphash"

// fingerprints is a set of states, of which it keeps two hashes each: among ten million states two of those that differ are one with a
// probability of less than 1 in 10^24.
type fingerprints struct {
	seeds [2]maphash.Seed
	has   map[[2]uint64]struct{}
}

func newFingerprints() fingerprints {
	return fingerprints{[2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, map[[2]uint64]struct{}{}}
}

// add says whether a state is new.
func (f *fingerprints) add(r row) bool {
	key := [2]uint64{maphash.Comparable(f.seeds[0], r), maphash.Comparable(f.seeds[1], r)}
	known := len(f.has)
	f.has[key] = struct{}{}
	return len(f.has) > known
}
