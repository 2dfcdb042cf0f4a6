package checker

import (
	"fmt"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/timeline"
)

// doubleHolder: two clients held the lock at the same time.
type doubleHolder struct{}

func (doubleHolder) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if !f.Began {
		return nil
	}
	var found []Anomaly
	for client, h := range v.Locks[f.Lock].Holds {
		if client == f.Client || !h.Active(f.Event.At) {
			continue
		}
		mine, other := v.Clients.Name(f.Client), v.Clients.Name(client)
		found = append(found, Anomaly{
			Name: DoubleHolder, Lock: v.LockNames.Name(f.Lock), Clients: []string{mine, other}, At: f.Event.At,
			Why: fmt.Sprintf("%s acquired the lock at %s, while %s held it (since %s).",
				mine, seconds(f.Event.At), other, seconds(h.SinceAt)),
			Events: inOrder(h.Since, f.Index),
		})
	}
	return found
}

// fences: a later grant got a smaller fence. Grants that overlap have no order.
type fences struct {
	highest []fence // by lock: the largest of the grants that have returned
	waiting []fenceWait
}

type fence struct {
	number int64
	client int
	event  int
}

// fenceWait is a pending acquire and the largest fence that had been handed out when it was called.
type fenceWait struct {
	op     int64
	client int
	before fence
}

func (m *fences) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Op.Kind != history.OpAcquire || f.Lock == 0 {
		return nil
	}
	for len(m.highest) <= f.Lock {
		m.highest = append(m.highest, fence{})
	}
	highest := &m.highest[f.Lock]
	switch f.Event.Kind {
	case history.KindCall:
		if highest.number > 0 && !f.Hold.Active(f.Event.At) {
			m.waiting = append(m.waiting, fenceWait{f.Op.ID, f.Client, *highest})
		}
	case history.KindReturn:
		wait := takeWaiting(&m.waiting, func(w fenceWait) bool { return w.op == f.Op.ID && w.client == f.Client })
		if f.Op.Outcome != history.OK || f.Event.Fence == 0 {
			return nil
		}
		if f.Event.Fence > highest.number {
			*highest = fence{f.Event.Fence, f.Client, f.Index}
		}
		if f.Event.Fence > wait.before.number {
			return nil
		}
		mine, other := v.Clients.Name(f.Client), v.Clients.Name(wait.before.client)
		return []Anomaly{{
			Name: FenceRegression, Lock: v.LockNames.Name(f.Lock), Clients: []string{mine, other}, At: f.Event.At,
			Why: fmt.Sprintf("%s got fencing token %d at %s, although %s had got %d before.",
				mine, f.Event.Fence, seconds(f.Event.At), other, wait.before.number),
			Events: inOrder(wait.before.event, f.Op.Called, f.Index),
		}}
	}
	return nil
}

// takeWaiting removes the element that match finds, and returns it; the zero value if there is none.
func takeWaiting[T any](list *[]T, match func(T) bool) (found T) {
	for i, w := range *list {
		if match(w) {
			found = w
			*list = append((*list)[:i], (*list)[i+1:]...)
			return found
		}
	}
	return found
}
