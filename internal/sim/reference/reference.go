// Package reference is the slow reference search: it recomputes what package explore says of a lock, by other means. A state is a row of
// parts: clients, servers, and what suspicions need to know. A client is all that it was given since its lock declared what it keeps
// (impls.Stateful); nothing else is concluded about what a lock remembers. A step is made once for all states that are alike in what it reads.
// No order of steps is left out, refused tries are repeated whether anything has changed or not, and a lock that reads clocks meets a grid of
// times. Clients count as one only if the lock's card says that tokens are compared for equality alone. Config.Without switches these
// reductions off, and Config.Every goes through every sequence of choices.
//
// It owns this search, and plain definitions of what looks wrong. Whether it is, the checker says of the whole history. It shares no code
// with internal/sim/explore and must not know it.
package reference

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/redis"
)

// Config says what to search, and within which bounds.
type Config struct {
	Lock    impls.Spec
	Clients int
	Rounds  int // acquire, work, release: how often each client does all three
	Servers int
	Tries   int // how often a client tries in a round, at most
	// ReleaseAgain: after a release of unknown outcome a client may release once more, until it acquires again.
	ReleaseAgain bool
	Lease        time.Duration
	Skew         time.Duration // by which a wrong clock is wrong
	// ClockRate is at which rate a slow clock runs, and a fast one as many times too fast; 0: wrong clocks are off by Skew.
	ClockRate float64
	Budget    map[faults.Kind]int
	Most      int // faults altogether
	// Grid is the time from one instant at which something may happen to the next, beside the ends of waits and leases and a millisecond
	// before and after these, if the lock reads clocks. Horizon is when time ends for a lock that reads them, or sleeps: counted from the
	// beginning or, if only differences matter, from the latest reading, and from when it began what sleeps.
	Grid, Horizon time.Duration
	// States is how many states may be found; 0: any number.
	States int
	// Every goes through every sequence of choices, also where another one has led to exactly the same state.
	Every   bool
	Without Unreduced
}

// Unreduced switches off what makes states fewer, for tests: the answers are the same.
type Unreduced struct {
	Apart      bool // clients are told apart that differ by their tokens only
	Undeclared bool // two pasts are told apart after which the lock declares that it keeps the same
	Dated      bool // it counts what a clock shows, also where only differences matter
}

// Result is what came of a search.
type Result struct {
	Found  map[checker.Name]Finding
	States int
	Runs   int    // of the lock's code, from its beginning
	Limit  string // what stopped the search before it was complete; empty: nothing did
	// Dismissed is how often something looked wrong, by anomaly, and the checker said that it was not.
	Dismissed map[checker.Name]int
	Clocks    bool // the lock reads clocks
}

// Finding is a sequence of choices that shows an anomaly.
type Finding struct {
	Faults, Steps int
	Events        []history.Event
}

// mostDismissed is how often the checker is asked about one anomaly in vain.
const mostDismissed = 2000

// search is one search.
type search struct {
	Config
	kinds    []faults.Kind // that may strike
	locals   locals
	fresh    *redis.Server // that no server is: those at the beginning are copies
	hashes   bool          // the lock names scripts by their hashes, so it matters which ones a server has
	recorder *recorder     // nil, unless a sequence is made again for its history
	result   Result
	parts    parts
	reached  reached
	scratch  struct { // what is used again
		text  []byte
		list  []choice
		times []int
	}
}

// reached is what sequences have led to.
type reached struct {
	waiting [][][]place // to be expanded, by faults and steps
	links   []link      // by number; the first is the beginning
	seen    fingerprints
	ends    map[row]bool // whether the lock is stuck in the end
}

// link is the last choice of a sequence, and where the sequence before it ends.
type link struct {
	before int32
	made   choice
}

// place is a state that a sequence leads to.
type place struct {
	row    row
	number int32 // of its link
	steps  int32
}

// Search searches.
func Search(ctx context.Context, config Config) (*Result, error) {
	if config.Clients >= mostClients || config.Servers > mostServers {
		return nil, fmt.Errorf("%d clients and %d servers: a state has room for %d and %d", config.Clients, config.Servers, mostClients-1, mostServers)
	}
	config.Servers = max(config.Servers, 1)
	clocks, limits := unread, false
	for {
		s := newSearch(config, clocks)
		s.locals.limits = limits
		err := s.all(ctx)
		s.locals.close()
		switch {
		case errors.Is(err, errLimits):
			limits = true
		case errors.Is(err, errReads) && s.differ():
			clocks = differences
		case errors.Is(err, errReads), errors.Is(err, errAbsolute):
			clocks = absolute
		default:
			s.result.Runs, s.result.Clocks = s.locals.count, clocks != unread
			return &s.result, err
		}
	}
}

