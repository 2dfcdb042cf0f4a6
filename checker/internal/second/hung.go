package second

import (
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// The model of a wait that has a deadline: the second judge of operations that hang. A fault may strike at any time while it is in effect.
// Porcupine looks for an order in which one has struck since the call, or the client had to wait no longer when it gave up.

// tries is how many tries after the deadline show that an acquire does not keep it: one may be due at the deadline, and another is
// under way when the client gives up. In a session, one may be what the client does about an earlier acquire.
func (l *hungHistory) tries() int {
	if l.session {
		return 4
	}
	return 3
}

// waitInput is what can happen while a client waits.
type waitInput uint8

const (
	waitCalled   waitInput = iota
	waitHindered           // a fault strikes
	waitOver               // the deadline has passed, and every lease
	waitTried              // the acquire has begun another try
	waitLeft               // the client gives up
)

// waitState is how a wait stands.
type waitState struct {
	hindered, over bool
	tries          int // since the deadline
}

func waitModel(tries int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return waitState{} },
		Step: func(state, input, _ any) (bool, any) {
			s := state.(waitState)
			switch input.(waitInput) {
			case waitCalled:
				return true, waitState{}
			case waitHindered:
				s.hindered = true
			case waitOver:
				s.over = true
			case waitTried:
				if s.over {
					s.tries++
				}
			case waitLeft:
				return s.hindered || !s.over || s.tries < tries, s
			}
			return true, s
		},
	}
}

// hungHistory is the waits for a lock that were given up.
type hungHistory struct {
	name    string
	lease   time.Duration
	limited bool // leases end
	session bool // with the tick after that
	spread  bool // it is on several servers
	waits   []overlap.Window
	free    freeLock
	slept   []overlap.Window // waits that ended while the lock was free
}

// freedBy is when every lease that began before at is over.
func (l *hungHistory) freedBy(at time.Duration) time.Duration {
	switch {
	case !l.limited:
		return at
	case l.lease == 0:
		return overlap.Never
	case l.session:
		at += l.lease / 2
	}
	return at + l.lease + clockRoom(l.lease)
}

// hungReader reads the waits apart from package timeline.
type hungReader struct {
	events  []history.Event
	room    history.Room
	locks   map[string]*hungHistory
	order   []*hungHistory
	waiting []pendingWait
	faults  []hindrance
}

// pendingWait is an operation under way.
type pendingWait struct {
	client  string
	id      int64
	acquire bool
	call    int           // index of the call
	bound   time.Duration // zero: its caller gave none
	first   string        // the command that begins a try, with its server
	tries   []int         // indexes of those
	lock    string
	sent    int  // index of its latest command
	refused bool // by the latest that named the lock's key
}

// hindrance is a fault from one position to another.
type hindrance struct {
	kind     faults.Kind
	target   string
	from, to int64
}

// hungHistories reads the waits for each lock, in the order in which the locks appear.
func hungHistories(events []history.Event) []*hungHistory {
	r := hungReader{events: events, locks: make(map[string]*hungHistory)}
	for i := range events {
		switch e := &events[i]; e.Kind {
		case history.KindOpen:
			if e.Lock != "" && e.Detail != nil {
				l := r.of(e.Lock)
				l.lease, l.limited, l.session = e.Detail.Lease, !e.Detail.Leaseless, e.Detail.Session
				l.spread = l.spread || e.Detail.Servers > 1
			}
		case history.KindExit:
			r.gone(i, e.Client)
			r.waiting = slices.DeleteFunc(r.waiting, func(w pendingWait) bool { return w.client == e.Client })
		case history.KindFault:
			r.fault(i, e.Fault())
		case history.KindCall:
			r.call(i, e)
		case history.KindCommand:
			r.command(i, e)
		case history.KindReturn:
			r.back(i, e)
		}
	}
	return r.order
}

func (r *hungReader) of(name string) *hungHistory {
	l := r.locks[name]
	if l == nil {
		l = &hungHistory{name: name, limited: true}
		r.locks[name] = l
		r.order = append(r.order, l)
	}
	return l
}

// fault takes in a phase of a fault. A clock that is right again leaves behind what was computed before. A stall is recorded when it is over.
func (r *hungReader) fault(i int, f *history.Fault) {
	if f == nil || faults.Kind(f.Name) == faults.Stall {
		return
	}
	kind := faults.Kind(f.Name).Of().Kind
	n := slices.IndexFunc(r.faults, func(h hindrance) bool { return h.to == overlap.Open && h.kind == kind && h.target == f.Target })
	switch {
	case f.Phase == history.PhaseRecover && n >= 0:
		r.faults[n].to = overlap.At(i)
	case f.Phase != history.PhaseRecover && n < 0:
		r.faults = append(r.faults, hindrance{kind, f.Target, overlap.At(i), overlap.Open})
	}
}

