package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
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
	timeline.Operation
	asked  int  // index of the command by which it has certainly asked; 0: none came back yet
	served bool // it has got the lock, or may have stopped waiting for it
}

// overtaking is a grant while another had waited longer.
type overtaking struct {
	first, second timeline.Operation
	asked, got    int // indexes of the commands by which the first had asked, and the second got the lock
	at            time.Duration
	waited, told  bool // the acquires have returned, the first as one that waited, the second with ok
}

func (m *unfair) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Lock != 0 && v.Locks[f.Lock].Fair && f.Op.Kind == history.OpAcquire {
		switch f.Event.Kind {
		case history.KindCall:
			if f.Op.Bound > 0 {
				m.queue = append(m.queue, waiter{Operation: f.Op})
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
func (m *unfair) command(f *timeline.Fact) {
	c := f.Sent
	if f.Change == nil || c.Late {
		return
	}
	mine := slices.IndexFunc(m.queue, func(w waiter) bool { return w.Is(f.Op) })
	if f.Effect != history.EffectCreated {
		if mine >= 0 && m.queue[mine].asked == 0 && asks(c) {
			m.queue[mine].asked = f.Index
		}
		return
	}
	for _, w := range m.queue {
		patient := f.Event.At < w.CalledAt+w.Bound*3/4
		if w.Lock == f.Lock && w.Client != f.Client && !w.served && w.asked != 0 && w.asked < f.Op.Called && patient {
			m.found = append(m.found, overtaking{first: w.Operation, second: f.Op, asked: w.asked, got: f.Index, at: f.Event.At})
		}
	}
	if mine >= 0 {
		m.queue[mine].served = true
	}
}

// asks says whether a command has put its client into the queue, if there is one. Of a script that was carried out this is certain,
// because it is one step, and of the create of a ZooKeeper, because the node is the place in the queue; of other commands there may be
// several, and it is not known which does.
func asks(c *history.Command) bool {
	return len(c.Args) > 0 && (ownership.RunsScript(c.Args[0]) || c.Args[0] == "CREATE") && !c.ReplyDropped && !c.Failed()
}

// disturbed takes in that a fault, or its end, may have kept clients from waiting. A clock that is wrong does not.
func (m *unfair) disturbed(f *timeline.Fact, v *timeline.Cursor) {
	switch {
	case f.Event.Kind == history.KindExit:
		m.drop(func(o timeline.Operation) bool { return o.Client == f.Client })
	case f.Event.Kind == history.KindFault && f.Event.Detail != nil && f.Event.Detail.Fault != nil:
		fault := f.Event.Detail.Fault
		for n := range m.queue {
			w := &m.queue[n]
			w.served = w.served || faults.Kind(fault.Name).OnServer() || hits(fault, v.Clients.Name(w.Client)) && faults.Kind(fault.Name) != faults.Skew
		}
	}
}

// hits says whether a fault is one of the client, or of its process.
func hits(f *history.Fault, client string) bool {
	return f.Target == client || f.Target == history.ProcessOf(client)
}

// drop forgets acquires that will not return, and what would have been known by their returns.
func (m *unfair) drop(gone func(timeline.Operation) bool) {
	m.queue = slices.DeleteFunc(m.queue, func(w waiter) bool { return gone(w.Operation) })
	m.found = slices.DeleteFunc(m.found, func(o overtaking) bool {
		return gone(o.first) && !o.waited || gone(o.second) && !o.told
	})
}

func (m *unfair) returned(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Op.Outcome == history.Unknown {
		m.drop(f.Op.Is)
	}
	m.queue = slices.DeleteFunc(m.queue, func(w waiter) bool { return w.Is(f.Op) })
	if f.Op.Outcome == history.No {
		m.found = slices.DeleteFunc(m.found, func(o overtaking) bool { return o.second.Is(f.Op) })
	}
	var certain []Anomaly
	for n := range m.found {
		o := &m.found[n]
		o.waited = o.waited || o.first.Is(f.Op)
		o.told = o.told || o.second.Is(f.Op)
		if o.waited && o.told {
			certain = append(certain, o.anomaly(v))
		}
	}
	m.found = slices.DeleteFunc(m.found, func(o overtaking) bool { return o.waited && o.told })
	return certain
}

func (o overtaking) anomaly(v *timeline.Cursor) Anomaly {
	first, second := v.Clients.Name(o.first.Client), v.Clients.Name(o.second.Client)
	return Anomaly{
		Name: Unfair, Lock: v.LockNames.Name(o.first.Lock), Clients: []string{second, first}, At: o.at,
		Why: fmt.Sprintf("%s asked at %s and acquired at %s, although %s had asked at %s and was waiting.",
			second, seconds(o.second.CalledAt), seconds(o.at), first, seconds(o.first.CalledAt)),
		Events: inOrder(o.asked, o.second.Called, o.got),
	}
}
