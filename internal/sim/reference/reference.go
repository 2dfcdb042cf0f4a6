// Package reference is the slow reference search: it recomputes what package explore says of a lock, by other means. A state is what a
// sequence of choices leads to. A client is all that it was given, so it is run from the beginning for each new step; nothing is concluded
// from what a lock remembers. Clients are not exchanged for one another, no order of steps is left out, refused tries are repeated whether
// anything has changed or not, and time passes to instants of a grid. Two sequences count as one only where everything is exactly the same
// after them; Config.Every does not even do that.
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
	// before and after these. Horizon is when time ends.
	Grid, Horizon time.Duration
	// States is how many states may be found; 0: any number.
	States int
	// Every goes through every sequence of choices, also where another one has led to exactly the same state.
	Every bool
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
	timed    bool // the lock reads clocks
	locals   locals
	result   Result
	paths    []link // by number; the first is the beginning
	seen     map[string]bool
	parts    map[string]int // the parts of states, numbered
	text     []byte         // of a part
	list     []choice
	recorder *recorder // nil, unless a sequence is made again for its history
	hashes   bool      // the lock names scripts by their hashes, so it matters which ones a server has
}

// link is the last choice of a sequence, and where the sequence before it ends.
type link struct {
	before int
	made   choice
}

// place is a state that a sequence leads to.
type place struct {
	world  *world
	number int // of its link
	steps  int
}

// errReads: the search begins again, because the lock has turned out to read clocks.
var errReads = errors.New("the lock reads clocks")

// Search searches.
func Search(ctx context.Context, config Config) (*Result, error) {
	config.Servers = max(config.Servers, 1)
	for timed := false; ; timed = true {
		s := &search{Config: config, timed: timed, seen: map[string]bool{}, parts: map[string]int{}, paths: make([]link, 1)}
		s.locals = locals{
			spec: config.Lock, opts: impls.Options{Key: lockKey, Lease: config.Lease}, servers: s.Servers, starts: map[int]*moment{},
		}
		s.result.Found, s.result.Dismissed = map[checker.Name]Finding{}, map[checker.Name]int{}
		err := s.all(ctx)
		if err == errReads {
			continue
		}
		s.result.Runs, s.result.Clocks = s.locals.count, timed
		return &s.result, err
	}
}

// all expands every state.
func (s *search) all(ctx context.Context) error {
	first, err := s.begin()
	if err != nil {
		return err
	}
	waiting := []place{{world: first}}
	for len(waiting) > 0 {
		var at place
		if last := len(waiting) - 1; s.Every {
			at, waiting = waiting[last], waiting[:last] // few are kept
		} else {
			at, waiting = waiting[0], waiting[1:] // the shortest come first
		}
		if s.result.States++; s.States > 0 && s.result.States > s.States {
			s.result.Limit = fmt.Sprintf("%d states", s.States)
			break
		}
		if s.result.States%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if waiting, err = s.expand(at, waiting); err != nil {
			return err
		}
		if s.locals.reads && !s.timed {
			return errReads
		}
	}
	return nil
}

// expand makes every choice that there is in a state.
func (s *search) expand(at place, waiting []place) ([]place, error) {
	s.list = s.choices(s.list[:0], at.world)
	for _, c := range s.list {
		next := at.world.clone()
		if err := s.make(next, c); err != nil {
			return nil, err
		}
		steps := place{world: next, number: len(s.paths), steps: at.steps + 1}
		s.paths = append(s.paths, link{at.number, c})
		if err := s.ask(steps, next.monitor.suspects, false); err != nil {
			return nil, err
		}
		next.monitor.suspects = 0
		if !s.Every {
			key := s.key(next)
			if s.seen[key] {
				s.paths = s.paths[:len(s.paths)-1]
				continue
			}
			s.seen[key] = true
		}
		waiting = append(waiting, steps)
	}
	if s.ended(at.world) {
		return waiting, s.judgeEnd(at)
	}
	return waiting, nil
}

// ask has the checker judge the history that leads to a place, if it looks as if it showed something that is not known yet.
func (s *search) ask(at place, suspects suspicions, trial bool) error {
	var open []checker.Name
	for _, name := range suspects.names() {
		found, known := s.result.Found[name]
		if (!known || found.Faults > at.world.spent) && s.result.Dismissed[name] < mostDismissed {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return nil
	}
	events, err := s.record(at, trial)
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
		if found, known := s.result.Found[name]; !known || found.Faults > at.world.spent {
			s.result.Found[name] = Finding{Faults: at.world.spent, Steps: at.steps, Events: events}
		}
	}
	return nil
}
