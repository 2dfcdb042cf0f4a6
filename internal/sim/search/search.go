// Package search goes through the states of a lock within bounds, those after the fewest faults first, and of these those after the fewest
// steps: the first counterexample is a smallest one. The lock's own code runs; the search chooses everything around it: which client or server
// goes next, which message is lost, how time passes.
//
// It owns the order of the search, its limits, and what it has come by. It must not know what may happen, nor what is wrong:
// internal/sim/world says what may, and the checker judges the whole history. Nor must it know how a trace is shown.
package search

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/world"
)

// search is one search. It is used by one goroutine.
type search struct {
	config  Config
	space   *world.Space
	result  Result
	found   findings
	waiting [][][]place // to be expanded, by faults and steps
	links   []link      // by number; the first is the beginning
	seen    fingerprints
	ends    map[world.State]bool // whether the lock is stuck in the end
	choices []world.Choice       // used again
	began   time.Time
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

// undeclaredStates bound the search of a lock that does not declare what a search needs, which has many states and shows nothing in the end.
const undeclaredStates = 100_000

// Search searches. The error is of a lock that cannot be searched, or of the context.
func Search(ctx context.Context, config Config) (*Result, error) {
	if err := config.checkService(); err != nil {
		return nil, err
	}
	space, err := world.New(config.model())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for {
		s := newSearch(config, space)
		s.began = began
		err := s.all(ctx)
		space.Close()
		if again := space.Again(err); again != nil {
			space = again
			continue
		}
		if err != nil {
			return nil, err
		}
		s.finish()
		return &s.result, nil
	}
}

func newSearch(config Config, space *world.Space) *search {
	s := &search{config: config, space: space, links: make([]link, 1), seen: newFingerprints(), ends: map[world.State]bool{}}
	s.found = newFindings(config)
	return s
}

// all expands every state: those after the fewest faults first, and of these those after the fewest steps. It ends where what was found
// cannot be smaller any more.
func (s *search) all(ctx context.Context) error {
	first, err := s.space.Begin()
	if err != nil {
		return err
	}
	if s.undeclared() != "" && s.config.States == 0 {
		s.config.States = undeclaredStates
	}
	s.waiting = make([][][]place, s.config.MostFaults+1)
	s.await(place{state: first})
	for spent := range s.waiting {
		for steps := 0; steps < len(s.waiting[spent]); steps++ {
			s.result.Faults, s.result.Steps = spent, steps
			if s.found.enough(spent, steps+1) {
				return nil
			}
			if err := s.level(ctx, s.waiting[spent][steps]); err != nil || s.result.Limit != "" {
				return err
			}
			s.waiting[spent][steps] = nil
		}
		if s.found.enough(spent+1, 0) {
			return nil
		}
	}
	return nil
}

// level expands the states after so many faults and steps.
func (s *search) level(ctx context.Context, places []place) error {
	for _, at := range places {
		s.result.States++
		s.result.Frontier--
		if s.result.States%1024 == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.report()
		}
		if s.stopped() {
			return nil
		}
		if err := s.expand(at); err != nil {
			return err
		}
	}
	return nil
}

// report says how far the search has come.
func (s *search) report() {
	p := &s.result.Progress
	p.Took, p.Memory = time.Since(s.began), s.memory()
	if s.config.Progress != nil {
		s.config.Progress(*p)
	}
	switch {
	case s.config.Memory > 0 && p.Memory >= s.config.Memory:
		s.result.Limit = fmt.Sprintf("%d MiB", s.config.Memory>>20)
	case s.config.Time > 0 && p.Took >= s.config.Time:
		s.result.Limit = s.config.Time.String()
	}
}

// stopped says whether a limit has been reached.
func (s *search) stopped() bool {
	if s.config.States > 0 && s.result.States > s.config.States && s.result.Limit == "" {
		s.result.Limit = fmt.Sprintf("%d states", s.config.States)
	}
	return s.result.Limit != ""
}

