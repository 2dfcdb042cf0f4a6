// Package search goes through the states of a lock within bounds, those after the fewest faults first, and of these those after the fewest
// steps: the first counterexample is a smallest one. The lock's own code runs; the search chooses everything around it: which client or server
// goes next, which message is lost, how time passes.
//
// It owns the order of the search, its limits, and what it has come by. It must not know what may happen, nor what is wrong:
// internal/sim/world says what may, and the checker judges the whole history. Nor must it know how a trace is shown.
package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/sim/world"
)

// search is one search. It is used by one goroutine.
type search struct {
	config  Config
	space   *world.Space
	result  Result
	found   findings
	levels  [][][]place // the states, by faults and steps
	visits  int         // of states, once for each number of faults that is spent there
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
		s := &search{
			config: config, space: space, began: began, links: make([]link, 1), seen: newFingerprints(), ends: map[world.State]bool{},
			found: findings{wanted: config.wanted(), excused: map[checker.Name]sequence{}, all: map[checker.Name]*trace.Trace{}, dismissed: map[checker.Name]int{}},
		}
		err = patiently(ctx, space, func(ctx context.Context) error {
			if err := s.all(ctx); err != nil {
				return err
			}
			return s.finish()
		})
		if errors.Is(err, errNoEnd) {
			return nil, err
		}
		space.Close()
		if again := space.Again(err); again != nil {
			space = again
			continue
		}
		if err != nil {
			return nil, err
		}
		return &s.result, nil
	}
}

// all takes every step: those to states after the fewest faults first, and of these those after the fewest steps. A step that costs a fault waits
// until it is known that fewer are not enough. It ends with the first counterexample, unless Config.On.
func (s *search) all(ctx context.Context) error {
	first, err := s.space.Begin()
	if err != nil {
		return err
	}
	if s.undeclared() != "" && s.config.States == 0 {
		s.config.States = undeclaredStates
	}
	s.levels = make([][][]place, s.config.MostFaults+1)
	s.await(place{state: first})
	for spent := range s.levels {
		for steps := 0; s.reaches(spent, steps); steps++ {
			s.result.Faults, s.result.Steps = spent, steps
			for spending := spent; spending >= 0; spending-- {
				if err := s.level(ctx, spent-spending, steps, spending); err != nil || s.ended() {
					return err
				}
			}
		}
	}
	return nil
}

// ended says whether the search has come to an end.
func (s *search) ended() bool { return s.result.Limit != "" || s.found.best.trace != nil }

// reaches says whether there are states after so many steps, from which so many faults can be reached.
func (s *search) reaches(faults, steps int) bool {
	return slices.ContainsFunc(s.levels[:faults+1], func(level [][]place) bool { return steps < len(level) })
}

// level takes the steps that spend so many faults from the states after so many faults and steps.
func (s *search) level(ctx context.Context, faults, steps, spending int) error {
	if steps >= len(s.levels[faults]) {
		return nil
	}
	for _, at := range s.levels[faults][steps] {
		if s.visits++; s.visits%1024 == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.report()
		}
		if s.config.States > 0 && s.result.States >= s.config.States {
			s.result.Limit = fmt.Sprintf("%d states", s.config.States)
		}
		if s.ended() {
			return nil
		}
		if spending == 0 {
			s.result.Frontier--
		}
		if err := s.expand(at, spending); err != nil {
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

// memory is how much of it the search has taken, as far as it grows.
func (s *search) memory() int {
	return cap(s.links)*int(unsafe.Sizeof(link{})) + s.seen.bytes() + s.result.States*int(unsafe.Sizeof(place{})) + s.space.Bytes()
}

// await has a state be expanded in its turn.
func (s *search) await(at place) {
	by := &s.levels[s.space.Spent(&at.state)]
	for int(at.steps) >= len(*by) {
		*by = append(*by, nil)
	}
	(*by)[at.steps] = append((*by)[at.steps], at)
	s.result.States++
	s.result.Frontier++
	s.result.Longest = max(s.result.Longest, int(at.steps))
}

// expand makes every choice in a state that spends so many faults.
func (s *search) expand(at place, spending int) error {
	s.choices = s.space.Spending(s.choices[:0], &at.state, spending)
	for _, o := range s.choices {
		next, suspects, err := s.space.Make(&at.state, o)
		if err != nil {
			return err
		}
		first := len(s.links)
		to := place{state: next, number: int32(first), steps: at.steps + 1}
		s.links = append(s.links, link{at.number, o})
		if err := s.judge(to, suspects, false); err != nil || s.found.best.trace != nil {
			return err
		}
		if to, err = s.privately(to); err != nil {
			return err
		}
		if !s.config.Every && !s.seen.add(s.space.Same(&to.state)) {
			s.links = s.links[:first]
			continue
		}
		s.await(to)
	}
	if spending == 0 && (s.space.Ended(&at.state) || len(s.choices) == 0) { // without a choice, some client's try does not end
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
func (s *search) finish() error {
	r := &s.result
	s.report()
	if err := s.conclude(); err != nil {
		return err
	}
	facts := s.space.Facts()
	r.Runs, r.Idle, r.Coverage, r.Unnamed, r.Uncalled, r.Symmetric = facts.Runs, facts.Idle, facts.Coverage, facts.Unnamed, facts.Uncalled, facts.Symmetric
	if r.Tries, r.Sessions = s.space.Tries, s.config.onZooKeeper(); facts.Beyond || facts.Clocks && r.Found == nil {
		r.Horizon = s.space.Horizon
	}
	if r.Found == nil {
		r.Doubt = s.doubt(facts.Noticed)
	}
	return nil
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
