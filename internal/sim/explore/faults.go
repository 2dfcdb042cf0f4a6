package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// fault is a kind of fault as the search counts it.
type fault uint8

// The faults, in the order of the catalogue.
const (
	pause       fault = iota // time passes while a client has work pending
	longHold                 // time passes while a client works under its lock; its background tasks go on
	crash                    // a client's process is killed
	partition                // a client of a ZooKeeper is cut off from it for a while, and goes on
	replyLost                // a request is executed, and its reply is lost
	lateRequest              // a request is given up, and arrives later, or never
	duplicate                // a request arrives a second time later
	clockAhead               // a client's clock is ahead; see Config.Skew
	clockBehind              // or behind
	stepAhead                // a client's wall clock is set ahead by Config.Skew while it runs
	stepBack                 // or back
	clockJump                // a server's clock jumps forward by two leases
	clockBack                // or is set back by as much
	restart                  // a server loses its data
	failOver                 // a replica takes over that lacks the last writes which the server has answered; see Config.Lag
	faultKinds
)

// kinds are the faults by their kinds in the catalogue.
var kinds = Faults()

// Faults lists the kinds that a search can spend: those with a flag.
func Faults() []faults.Kind {
	var list []faults.Kind
	for _, f := range faults.All() {
		if f.Flag != "" {
			list = append(list, f.Kind)
		}
	}
	return list
}

// Budget is how many faults of each kind may be spent.
type Budget map[faults.Kind]int

// String lists what may be spent: "pause 1, crash 2"; "no fault".
func (b Budget) String() string {
	var words []string
	for _, kind := range kinds {
		if b[kind] > 0 {
			words = append(words, fmt.Sprintf("%s %d", kind, b[kind]))
		}
	}
	if len(words) == 0 {
		return "no fault"
	}
	return strings.Join(words, ", ")
}

// Any is a budget of any kind that a search of a lock can spend, up to n of each.
func Any(lock impls.Spec, n int) Budget {
	b := Budget{}
	for _, kind := range FaultsOf(lock) {
		b[kind] = n
	}
	return b
}

// allowance is a budget as the search counts it.
func (b Budget) allowance() (allowed [faultKinds]uint8) {
	for kind, n := range b {
		if i := slices.Index(kinds, kind); i >= 0 {
			allowed[i] = uint8(min(n, MostFaults))
		}
	}
	return allowed
}

// FaultsOf lists the kinds that a search of a lock can spend. On a ZooKeeper nothing is sent twice, no clock is read, and the server keeps its data. On
// Redis a partition is no more than what it loses or delays: replies and requests.
func FaultsOf(lock impls.Spec) []faults.Kind {
	if lock.Needs == impls.OneZooKeeper {
		return kinds[:duplicate]
	}
	return slices.DeleteFunc(Faults(), func(kind faults.Kind) bool { return kind == faults.Partition })
}

// struck are the kinds of the faults that have struck in a state.
func (s *state) struck() []faults.Kind {
	var struck []faults.Kind
	for f, n := range s.spent {
		if n > 0 {
			struck = append(struck, kinds[f])
		}
	}
	return struck
}

// coverage is what happened at all: a lock that no client ever got holds, and that shows nothing.
type coverage uint8

const (
	wasHeld coverage = 1 << iota
	wasRefused
	wasExpired
	handedOver
)

// words lists what was seen.
func (c coverage) words() []string {
	var words []string
	for i, word := range []string{"held", "refused", "expired", "handed over"} {
		if c&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}
