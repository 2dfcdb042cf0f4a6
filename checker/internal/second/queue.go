package second

import (
	"iter"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// The model of a lock that promises order: a queue, in which two clients matter. Each joins at some point from the call of its acquire to the
// command by which it has certainly asked, and the second is granted the lock by a command. The first may have left the queue from when it
// was served, something was done to it or the server, or most of its patience was over. Porcupine looks for an order in which the second was not
// behind the first.

// queueState says who is in the queue.
type queueState struct {
	first, second bool
	ahead         bool // the first is ahead of the second
}

// queueInput is what can happen in the queue.
type queueInput uint8

const (
	queueFirst  queueInput = iota // the first joins
	queueSecond                   // the second does
	queueLeft                     // the first may have left
	queueGrant                    // the second is granted the lock
)

var queueModel = porcupine.Model{
	Init: func() any { return queueState{} },
	Step: func(state, input, _ any) (bool, any) {
		s := state.(queueState)
		switch input.(queueInput) {
		case queueFirst:
			s.first, s.ahead = true, !s.second
		case queueSecond:
			s.second = true
		case queueLeft:
			s.first, s.ahead = false, false
		case queueGrant:
			return s.second && !s.ahead, s
		}
		return true, s
	},
}

// passing is a grant while another acquire was waiting.
type passing struct {
	first, second *asking
	operations    []porcupine.Operation
}

// queueTouch takes in a command of an acquire of a lock that promises order.
func (r *ownerReader) queueTouch(l *ownerHistory, step *ownerStep, c *history.Command, op *asking, effect history.Effect) {
	s := &l.service
	if op == nil || op.op != history.OpAcquire || op.lock != l.name || c.Late || !r.mutex.Fair[l.name] {
		return
	}
	mine := slices.IndexFunc(s.waits, func(w serviceWait) bool { return w.op == op })
	if effect != history.EffectCreated {
		if mine >= 0 && s.waits[mine].asked == 0 && joinsQueue(c) {
			s.waits[mine].asked = step.event
		}
		return
	}
	for n := range s.waits {
		w := &s.waits[n]
		if w.op.client == op.client || w.op.bound == 0 || w.asked == 0 || w.asked > op.call && !l.all { // in a long history, not what is legal anyway
			continue
		}
		s.passed = append(s.passed, r.passes(w, op, step.event))
	}
	if mine >= 0 && s.waits[mine].left == 0 {
		s.waits[mine].left = step.event
	}
}

// passes has an acquire get the lock at an event, while another waits.
func (r *ownerReader) passes(w *serviceWait, op *asking, event int) passing {
	p := passing{first: w.op, second: op}
	add := func(what queueInput, call, done int64) {
		p.operations = append(p.operations, porcupine.Operation{Input: what, Call: call, Return: done})
	}
	add(queueFirst, overlap.At(w.op.call), overlap.At(w.asked))
	if w.left != 0 {
		add(queueLeft, overlap.At(w.left), overlap.Open)
	}
	add(queueSecond, overlap.At(op.call), overlap.At(event)-1)
	add(queueGrant, overlap.At(event), overlap.At(event))
	add(queueLeft, overlap.BeforeTime(r.mutex.Events, w.op.called+w.op.bound*3/4), overlap.Open)
	return p
}

// settlePassed keeps what counts: the first went on waiting until it was answered, and the second was told that it has the lock.
func (s *serviceHistory) settlePassed() {
	s.passed = slices.DeleteFunc(s.passed, func(p passing) bool {
		if p.first.back == 0 || p.second.back == 0 {
			return false
		}
		if p.first.outcome != history.Unknown && p.second.outcome == history.OK {
			s.queued = append(s.queued, p.operations)
		}
		return true
	})
}

// queueFault takes in that a fault, or its end, may keep clients from waiting. A clock that is wrong does not.
func (s *serviceHistory) queueFault(f *history.Fault, i int, targets []int) {
	kind := faults.Kind(f.Name)
	for n := range s.waits {
		if w := &s.waits[n]; w.left == 0 && (kind.OnServer() || slices.Contains(targets, w.op.client) && kind != faults.Skew) {
			w.left = i
		}
	}
}

func queueWindows(queued [][]porcupine.Operation) iter.Seq[overlap.Window] {
	return func(yield func(overlap.Window) bool) {
		for _, operations := range queued {
			if !yield(overlap.Window{Model: queueModel, Operations: operations}) {
				return
			}
		}
	}
}
