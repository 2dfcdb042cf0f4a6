// Package explore searches every interleaving of a lock within bounds, for the smallest set of faults that breaks it. The lock's own code
// runs; the search chooses everything around it: which client or server goes next, which message is lost, how time passes. Fewest faults
// first, then fewest steps: the first counterexample is minimal.
//
// It owns the state space: what a state is, its moves, symmetry and partial-order
// reduction, and the properties that a state is judged by. It returns a counterexample as a trace.Trace. It must not know how a
// trace is shown, what the table of breaking points says, nor anything of real servers.
package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/states"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// Config says what to explore, and within which bounds. Usual fills in what is zero.
type Config struct {
	Lock    impls.Spec
	Clients int
	Rounds  int // acquire, work, release: how often each client does all three
	Servers int // 0: as many as the lock's card names
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
	Unreduced
	Settled
	// Instants are shared with earlier searches of the same lock; nil: there are none.
	Instants *Instants
	// Progress is called now and then.
	Progress func(Progress)
}

// Settled is what others than the user decide.
type Settled struct {
	// Reduced: Usual has made the servers fewer than the card names.
	Reduced bool
	// Excuses says whether an anomaly after such faults is none that the search is to end with; nil: none is. The search goes on after it.
	Excuses func(anomaly checker.Name, struck []faults.Kind) bool
}

// Unreduced searches are for tests, and for a Walk.
type Unreduced struct {
	NoSymmetry bool // clients are told apart
	Plain      bool // every two histories are, also where that makes no difference
	Late       bool // a client may come for the first time at any time, also where that makes no difference
}

// Progress is how far an exploration has come.
type Progress struct {
	States   int
	Steps    int // from the first state, of the states that are expanded now
	Frontier int // states that are queued
	Memory   int // bytes, of what grows
	Faults   int // spent by the states that are found now
	Took     time.Duration
}

// Result is what came of an exploration.
type Result struct {
	// Found is the counterexample; nil: there is none within the bounds, or none was found before a limit.
	Found *trace.Trace
	Passed
	// Limit says what stopped the search before it was complete; empty: nothing did.
	Limit string
	Progress
	// Learned is how many steps of the lock's own code were executed; Nodes is how many local states clients have.
	Learned, Nodes int
	// Longest is the number of steps of the longest path.
	Longest int
	// Coverage is what happened at all: "held", "refused", "expired", "handed over".
	Coverage []string
	// Symmetric: clients that differ only in their name count as one.
	Symmetric bool
	// Sessions: the lock is on a ZooKeeper.
	Sessions bool
	Bounded
	// Unjudged are the anomalies that were wanted and not looked for, because the lock lives on several servers.
	Unjudged []checker.Name
	// Unnamed: nothing was ever under the lock's key, so whose the lock is was not judged.
	Unnamed bool
	// Fewer says that the search has fewer servers than the lock's card names, and what else was searched; empty: it has as many.
	Fewer string
	// Uncalled are the methods by which the lab has a client wait for the lock, and which the search did not call.
	Uncalled []string
	// Doubt says what the lock does that the search does not follow; empty: nothing was noticed.
	Doubt string
	// Horizon is the time at which the search stopped following time; 0: it did not matter.
	Horizon time.Duration
	// Collision is how likely it is that two different states have the same fingerprint.
	Collision float64
	// Disputed are traces in which the explorer saw an anomaly and the checker did not.
	Disputed []Dispute
}

// Bounded is where a refused try was not repeated again, although the lock may remember it.
type Bounded struct {
	Tired    bool // beside a background task
	Counting bool // without one
}

// Dispute is a trace about which explorer and checker disagree.
type Dispute struct {
	Anomaly checker.Name
	Verdict checker.Verdict
	Trace   *trace.Trace
}

// Complete says whether everything within the bounds was searched.
func (r *Result) Complete() bool { return r.Limit == "" && r.Doubt == "" }

// Vacuous says whether there is no counterexample to a lock that was never held, or of which nothing was ever under its key: that shows nothing, or not
// enough.
func (r *Result) Vacuous() bool {
	return r.Found == nil && (r.Unnamed || !slices.Contains(r.Coverage, "held"))
}

// Lease is that of every lock in a search.
const Lease = learn.Lease

// Margin is how much of a lease must be left before it counts as running.
func Margin() time.Duration { return ownership.LeaseMargin(learn.Lease) }

// UsualSkew is by how much a wrong clock is wrong by default.
const UsualSkew = learn.Lease * 3 / 2

