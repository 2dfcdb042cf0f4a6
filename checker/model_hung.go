package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

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
	waits   []window
}

// freedBy is when every lease that began before at is over.
func (l *hungHistory) freedBy(at time.Duration) time.Duration {
	switch {
	case !l.limited:
		return at
	case l.lease == 0:
		return never
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

// pendingWait is an operation under way that has a deadline.
type pendingWait struct {
	client  string
	id      int64
	acquire bool
	call    int // index of the call
	bound   time.Duration
	first   string // the command that begins a try, with its server
	tries   []int  // indexes of those
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
			}
		case history.KindExit:
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
	n := slices.IndexFunc(r.faults, func(h hindrance) bool { return h.to == open && h.kind == kind && h.target == f.Target })
	switch {
	case f.Phase == history.PhaseRecover && n >= 0:
		r.faults[n].to = at(i)
	case f.Phase != history.PhaseRecover && n < 0:
		r.faults = append(r.faults, hindrance{kind, f.Target, at(i), open})
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
	acquire := e.Op == history.OpAcquire
	if e.Lock != "" && e.Detail != nil && e.Detail.Bound > 0 && (acquire || e.Op == history.OpRelease) {
		r.waiting = append(r.waiting, pendingWait{client: e.Client, id: e.ID, acquire: acquire, call: i, bound: e.Detail.Bound})
	}
}

// command takes in a command of a wait. What an acquire sends first begins each of its tries.
func (r *hungReader) command(i int, e *history.Event) {
	c := e.CommandIn(&r.room)
	if c == nil || len(c.Args) == 0 || e.ID == 0 {
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
	w := takeWaiting(&r.waiting, func(w pendingWait) bool { return w.id == e.ID && w.client == e.Client })
	if w.id == 0 || e.Outcome != history.Unknown || e.Detail == nil || !e.Detail.GaveUp {
		return
	}
	l := r.of(e.Lock)
	l.waits = append(l.waits, r.window(l, &w, i))
}

// window is a wait that was given up at event i, with all that may excuse it.
func (r *hungReader) window(l *hungHistory, w *pendingWait, i int) window {
	called := r.events[w.call].At
	over, tries := max(called+w.bound, l.freedBy(called)), 0
	if w.acquire {
		over, tries = called+2*w.bound, l.tries()
	}
	p := window{model: waitModel(tries)}
	add := func(what waitInput, call, done int64) {
		p.operations = append(p.operations, porcupine.Operation{Input: what, Call: call, Return: done})
	}
	add(waitCalled, at(w.call), at(w.call))
	for _, h := range r.faults {
		if h.to > at(w.call) && h.hinders(w) {
			add(waitHindered, h.from, h.to)
		}
	}
	end := beforeTime(r.events, over)
	add(waitOver, end, end)
	late, _ := slices.BinarySearchFunc(w.tries, end, func(try int, end int64) int { return int(at(try) - end) })
	for _, try := range w.tries[late:min(len(w.tries), late+l.tries())] {
		add(waitTried, at(try), at(try))
	}
	add(waitLeft, at(i), at(i))
	return p
}
