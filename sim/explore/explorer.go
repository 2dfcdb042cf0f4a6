// Package explore looks for the smallest set of faults that breaks a lock, or shows that none does within bounds. The lock's own
// code is run; what is chosen is all that surrounds it: who goes next, what gets lost, how time passes.
//
// The search goes by the number of faults spent, then by steps. So what it finds first is smallest.
package explore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/sim/trace"
)

// Config says what to explore, and within which bounds.
type Config struct {
	Lock    impls.Spec
	Clients int // 1 to 4
	Rounds  int // acquire, work, release: how often each client goes through it
	Servers int // 0: as many as the lock wants
	// Reenter is how often each holder takes its lock once more before it works; it releases it as often.
	Reenter int
	Budget  Budget
	// Lag is how many writes a replica lacks at most when it takes over; 0 is 1.
	Lag int
	// Skew is by how much a wrong clock is wrong; 0: one and a half leases.
	Skew time.Duration
	// MostFaults bounds the sum of all faults.
	MostFaults int
	// Only these anomalies are looked for; none: all.
	Only []checker.Name
	// The search stops at these limits, and then does not say that the lock holds. 0: there is none.
	States int
	Memory int // bytes
	Time   time.Duration
	// NoSymmetry takes clients for different. Plain also goes every way that makes no difference; it is for tests.
	NoSymmetry, Plain bool
	// Progress is called now and then.
	Progress func(Progress)
}

// Progress is how far an exploration has come.
type Progress struct {
	States   int
	Steps    int // from the beginning, of those that are looked at now
	Frontier int // states that have been found and not been looked at
	Memory   int // bytes, of what grows
	Faults   int // spent by those that are come to now
	Took     time.Duration
}

// Result is what came of an exploration.
type Result struct {
	// Found is the counterexample; nil: there is none within the bounds, or none was found before a limit.
	Found *trace.Trace
	// Limit says what stopped the search before it was complete; empty: nothing did.
	Limit string
	Progress
	// Learned is how many steps the lock's own code has made; Nodes how many local states of clients there are.
	Learned, Nodes int
	// Longest is the number of steps of the longest path.
	Longest int
	// Coverage is what was seen at all: "held", "refused", "expired", "handed over".
	Coverage []string
	// Symmetric: clients that differ only in their name were taken for one.
	Symmetric bool
	// Horizon is the time after which nothing was looked at any more; 0: it did not matter.
	Horizon time.Duration
	// Collision is how likely it is that two different states were taken for the same.
	Collision float64
	// Disputed are traces in which the explorer saw an anomaly and the checker did not.
	Disputed []Dispute
}

// Dispute is a trace that the judges do not agree about.
type Dispute struct {
	Anomaly checker.Name
	Verdict checker.Verdict
	Trace   *trace.Trace
}

// Complete says whether everything within the bounds was looked at.
func (r *Result) Complete() bool { return r.Limit == "" }

// Vacuous says whether nothing was found of a lock that nobody ever had: that shows nothing.
func (r *Result) Vacuous() bool { return r.Found == nil && !slices.Contains(r.Coverage, "held") }

// Lease is that of every lock in a search. Its third, tenth and twelfth part are whole milliseconds.
const Lease = 1200 * time.Millisecond

// UsualSkew is by how much a wrong clock is wrong by default.
const UsualSkew = Lease * 3 / 2

// horizon is how many leases an exploration looks ahead where time is told apart.
const horizon = 4

