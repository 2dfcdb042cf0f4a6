package sim

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// Every goes through all schedules within bounds, one after the other: each replays the beginning of the one before, and goes on another way from the
// last point that has one left.
//
// What happens takes no time, but for the begin of an acquire, so that no two clients read the same time there. Time passes when nothing else can
// happen, until a goroutine of the library acts. A fault is one of these: time passes although something can happen, so that it is late;
// a connection breaks; an operation is given up.
type Every struct {
	// Faults is how many may strike in a schedule.
	Faults int
	// Chance is called before a step that may let goroutines of the library draw random numbers; the number depends on nothing but what their client has been
	// given. Nil: there is no control over chance.
	Chance func(seed uint64)
	// Unmerged and Unreduced switch off what makes the search smaller.
	Unmerged, Unreduced bool

	points   []*point
	seen     map[key]float64 // the schedules that follow from a state
	diverged string          // what was another way when it was replayed; empty: nothing
	endless  int             // schedules with too many steps
	total    float64

	*walk // the schedule under way
}

// point is where a schedule can go on in several ways.
type point struct {
	what   key // what can happen
	state  key
	of, at int     // so many ways, and which it goes
	count  float64 // of the schedules so far
}

// walk is what is known of one schedule.
type walk struct {
	depth  int // of points
	steps  int
	last   string       // the client that acted last
	held   map[any]bool // flows and programs that wait until time passes, or a fault strikes
	state  stateOf
	leaf   float64 // schedules that its end stands for
	merged bool    // it ends where an earlier one has been

	fresh   *point // the last one, if its way is new
	through *point // where time went through, on a new way: if no goroutine acted meanwhile, to stop when one acts is no other way
	acted   bool
}

// mostScheduleSteps bounds the steps of a schedule: a lock that tries again without a pause never lets time pass.
const mostScheduleSteps = 2000

// Replay plays one schedule, whose way is that which Way has said.
func (e Every) Replay(way []int) *Every {
	e.seen, e.points, e.diverged = nil, nil, ""
	for _, at := range way {
		e.points = append(e.points, &point{at: at})
	}
	return &e
}

// Way is the way of the schedule that was played last: which way it goes at each point, up to the last one where that is not the first.
func (e *Every) Way() (way []int) {
	for _, p := range e.points[:e.depth] {
		way = append(way, p.at)
	}
	for len(way) > 0 && way[len(way)-1] == 0 {
		way = way[:len(way)-1]
	}
	return way
}

// Merged says whether the schedule that was played last ends where an earlier one has been.
func (e *Every) Merged() bool { return e.merged }

// Diverged says what a schedule did another way than when its beginning was played before; empty: nothing.
func (e *Every) Diverged() string { return e.diverged }

// Endless is how many schedules have ended for the number of their steps.
func (e *Every) Endless() int { return e.endless }

// Total is how many schedules there are, if Next has returned false.
func (e *Every) Total() float64 { return e.total }

// Renamed is a text of the schedule that was played last, with names in the place of tokens.
func (e *Every) Renamed(text []byte) []byte { return e.state.renamed(text) }

// shiftOfStep is between the recorded times of two steps. All of them come to less than a millisecond.
const shiftOfStep = 100 * time.Nanosecond

// begin begins the next schedule.
func (e *Every) begin() *Every {
	if e.seen == nil {
		e.seen = map[key]float64{}
	}
	e.walk = &walk{held: map[any]bool{}, state: newStateOf(), leaf: 1}
	e.draw(key{})
	return e
}

func (*Every) priority() int { return 0 }

func (e *Every) sent(s *schedule, client string, m message) {
	e.state.sent(client, m, func(word string) bool { return s.bubble.run.IsLock(word) || s.bubble.run.IsData(word) })
}

// turn is the same for every client.
func (*Every) turn(*schedule) []scenarios.Step {
	return []scenarios.Step{opStep(history.OpAcquire, 0), opStep(history.OpWork, 0), opStep(history.OpRelease, 0)}
}

func (*Every) patience(s *schedule) time.Duration { return 2 * s.Lease }

