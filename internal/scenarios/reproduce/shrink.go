package reproduce

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// Check is the script as it would be read from a file. The error says why it makes no sense.
func Check(s *scenarios.Script) (*scenarios.Script, error) {
	if len(s.Steps) == 0 {
		return nil, errors.New("no step is left")
	}
	return scenarios.Parse(s.Name+".lab", scenarios.Format(s))
}

// Plays plays scripts and says of each whether it shows what it should.
type Plays func([]*scenarios.Script) ([]bool, error)

// Shrink makes a script smaller for as long as it shows what it should. In each round it tries to do without each client, each step and
// each breakpoint, and then without all at once of those that were not needed.
func Shrink(s *scenarios.Script, plays Plays) (*scenarios.Script, error) {
	for {
		next, err := round(s, plays)
		if err != nil {
			return nil, err
		}
		if next == nil {
			if checked, err := Check(renamed(s)); err == nil {
				return checked, nil
			}
			return s, nil
		}
		s = next
	}
}

// round is one round: it tries to leave out some steps that follow on one another, too. It returns nil if nothing can be left out
// any more.
func round(s *scenarios.Script, plays Plays) (*scenarios.Script, error) {
	var cuts []cut
	var scripts []*scenarios.Script
	for _, c := range cutsOf(s) {
		if smaller := c.of(s); smaller != nil {
			cuts, scripts = append(cuts, c), append(scripts, smaller)
		}
	}
	if len(cuts) == 0 {
		return nil, nil
	}
	shown, err := plays(scripts)
	if err != nil {
		return nil, err
	}
	var free []int
	for i, ok := range shown {
		if ok {
			free = append(free, i)
		}
	}
	if len(free) == 0 {
		return nil, nil
	}
	// All of them, half of them, a quarter; in the end the first, which has been seen to do.
	for n := len(free); n > 1; n /= 2 {
		together := cut{steps: map[int]bool{}, breakpoints: map[breakpointAt]bool{}}
		for _, i := range free[:n] {
			maps.Copy(together.steps, cuts[i].steps)
			maps.Copy(together.breakpoints, cuts[i].breakpoints)
		}
		smaller := together.of(s)
		if smaller == nil {
			continue
		}
		shown, err := plays([]*scenarios.Script{smaller})
		if err != nil || shown[0] {
			return smaller, err
		}
	}
	return scripts[free[0]], nil
}

// cut is what is left out of a script.
type cut struct {
	steps       map[int]bool
	breakpoints map[breakpointAt]bool
}

type breakpointAt struct{ step, at int }

// cutsOf lists what might be left out, the most first.
func cutsOf(s *scenarios.Script) []cut {
	var cuts []cut
	for _, client := range s.Actors() {
		c := cut{steps: map[int]bool{}}
		for i, step := range s.Steps {
			if step.Client == client {
				c.steps[i] = true
			}
		}
		if len(c.steps) > 0 { // a client may be there for its further locks only
			cuts = append(cuts, c)
		}
	}
	for size := 3; size > 0; size-- {
		for i := range len(s.Steps) - size + 1 {
			c := cut{steps: map[int]bool{}}
			for k := i; k < i+size; k++ {
				maps.Copy(c.steps, stepWith(s.Steps, k))
			}
			if len(c.steps) > 0 {
				cuts = append(cuts, c)
			}
		}
	}
	for i, step := range s.Steps {
		for n := range step.Breakpoints {
			cuts = append(cuts, breakpointCut(s.Steps, i, n))
		}
	}
	return cuts
}

// stepWith is a step and what makes no sense without it: of an operation its continuations, of a pause its end. That a client waits is
// left out only with its acquire: the model needs no such step, because its clients are prompt, and a server does.
func stepWith(steps []scenarios.Step, i int) map[int]bool {
	if steps[i].Verb == scenarios.VerbWaits {
		return nil
	}
	gone := map[int]bool{i: true}
	for k := i + 1; k < len(steps) && steps[i].Client != ""; k++ {
		switch {
		case steps[k].Client != steps[i].Client:
		case goesWith(steps[i].Verb, steps[k].Verb):
			gone[k] = true
		case steps[k].Verb == steps[i].Verb:
			return gone
		}
	}
	return gone
}

func goesWith(first, next scenarios.Verb) bool {
	switch first {
	case scenarios.VerbOp:
		return next == scenarios.VerbContinue || next == scenarios.VerbAwait || next == scenarios.VerbGiveUp || next == scenarios.VerbWaits
	case scenarios.VerbPause:
		return next == scenarios.VerbResume
	}
	return false
}

// breakpointCut leaves out the nth breakpoint of a step, and one continuation with it.
func breakpointCut(steps []scenarios.Step, i, n int) cut {
	c := cut{steps: map[int]bool{}, breakpoints: map[breakpointAt]bool{{i, n}: true}}
	for k := i + 1; k < len(steps); k++ {
		if steps[k].Client == steps[i].Client && goesWith(scenarios.VerbOp, steps[k].Verb) {
			c.steps[k] = true
			return c
		}
	}
	return c
}

// of is the script without the cut; nil if that makes no sense.
func (c cut) of(s *scenarios.Script) *scenarios.Script {
	smaller := *s
	smaller.Steps = nil
	for i, step := range s.Steps {
		if c.steps[i] {
			continue
		}
		var breakpoints []faults.Breakpoint
		for n, at := range step.Breakpoints {
			if !c.breakpoints[breakpointAt{i, n}] {
				breakpoints = append(breakpoints, at)
			}
		}
		step.Breakpoints = breakpoints
		smaller.Steps = append(smaller.Steps, step)
	}
	smaller.Clients = slices.DeleteFunc(slices.Clone(s.Clients), func(c string) bool { return !acts(&smaller, c, history.ProcessOf) })
	smaller.Handles = slices.DeleteFunc(slices.Clone(s.Handles), func(c string) bool { return !acts(&smaller, c, itself) })
	checked, err := Check(&smaller)
	if err != nil {
		return nil
	}
	return checked
}

// acts says whether a client is in a step, by its name there or by what that comes to.
func acts(s *scenarios.Script, client string, as func(string) string) bool {
	return slices.ContainsFunc(s.Steps, func(step scenarios.Step) bool { return as(step.Client) == client })
}

func itself(name string) string { return name }

// renamed is the script with its clients numbered in the order in which they appear. Where only one lock of a process is used, that is its
// client's; which of several are one object, or one thread's, stays.
func renamed(s *scenarios.Script) *scenarios.Script {
	used := make(map[string][]string) // by process
	for _, step := range s.Steps {
		process := history.ProcessOf(step.Client)
		if step.Verb == scenarios.VerbOp && !slices.Contains(used[process], step.Client) {
			used[process] = append(used[process], step.Client)
		}
	}
	names := make(map[string]string)
	out := *s
	out.Clients, out.Handles, out.Steps = nil, nil, nil
	for _, step := range s.Steps {
		process := history.ProcessOf(step.Client)
		if process != "" && names[process] == "" {
			names[process] = fmt.Sprintf("C%d", len(out.Clients)+1)
			out.Clients = append(out.Clients, names[process])
		}
		if names[step.Client] == "" && process != "" {
			names[step.Client] = names[process]
			if len(used[process]) > 1 {
				names[step.Client] += step.Client[len(process):]
				out.Handles = append(out.Handles, names[step.Client])
			}
		}
		step.Client = names[step.Client]
		out.Steps = append(out.Steps, step)
	}
	return &out
}
