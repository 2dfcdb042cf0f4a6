package explore

import (
	"slices"
)

// A lock can tell a server what the time is, and leave it to the server to compare: a script with a stamp, a sorted set with a limit. Then the instants
// at which the server answers something else matter, whether or not anything ends there. They are found as those of locks that ask how long keys live.

// lookedAhead is how often the lock's code is executed to see what comes where time is followed no further.
const lookedAhead = 20_000

// lookAhead finds out whether, after the time that is followed, some client's next step or try becomes another one. What a lease, or a stamp by a wrong clock,
// comes to is as what was searched.
func (x *explorer) lookAhead(s *state) {
	if x.far || !x.reads && !x.told || x.looked >= lookedAhead {
		return
	}
	before := x.automaton.Steps
	defer func() { x.looked += x.automaton.Steps - before }()
	usual := farAway * x.lease
	for _, kind := range [...]fault{clockAhead, clockBehind, stepAhead, stepBack} {
		usual += ms(x.allowed[kind]) * x.skew
	}
	x.lengths = x.instants(x.lengths[:0], s, farthest)
	x.far = slices.ContainsFunc(x.lengths, func(d ms) bool { return d > usual && d > x.horizon-s.now })
}
