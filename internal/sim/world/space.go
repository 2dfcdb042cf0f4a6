// Package world is the model that a search goes through: what clients of a lock, its servers and time may do next, and what comes of it. A
// state is a row of parts: clients, servers, and what suspicions need to know. A client is all that it was given since its lock declared what
// it keeps (impls.Stateful); nothing else is concluded about what a lock remembers. A step is made once for all states that are alike in what
// it reads. No order of steps is left out but that of private ones, refused tries are repeated whether anything has changed or not, and a lock
// that reads clocks meets a grid of times. Clients count as one only if the lock's card says that tokens are compared for equality alone. Config.Without switches
// these reductions off.
//
// It owns states and choices, and plain definitions of what looks wrong. Whether it is, the checker says of the whole history. It must not
// know in which order states are searched.
package world

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
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
	}
}

// player makes choices in a world.
type player struct {
	Config
	kinds      []faults.Kind // that may strike
	locals     locals
	fresh      struct{ lock, resource model } // that no server is: those at the beginning are copies
	sessions   bool                           // the lock is on a ZooKeeper
	key        string                         // the lock's
	hashes     bool                           // the lock names scripts by their hashes, so it matters which ones a server has
	subscribes bool                           // it subscribes to channels, so there may be messages
	lives      bool                           // it asks how long keys live
	lifeAsked  map[string]bool                // which commands, or scripts, ask how long keys live
	met        error                          // by a request, which ends the search
	endless    bool                           // a fresh client's try did not end
	seen       seen
	recorder   *recorder // nil, unless a sequence is made again for its history
}

// New makes a space of which nothing is known. It is to be closed.
func New(config Config) (*Space, error) {
	if config.Clients > MostClients || config.Servers > MostServers {
		return nil, fmt.Errorf("%d clients and %d servers: a state has room for %d and %d", config.Clients, config.Servers, MostClients, MostServers)
	}
	config.Servers = max(config.Servers, 1)
	if config.Queue {
		config.Lock.New = untilHeld(config.Lock.New)
	}
	return newSpace(config, unread, false, false), nil
}

func newSpace(config Config, clocks clocks, limits, lives bool) *Space {
	s := &Space{Config: config, player: player{Config: config, lives: lives, lifeAsked: map[string]bool{}}, parts: newParts(config), interest: interestIn(&config)}
	s.player.fresh.lock, s.player.fresh.resource, s.player.key = onRedis(redis.New()), onRedis(redis.New()), lockKey
	if s.player.sessions = config.Lock.Needs == impls.OneZooKeeper; s.player.sessions {
		s.player.fresh.lock, s.player.key = newKeeper(config.Clients+1, config.Lease), lockNode
	}
	s.player.locals = locals{
		spec: config.Lock, opts: impls.Options{Key: s.player.key, Lease: config.Lease}, servers: config.Servers, sessions: s.player.sessions, sites: config.Sites, clocks: clocks, limits: limits, undeclared: config.Without.Undeclared,
		starts: map[int]*moment{}, rests: map[string]*moment{},
	}
	for kind, n := range config.Budget {
		if n > 0 {
			s.player.kinds = append(s.player.kinds, kind)
		}
	}
	slices.Sort(s.player.kinds)
	return s
}

// Again is the space to begin again with after an error that says that more has to be known of the lock; nil: the error says something else.
func (s *Space) Again(err error) *Space {
	clocks, limits, lives := s.player.locals.clocks, s.player.locals.limits, s.player.lives
	switch {
	case errors.Is(err, errLimits):
		limits = true
	case errors.Is(err, errLives):
		lives = true
	case errors.Is(err, errReads) && s.player.differ():
		clocks = differences
	case errors.Is(err, errReads), errors.Is(err, errAbsolute):
		clocks = absolute
	default:
		return nil
	}
	return newSpace(s.Config, clocks, limits, lives)
}

// Close ends the processes of clients.
func (s *Space) Close() { s.player.locals.close() }

// Runs is how often the lock's code was run from its beginning, and Clocks says whether it reads clocks.
func (s *Space) Runs() int { return s.player.locals.count }

func (s *Space) Clocks() bool { return s.player.locals.clocks != unread }

// differ says whether the clocks of clients are right, so that only differences between what they show may matter.
func (p *player) differ() bool {
	return p.ClockRate == 0 && !p.Without.Dated && !slices.ContainsFunc(ofClocks[:], func(k faults.Kind) bool { return p.place(k) >= 0 })
}

// Begin is the state in which no client has done anything.
func (s *Space) Begin() (State, error) {
	w, err := s.player.begin()
	if err != nil {
		return State{}, err
	}
	return s.rowOf(w), nil
}

// Spent is how many faults have struck.
func (s *Space) Spent(r *State) int { return s.parts.strucks.list[r.struck].all }

// Ended says whether no client will do anything any more unless time passes.
func (s *Space) Ended(r *State) bool {
	for i := range s.Clients {
		if !s.parts.clients.list[r.clients[i]].over {
			return false
		}
	}
	return true
}