// hinders says whether a fault may keep an operation of a client from its deadline. Waiting takes no clock.
func (h hindrance) hinders(w *pendingWait) bool {
	if h.kind == faults.Skew && w.acquire {
		return false
	}
	return h.kind.OnServer() || history.ProcessOf(h.target) == history.ProcessOf(w.client)
}

func (r *hungReader) call(i int, e *history.Event) {
	acquire, bound := e.Op == history.OpAcquire, time.Duration(0)
	if e.Detail != nil {
		bound = e.Detail.Bound
	}
	if e.Lock != "" && e.Op != history.OpWork && e.Op != history.OpNone {
		r.waiting = append(r.waiting, pendingWait{client: e.Client, id: e.ID, acquire: acquire, call: i, bound: bound, lock: e.Lock})
		if l := r.of(e.Lock); acquire && bound > 0 && l.free.event != 0 {
			l.free.who = append(l.free.who, e.Client)
		}
	}
}

// command takes in a command of a wait. What an acquire sends first begins each of its tries.
func (r *hungReader) command(i int, e *history.Event) {
	c := e.CommandIn(&r.room)
	if c == nil || e.Client == "" || c.Server == history.Resource {
		return
	}
	r.key(i, e, c)
	if len(c.Args) == 0 || e.ID == 0 {
		return
	}
	for n := range r.waiting {
		w := &r.waiting[n]
		if w.id != e.ID || w.client != e.Client {
			continue
		}
		sent := c.Server + "\n" + strings.ToUpper(c.Args[0])
		if len(w.tries) == 0 {
			w.first = sent
		}
		if sent == w.first {
			w.tries = append(w.tries, i)
		}
	}
}

// back takes in the return of a wait.
func (r *hungReader) back(i int, e *history.Event) {
	w := list.Take(&r.waiting, func(w pendingWait) bool { return w.id == e.ID && w.client == e.Client })
	if w.id == 0 {
		return
	}
	l := r.of(e.Lock)
	if slept, ok := r.wakeup(l, &w, i); ok {
		l.slept = append(l.slept, slept)
	}
	if e.Outcome != history.Unknown || e.Detail == nil || !e.Detail.GaveUp {
		return
	}
	if w.acquire && w.bound > 0 {
		l.waits = append(l.waits, r.window(&w, i, r.events[w.call].At+2*w.bound, l.tries()))
	}
	if over := max(r.events[w.call].At+l.patience(&w), l.freedBy(r.events[w.call].At)); over <= e.At {
		l.waits = append(l.waits, r.window(&w, i, over, 0))
	}
}

// patience is how long an operation may take: as its caller said, or ten seconds or a lease and a quarter. An acquire has that time beyond its bound.
func (l *hungHistory) patience(w *pendingWait) time.Duration {
	usual := max(5*l.lease/4, 10*time.Second)
	switch {
	case w.bound == 0:
		return usual
	case w.acquire:
		return w.bound + usual
	}
	return w.bound
}

// window is a wait that was given up at event i, with all that may excuse it: it should have ended at a time, and counts if so many tries came after.
func (r *hungReader) window(w *pendingWait, i int, over time.Duration, tries int) overlap.Window {
	p := overlap.Window{Model: waitModel(tries)}
	add := func(what waitInput, call, done int64) {
		p.Operations = append(p.Operations, porcupine.Operation{Input: what, Call: call, Return: done})
	}
	add(waitCalled, overlap.At(w.call), overlap.At(w.call))
	for _, h := range r.faults {
		if h.to > overlap.At(w.call) && h.hinders(w) {
			add(waitHindered, h.from, h.to)
		}
	}
	end := overlap.BeforeTime(r.events, over)
	add(waitOver, end, end)
	late, _ := slices.BinarySearchFunc(w.tries, end, func(try int, end int64) int { return int(overlap.At(try) - end) })
	for _, try := range w.tries[late:min(len(w.tries), late+tries)] {
		add(waitTried, overlap.At(try), overlap.At(try))
	}
	add(waitLeft, overlap.At(i), overlap.At(i))
	return p
}
