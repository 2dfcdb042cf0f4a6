package search

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/sim/world"
)

// Walk goes through the states of a search by hand. At each state it offers every choice that the search has there, so whatever the search
// finds can be walked to.
type Walk struct{ space *world.Space }

// Place is where a walk has come to.
type Place struct {
	*world.Record
	// Choices are what can come next; Ended says that all has ended, because a fresh client has tried.
	Choices []Choice
	Ended   bool
	// Sites are the lines of the lock's code at which each client waits, as "file.go:12", the innermost first.
	Sites [][]string
}

// Choice is one step that can come next.
type Choice struct {
	ID    string
	Fault bool
	// Steps are those of the trace that it adds. The last has the state that it leads to.
	Steps []trace.Step
	// Asks is the request that the client's operation sends next; nil: none.
	Asks [][]string
	// Anomalies are those that it shows.
	Anomalies []checker.Name
}

// theEnd is the choice of the end, after which a fresh client tries to get the lock.
const theEnd = "end"

// ErrNoChoice is of a choice that cannot be made where it should be.
var ErrNoChoice = errors.New("there is no such step")

// NewWalk begins a walk within the bounds of a search.
func NewWalk(config Config) (*Walk, error) {
	if err := cmp.Or(config.Check(), config.checkService()); err != nil {
		return nil, err
	}
	model := config.model()
	model.Without.Apart, model.Sites = true, true
	space, err := world.New(model)
	return &Walk{space}, err
}

// Close ends the walk.
func (w *Walk) Close() { w.space.Close() }

// Go makes choices, from the first state on.
func (w *Walk) Go(choices []string) (*Place, error) {
	for {
		place, err := w.walk(choices)
		again := w.space.Again(err)
		if again == nil {
			return place, err
		}
		w.space.Close()
		w.space = again
	}
}

// way is a sequence of choices, and the state that it leads to.
type way struct {
	space *world.Space
	state world.State
	made  []world.Choice
	ended bool
}

// options are the choices that can come next, by their names.
func (at *way) options() map[string]world.Choice {
	list := map[string]world.Choice{}
	if at.ended {
		return list
	}
	for _, o := range at.space.Choices(nil, &at.state) {
		list[at.space.Name(&at.state, o)] = o
	}
	if len(at.made) > 0 && at.space.Rests(&at.state) {
		list[theEnd] = world.Choice{}
	}
	return list
}

// take is the way after one more choice.
func (at *way) take(id string, o world.Choice) (*way, error) {
	if id == theEnd {
		return &way{at.space, at.state, at.made, true}, nil
	}
	next, _, err := at.space.Make(&at.state, o)
	return &way{at.space, next, append(slices.Clip(at.made), o), false}, err
}

func (w *Walk) walk(choices []string) (*Place, error) {
	first, err := w.space.Begin()
	at := &way{space: w.space, state: first}
	for n, id := range choices {
		if err != nil {
			return nil, err
		}
		o, known := at.options()[id]
		if !known {
			return nil, fmt.Errorf("step %d: %w: %q", n+1, ErrNoChoice, id)
		}
		at, err = at.take(id, o)
	}
	if err != nil {
		return nil, err
	}
	record, err := w.space.Record(at.made, at.ended)
	if err != nil {
		return nil, err
	}
	place := &Place{Record: record, Ended: at.ended}
	if at.ended {
		record.From = append(record.From, record.Trial)
	}
	for i := range w.space.Clients {
		place.Sites = append(place.Sites, w.space.Sites(&at.state, i))
	}
	for id, o := range at.options() {
		next, err := at.take(id, o)
		if err != nil {
			return nil, err
		}
		c, err := at.leads(next, id, o, place.Trace)
		if err != nil {
			return nil, err
		}
		place.Choices = append(place.Choices, c)
	}
	order := func(c Choice) string { return fmt.Sprintf("%t %s", c.Fault, c.ID) }
	slices.SortFunc(place.Choices, func(a, b Choice) int { return strings.Compare(order(a), order(b)) })
	return place, nil
}

// leads is what a choice leads to.
func (at *way) leads(next *way, id string, o world.Choice, before *trace.Trace) (Choice, error) {
	record, err := at.space.Record(next.made, next.ended)
	if err != nil {
		return Choice{}, err
	}
	from := record.Trial
	if !next.ended {
		from = record.From[len(record.From)-1]
	}
	c := Choice{ID: id, Fault: at.space.Spent(&next.state) > at.space.Spent(&at.state), Steps: record.Trace.Steps[from[1]:], Asks: at.space.Asks(&at.state, &next.state, o)}
	for _, name := range record.Trace.Verdict.Names() {
		if !slices.Contains(before.Verdict.Names(), name) {
			c.Anomalies = append(c.Anomalies, name)
		}
	}
	return c, nil
}

// Follow finds the choices that make a trace.
func (w *Walk) Follow(t *trace.Trace) ([]string, error) {
	var choices []string
	place, err := w.Go(nil)
	for done := 0; done < len(t.Steps) && err == nil; done = len(place.Trace.Steps) {
		i := slices.IndexFunc(place.Choices, func(c Choice) bool { return begins(t.Steps[done:], c.Steps) })
		if i < 0 {
			return nil, fmt.Errorf("the walk cannot take step %d of the counterexample", done+1)
		}
		choices = append(choices, place.Choices[i].ID)
		place, err = w.Go(choices)
	}
	return choices, err
}

// begins says whether a list of steps begins with others: whether they are the same, and leave the same behind.
func begins(list, with []trace.Step) bool {
	if len(with) == 0 || len(with) > len(list) {
		return false
	}
	for i, s := range with {
		if fmt.Sprintf("%+v", s) != fmt.Sprintf("%+v", list[i]) {
			return false
		}
	}
	return true
}
