package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// unfair: a lock that promises order granted out of order. One client had asked, and was waiting, before another was even told to
// ask; yet the other was given the lock first.
//
// Both orders are certain: who asked first, by a command of the wait that came back before the other's acquire was called; and who
// got it first, by the command that made the lock. It counts if the first went on waiting all the while: its patience had time
// left, nothing was done to it or to the server, and its acquire came to ok or no in the end.
type unfair struct {
	queue []waiter
	found []overtaking
}

// waiter is an acquire that waits.
type waiter struct {
	op
	asked  int  // index of the command by which it has certainly asked; 0: none came back yet
	served bool // it has got the lock, or may have stopped waiting for it
}

// overtaking is a grant while another had waited longer.
type overtaking struct {
	first, second op
	asked, got    int // indexes of the commands by which the first had asked, and the second got the lock
	at            time.Duration
	waited, told  bool // the acquires have returned, the first as one that waited, the second with ok
}

func (m *unfair) step(f *fact, v *view) []Anomaly {
	if f.lock != 0 && v.keys[f.lock].fair && f.op.kind == history.OpAcquire {
		switch f.e.Kind {
		case history.KindCall:
			if f.op.bound > 0 {
				m.queue = append(m.queue, waiter{op: f.op})
			}
		case history.KindCommand:
			m.command(f)
		case history.KindReturn:
			return m.returned(f, v)
		}
	}
	if len(m.queue) > 0 {
		m.disturbed(f, v)
	}
	return nil
}

// command takes in a command of an acquire: by it the client has asked, or got the lock.
func (m *unfair) command(f *fact) {
	c := f.e.Detail.Command
	if f.change == nil || f.work || c.Late {
		return
	}
	mine := slices.IndexFunc(m.queue, func(w waiter) bool { return w.is(f.op) })
	if f.effect != history.EffectCreated {
		if mine >= 0 && m.queue[mine].asked == 0 && asks(c) {
			m.queue[mine].asked = f.i
		}
		return
	}
	for _, w := range m.queue {
		patient := f.e.At < w.calledAt+w.bound*3/4
		if w.lock == f.lock && w.client != f.client && !w.served && w.asked != 0 && w.asked < f.op.called && patient {
			m.found = append(m.found, overtaking{first: w.op, second: f.op, asked: w.asked, got: f.i, at: f.e.At})
		}
	}
	if mine >= 0 {
		m.queue[mine].served = true
	}
}

// asks says whether a command has put its client into the queue, if there is one. Of a script that was carried out this is certain,
// because it is one step; of other commands, of which there may be several, nobody knows which does.
func asks(c *history.Command) bool {
	return len(c.Args) > 0 && runsScript(c.Args[0]) && !c.ReplyDropped && !strings.HasPrefix(c.Reply, "-")
}

// is says whether two ops are one and the same.
func (o op) is(p op) bool { return o.id == p.id && o.client == p.client }

// disturbed takes in that a fault, or its end, may have kept clients from waiting. A clock that is wrong does not.
func (m *unfair) disturbed(f *fact, v *view) {
	switch {
	case f.e.Kind == history.KindExit:
		m.drop(func(o op) bool { return o.client == f.client })
	case f.e.Kind == history.KindFault && f.e.Detail != nil && f.e.Detail.Fault != nil:
		fault := f.e.Detail.Fault
		target := v.clients.find(fault.Target)
		for n := range m.queue {
			w := &m.queue[n]
			w.served = w.served || onServer(fault) || w.client == target && faults.Kind(fault.Name) != faults.Skew
		}
	}
}

// drop forgets acquires that will not return, and what would have been known by their returns.
func (m *unfair) drop(gone func(op) bool) {
	m.queue = slices.DeleteFunc(m.queue, func(w waiter) bool { return gone(w.op) })
	m.found = slices.DeleteFunc(m.found, func(o overtaking) bool {
		return gone(o.first) && !o.waited || gone(o.second) && !o.told
	})
}

func (m *unfair) returned(f *fact, v *view) []Anomaly {
	if f.op.outcome == history.Unknown {
		m.drop(f.op.is)
	}
	m.queue = slices.DeleteFunc(m.queue, func(w waiter) bool { return w.is(f.op) })
	if f.op.outcome == history.No {
		m.found = slices.DeleteFunc(m.found, func(o overtaking) bool { return o.second.is(f.op) })
	}
	var certain []Anomaly
	for n := range m.found {
		o := &m.found[n]
		o.waited = o.waited || o.first.is(f.op)
		o.told = o.told || o.second.is(f.op)
		if o.waited && o.told {
			certain = append(certain, o.anomaly(v))
		}
	}
	m.found = slices.DeleteFunc(m.found, func(o overtaking) bool { return o.waited && o.told })
	return certain
}

func (o overtaking) anomaly(v *view) Anomaly {
	first, second := v.clients.name(o.first.client), v.clients.name(o.second.client)
	return Anomaly{
		Name: Unfair, Lock: v.locks.name(o.first.lock), Clients: []string{second, first}, At: o.at,
		Why: fmt.Sprintf("%s, who asked at %s, got the lock at %s, though %s had asked at %s and was waiting.",
			second, told(o.second.calledAt), told(o.at), first, told(o.first.calledAt)),
		Events: inOrder(o.asked, o.second.called, o.got),
	}
}