func newSearch(config Config, clocks clocks) *search {
	s := &search{Config: config, fresh: redis.New(), parts: newParts(config)}
	s.reached = reached{links: make([]link, 1), seen: newFingerprints(), ends: map[row]bool{}}
	s.locals = locals{
		spec: config.Lock, opts: impls.Options{Key: lockKey, Lease: config.Lease}, servers: config.Servers, clocks: clocks, undeclared: config.Without.Undeclared,
		starts: map[int]*moment{}, rests: map[string]*moment{},
	}
	s.result.Found, s.result.Dismissed = map[checker.Name]Finding{}, map[checker.Name]int{}
	for kind, n := range config.Budget {
		if n > 0 {
			s.kinds = append(s.kinds, kind)
		}
	}
	slices.Sort(s.kinds)
	return s
}

// differ says whether the clocks of clients are right, so that only differences between what they show may matter.
func (s *search) differ() bool {
	clocks := []faults.Kind{faults.ClockAhead, faults.ClockBehind, faults.StepAhead, faults.StepBack}
	return s.ClockRate == 0 && !s.Without.Dated && !slices.ContainsFunc(clocks, func(k faults.Kind) bool { return s.place(k) >= 0 })
}

// all expands every state: those after the fewest faults first, and of these those after the fewest steps.
func (s *search) all(ctx context.Context) error {
	first, err := s.begin()
	if err != nil {
		return err
	}
	s.reached.waiting = make([][][]place, s.Most+1)
	s.await(place{row: s.rowOf(first)})
	for spent := range s.reached.waiting {
		for steps := 0; steps < len(s.reached.waiting[spent]); steps++ {
			for _, at := range s.reached.waiting[spent][steps] {
				if s.result.States++; s.States > 0 && s.result.States > s.States {
					s.result.Limit = fmt.Sprintf("%d states", s.States)
					return nil
				}
				if s.result.States%1024 == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				if err := s.expand(at); err != nil {
					return err
				}
			}
			s.reached.waiting[spent][steps] = nil
		}
	}
	return nil
}

// await has a state be expanded in its turn.
func (s *search) await(at place) {
	by := &s.reached.waiting[s.parts.strucks.list[at.row.struck].all]
	for int(at.steps) >= len(*by) {
		*by = append(*by, nil)
	}
	(*by)[at.steps] = append((*by)[at.steps], at)
}

// expand makes every choice that there is in a state.
func (s *search) expand(at place) error {
	s.scratch.list = s.choices(s.scratch.list[:0], &at.row)
	for _, o := range s.scratch.list {
		next, suspects, err := s.step(&at.row, o)
		if err != nil {
			return err
		}
		to := place{row: next, number: int32(len(s.reached.links)), steps: at.steps + 1}
		s.reached.links = append(s.reached.links, link{at.number, o})
		if err := s.ask(to, suspects, false); err != nil {
			return err
		}
		if !s.Every && !s.reached.seen.add(s.same(&next)) {
			s.reached.links = s.reached.links[:to.number]
			continue
		}
		s.await(to)
	}
	if s.ended(&at.row) {
		return s.judgeEnd(at)
	}
	return nil
}

// ended says whether no client will do anything any more unless time passes.
func (s *search) ended(r *row) bool {
	for i := range s.Clients {
		if !s.parts.clients.list[r.clients[i]].over {
			return false
		}
	}
	return true
}

// path are the choices that lead to a place.
func (s *search) path(at place) (path []choice) {
	for n := at.number; n != 0; n = s.reached.links[n].before {
		path = append(path, s.reached.links[n].made)
	}
	slices.Reverse(path)
	return path
}

// ask has the checker judge the history that leads to a place, if it looks as if it showed something that is not known yet.
func (s *search) ask(at place, suspects suspicions, trial bool) error {
	if suspects == 0 {
		return nil
	}
	spent := s.parts.strucks.list[at.row.struck].all
	var open []checker.Name
	for _, name := range suspects.names() {
		found, known := s.result.Found[name]
		if (!known || found.Faults > spent) && s.result.Dismissed[name] < mostDismissed {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return nil
	}
	events, err := s.record(s.path(at), trial)
	if err != nil {
		return err
	}
	verdict := checker.Judge(events, checker.Options{})
	if verdict.CheckerFault {
		return fmt.Errorf("the judges disagree: %s", verdict.Reason)
	}
	seen := verdict.Names()
	for _, name := range open {
		if !slices.Contains(seen, name) {
			s.result.Dismissed[name]++
		}
	}
	for _, name := range seen {
		if trial && name != checker.StuckLock {
			continue // there is a client more
		}
		if found, known := s.result.Found[name]; !known || found.Faults > spent {
			s.result.Found[name] = Finding{Faults: spent, Steps: int(at.steps), Events: events}
		}
	}
	return nil
}
