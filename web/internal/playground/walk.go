package playground

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Place is where a walk has come to.
type Place struct {
	*Cell
	Choices []Choice `json:"choices"`
	// Made are the choices that led here; those that were not possible with this lock are missing.
	Made  []string   `json:"made"`
	Ended bool       `json:"ended"`
	Sites [][]string `json:"sites"`
}

// Choice is what can come next.
type Choice struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Leads string `json:"leads"`
	Group string `json:"group"` // whose step it is: a client's name, "time" or "server"
	Fault bool   `json:"fault,omitempty"`
	// Anomalies are those that it shows at once.
	Anomalies []checker.Name `json:"anomalies,omitempty"`
}

// config is the search of a setup.
func (s Setup) config() (search.Config, error) {
	lock, err := find(s.Lock)
	if err != nil {
		return search.Config{}, err
	}
	budget := search.Budget{}
	for _, kind := range search.FaultsOf(lock) {
		if slices.Contains(s.Faults, kind) {
			budget[kind] = s.Most
		}
	}
	return search.Config{Lock: lock, Clients: s.Clients, Rounds: s.Rounds, Budget: budget, MostFaults: s.Most}.Usual(), nil
}

// walk is the walk of a setup.
func (l *Lab) walk(s Setup) (*search.Walk, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if w := l.walks[string(text)]; w != nil {
		return w, nil
	}
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	w, err := search.NewWalk(config)
	if err != nil {
		return nil, err
	}
	for old, walk := range l.walks { // one lock beside another are two
		if len(l.walks) < 2 {
			break
		}
		walk.Close()
		delete(l.walks, old)
	}
	l.walks[string(text)] = w
	return w, nil
}

// Walk is where choices lead to.
func (l *Lab) Walk(s Setup, choices []string) (*Place, error) {
	w, err := l.walk(s)
	if err != nil {
		return nil, err
	}
	at, err := w.Go(choices)
	if err != nil {
		return nil, err
	}
	lines := make([]int, len(choices))
	for i := range lines {
		lines[i] = i + 1
	}
	return newPlace(at, choices, lines), nil
}

// newPlace has each choice that was made as a step of the history, so that the viewer goes through it choice by choice. The line of a step is the number of the choice.
func newPlace(at *search.Place, made []string, lines []int) *Place {
	t := at.Trace
	var events []history.Event
	for i, e := range t.Events {
		if i == at.Opened {
			events = append(events, history.Event{At: e.At, Kind: history.KindStep, Detail: &history.Detail{Text: "the start"}})
		}
		for n, from := range at.From {
			if from[0] != i {
				continue
			}
			till := len(t.Steps)
			if n+1 < len(at.From) {
				till = at.From[n+1][1]
			}
			done := describe(t, made[n], t.Steps[from[1]:till], nil)
			events = append(events, history.Event{At: e.At, Kind: history.KindStep, Client: done.client, Detail: &history.Detail{Text: done.label, Line: lines[n]}})
		}
		events = append(events, e)
	}
	shown := events
	if !at.Ended {
		shown = events[:len(events)-1] // the checker needs an end, and the viewer has none to show
	}
	p := &Place{Cell: newCell(events, shown, checker.Judge(events, checker.Options{})), Made: made, Ended: at.Ended, Sites: at.Sites, Choices: []Choice{}}
	for _, c := range at.Choices {
		d := describe(t, c.ID, c.Steps, c.Asks)
		p.Choices = append(p.Choices, Choice{ID: c.ID, Label: d.label, Leads: d.leads, Group: d.group, Fault: c.Fault, Anomalies: c.Anomalies})
	}
	return p
}

// Beside has another lock take the same steps, as far as it has them: those of a client that is not as far yet wait for its requests, and those that it does
// not have are left out. Time passes as long, or until the nearest moment at which something happens.
func (l *Lab) Beside(s Setup, choices []string, other string) (*Place, error) {
	s.Lock = other
	w, err := l.walk(s)
	if err != nil {
		return nil, err
	}
	var made []string
	var lines []int // which of the choices each is for
	at, err := w.Go(nil)
	for n, want := range choices {
		for err == nil && len(made) < mostBeside {
			id := nearest(at.Choices, want)
			if id == "" {
				break
			}
			made, lines = append(made, id), append(lines, n+1)
			if at, err = w.Go(made); id == want || kindOf(id) == kindOf(want) {
				break
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return newPlace(at, made, lines), nil
}

// mostBeside is how many steps a lock takes beside another at most: one whose operation has no end takes no more.
const mostBeside = 300

func kindOf(id string) string {
	kind, _, _ := strings.Cut(id, ".")
	return kind
}

// nearest is the choice that comes nearest to a wanted one: itself, the same kind of passing time, or the next request of a client that is to call an operation
// or to crash, and is in the middle of another; empty: there is none.
func nearest(choices []search.Choice, want string) (id string) {
	has := func(id string) bool {
		return slices.ContainsFunc(choices, func(c search.Choice) bool { return c.ID == id })
	}
	if has(want) {
		return want
	}
	fields := strings.Split(want, ".")
	switch fields[0] {
	case "time":
		least := -1
		for _, c := range choices {
			other := strings.Split(c.ID, ".")
			if other[0] != "time" || !slices.Equal(other[2:], fields[2:]) {
				continue
			}
			if d := distance(other[1], fields[1]); least < 0 || d < least {
				least, id = d, c.ID
			}
		}
	case "call":
		for _, kind := range []string{"reply", "serve", "wake", "expire"} {
			if next := fmt.Sprintf("%s.%s.0", kind, fields[1]); has(next) {
				return next
			}
		}
	}
	return id
}

func distance(a, b string) int {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return max(x-y, y-x)
}

// ErrNotWalked is of a counterexample that cannot be walked to.
var ErrNotWalked = errors.New("the counterexample cannot be walked to")

// follow finds the choices that make a trace.
func (l *Lab) follow(s Setup, t *trace.Trace) ([]string, error) {
	w, err := l.walk(s)
	if err != nil {
		return nil, err
	}
	choices, err := w.Follow(t)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotWalked, err)
	}
	return choices, nil
}