func (*Every) rest(*schedule) time.Duration { return 0 }

// option is a step that can be chosen. hold is not to do it before time passes or a fault strikes.
type option struct {
	step
	who, label string
	hold       any
	free       bool // it is no fault
	tells      bool // it tells whether a goroutine acts before time has passed
}

func (e *Every) next(s *schedule) (step, error) {
	e.passed()
	s.bubble.timeline.shift += shiftOfStep
	for {
		if e.steps++; e.steps > mostScheduleSteps {
			e.endless++
			return step{}, play.Undecided("more than %d steps without an end", mostScheduleSteps)
		}
		chosen, err := e.choose(e.options(s), s)
		if err != nil {
			return step{}, err
		}
		if chosen.hold == nil {
			e.note(s, &chosen)
			return chosen.step, nil
		}
		e.held[chosen.hold] = true
	}
}

// choose goes the way of the schedule's beginning and, after that, the first way.
func (e *Every) choose(options []option, s *schedule) (option, error) {
	e.fresh = nil
	if len(options) == 1 {
		return options[0], nil
	}
	what := e.labels(options)
	if e.depth < len(e.points) {
		p := e.points[e.depth]
		if p.what != what && p.of > 0 || p.at >= len(options) {
			e.diverged = fmt.Sprintf("after %d steps: %s", e.steps, options[0].label)
			e.points, e.leaf = e.points[:e.depth], 0
			return option{}, errMerged
		}
		e.depth++
		if e.depth == len(e.points) {
			e.fresh = p
		}
		return options[p.at], nil
	}
	p := &point{what: what, of: len(options)}
	if !e.Unmerged {
		p.state = e.state.of(s, e.held)
		if n, seen := e.seen[p.state]; seen {
			e.leaf, e.merged = n, true
			return option{}, errMerged
		}
	}
	e.points = append(e.points, p)
	e.depth++
	e.fresh = p
	return options[0], nil
}

// labels are what can happen, as a key.
func (e *Every) labels(options []option) key {
	var b []byte
	for i := range options {
		b = append(append(b, options[i].label...), 0)
	}
	return keyOf(b)
}

// note takes in that a step is about to happen.
func (e *Every) note(s *schedule, o *option) {
	st, now := &e.state, int64(s.bubble.Now())
	switch {
	case o.arrives != nil && !o.arrives.pending[0].toClient():
		e.last = o.who
	case o.arrives != nil:
		e.last = o.who
		e.draw(st.gave(o.who, now, o.label, o.arrives.pending[0].said()))
	case o.begins != nil:
		e.last = o.who
		e.draw(st.gave(o.who, now, o.label, ""))
	default:
		clear(e.held)
		if o.who != "" {
			st.gave(o.who, now, o.label, "")
		}
		if !o.free {
			s.struck++
			st.befell = keyOf(fmt.Appendf(st.befell[:], "%d %s", now, o.label))
		}
		e.draw(keyOf(fmt.Appendf(nil, "%d %s", now, o.label)))
	}
	if o.tells && e.fresh != nil {
		e.through, o.acted = e.fresh, &e.acted
	}
}

// draw has random numbers depend on a key alone.
func (e *Every) draw(k key) {
	if e.Chance != nil {
		e.Chance(binary.LittleEndian.Uint64(k[:]))
	}
}

// passed takes in whether a goroutine acted while time went through.
func (e *Every) passed() {
	if e.through != nil && !e.acted {
		e.through.of--
	}
	e.through, e.acted = nil, false
}

// errMerged ends a schedule where an earlier one has been.
var errMerged = play.Interrupted("from here on it is the same as an earlier schedule")

// Next goes on to the next schedule. It returns false when there is none.
func (e *Every) Next() bool {
	e.passed()
	leaf := e.leaf
	for len(e.points) > 0 {
		last := len(e.points) - 1
		p := e.points[last]
		p.count += leaf
		if p.at++; p.at < p.of {
			return true
		}
		leaf = p.count
		if !e.Unmerged {
			e.seen[p.state] = leaf
		}
		e.points = e.points[:last]
	}
	e.total = leaf
	return false
}