// explorer is one search. It is used by one goroutine.
type explorer struct {
	config      Config
	allowed     [faultKinds]uint8 // of each kind of fault
	clients     int
	serverCount int
	lease, skew ms
	horizon     ms
	reads       bool // the lock reads clocks
	timed       bool // states at different times are different
	beyond      bool // something lies beyond the horizon
	only        anomalies

	texts     *texts
	servers   *servers
	replicas  replicas
	resource  *servers
	automaton *automaton
	judge     judge
	watcher   watcher
	visited   func(form) // is shown every state that is found; nil: nobody is

	seen     *table
	arrivals []arrival
	ways     []way       // by number
	queues   []queue     // by faults spent
	atOnce   int         // how many faults one step can spend
	findings [][]finding // by faults spent
	longest  int
	cut      error // why some way was not followed to its end; nil: all were
	looked   int   // how many times a state has been looked at
	parts    parts
	width    int     // of the forms of states, in words
	sortings []uint8 // see there

	result Result
	began  time.Time
}

// errReads: the search has to begin again, because a lock has turned out to read clocks.
var errReads = errors.New("the lock reads clocks")

// Explore searches. The error is of a lock that cannot be explored, or of the context.
func Explore(ctx context.Context, config Config) (*Result, error) {
	x := newExplorer(config, !config.NoSymmetry, false)
	for {
		err := x.automaton.patiently(ctx, x.search)
		switch {
		case errors.Is(err, errAsymmetric):
			x = newExplorer(config, false, x.reads)
		case errors.Is(err, errReads):
			x = newExplorer(config, len(x.texts.orders) > 1, true)
		case err != nil:
			return nil, err
		default:
			return &x.result, nil
		}
	}
}

// endless says whether a lock may be renewed for ever while its holder works: every renewal is one more of its history, so only the
// horizon ends that. Otherwise who reads no clock cannot tell one time from another, and neither does the search.
func (c Config) endless() bool { return c.Lock.Renews && c.Budget[faults.LongHold] > 0 }

func newExplorer(config Config, symmetric, reads bool) *explorer {
	x := &explorer{
		config: config, allowed: config.Budget.allowance(), clients: config.Clients, serverCount: config.ServerCount(),
		lease: ms(Lease / time.Millisecond), reads: reads, timed: reads || config.endless(), began: time.Now(),
	}
	x.skew = ms(cmp.Or(config.Skew, UsualSkew) / time.Millisecond)
	x.horizon = x.lease * horizon
	all := orders(1)
	if symmetric {
		all = orders(config.Clients)
	}
	for i, d := range checker.Definitions() {
		for _, name := range config.Only {
			if d.Name == name {
				x.only |= 1 << i
			}
		}
	}
	if x.only == 0 {
		x.only = ^anomalies(0)
	}
	x.texts, x.parts = newTexts(all), newParts(len(all))
	x.sortings = sortings(all, config.Clients)
	x.width = x.clients + x.serverCount + 1
	if x.allowed[failOver] > 0 {
		x.width += x.serverCount
	}
	x.servers, x.resource = newServers(x.texts, lockKey), newServers(x.texts, counterKey)
	x.replicas = newReplicas(x.servers, max(config.Lag, 1))
	lock := config.Lock
	if config.Queues() {
		lock.New = untilHeld(lock.New)
	}
	x.automaton = newAutomaton(lock, Lease, config.Clients+1, x.serverCount, x.texts)
	x.judge = judge{
		clients: x.clients, lease: x.lease, margin: ms(leaseMargin(Lease) / time.Millisecond),
		leaseless: config.Lock.Leaseless, quorum: x.serverCount > 1, only: x.only, queues: config.Queues(),
		counts: slices.Contains(config.Lock.Promises, impls.Reentrance),
	}
	most := config.most()
	x.seen, x.queues, x.findings = newTable(), make([]queue, most+1), make([][]finding, most+1)
	x.atOnce = min(max(int(x.allowed[pause])+int(x.allowed[longHold]), 1), most, config.Clients)
	return x
}

// most is how many faults can be spent.
func (c Config) most() int {
	most := 0
	for _, budget := range c.Budget {
		most += budget
	}
	return min(most, c.MostFaults)
}

// initial is the state in which nobody has done anything.
func (x *explorer) initial() *state {
	s := &state{}
	for i := range s.clients {
		s.clients[i] = freshClient(i)
	}
	return s
}
