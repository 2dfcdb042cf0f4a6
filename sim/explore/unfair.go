package explore

import (
	"context"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// Where unfairness is looked for, and nothing else, clients wait: an acquire is one operation, however often it is tried, and a lock that
// queues is told of the wait. Otherwise each try is an acquire, which nobody can overtake. See the checker's unfair.

// Queues says whether the clients of a search wait: that is so where it looks for unfairness only, of a lock that promises order.
func (c Config) Queues() bool {
	return slices.Equal(c.Only, []checker.Name{checker.Unfair}) && slices.Contains(c.Lock.Promises, impls.Fairness)
}

// untilHeld makes locks whose user waits from the first try to the last.
func untilHeld(open func(impls.Env, impls.Options) impls.Lock) func(impls.Env, impls.Options) impls.Lock {
	return func(env impls.Env, opts impls.Options) impls.Lock { return &patientLock{open(env, opts)} }
}

type patientLock struct{ impls.Lock }

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
		patient.Leave(ctx, true)
	}
	return held, err
}

// line is a client's place in the line of those who wait.
type line struct {
	asking bool  // its acquire has been called, and has not returned
	asked  bool  // a command of it has certainly asked
	served bool  // it has got the lock, or may have stopped waiting
	ahead  uint8 // who had asked before its call
	before uint8 // who has got the lock before it, though it had asked before they were told to
	told   uint8 // of those, who was told so
}

// joins takes in a try; only the first is a call.
func (j *judge) joins(n int) {
	c := &j.s.clients[n].line
	if !j.queues || c.asking {
		return
	}
	if c.before&^c.told != 0 {
		j.full = true // that they will be told can no longer be noted
	}
	*c = line{asking: true}
	for i := range j.clients {
		if other := &j.s.clients[i].line; i != n && other.waits() {
			c.ahead |= 1 << i
		}
	}
}

func (l *line) waits() bool { return l.asking && l.asked && !l.served }

// queued takes in a command of an acquire: it has asked, or has got the lock.
func (j *judge) queued(d deed) {
	c := &j.s.clients[d.client].line
	if !j.queues || !c.asking || d.op != history.OpAcquire || d.unheard {
		return
	}
	if d.effect != history.EffectCreated {
		c.asked = true
		return
	}
	for i := range j.clients {
		if other := &j.s.clients[i].line; c.ahead&(1<<i) != 0 && other.waits() {
			other.before |= 1 << d.client
		}
	}
	c.served = true
}

// leaves takes in that an acquire has returned; a refusal is only the end of a try.
func (j *judge) leaves(n int, outcome history.Outcome) {
	c := &j.s.clients[n].line
	if !j.queues || outcome == history.No {
		return
	}
	bit := uint8(1) << n
	for i := range j.clients {
		other := &j.s.clients[i].line
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
	c.asking, c.asked = false, false
	if outcome == history.Unknown {
		*c = line{}
		return
	}
	j.overtaken(c)
}

// overtaken: whoever waited has got the lock in the end, and so was told who got it before.
func (j *judge) overtaken(l *line) {
	if !l.asking && l.before&l.told != 0 {
		j.found |= unfair
	}
}

// quits takes in that a client is gone, and with it what would have been known by its return.
func (j *judge) quits(n int) {
	for i := range j.clients {
		other := &j.s.clients[i].line
		other.ahead &^= 1 << n
		if other.told&(1<<n) == 0 {
			other.before &^= 1 << n
		}
	}
}
