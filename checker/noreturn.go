package checker

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/history"
)

// noReturn: a release did not return in its user's time, though nothing held it up but the lock itself. Its user gave it up after a
// time that was longer than the lease, so that the lock need not have waited for anything any more; and from the call on no fault
// was in effect on its process or on a server.
type noReturn struct {
	faults   []injury
	releases []patientRelease
}

// patientRelease is a pending release that its user waits for, for so long and no longer.
type patientRelease struct {
	op      int64
	client  int
	excused bool // a fault may have held it up
}

func (m *noReturn) step(f *fact, v *view) []Anomaly {
	switch {
	case f.e.Kind == history.KindFault:
		m.fault(f.e, v)
	case f.op.kind != history.OpRelease || f.op.bound == 0:
	case f.e.Kind == history.KindCall:
		excused := slices.ContainsFunc(m.faults, func(i injury) bool { return i.concerns(v.clients.name(f.client)) })
		m.releases = append(m.releases, patientRelease{op: f.op.id, client: f.client, excused: excused})
	case f.e.Kind == history.KindReturn:
		return m.returned(f, v)
	}
	return nil
}

// fault takes in a fault, from the moment at which it is injected.
func (m *noReturn) fault(e *history.Event, v *view) {
	if e.Detail == nil || e.Detail.Fault == nil {
		return
	}
	what := injury{e.Detail.Fault.Name, e.Detail.Fault.Target}
	m.faults = slices.DeleteFunc(m.faults, func(i injury) bool { return i == what })
	if e.Detail.Fault.Phase == history.PhaseRecover {
		return
	}
	m.faults = append(m.faults, what)
	for n := range m.releases {
		r := &m.releases[n]
		r.excused = r.excused || what.concerns(v.clients.name(r.client))
	}
}

// concerns says whether a fault may hold up a client: it hits the client's process, something else in that, or a server.
func (f injury) concerns(client string) bool {
	return onServer(&history.Fault{Name: f.name}) || history.ProcessOf(f.target) == history.ProcessOf(client)
}

func (m *noReturn) returned(f *fact, v *view) []Anomaly {
	r := takeWaiting(&m.releases, func(r patientRelease) bool { return r.op == f.op.id && r.client == f.client })
	waited := f.e.At - f.op.calledAt
	gaveUp := f.op.outcome == history.Unknown && f.op.gaveUp
	if r.op == 0 || r.excused || !gaveUp || waited < f.op.bound || f.e.At < v.keys[f.lock].freedBy(f.op.calledAt) {
		return nil
	}
	client := v.clients.name(f.client)
	return []Anomaly{{
		Name: NoReturn, Lock: v.locks.name(f.lock), Clients: []string{client}, At: f.e.At,
		Why: fmt.Sprintf("%s's release, called at %s, had not returned when %s gave it up at %s, though nothing held it up and every lease had ended.",
			client, told(f.op.calledAt), client, told(f.e.At)),
		Events: inOrder(f.op.called, f.i),
	}}
}
