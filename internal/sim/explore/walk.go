package explore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Walk goes through the states of a search by hand. At each state it offers every step that the search can take there, so whatever the search finds can be
// walked to; and time may pass before a client comes for the first time, which the search does only where it makes a difference.
type Walk struct {
	config Config
	about  traits
	x      *explorer
}

// Place is where a walk has come to.
type Place struct {
	// Trace is the way there. From has how many of its events, and how many of its steps, come before each choice that was made.
	Trace *trace.Trace
	From  [][2]int
	// Opened is how many events come before all choices: those of the clients that open the lock.
	Opened int
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
	config.NoSymmetry = true
	config.Late = true // so what is offered does not depend on what is known of the lock so far
	w := &Walk{config: config}
	w.begin()
	return w, nil
}

// begin makes the explorer that knows what the walk has learned of the lock so far.
func (w *Walk) begin() {
	w.Close()
	w.x = newExplorer(w.config, w.about)
	w.x.texts.Sites = map[uint32][]string{}
}

// Close ends the walk.
func (w *Walk) Close() {
	if w.x != nil {
		w.x.automaton.Close()
	}
}

// Go makes choices, from the first state on.
func (w *Walk) Go(choices []string) (*Place, error) {
	for {
		place, err := w.walk(choices)
		if w.x.missesClock() {
			err = w.x.clockError()
		}
		if err == nil || !w.about.learn(err, w.x.automaton) {
			return place, err
		}
		w.begin()
	}
}

// steps is a state on the way of a walk, with the record of how it was reached.
type steps struct {
	x     *explorer
	s     state
	r     *recorder
	ended bool
}

func (w *Walk) walk(choices []string) (*Place, error) {
	at := steps{x: w.x, s: *w.x.initial(), r: newRecorder(w.x)}
	at.r.begin(w.x.clients)
	place := &Place{Opened: len(at.r.trace.Events)}
	for n, id := range choices {
		list, err := at.choices()
		if err != nil {
			return nil, err
		}
		m, known := list[id]
		if !known {
			return nil, fmt.Errorf("step %d: %w: %q", n+1, ErrNoChoice, id)
		}
		place.From = append(place.From, [2]int{len(at.r.trace.Events), len(at.r.trace.Steps)})
		if _, err := at.take(id, m); err != nil {
			return nil, err
		}
	}
	if err := w.offer(&at, place); err != nil {
		return nil, err
	}
	place.Ended = at.ended
	if !at.ended {
		at.r.end(w.x.counter(&at.s))
	}
	place.Trace = at.r.trace
	place.Trace.Verdict = checker.Judge(place.Trace.Events, checker.Options{})
	return place, nil
}

// offer lists what can come next, and at which lines the clients wait.
func (w *Walk) offer(at *steps, place *Place) error {
	place.Sites = make([][]string, w.x.clients)
	for i := range w.x.clients {
		if c := &at.s.clients[i]; c.phase != crashed {
			place.Sites[i] = w.x.texts.Sites[c.node]
		}
	}
	if at.ended {
		return nil
	}
	list, err := at.choices()
	if err != nil {
		return err
	}
	for id, m := range list {
		next := at.clone()
		from := len(next.r.trace.Steps)
		found, err := next.take(id, m)
		if errors.Is(err, learn.ErrTokens) {
			continue // the search goes no further, either
		}
		if err != nil {
			return err
		}
		place.Choices = append(place.Choices, Choice{
			ID: id, Fault: next.s.faults() > at.s.faults(), Steps: next.r.trace.Steps[from:], Asks: at.asks(next, id, m), Anomalies: found.names(),
		})
	}
	order := func(c Choice) string { return fmt.Sprintf("%t %s", c.Fault, c.ID) }
	slices.SortFunc(place.Choices, func(a, b Choice) int { return strings.Compare(order(a), order(b)) })
	return nil
}

// choices are the moves that can come next, by their names.
func (at *steps) choices() (map[string]move, error) {
	x := at.x
	var moves []move
	for faults := range x.atOnce + 1 {
		moves = x.moves(moves, &at.s, faults)
	}
	list := map[string]move{}
	for _, m := range moves {
		list[at.name(m)] = m
	}
	x.judge.s = &at.s
	if x.ended(&at.s) || x.onlyRefused(&at.s) {
		list[theEnd] = move{}
	}
	return list, nil
}

// name is what a move is called, for as long as the rules of the search stay what they are.
func (at *steps) name(m move) string {
	kinds := [...]string{
		"call", "serve", "reply", "expire", "wake", "arrive", "time", "crash", "cut", "lose", "late", "twice", "ahead", "behind", "jump", "restart", "fail", "contact", "heal",
	}
	switch m.kind {
	case movePass:
		return fmt.Sprintf("%s.%d.%d.%d", kinds[m.kind], m.d, m.paused, m.busy)
	case moveArrive:
		// The requests on their way lie in the order of their numbers, which is another one in each search.
		c, rank := &at.s.clients[m.client], uint8(0)
		text := func(k uint8) string { return at.x.texts.Requests[c.travel[k]&travelAll].Text() }
		for k, r := range c.travel {
			if own := m.slot &^ dropped; r != 0 && uint8(k) != own && text(uint8(k)) < text(own) {
				rank++
			}
		}
		m.slot = m.slot&dropped | rank
	}
	return fmt.Sprintf("%s.%d.%d", kinds[m.kind], m.client, m.slot)
}

// take makes a choice.
func (at *steps) take(id string, m move) (anomalies, error) {
	x := at.x
	x.judge.found = 0
	x.watcher = at.r
	defer func() { x.watcher = nil }()
	if id != theEnd {
		err := at.r.step(&at.s, m)
		return x.judge.found & x.only, err
	}
	at.ended = true
	var found anomalies
	if x.lostAtEnd(&at.s) {
		found |= lostUpdate
	}
	if _, stuck, err := x.stuck(at.s); err != nil {
		return 0, err
	} else if stuck {
		found |= stuckLock
	}
	return found & x.only, at.r.trial(at.s)
}

// asks is the request that the client which makes a move sends after it, and has not sent before.
func (at *steps) asks(next *steps, id string, m move) [][]string {
	if m.kind == movePass || m.kind >= moveCrash && m.kind != moveLose && m.kind != moveLate || id == theEnd {
		return nil
	}
	before, after := at.s.clients[m.client].node, next.s.clients[m.client].node
	n := &at.x.automaton.Nodes[after]
	if before == after || n.Idle || n.Slots[0].Kind != process.Request {
		return nil
	}
	return at.x.texts.Requests[n.Slots[0].Request].Commands
}

// clone is the same place, from which another step can be made.
func (at *steps) clone() *steps {
	twin := *at
	r := *at.r
	recorded := *r.trace
	recorded.Steps, recorded.Events = slices.Clip(recorded.Steps), slices.Clip(recorded.Events)
	recorded.Faults, recorded.Learned = slices.Clip(recorded.Faults), slices.Clip(recorded.Learned)
	r.trace, r.inFlight, r.made = &recorded, slices.Clone(r.inFlight), maps.Clone(r.made)
	twin.r = &r
	return &twin
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
