package second

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// The model of an answer with a validity that is over: the second judge of grants that were dead when they were made. The client looks at its
// clock at some point from its last reply to its answer, and its validity ends at some point from half a lease to a lease after the
// call. Porcupine looks for an order in which it looked first.

// answerInput is what happens on the way to such an answer.
type answerInput uint8

const (
	answerLooks answerInput = iota // the client looks at its clock
	answerEnds                     // its validity ends
	answerMade
)

// answerState is how far it has come.
type answerState struct{ looked, ended, late bool }

func answerModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return answerState{} },
		Step: func(state, input, _ any) (bool, any) {
			s := state.(answerState)
			switch input.(answerInput) {
			case answerLooks:
				s.looked, s.late = true, s.ended
			case answerEnds:
				s.ended = true
			case answerMade:
				return s.looked && s.ended && !s.late, s
			}
			return true, s
		},
	}
}

// grantAsked is an acquire under way, as the second judge reads it.
type grantAsked struct {
	client string
	id     int64
	call   int // index of the call
	bound  time.Duration
	reply  time.Duration // when its client got the latest reply, at the earliest; zero: it got none
}

// deadHistory is the answers for a lock whose validity was over.
type deadHistory struct {
	name    string
	answers []overlap.Window
}

// deadReader reads them apart from package timeline.
type deadReader struct {
	events  []history.Event
	room    history.Room
	leases  map[string]time.Duration
	session map[string]bool
	asked   []grantAsked
	from    overlap.Replies
	set     map[string]bool // processes whose clock was set
	locks   map[string]*deadHistory
	order   []*deadHistory
}

// deadHistories reads the answers for each lock whose validity was over.
func deadHistories(events []history.Event) []*deadHistory {
	r := deadReader{events: events, leases: map[string]time.Duration{}, session: map[string]bool{}, set: map[string]bool{}, locks: map[string]*deadHistory{}}
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == history.KindOpen && e.Detail != nil:
			r.leases[e.Lock], r.session[e.Lock] = e.Detail.Lease, e.Detail.Session
		case e.Kind == history.KindFault:
			r.fault(e)
		case e.Kind == history.KindCommand:
			r.replied(e)
		case e.Op != history.OpAcquire || e.Lock == "" || e.Client == "":
		case e.Kind == history.KindCall:
			a := grantAsked{client: e.Client, id: e.ID, call: i}
			if e.Detail != nil {
				a.bound = e.Detail.Bound
			}
			r.asked = append(r.asked, a)
		case e.Kind == history.KindReturn:
			r.back(i, e)
		}
	}
	return r.order
}

func (r *deadReader) fault(e *history.Event) {
	f := e.Fault()
	if f == nil {
		return
	}
	if faults.Kind(f.Name).Of().Kind == faults.Skew {
		r.set[history.ProcessOf(f.Target)] = true
	}
	over, ok := r.from.Fault(e)
	for n := range r.asked {
		switch a := &r.asked[n]; {
		case r.session[r.events[a.call].Lock]:
		case ok && r.from.GoesOn(over, a.client):
			a.reply = r.from.Expected(a.client, over.Over)
		case ok:
			a.reply = r.from.Arrived(over, a.client, a.reply)
		}
	}
}

func (r *deadReader) replied(e *history.Event) {
	c := e.CommandIn(&r.room)
	if c == nil || e.Client == "" {
		return
	}
	arrives := r.from.Sent(e.Client, e.At)
	for n := range r.asked {
		if a := &r.asked[n]; a.id == e.ID && a.client == e.Client && !c.Late && !c.ReplyDropped {
			a.reply = arrives
		}
	}
}

func (r *deadReader) back(i int, e *history.Event) {
	a := list.Take(&r.asked, func(a grantAsked) bool { return a.id == e.ID && a.client == e.Client })
	lease := r.leases[e.Lock]
	if a.id == 0 || e.Outcome != history.OK || e.Valid != history.ValidityExpired || lease == 0 || r.set[history.ProcessOf(e.Client)] {
		return
	}
	called := r.events[a.call].At
	first, last := overlap.BeforeTime(r.events, called+lease/2-clockRoom(lease)), int64(overlap.Open)
	if a.bound == 0 {
		last = overlap.BeforeTime(r.events, called+lease+clockRoom(lease)+1)
	}
	l := r.locks[e.Lock]
	if l == nil {
		l = &deadHistory{name: e.Lock}
		r.locks[e.Lock] = l
		r.order = append(r.order, l)
	}
	l.answers = append(l.answers, overlap.Window{Model: answerModel(), Operations: []porcupine.Operation{
		{Input: answerLooks, Call: max(overlap.At(a.call), overlap.BeforeTime(r.events, a.reply)+1), Return: overlap.At(i)},
		{Input: answerEnds, Call: first, Return: max(first, last)},
		{Input: answerMade, Call: overlap.At(i), Return: overlap.At(i)},
	}})
}
