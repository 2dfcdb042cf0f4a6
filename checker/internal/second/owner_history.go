package second

import (
	"iter"
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// ownerHistory is what the commands to one lock, and the answers to its clients, were good for.
type ownerHistory struct {
	name      string
	state     ownerState
	window    ownerWindow   // the latest
	suspects  []ownerWindow // those in which something may be wrong
	suspect   bool          // the window is one
	all       bool          // all are kept
	unjudged  bool          // something happened to the key that no command on record did
	spread    *spreadLock   // where it is on several servers
	service   serviceHistory
	lease     time.Duration
	leaseless bool // its lease does not end by time: it has none, or it is a session, whose end is a command
	session   bool
	opaque    bool   // no command of it is on record
	server    string // with the key; empty: none was seen
	there     bool   // the key was there when it was last seen
	value     string // with that value
}

// leaseFrom is the lease that a command has left on the key: how long it is, and its end. Without an expiry it is in the value, which the
// client can have made after its command before.
func (l *ownerHistory) leaseFrom(sent time.Duration, op *asking, before time.Duration, is history.State) (lease, ends time.Duration) {
	switch {
	case is.TTL > 0:
		return is.TTL, sent + is.TTL
	case l.leaseless:
		return 0, overlap.Never
	case op != nil:
		return l.lease, max(op.called, before) + l.lease
	}
	return l.lease, sent + l.lease
}

// add has something happen to the lock.
func (l *ownerHistory) add(step ownerStep) {
	if len(l.window.steps) == overlap.WindowSize {
		l.cut()
	}
	if len(l.window.steps) == 0 {
		l.window.begin = l.state
		l.window.steps = slices.Grow(l.window.steps, overlap.WindowSize)
	}
	l.window.steps = append(l.window.steps, step)
	next, found := l.state.after(&step)
	l.state = next
	l.suspect = l.suspect || found != 0
}

// cut ends a window. One in which nothing can be wrong need not be kept.
func (l *ownerHistory) cut() {
	if l.suspect || l.all {
		l.suspects = append(l.suspects, l.window)
		l.window.steps = nil
	}
	l.window.steps, l.suspect = l.window.steps[:0], false
}

// windows are those in which an offence may be.
func (l *ownerHistory) windows(wanted offences) iter.Seq[overlap.Window] {
	return func(yield func(overlap.Window) bool) {
		for n := range l.suspects {
			if !yield(l.suspects[n].window(wanted)) {
				return
			}
		}
	}
}
