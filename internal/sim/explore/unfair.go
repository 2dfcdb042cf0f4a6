package explore

import (
	"context"
	"reflect"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// Where a search looks for unfairness, and nothing else, clients wait in a queue: an acquire is one operation with many tries, and a lock
// that keeps a queue is told of the wait. Otherwise each try is an acquire, and a try that is refused cannot be overtaken.

// Queues says whether the clients of a search wait in a queue: it looks for unfairness only, and the lock promises order.
func (c Config) Queues() bool {
	return slices.Equal(c.Only, []checker.Name{checker.Unfair}) && slices.Contains(c.Lock.Promises, impls.Fairness)
}

// untilHeld makes locks whose user waits from the first try to the last.
func untilHeld(open func(impls.Env, impls.Options) impls.Lock) func(impls.Env, impls.Options) impls.Lock {
	return func(env impls.Env, opts impls.Options) impls.Lock {
		lock := open(env, opts)
		if stateful, declares := lock.(impls.Stateful); declares {
			return struct {
				*patientLock
				impls.Stateful
			}{&patientLock{lock}, stateful}
		}
		return &patientLock{lock}
	}
}

type patientLock struct{ impls.Lock }

func (l *patientLock) patient() impls.Lock { return l.Lock }

func (l *patientLock) TryAcquire(ctx context.Context) (bool, error) {
	patient, waits := l.Lock.(impls.Patient)
	if !waits {
		return l.Lock.TryAcquire(ctx)
	}
	if err := patient.Enter(ctx); err != nil {
		return false, err
	}
	held, err := l.Lock.TryAcquire(ctx)
	if held {
		err = patient.Leave(ctx, true)
	}
	return held, err
}

// waits are the methods by which the lab has a client wait for a lock.
var waits = []string{"Acquire", "Enter", "Leave", "Pause", "WaitedEnough", "Wakeups"}

// uncalled are those that the lock has, and that no client of the search calls.
func (x *explorer) uncalled() (names []string) {
	s := x.automaton.NewInstance(0)
	defer s.Process.Close()
	made := s.Process.Lock("lock")
	if waits, queues := made.(interface{ patient() impls.Lock }); queues {
		made = waits.patient()
	}
	for _, name := range waits {
		_, has := reflect.TypeOf(made).MethodByName(name)
		if called := x.judge.queues && (name == "Enter" || name == "Leave"); has && !called {
			names = append(names, name)
		}
	}
	return names
}

// queued is what is known of a client in the queue. Sets are of clients.
type queued struct {
	asking bool  // its acquire has been called, and has not returned
	asked  bool  // a command of it has certainly asked
	served bool  // it has got the lock, or may have stopped waiting
	ahead  uint8 // the clients that had asked before its call
	before uint8 // the clients that have got the lock before it, though it had asked before their call
	told   uint8 // of those, the clients that were told so
	Gap    [2]gap
}

func (q *queued) waits() bool { return q.asking && q.asked && !q.served }

// callsInQueue takes in a try; only the first is a call.
func (j *judge) callsInQueue(n int) {
	q := &j.s.clients[n].queued
	if !j.queues || q.asking {
		return
	}
	if q.before&^q.told != 0 {
		j.full = true // that they will be told can no longer be noted
	}
	*q = queued{asking: true}
	for i := range j.clients {
		if i != n && j.s.clients[i].queued.waits() {
			q.ahead |= 1 << i
		}
	}
}

// commandInQueue takes in a command of an acquire: it has asked, or has got the lock.
func (j *judge) commandInQueue(cmd command) {
	q := &j.s.clients[cmd.client].queued
	if !j.queues || !q.asking || cmd.op != history.OpAcquire || cmd.unheard {
		return
	}
	if cmd.effect != history.EffectCreated {
		q.asked = true
		return
	}
	for i := range j.clients {
		if other := &j.s.clients[i].queued; q.ahead&(1<<i) != 0 && other.waits() {
			other.before |= 1 << cmd.client
		}
	}
	q.served = true
}

// returnsInQueue takes in that an acquire has returned; a refusal is only the end of a try.
func (j *judge) returnsInQueue(n int, outcome history.Outcome) {
	q := &j.s.clients[n].queued
	if !j.queues || outcome == history.No {
		return
	}
	bit := uint8(1) << n
	for i := range j.clients {
		other := &j.s.clients[i].queued
		other.ahead &^= bit
		switch {
		case other.before&bit == 0:
		case outcome == history.Unknown:
			other.before &^= bit
		default:
			other.told |= bit
			j.overtaken(other)
		}
	}
	q.asking, q.asked = false, false
	if outcome == history.Unknown {
		*q = queued{}
		return
	}
	j.overtaken(q)
}

// overtaken: a client that waited has got the lock in the end, and clients that asked later were told that they got it before.
func (j *judge) overtaken(q *queued) {
	if !q.asking && q.before&q.told != 0 {
		j.found |= unfair
	}
}

// crashesInQueue takes in that a client has crashed: what its return would have shown stays unknown.
func (j *judge) crashesInQueue(n int) {
	for i := range j.clients {
		other := &j.s.clients[i].queued
		other.ahead &^= 1 << n
		if other.told&(1<<n) == 0 {
			other.before &^= 1 << n
		}
	}
}
