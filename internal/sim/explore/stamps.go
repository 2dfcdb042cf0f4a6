package explore

import (
	"errors"
	"hash/maphash"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A lock may round the time that it writes or keeps, to seconds for example. Then it matters when a second ends, although no step does anything else
// there: what was written just before it looks almost a second older than it is. A number in a step that is another one from each millisecond to the
// next is a time that is not rounded. One that is another now and then is a rounded time.

// errRounds: the lock rounds the time, and goes by the time. The search begins again, and lets time pass to where a rounded time becomes another one. Most
// locks that round the time write it for people to read, and compare none.
var errRounds = errors.New("the lock rounds the time")

// timeWords match a command, or a script, that asks a server what time it is. The first of the numbers that a server answers with are whole seconds.
var timeWords = regexp.MustCompile(`(?i)^time\b|["']time["']`)

// missesRounding says whether the lock has turned out to go by times that it rounds, and the search has not followed all of these.
func (x *explorer) missesRounding() bool {
	if x.servers.dated && x.serversRound() {
		for at := ms(second); at <= x.horizon; at += second {
			x.automaton.noteRounding([]ms{at})
		}
	}
	return x.comparesRounded() && len(x.automaton.rounds) > x.automaton.follows && !x.roundsFinely()
}

// comparesRounded says whether the lock rounds the time, and something goes by times.
func (x *explorer) comparesRounded() bool {
	a := x.automaton
	return len(a.rounds) > 0 && (a.decides || a.told || x.servers.dated)
}

// roundsFinely says whether more ends of rounded times come than the search follows, because there are several in a third of a lease, or clocks step. A
// search of all would take too long.
func (x *explorer) roundsFinely() bool {
	ends := 0
	for _, at := range x.automaton.rounds {
		if at <= x.horizon {
			ends++
		}
	}
	return ends > mostEnds
}

const (
	second      = 1000        // ms
	mostEnds    = 3 * horizon // of rounded times that are followed; of twice as many no more are looked for
	mostRounded = 64          // states of a server
)

// serversRound says whether some request leaves a server in the same state if it comes a millisecond later, and in another if it comes a second later.
func (x *explorer) serversRound() bool {
	for number := range uint32(len(x.texts.requests)) {
		asks := func(words []string) bool { return timeWords.MatchString(strings.Join(words[:min(len(words), 2)], " ")) }
		if !slices.ContainsFunc(x.texts.requests[number].commands, asks) {
			continue
		}
		for state := range uint32(min(len(x.servers.states), mostRounded)) {
			after := func(d ms) uint32 {
				done := x.servers.serve(x.servers.tick(state, d), number, 0)
				return x.servers.tick(done.next, 2*second-d)
			}
			if after(0) == after(1) && after(0) != after(second) {
				return true
			}
		}
	}
	return false
}

// noteRounding notes when a rounded time becomes another one.
func (t *timing) noteRounding(at []ms) {
	for _, at := range at {
		if !slices.Contains(t.rounds, at) {
			t.rounds = append(t.rounds, at)
		}
	}
}

// instantsOfRounding appends the lengths of time after which a client rounds the time to another one. Its next step need not show it.
func (x *explorer) instantsOfRounding(list []ms, s *state, limit ms) []ms {
	for i := range x.clients {
		if x.automaton.follows == 0 || s.clients[i].phase == crashed {
			continue
		}
		for _, at := range x.automaton.rounds[:x.automaton.follows] {
			at = x.shows(&s.clients[i], at)
			for _, d := range [...]ms{at - 1 - s.now, at - s.now} {
				if d > 0 && d < limit && at <= x.horizon && !slices.Contains(list, d) {
					list = append(list, d)
				}
			}
		}
	}
	return list
}

// stamps are the numbers in what a step asks, tells and remembers, which may be times.
type stamps struct {
	at    map[ms][]uint64
	exact map[spot]bool // they are not rounded
}

// spot is where a number is, in a step that does something.
type spot struct {
	what   string
	number int
}

func newStamps() stamps { return stamps{at: map[ms][]uint64{}, exact: map[spot]bool{}} }

// appendNumbers appends the numbers that withoutNumbers leaves out, as hashes.
func appendNumbers(numbers []uint64, text []byte) []uint64 {
	for i := 0; i < len(text); i++ {
		begin := i
		for i < len(text) && (text[i] >= '0' && text[i] <= '9' || i > begin && text[i] == '.') {
			i++
		}
		if i > begin+1 {
			numbers = append(numbers, maphash.Bytes(givenSeed, text[begin:i]))
		}
	}
	return numbers
}

// appendKept appends the numbers that an instance's lock remembers, if that can be seen.
func (s *instance) appendKept(numbers []uint64) []uint64 {
	if _, kept, whole := s.process.Outline(); whole {
		for _, number := range kept {
			numbers = append(numbers, math.Float64bits(number))
		}
	}
	return numbers
}

// looksForRounding says whether it matters that a rounded time becomes another one then.
func (a *automaton) looksForRounding(t ms) bool {
	return t <= horizon*ms(Lease/time.Millisecond)+a.skew && len(a.rounds) <= 2*mostEnds
}

// bisectRounding finds where a rounded time in a step becomes another one between two times between which it is the same step. The whole chain is
// asked about: what its first steps round is asked about where they are the next ones.
func (p *prober) bisectRounding(found []ms, low, high ms) []ms {
	if p.last < len(p.inputs)-1 || !p.a.looksForRounding(high) || p.roundsAlike(low, high) {
		return found
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; p.roundsAlike(low, middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return append(found, high)
}

// roundsAlike says whether a step at two times differs in times only that are not rounded.
func (p *prober) roundsAlike(low, high ms) bool {
	p.does(high)
	before, after := p.stamps.at[low], p.stamps.at[high]
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] && !p.isExact(i, low) && !p.isExact(i, high) {
			return false
		}
	}
	return true
}

// isExact says whether a number is another one just before a time, and just after it: it is not rounded, or by no more than the judges measure.
func (p *prober) isExact(i int, t ms) bool {
	at := spot{p.does(t), i}
	if p.stamps.exact[at] {
		return true
	}
	now, compared, apart := p.stamps.at[t], false, ms(Margin()/time.Millisecond)
	for _, other := range [...]ms{t - apart, t + apart} {
		if p.does(other) != p.does(t) {
			continue
		}
		if beside := p.stamps.at[other]; i < len(beside) && beside[i] == now[i] {
			return false
		}
		compared = true
	}
	p.stamps.exact[at] = compared
	return compared
}