// options are the ways in which a schedule can go on.
func (e *Every) options(s *schedule) []option {
	var mine, others []option
	possible, more := false, s.struck < e.Faults
	put := func(o option, what any, atOnce bool) (only []option) {
		possible = true
		switch {
		case e.held[what]:
		case atOnce && more:
			return []option{o, {who: o.who, label: "hold " + o.label, hold: what}}
		case atOnce:
			return []option{o}
		case o.who == e.last:
			mine = append(mine, o)
		default:
			others = append(others, o)
		}
		return nil
	}
	flows := s.sortedFlows()
	for _, f := range flows {
		if only := put(option{step: step{arrives: f}, who: f.conn.link.owner.Name, label: f.label()}, f, f.pending[0].hangUp() || !e.Unreduced && f.atOnce()); only != nil {
			return only
		}
	}
	for _, p := range s.programs {
		if !p.ready(s.bubble.Now()) {
			continue
		}
		op := p.ahead[0].Op
		o := option{step: step{begins: p}, who: p.handle.Name, label: p.handle.Name + " begins " + op.String()}
		if op == history.OpAcquire {
			o.takes = instant
		}
		if only := put(o, p, !e.Unreduced && op != history.OpRelease); only != nil {
			return only
		}
	}
	all := append(mine, others...)
	if !possible {
		return []option{{step: step{passes: s.idle()}, label: "time", free: true}}
	}
	if more {
		all = append(all, e.faults(s, flows)...)
	}
	return all
}

// faults are what may befall somebody now.
func (e *Every) faults(s *schedule, flows []*flow) (all []option) {
	for _, f := range flows {
		if !s.breakable(f) {
			continue
		}
		who := f.conn.link.owner.Name
		all = append(all, option{step: step{breaks: f, drop: true}, who: who, label: "break " + f.label()})
		if f.outlives() {
			all = append(all, option{step: step{breaks: f}, who: who, label: "break after " + f.label()})
		}
	}
	for _, p := range s.programs {
		if p.mayQuit() {
			all = append(all, option{step: step{quits: p}, who: p.handle.Name, label: "give up " + p.handle.Name})
		}
	}
	ends, known := s.leaseEnds()
	if !known {
		ends = s.Lease
	}
	after, before := ends+time.Millisecond, ends-time.Millisecond
	all = append(all, option{step: step{passes: after, through: true}, label: "late past a lease", tells: true})
	if before > 0 {
		all = append(all, option{step: step{passes: before, through: true}, label: "late before a lease ends"})
	}
	return append(all, option{step: step{passes: after}, label: "late until a client acts"})
}

// leaseEnds is in how long the next key ends on a lock server.
func (s *schedule) leaseEnds() (in time.Duration, known bool) {
	for _, v := range s.bubble.servers {
		if left := v.redis().Expiries(); len(left) > 0 && (!known || left[0] < in) {
			in, known = left[0]-s.bubble.Now()%time.Millisecond, true
		}
	}
	return in, known
}

// sortedFlows are those with something under way, in an order that does not depend on which was first.
func (s *schedule) sortedFlows() []*flow {
	var under []*flow
	for _, f := range s.flows {
		if f.underWay() {
			under = append(under, f)
		}
	}
	slices.SortFunc(under, func(a, b *flow) int { return strings.Compare(a.name, b.name) })
	return under
}

func (f *flow) label() string {
	if f.pending[0].toClient() {
		return f.name + " reply"
	}
	return f.name + " request"
}

// atOnce says whether what arrives next does so at once, or else late: a reply, or a request that no other client can notice. In which order these come
// makes no difference.
func (f *flow) atOnce() bool {
	for _, words := range f.pending[0].requests {
		if !slices.Contains(unnoticed, strings.ToUpper(words[0])) {
			return false
		}
	}
	return true
}

// unnoticed are commands that concern nothing but their connection.
var unnoticed = []string{"HELLO", "CLIENT", "AUTH", "SELECT", "PING", "ECHO", "READONLY", "COMMAND", "INFO"}
