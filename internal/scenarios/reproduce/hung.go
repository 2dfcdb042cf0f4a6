package reproduce

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/timeline"
)

// hungAcquire is an acquire that goes on trying when its time is over, while a client of another process has the lock.
type hungAcquire struct {
	*timeline.OperationSpan
	owner    *timeline.OperationSpan   // acquired the lock before
	siblings []*timeline.OperationSpan // acquires of the same process, for which it waited before it sent anything
	behind   time.Duration             // by how much its clock was set back meanwhile
	set      int                       // the event by which it was
}

// hungAcquire finds the acquire that the anomaly is about; nil if it is about something else, or nothing in the history says why.
func (r *past) hungAcquire() *hungAcquire {
	called := r.anomaly.Events[0]
	at := slices.IndexFunc(r.Operations, func(o timeline.OperationSpan) bool { return int(o.From) == called })
	if r.anomaly.Name != checker.HungOperation || at < 0 || r.Operations[at].Op != history.OpAcquire {
		return nil
	}
	h := &hungAcquire{OperationSpan: &r.Operations[at]}
	detail := r.Events[called].Detail
	if len(h.Commands) == 0 || detail == nil {
		return nil
	}
	r.others(h, r.Events[h.Commands[0]].At-h.Began >= detail.Bound)
	h.behind, h.set = r.setBack(h)
	if h.owner == nil || len(h.siblings) == 0 && h.behind == 0 {
		return nil
	}
	return h
}

// others finds the owner of the lock and, if the acquire was starved of what its process shares, those for which it waited.
func (r *past) others(h *hungAcquire, starved bool) {
	for n := range r.Operations {
		o := &r.Operations[n]
		refused := func() bool { // and its client then went on without it
			return len(o.Commands) > 0 && o.Commands[0] < h.Commands[0] && !o.Open && r.Events[int(o.To)].Kind == history.KindReturn
		}
		switch sibling := history.ProcessOf(o.Client) == history.ProcessOf(h.Client); {
		case o.Op != history.OpAcquire || o.From >= h.To:
		case !sibling && o.Outcome == history.OK && o.To < h.To:
			h.owner = o
		case sibling && starved && o.Client != h.Client && o.To > h.From && refused():
			earlier := func(before *timeline.OperationSpan) bool { return before.Client == o.Client } // a client has one at a time
			h.siblings = append(slices.DeleteFunc(h.siblings, earlier), o)
		}
	}
}

// setBack is by how much the clock of an acquire's process was set back in all while it went on, and the last event that did so.
func (r *past) setBack(h *hungAcquire) (behind time.Duration, set int) {
	var before, after time.Duration
	for i := range int(h.To) {
		f := r.Events[i].Fault()
		if f == nil || f.Phase != history.PhaseInject || f.Target != history.ProcessOf(h.Client) || faults.Kind(f.Name).Of().Kind != faults.Skew {
			continue
		}
		if after = offsetOf(f.What); i < int(h.From) {
			before = after
		}
		if i > int(h.From) {
			set = i
		}
	}
	return max(0, before-after), set
}

// The times of the story, in leases: for how long the acquire may try, when twice that is over, and how long it is watched then. A client
// may pause for 200 ms between two tries, and three tries count.
const (
	hungBound   = 0.2
	hungOver    = 2.5 * hungBound
	hungWatched = 0.15
)

// writeHung writes the story: the owner acquires the lock, siblings wait for it, and so does the acquire. When twice its time is over, its
// siblings give up; it is refused once more, goes on trying, and is given up.
func (w *traceWriter) writeHung(h *hungAcquire) {
	leases := func(n float64) time.Duration { return time.Duration(n * float64(w.past.lease)) }
	w.call(h.owner, trace.Step{})
	w.gives(h.owner)
	for _, o := range h.siblings {
		w.call(o, trace.Step{Waits: true})
		w.asks(o)
	}
	w.call(h.OperationSpan, trace.Step{Waits: true, Passed: leases(hungBound)})
	if len(h.siblings) == 0 {
		w.asks(h.OperationSpan)
	}
	if h.behind > 0 {
		w.step(trace.Step{Kind: trace.Fault, Fault: faults.Skew, Client: w.client(h.Client), Passed: -h.behind}, h.set)
	}
	w.pass(leases(hungOver))
	for _, o := range h.siblings {
		w.gives(o)
	}
	if len(h.siblings) > 0 {
		w.asks(h.OperationSpan)
	}
	w.pass(leases(hungWatched))
	w.gives(h.OperationSpan)
}

// call writes that an operation begins, and how.
func (w *traceWriter) call(o *timeline.OperationSpan, how trace.Step) {
	how.Kind, how.Client, how.Op, how.ID = trace.Call, w.client(o.Client), o.Op, o.ID
	w.step(how, int(o.From))
}

// asks writes an operation's first command.
func (w *traceWriter) asks(o *timeline.OperationSpan) {
	w.step(trace.Step{Kind: trace.Serve, Client: w.client(o.Client), Op: o.Op, ID: o.ID}, o.Commands[0])
}

// gives writes that an operation ends.
func (w *traceWriter) gives(o *timeline.OperationSpan) {
	w.step(trace.Step{Kind: trace.Return, Client: w.client(o.Client), Op: o.Op, ID: o.ID, Answer: history.Answer{Outcome: o.Outcome}}, int(o.To))
}
