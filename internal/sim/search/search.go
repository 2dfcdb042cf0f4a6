// Package search goes through the states of a lock within bounds, those after the fewest faults first, and of these those after the fewest
// steps: the first sequence that shows an anomaly is a smallest one. Config.Every goes through every sequence of choices.
//
// It owns the order of the search, and what it has come by. It must not know what may happen, nor what is wrong: internal/sim/world says what
// may, and the checker judges the whole history.
package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/world"
)

// Config says what to search, and within which bounds.
type Config struct {
	world.Config
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
	config  Config
	space   *world.Space
	result  Result
	waiting [][][]place // to be expanded, by faults and steps
	links   []link      // by number; the first is the beginning
	seen    fingerprints
	ends    map[world.State]bool // whether the lock is stuck in the end
	choices []world.Choice       // used again
}

// link is the last choice of a sequence, and where the sequence before it ends.
type link struct {
	before int32
	made   world.Choice
}

// place is a state that a sequence leads to.
type place struct {
	state  world.State
	number int32 // of its link
	steps  int32
}

// Search searches.
func Search(ctx context.Context, config Config) (*Result, error) {
	space, err := world.New(config.Config)
	if err != nil {
		return nil, err
	}
	for {
		s := newSearch(config, space)
		err := s.all(ctx)
		space.Close()
		if again := space.Again(err); again != nil {
			space = again
			continue
		}
		s.result.Runs, s.result.Clocks = space.Runs(), space.Clocks()
		return &s.result, err
	}
}

func newSearch(config Config, space *world.Space) *search {
	s := &search{config: config, space: space, links: make([]link, 1), seen: newFingerprints(), ends: map[world.State]bool{}}
	s.result.Found, s.result.Dismissed = map[checker.Name]Finding{}, map[checker.Name]int{}
	return s
}

// all expands every state: those after the fewest faults first, and of these those after the fewest steps.
func (s *search) all(ctx context.Context) error {
	first, err := s.space.Begin()
	if err != nil {
		return err
	}
	s.waiting = make([][][]place, s.config.Most+1)
	s.await(place{state: first})
	for spent := range s.waiting {
		for steps := 0; steps < len(s.waiting[spent]); steps++ {
			for _, at := range s.waiting[spent][steps] {
				if s.result.States++; s.config.States > 0 && s.result.States > s.config.States {
					s.result.Limit = fmt.Sprintf("%d states", s.config.States)
					return nil
				}
				if s.result.States%1024 == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				if err := s.expand(at); err != nil {
					return err
				}
			}
			s.waiting[spent][steps] = nil
		}
	}
	return nil
}

// await has a state be expanded in its turn.
func (s *search) await(at place) {
	by := &s.waiting[s.space.Spent(&at.state)]
	for int(at.steps) >= len(*by) {
		*by = append(*by, nil)
	}
	(*by)[at.steps] = append((*by)[at.steps], at)
}

// expand makes every choice that there is in a state.
func (s *search) expand(at place) error {
	s.choices = s.space.Choices(s.choices[:0], &at.state)
	for _, o := range s.choices {
		next, suspects, err := s.space.Make(&at.state, o)
		if err != nil {
			return err
		}
		to := place{state: next, number: int32(len(s.links)), steps: at.steps + 1}
		s.links = append(s.links, link{at.number, o})
		if err := s.ask(to, suspects, false); err != nil {
			return err
		}
		if !s.config.Every && !s.seen.add(s.space.Same(&next)) {
			s.links = s.links[:to.number]
			continue
		}
		s.await(to)
	}
	if s.space.Ended(&at.state) {
		return s.judgeEnd(at)
	}
	return nil
}

// judgeEnd judges what is left when all clients have ended: the data must be right, and a fresh client must get the lock.
func (s *search) judgeEnd(at place) error {
	if err := s.ask(at, s.space.Losses(&at.state), false); err != nil {
		return err
	}
	key := at.state.Ending()
	stuck, known := s.ends[key]
	if !known {
		var err error
		if stuck, err = s.space.Stuck(&at.state); err != nil {
			return err
		}
		s.ends[key] = stuck
	}
	if !stuck {
		return nil
	}
	return s.ask(at, world.Suspect(checker.StuckLock), true)
}

// path are the choices that lead to a place.
func (s *search) path(at place) (path []world.Choice) {
	for n := at.number; n != 0; n = s.links[n].before {
		path = append(path, s.links[n].made)
	}
	slices.Reverse(path)
	return path
}

// ask has the checker judge the history that leads to a place, if it looks as if it showed something that is not known yet.
func (s *search) ask(at place, suspects world.Suspicions, trial bool) error {
	if suspects == 0 {
		return nil
	}
	spent := s.space.Spent(&at.state)
	var open []checker.Name
	for _, name := range suspects.Names() {
		found, known := s.result.Found[name]
		if (!known || found.Faults > spent) && s.result.Dismissed[name] < mostDismissed {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return nil
	}
	events, err := s.space.Record(s.path(at), trial)
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