// horizon is for how many leases a search follows time where states at different times differ.
const horizon = 4

// explorer is one search. It is used by one goroutine.
type explorer struct {
	config Config
	bounds
	model
	frontier
	passing
	unseen
	rehearsed rehearsed
	judge     judge
	watcher   watcher
	visited   func(form) // is shown every state that is found; nil: nobody is
	reads     bool       // the lock reads clocks
	walls     bool       // the lock reads its client's wall clock
	lives     bool       // the lock asks servers how long keys live
	told      bool       // the lock tells servers what the time is, which compare
	timed     bool       // states at different times are different
	struck    [faultKinds]bool
	cut       error // why some path was not followed to its end; nil: all were
	result    Result
	began     time.Time
}

// unseen is what a search has noticed of what it does not follow.
type unseen struct {
	beyond  bool // something lies beyond the horizon
	far     bool // something ends there that has begun long before
	endless bool // a fresh client was still in a try when its trial was over
	blocked bool // a fresh client was refused for good, and none of its requests found anything under the lock's key
}

// bounds are those of a search, as the search counts them.
type bounds struct {
	allowed     [faultKinds]uint8 // of each kind of fault
	clients     int
	serverCount int
	lease, skew ms
	sessions    bool // the lock is on a ZooKeeper
	slow        slowRate
	horizon     ms
	only        anomalies
	most        int // faults altogether
}

// model is everything that a state's numbers refer to.
type model struct {
	texts     *learn.Texts
	servers   *states.Servers
	replicas  states.Replicas
	resource  *states.Servers
	automaton *learn.Automaton
	parts     parts
	width     int     // of the forms of states, in words
	sortings  []uint8 // see there
}

// errReads: the search has to begin again, because a lock has turned out to read clocks.
var errReads = errors.New("the lock reads clocks")

// Explore searches. The error is of a lock that cannot be explored, or of the context.
func Explore(ctx context.Context, config Config) (*Result, error) {
	if err := config.checkService(); err != nil {
		return nil, err
	}
	var about traits
	for {
		x := newExplorer(config, about)
		if x.undeclared() != "" {
			x.config.States = cmp.Or(x.config.States, undeclaredStates)
		}
		err := x.automaton.Patiently(ctx, func(ctx context.Context) error {
			defer x.automaton.Close()
			err := x.explore(ctx)
			if err != nil && ctx.Err() == nil {
				err = cmp.Or(x.automaton.Repeats(), err)
			}
			return err
		})
		if err != nil && !about.learn(err, x.automaton) {
			return nil, err
		}
		if err == nil {
			return &x.result, nil
		}
	}
}

// learn takes in why a search has to begin again. It is false if it has not.
func (t *traits) learn(err error, a *learn.Automaton) bool {
	switch {
	case errors.Is(err, errReads):
		t.reads, t.walls, t.told = true, a.Walls, a.Told
	case errors.Is(err, errLives):
		t.lives = true
	case errors.Is(err, errNominal):
		t.nominal = true
	default:
		return false
	}
	return true
}

// explore searches once. The error may be that the search has to begin again.
func (x *explorer) explore(ctx context.Context) error {
	if err := x.search(ctx); err != nil {
		return err
	}
	if err := cmp.Or(x.asked(), x.automaton.Verify()); err != nil {
		return err
	}
	if x.result.Found == nil && x.missesClock() {
		return x.clockError()
	}
	if x.result.Found == nil {
		x.result.Doubt = x.doubt()
	}
	return nil
}

// errClockBesideSession is of a lock on a ZooKeeper that reads a clock.
var errClockBesideSession = errors.New("it reads a clock, and a search follows only how long a session lasts")

// checkService finds a lock whose service the explorer does not have.
func (c Config) checkService() error {
	if c.Lock.Needs == impls.Replicas || c.Lock.Needs == impls.Masters {
		return fmt.Errorf("%s cannot be explored: it needs %s, and the explorer has none", c.Lock.Name, c.Lock.Needs)
	}
	return cmp.Or(c.checkBudget(), c.checkSessions())
}

// clockError is what a search ends with whose lock has turned out to read a clock.
func (x *explorer) clockError() error {
	if x.sessions {
		return x.automaton.Impure(errClockBesideSession)
	}
	return errReads
}

// sessions says whether clients have sessions with a ZooKeeper.
func (c Config) sessions() bool { return c.Lock.Needs == impls.OneZooKeeper }

