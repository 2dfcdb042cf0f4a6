package checker

import (
	"fmt"

	"github.com/locklab/locklab/history"
)

// doubleHolder: two clients were in a hold at the same time.
type doubleHolder struct{}

func (doubleHolder) step(f *fact, v *view) []Anomaly {
	if !f.began {
		return nil
	}
	var found []Anomaly
	for client, h := range v.keys[f.lock].holds {
		if client == f.client || !h.active(f.e.At) {
			continue
		}
		mine, other := v.clients.name(f.client), v.clients.name(client)
		found = append(found, Anomaly{
			Name: DoubleHolder, Lock: v.locks.name(f.lock), Clients: []string{mine, other}, At: f.e.At,
			Why: fmt.Sprintf("%s was told at %s that it has the lock, which %s had held since %s and had not given up.",
				mine, told(f.e.At), other, told(h.sinceAt)),
			Events: inOrder(h.since, f.i),
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

func (m *fences) step(f *fact, v *view) []Anomaly {
	if f.op.kind != history.OpAcquire || f.lock == 0 {
		return nil
	}
	for len(m.highest) <= f.lock {
		m.highest = append(m.highest, fence{})
	}
	highest := &m.highest[f.lock]
	switch f.e.Kind {
	case history.KindCall:
		if highest.number > 0 && !f.hold.active(f.e.At) {
			m.waiting = append(m.waiting, fenceWait{f.op.id, f.client, *highest})
		}
	case history.KindReturn:
		wait := takeWaiting(&m.waiting, func(w fenceWait) bool { return w.op == f.op.id && w.client == f.client })
		if f.op.outcome != history.OK || f.e.Fence == 0 {
			return nil
		}
		if f.e.Fence > highest.number {
			*highest = fence{f.e.Fence, f.client, f.i}
		}
		if f.e.Fence > wait.before.number {
			return nil
		}
		mine, other := v.clients.name(f.client), v.clients.name(wait.before.client)
		return []Anomaly{{
			Name: FenceRegression, Lock: v.locks.name(f.lock), Clients: []string{mine, other}, At: f.e.At,
			Why: fmt.Sprintf("%s got fence %d at %s, though %s had got fence %d before it asked.",
				mine, f.e.Fence, told(f.e.At), other, wait.before.number),
			Events: inOrder(wait.before.event, f.op.called, f.i),
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
