package past

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/process"
)

// handle is what its process calls the lock.
const handle = "lock"

// replay is a process that has been taken to a moment.
type replay struct {
	process *process.Process
	host    *host
	clock   time.Duration // what it showed when it was read last
	at      int           // the moment's number; 0: there is none yet
}

func (v *replay) end() {
	if v.at != 0 {
		v.process.Close()
	}
	*v = replay{}
}

// execute gives a process all that the client was given until a moment: the one of the latest moment, if it goes on from there, or a new one.
// There are two, whose clocks began at different times.
func (l *Moments) execute(m *Moment, which int) error {
	live := &l.replays[which]
	path := []*Moment{m}
	if m.before == nil || live.at != m.before.Number {
		for n := m.before; n != nil; n = n.before {
			path = append(path, n)
		}
		live.end()
		live.begin(l, m.Client, time.Duration(which)*777_777*time.Millisecond)
	}
	live.at = m.Number
	l.running.Store(int64(m.Number))
	defer l.running.Store(0)
	for _, n := range slices.Backward(path) {
		if n.before == nil {
			continue
		}
		live.host.shown, live.host.read, live.host.asked = n.shown, false, false
		if l.Clocks == Differences {
			live.host.shown.Clock += live.clock
		}
		if err := live.give(l, n); err != nil {
			return l.impure(err)
		}
		if n != m && n.Reads {
			live.clock = live.host.shown.Clock
		}
		if n == m.before && which == 0 {
			if err := l.same(n, live); err != nil {
				return err
			}
		}
		if n != m && l.sessions() {
			live.host.follow(live.process.Waits())
		}
	}
	return l.note(m, live)
}

// note notes what a process waits for, and what it has reported and read.
func (l *Moments) note(m *Moment, live *replay) error {
	if err := live.process.Err(); err != nil {
		return l.impure(err)
	}
	m.Waits, m.Notices, m.Busy, m.tokens = live.process.Waits(), live.process.Notices(), live.process.Busy(), live.host.tokens
	m.Reads, m.Read = live.host.read || live.host.asked, live.host.read || m.before != nil && m.before.Read
	live.host.follow(m.Waits)
	asleep := func(w process.Wait) bool { return w.Kind == process.Sleep }
	l.noted.AskedDeadline, l.noted.AskedLate = l.noted.AskedDeadline || live.process.AskedDeadline, l.noted.AskedLate || live.process.AskedLate
	m.Sleeps = m.before != nil && m.before.Sleeps && !m.Idle() || slices.ContainsFunc(m.Waits, asleep)
	if err := l.declared(m, live); err != nil {
		return err
	}
	if m.Reads {
		live.clock = live.host.shown.Clock
	}
	limited := func(n process.Notice) bool { return n.Kind == process.Renewed || n.Answer.Limited }
	switch {
	case live.host.read && l.sessions():
		return errSession
	case live.host.read && l.Clocks == Unread:
		return errReads
	case !l.Limits && slices.ContainsFunc(m.Notices, limited):
		return errLimits
	}
	return nil
}

// begin makes a new process, whose clock shows that.
func (v *replay) begin(l *Moments, client int, clock time.Duration) {
	v.clock, v.host = clock, &host{client: client, shown: Reading{Clock: clock}, watches: map[int]string{}}
	v.process = process.New(v.host)
	v.process.SendSources()
	if l.Sites {
		v.process.NoteSites()
	}
	if l.Runs > watchedRuns {
		v.process.Rehearse()
	}
	v.process.Open(handle, l.Lock, l.Options, l.Servers)
}

// give gives the process what its client was given last.
func (v *replay) give(l *Moments, m *Moment) error {
	_ = v.process.Notices()
	if m.given.Kind == Call {
		m.Main = v.process.Call(handle, m.given.Op, l.operation(m.given.Op, v.process.ResourceOf("")))
	} else {
		v.process.Resume(m.given.Task, process.Input{Replies: m.given.Replies, Lost: m.given.Kind == Lost, TimedOut: m.given.Kind == TimedOut, Message: m.given.Text})
	}
	return v.process.Err()
}

// declared asks a lock what it keeps, if it says so, while nothing of it is under way. How long ago it read a clock does not matter, then,
// unless it does so for this.
func (l *Moments) declared(m *Moment, v *replay) error {
	if l.Undeclared || !m.Idle() {
		return nil
	}
	state, read, declares := v.process.StateFrom(v.host.shown.Clock)
	l.Declares = l.Declares || declares
	if err := v.process.Err(); err != nil {
		return l.impure(err)
	}
	if !declares {
		return nil
	}
	m.Kept, m.Read, m.Reads = string(state), read, m.Reads || read
	if l.Clocks == Absolute && read {
		m.Kept += fmt.Sprint(m.shown)
	}
	return nil
}