// traits are what a search has to know of a lock before it begins. It begins again where one turns out to be otherwise.
type traits struct {
	reads   bool // it reads clocks
	walls   bool // it reads its client's wall clock
	lives   bool // it asks servers how long keys live
	told    bool // it tells servers what the time is, which compare
	nominal bool // its locks may have no expiry on their servers
}

// endless says whether a lock may be renewed for ever while its holder works or waits for what is lost. The histories of a renewal are all
// different, so only the horizon ends that. Otherwise a lock that reads no clock cannot tell one time from another, and neither does the search.
func (c Config) endless() bool {
	return c.Lock.Renews && c.Budget[faults.LongHold]+c.Budget[faults.ReplyLost]+c.Budget[faults.LateRequest] > 0
}

func newExplorer(config Config, about traits) *explorer {
	x := &explorer{
		config: config, bounds: newBounds(config), reads: about.reads, walls: about.walls, lives: about.lives, told: about.told, timed: about.reads || config.endless(), began: time.Now(),
	}
	orders := learn.Permutations(1)
	if config.Lock.EqualTokens && !config.NoSymmetry {
		orders = learn.Permutations(config.Clients)
	}
	x.model = newModel(config, x.bounds, orders)
	x.automaton.Queues, x.automaton.Manner.Plain, x.automaton.Manner.Ordered = config.Queues(), config.Plain, !config.Lock.EqualTokens
	x.frontier = newFrontier(x.bounds)
	x.passing = passing{found: cmp.Or(config.Instants, &Instants{}), steps: map[question]*thresholds{}, lived: map[lives][]ms{}, usual: learn.NewUsualReplies(x.texts)}
	x.judge = judge{
		clients: x.clients, lease: x.lease, margin: ms(Margin() / time.Millisecond),
		Contract: history.Contract{Leaseless: config.Lock.Leaseless || x.sessions, Permits: config.Lock.Permits}, nominal: about.nominal, several: x.serverCount > 1, only: x.only, owners: x.only&ofOwners != 0 || x.serverCount > 1, queues: config.Queues(),
		counts: slices.Contains(config.Lock.Promises, impls.Reentrance), again: config.ReleaseAgain, slow: x.slow,
	}
	if x.judge.several && config.Lock.Needs == impls.MostServers && x.only&ofOwners != 0 {
		x.judge.sharing = newSharing(x.serverCount, len(orders))
	}
	return x
}

func newBounds(config Config) bounds {
	b := bounds{
		allowed: config.Budget.allowance(), sessions: config.sessions(), clients: config.Clients, serverCount: config.ServerCount(),
		lease: ms(learn.Lease / time.Millisecond), skew: ms(cmp.Or(config.Skew, UsualSkew) / time.Millisecond),
	}
	b.slow = slowRate(math.Round(config.ClockRate * rightRate))
	b.horizon = b.lease * horizon
	for _, n := range b.allowed {
		b.most += int(n)
	}
	b.most = min(b.most, config.MostFaults)
	for i, name := range Anomalies() {
		if len(config.Only) == 0 || slices.Contains(config.Only, name) {
			b.only |= 1 << i
		}
	}
	if config.Lock.Permits > 1 { // the others speak of one owner
		b.only &= doubleHolder | stuckLock | hungOperation
	}
	return b
}

func newModel(config Config, b bounds, orders []learn.Order) model {
	texts := learn.NewTexts(orders)
	m := model{
		texts: texts, servers: config.newServers(texts), resource: states.NewServers(texts, learn.CounterKey), parts: newParts(len(orders)),
		width: b.clients + b.serverCount + 1, sortings: sortings(orders, b.clients),
	}
	if b.failsOver() {
		m.width += b.serverCount
	}
	m.replicas = states.NewReplicas(m.servers, max(config.Lag, 1))
	lock := config.Lock
	if config.Queues() {
		lock.New = untilHeld(lock.New)
	}
	m.automaton = learn.NewAutomaton(lock, m.servers.LockKey, learn.Lease, b.skew, b.clients+1, b.serverCount, texts)
	return m
}

// newServers are those of the lock.
func (c Config) newServers(texts *learn.Texts) *states.Servers {
	if c.sessions() {
		return states.NewKeepers(texts, learn.LockNode, c.Clients+1)
	}
	return states.NewServers(texts, learn.LockKey)
}

// failsOver says whether states have replicas.
func (b *bounds) failsOver() bool { return b.allowed[failOver] > 0 }

// initial is the state in which no client has done anything.
func (x *explorer) initial() *state {
	s := &state{}
	for i := range s.clients {
		s.clients[i] = freshClient(i)
	}
	return s
}
