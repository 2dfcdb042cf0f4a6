package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/world"
)

// Config says what to search, and within which bounds. Usual fills in what is zero.
type Config struct {
	Lock    impls.Spec
	Clients int
	Rounds  int // acquire, work, release: how often each client does all three
	Servers int // 0: as many as the lock's card names
	// Tries is how often a client tries in each round, at most.
	Tries int
	// Reenter is how often each holder acquires its lock again before it works. It releases as often.
	Reenter int
	// ReleaseAgain: after a release of unknown outcome a client may release once more, at any time until it acquires again.
	ReleaseAgain bool
	Budget       Budget
	// Lag is how many writes a replica lacks at most when it takes over; 0 is 1.
	Lag int
	// ClockRate is at which rate, of the right one, slow clocks run, and fast ones as many times too fast; 0: wrong clocks are off by Skew instead.
	ClockRate float64
	// Skew is by how much a wrong clock is wrong, and by how much one steps; 0: UsualSkew.
	Skew time.Duration
	// MostFaults bounds the sum of all faults.
	MostFaults int
	// Only these anomalies are looked for; none: all.
	Only []checker.Name
	// Limits stop the search, which then does not say that the lock holds. 0: there is none.
	States int
	Memory int // bytes
	Time   time.Duration
	// Progress is called now and then.
	Progress func(Progress)
	Settled
}

// Settled is what others than the user decide.
type Settled struct {
	// FewerServers: Usual has made the servers fewer than the card names.
	FewerServers bool
	// Excuses says whether an anomaly after such faults is none that the search is to end with; nil: none is. The search goes on after it.
	Excuses func(anomaly checker.Name, struck []faults.Kind) bool
	// On: the search goes on after whatever it finds.
	On bool
	// Every sequence of choices is gone through, also where another one has led to exactly the same state. It is for tests.
	Every   bool
	Without world.Unreduced
	// Grid and Horizon are those of world.Config; 0: a quarter of a lease, and two and a half.
	Grid, Horizon time.Duration
}

// Lease is that of every lock in a search.
const Lease = 1200 * time.Millisecond

// UsualSkew is by how much a wrong clock is wrong by default.
const UsualSkew = Lease * 3 / 2

// UsualTries is how often a client tries in a round by default: once, and once more when it was refused.
const UsualTries = 2

// What can be searched at most.
const (
	MostClients = world.MostClients
	MostRounds  = 4
	MostTries   = 9
	MostReenter = 3
	MostServers = world.MostServers
	MostFaults  = 9
	MostLag     = 3
	LeastSkew   = time.Millisecond // the model counts in these
	MostSkew    = 20 * time.Minute
	LeastRate   = 0.1
	MostRate    = 0.999
)

// Usual fills in the bounds that are not given: three clients, or two clients of three servers; one round of two tries; up to two faults of any
// kind, or as many as the budget has. A broken lock is found to be broken at once then: each client more, and each server, means many times as
// many states.
func (c Config) Usual() Config {
	several := c.Lock.Servers > 1
	if c.Clients == 0 {
		c.Clients = 3
		if several {
			c.Clients = 2
		}
	}
	if several {
		if c.Servers == 0 && c.Lock.Servers > 3 {
			c.FewerServers = true
		}
		c.Servers = cmp.Or(c.Servers, min(c.Lock.Servers, 3))
	}
	c.Rounds, c.Tries, c.Lag = cmp.Or(c.Rounds, 1), cmp.Or(c.Tries, UsualTries), cmp.Or(c.Lag, 1)
	if c.Budget == nil {
		c.MostFaults = cmp.Or(c.MostFaults, 2)
		c.Budget = Any(c.Lock, c.MostFaults)
	}
	if c.MostFaults == 0 {
		for _, n := range c.Budget {
			c.MostFaults = min(c.MostFaults+max(n, 0), MostFaults)
		}
	}
	return c
}

// ServerCount is how many servers there are in the search.
func (c Config) ServerCount() int { return cmp.Or(c.Servers, max(c.Lock.Servers, 1)) }

// model is what may happen.
func (c Config) model() world.Config {
	return world.Config{
		Lock: c.Lock, Clients: c.Clients, Rounds: c.Rounds, Servers: c.ServerCount(), Tries: cmp.Or(c.Tries, UsualTries), ReleaseAgain: c.ReleaseAgain,
		Reenter: c.Reenter, Queue: c.Queues(), Lag: c.Lag,
		Lease: Lease, Skew: cmp.Or(c.Skew, UsualSkew), ClockRate: c.ClockRate, Budget: c.Budget, Most: c.MostFaults, Only: c.wanted(),
		Grid: cmp.Or(c.Grid, Lease/4), Horizon: cmp.Or(c.Horizon, Lease*5/2), Without: c.Without,
	}
}

// wanted are the anomalies that are looked for.
func (c Config) wanted() []checker.Name {
	if len(c.Only) > 0 {
		return c.Only
	}
	return Anomalies()
}

// Anomalies are those that a search judges, in the order of the checker's definitions: all but dead-grant and missed-wakeup. The one goes by the
// time from an acquire's call to its last reply, which states do not have. The other is what a waiter does not do, which is no state.
func Anomalies() []checker.Name {
	var names []checker.Name
	for _, d := range checker.Definitions() {
		if d.Name != checker.DeadGrant && d.Name != checker.MissedWakeup {
			names = append(names, d.Name)
		}
	}
	return names
}

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

// FaultsOf lists the kinds that a search of a lock can spend. On a ZooKeeper nothing is sent twice, no clock is read, and the server keeps its data. On
// Redis a partition is no more than what it loses or delays: replies and requests.
func FaultsOf(lock impls.Spec) []faults.Kind {
	return slices.DeleteFunc(Faults(), func(kind faults.Kind) bool {
		if lock.Needs != impls.OneZooKeeper {
			return kind == faults.Partition
		}
		return kind == faults.Duplicate || kind.OnServer() || kind.Of().Target == faults.OnClock
	})
}

// Budget is how many faults of each kind may be spent.
type Budget map[faults.Kind]int

// Any is a budget of any kind that a search of a lock can spend, up to n of each.
func Any(lock impls.Spec, n int) Budget {
	b := Budget{}
	for _, kind := range FaultsOf(lock) {
		b[kind] = n
	}
	return b
}

// String lists what may be spent: "pause 1, crash 2"; "no fault".
func (b Budget) String() string {
	var words []string
	for _, kind := range Faults() {
		if b[kind] > 0 {
			words = append(words, fmt.Sprintf("%s %d", kind, b[kind]))
		}
	}
	if len(words) == 0 {
		return "no fault"
	}
	return strings.Join(words, ", ")
}
