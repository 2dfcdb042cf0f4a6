// Package world models what clients of a lock, its servers and time may do next, and what results. A state is a row of parts: the clients, the
// servers, and what suspicions need to know. A step is computed once for all states that are alike in what it reads.
//
// A lease ends in three places: on its server (internal/sim/redis/keys.go, find; internal/sim/zookeeper/server.go, Advance), for the client whose lock it
// is (the field ends of a claim, which monitor.passes counts down), and for the user, by what its lock has declared (the field ends of a client). What
// looks wrong is a suspicion, which a step returns: two holders are suspected in monitor.holds, an overwritten lock in monitor.flag.
// internal/sim/search has the checker judge the history then.
//
// Partial-order reduction is for private steps only (see Privately). Symmetry reduction is for locks whose card says that tokens are compared
// for equality alone. A refused try is repeated whether anything has changed or not, and a lock that reads clocks meets a grid of times.
// Config.Without switches the reductions off.
//
// It owns states, choices, and definitions of what looks wrong; the checker judges the whole history. It must not know in which order states
// are searched, nor how a lock's code runs: internal/sim/past knows what a client does after what it was given.
package world

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/redis"
)

// Config says what may happen.
type Config struct {
	Lock    impls.Spec
	Clients int
	Rounds  int // acquire, work, release: how often each client does all three
	// Reenter is how often each holder acquires its lock again before it works. It releases as often. For locks that promise re-entrance.
	Reenter int
	Servers int
	Tries   int // how often a client tries in a round, at most
	// Queue: clients of a lock that promises order wait until they hold it, and how often they ask is bounded by Tries. Nothing is suspected but that it
	// grants out of order.
	Queue bool
	// ReleaseAgain: after a release of unknown outcome a client may release once more, until it acquires again.
	ReleaseAgain bool
	Lease        time.Duration
	Skew         time.Duration // by which a wrong clock is wrong
	// Lag is how many writes a replica lacks at most when it takes over; 0 is 1.
	Lag int
	// ClockRate is at which rate a slow clock runs, and a fast one as many times too fast; 0: wrong clocks are off by Skew.
	ClockRate float64
	Budget    map[faults.Kind]int
	Most      int // faults altogether
	// Grid is the time from one instant at which something may happen to the next, beside the ends of waits and leases and a millisecond
	// before and after these, if the lock reads clocks. Horizon is when time ends for a lock that reads them, or sleeps: counted from the
	// beginning or, if only differences matter, from the latest reading, and from when it began what sleeps.
	Grid, Horizon time.Duration
	Only          []checker.Name // what to suspect; none: anything
	Without       Unreduced
	Sites         bool // states say at which lines of the lock's code clients wait
}

// leaseless: no time ends the lock.
func (c *Config) leaseless() bool { return c.Lock.Leaseless || c.Lock.Needs == impls.OneZooKeeper }

// Unreduced switches off what makes states fewer, for tests: the answers are the same.
type Unreduced struct {
	Apart      bool // clients are told apart that differ by their tokens only
	Undeclared bool // two pasts are told apart after which the lock declares that it keeps the same
	Public     bool // a step that nobody else can notice comes in any order with those of others
	Dated      bool // it counts what a clock shows, also where only differences matter
}

// Space is the states of a lock within bounds, and what is known of them. It is used by one goroutine.
type Space struct {
	Config
	player   player
	parts    parts
	interest interest
	scratch  struct { // what is used again
		text  []byte
		list  []Choice
		times []instant
		world world
	}
}

// player makes choices in a world.
type player struct {
	Config
	budget   budget
	past     *past.Moments
	sessions bool // the lock is on a ZooKeeper
	service  served
	seen     seen
	recorder *recorder // nil, unless a sequence is made again for its history
}

// served is what a lock is served by, and what is known of its requests.
type served struct {
	lock, resource model           // that no server is: those at the beginning are copies
	key            string          // the lock's
	hashes         bool            // the lock names scripts by their hashes, so it matters which ones a server has
	subscribes     bool            // it subscribes to channels, so there may be messages
	lifeAsked      map[string]bool // which commands, or scripts, ask how long keys live
	met            error           // by a request, which ends the search
}

// The keys of the lock on a Redis, and of the resource.
const (
	lockKey    = "k"
	counterKey = "k:counter"
)

// New makes a space of which nothing is known. It is to be closed.
func New(config Config) (*Space, error) {
	if config.Clients > MostClients || config.Servers > MostServers {
		return nil, fmt.Errorf("%d clients and %d servers: a state has room for %d and %d", config.Clients, config.Servers, MostClients, MostServers)
	}
	config.Servers = max(config.Servers, 1)
	return newSpace(config, past.Known{}), nil
}

func newSpace(config Config, known past.Known) *Space {
	s := &Space{Config: config, player: newPlayer(config), parts: newParts(config), interest: interestIn(&config)}
	options := impls.Options{Key: s.player.service.key, Lease: config.Lease}
	s.player.past = past.New(past.Config{
		Lock: config.Lock, Options: options, Counter: counterKey, Servers: config.Servers, Queue: config.Queue, Undeclared: config.Without.Undeclared, Sites: config.Sites,
	}, known)
	return s
}

func newPlayer(config Config) player {
	p := player{Config: config, budget: newBudget(config), sessions: config.Lock.Needs == impls.OneZooKeeper}
	p.service.lifeAsked, p.service.resource = map[string]bool{}, onRedis(redis.New())
	if p.service.lock, p.service.key = onRedis(redis.New()), lockKey; p.sessions {
		p.service.lock, p.service.key = newKeeper(config.Clients+1, config.Lease), lockNode
	}
	return p
}

// Again is the space to begin again with after an error that says that more has to be known of the lock; nil: the error says something else.
func (s *Space) Again(err error) *Space {
	wrong := slices.ContainsFunc(s.player.budget.kinds, func(kind faults.Kind) bool { return kind.Of().Target == faults.OnClock })
	known, more := s.player.past.Learn(err, s.ClockRate == 0 && !s.Without.Dated && !wrong) // else differences between what clocks show are not all that matters
	if !more {
		return nil
	}
	return newSpace(s.Config, known)
}

// Close ends the processes of clients.
func (s *Space) Close() { s.player.past.Close() }

// Begin is the state in which no client has done anything.
func (s *Space) Begin() (State, error) {
	w, err := s.player.begin()
	if err != nil {
		return State{}, err
	}
	return s.rowOf(w), nil
}

// Spent is how many faults have struck.
func (s *Space) Spent(r *State) int { return s.parts.struck(r).all }

// Ended says whether no client will do anything any more unless time passes.
func (s *Space) Ended(r *State) bool {
	return !slices.ContainsFunc(r.clients[:s.Clients], func(n int32) bool { return !s.parts.clients.list[n].done })
}