// memory is how much of it the search has taken, as far as it grows.
func (s *search) memory() int {
	return cap(s.links)*int(unsafe.Sizeof(link{})) + s.seen.bytes() + s.result.Frontier*int(unsafe.Sizeof(place{})) + s.space.Bytes()
}

// await has a state be expanded in its turn.
func (s *search) await(at place) {
	by := &s.waiting[s.space.Spent(&at.state)]
	for int(at.steps) >= len(*by) {
		*by = append(*by, nil)
	}
	(*by)[at.steps] = append((*by)[at.steps], at)
	s.result.Frontier++
	s.result.Longest = max(s.result.Longest, int(at.steps))
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
		broken, err := s.ask(to, suspects, false)
		if err != nil {
			return err
		}
		first := to.number
		if !broken {
			to, err = s.privately(to)
		}
		if err != nil {
			return err
		}
		if broken || !s.config.Every && !s.seen.add(s.space.Same(&to.state)) {
			s.links = s.links[:first]
			continue
		}
		s.await(to)
	}
	if s.space.Ended(&at.state) {
		return s.judgeEnd(at)
	}
	return nil
}

// privately makes private steps at once, if there are any: what is between them is no state by itself.
func (s *search) privately(at place) (place, error) {
	for {
		o, there, err := s.space.Privately(&at.state)
		if !there || err != nil {
			return at, err
		}
		next, _, err := s.space.Make(&at.state, o)
		if err != nil {
			return at, err
		}
		s.links = append(s.links, link{at.number, o})
		at = place{state: next, number: int32(len(s.links) - 1), steps: at.steps + 1}
	}
}

// path are the choices that lead to a place.
func (s *search) path(at place) (path []world.Choice) {
	for n := at.number; n != 0; n = s.links[n].before {
		path = append(path, s.links[n].made)
	}
	slices.Reverse(path)
	return path
}

// finish concludes.
func (s *search) finish() {
	r := &s.result
	s.report()
	s.found.conclude(r)
	facts := s.space.Facts()
	r.Runs, r.Idle, r.Coverage, r.Unnamed, r.Uncalled, r.Symmetric = facts.Runs, facts.Idle, facts.Coverage, facts.Unnamed, facts.Uncalled, facts.Symmetric
	if r.Tries, r.Sessions = s.space.Tries, s.config.onZooKeeper(); facts.Beyond {
		r.Horizon = s.space.Horizon
	}
	if r.Found == nil {
		r.Doubt = s.doubt(facts.Noticed)
	}
	if r.Found != nil {
		r.Limit = ""
	}
}

// What keeps a search from showing that a lock holds that does not declare it: its code may keep what the search does not see, ask a clock that is not its
// Env's, or go by more of its tokens than that they are different.
const (
	undeclaredState  = "it declares no State (impls.Stateful), so nothing says that its code keeps the contract of Env; declare it, or search its schedules"
	undeclaredTokens = "its card does not say that it compares tokens for equality alone (EqualTokens); declare it, or search its schedules"
)

// undeclared says what a lock does not declare; empty: it declares all that a search needs to show that it holds.
func (s *search) undeclared() string {
	switch {
	case !s.space.Declares():
		return undeclaredState
	case !s.config.Lock.EqualTokens:
		return undeclaredTokens
	}
	return ""
}

// doubt says why a search that has found nothing does not show that the lock holds; empty: it does, or a limit has stopped it.
func (s *search) doubt(noticed string) string {
	if doubt := s.undeclared(); doubt != "" || s.result.Limit != "" {
		return doubt
	}
	if noticed != "" {
		return noticed
	}
	if s.found.blocked {
		return "a client that came last did not get the lock, and the history does not show that it is stuck"
	}
	return ""
}

// struck says which kinds of faults an excuse may be for. To wait for what is lost takes as long as a long hold.
func (s *search) struck(at place, path []world.Choice) []faults.Kind {
	struck := s.space.Struck(&at.state)
	if world.Waited(path) && !slices.Contains(struck, faults.LongHold) {
		struck = append(struck, faults.LongHold)
	}
	return struck
}
