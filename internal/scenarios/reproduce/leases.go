package reproduce

import (
	"maps"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// The leases of scripts: long where nothing has to end, so that no stall matters, and otherwise as short as a busy machine allows. By
// its lease a lock on several servers measures how long it waits for one of them.
const (
	longLease   = 30 * time.Second
	middleLease = 10 * time.Second
	shortLease  = 2 * time.Second
	triedLease  = 4 * time.Second // in its parts, a client that pauses for 200 ms tries several times
)

// leased is a lease: when a server gave it, and how long it lasts there. That may be longer than the nominal lease: EXPIRE counts in whole seconds.
type leased struct{ at, lasts time.Duration }

// leases are those that servers have given, what of the passing of time a script has to wait for, and so how long its lease has to be.
type leases struct {
	trace   *trace.Trace
	lock    impls.Spec
	given   map[int]leased // by server that has a lock whose lease has not been waited for
	saved   map[int]leased // the same of what servers have saved
	short   bool           // a lease has to end
	exact   bool           // clocks have to show what they do in the trace
	tries   bool           // the client of an acquire has to try for too long
	passed  time.Duration  // since the latest step that is not time
	byClock bool           // and a client's clock made it so long
}

// length is the lease of the script.
func (l *leases) length() time.Duration {
	switch {
	case l.exact:
		return l.trace.Lease
	case l.tries:
		return triedLease
	case !l.short:
		return longLease
	case l.trace.Servers > 1:
		return middleLease
	}
	return shortLease
}

// sessions says whether the lock lasts as long as its client's session with a ZooKeeper.
func (l *leases) sessions() bool { return l.lock.Needs == impls.OneZooKeeper }

// touch notes when a lock got its lease.
func (l *leases) touch(b *moment) {
	if !b.changes || b.server < 0 {
		return
	}
	if lock, known := b.change(); known && lock.Before == lock.After {
		return // what it has changed is something else, such as a queue
	}
	delete(l.given, b.server)
	if key := b.step.After.Keys[b.server]; key.Exists() {
		l.given[b.server] = leased{b.step.At, max(l.trace.Lease, key.TTL)}
	}
}

// save keeps a copy of what a server has.
func (l *leases) save(server int) {
	delete(l.saved, server)
	if lease, locked := l.given[server]; locked {
		l.saved[server] = lease
	}
}

// strike is what a fault of a server does to its leases.
func (l *leases) strike(b *moment) {
	lease, locked := l.given[b.server]
	saved, kept := l.saved[b.server]
	delete(l.given, b.server)
	switch {
	case b.step.Fault == faults.ClockBack && locked:
		l.given[b.server] = leased{lease.at, lease.lasts + 2*l.trace.Lease}
	case b.step.Fault == faults.FailOver && kept:
		l.given[b.server] = saved
	}
}

// pass is how a script waits for a lease to end, or for what a client's clock shows to matter. What else time brings comes by itself: nil. After it
// comes the next moment, if any.
func (l *leases) pass(b, next *moment) *scenarios.Step {
	l.passed += b.step.Passed
	l.byClock = l.byClock || b.step.Clock
	if next == nil || next.kind == trace.Time {
		return nil // who tries in the end waits by itself; or more of it passes
	}
	passed, clock := l.passed, l.byClock
	l.passed, l.byClock = 0, false
	if l.sessions() {
		expired := slices.ContainsFunc(b.events, func(e history.Event) bool {
			return e.Kind == history.KindCommand && e.Command().Args[0] == "EXPIRED" && !e.Command().Changes[0].After.Exists()
		})
		if !expired {
			return nil
		}
		l.short = true
		return &scenarios.Step{Verb: scenarios.VerbWaitExpired}
	}
	now := b.step.At + b.step.Passed
	before, ended := len(l.given), time.Duration(0)
	maps.DeleteFunc(l.given, func(_ int, lease leased) bool {
		over := now-lease.at >= lease.lasts
		if over {
			ended = max(ended, lease.lasts)
		}
		return over
	})
	switch {
	case l.tries:
		return &scenarios.Step{Verb: scenarios.VerbWaitFor, Span: scenarios.Span{Leases: l.trace.Leases(passed)}}
	case clock:
		l.exact = true
		return &scenarios.Step{Verb: scenarios.VerbWaitFor, Span: scenarios.Span{Fixed: passed}}
	case l.lock.Leaseless:
		return nil
	case len(l.given) == before && !l.ages(now, next):
		return nil
	}
	l.short = true
	switch {
	case len(l.given) == before:
		return &scenarios.Step{Verb: scenarios.VerbWaitHalf}
	case ended > longLease: // no script knows how long it really is
		return &scenarios.Step{Verb: scenarios.VerbWaitFor, Span: scenarios.Span{Fixed: time.Duration(l.trace.Leases(ended)+1) * shortLease}}
	}
	return &scenarios.Step{Verb: scenarios.VerbWaitExpired}
}

// ages says whether it matters that a good part of a lease has passed: somebody adds to what is left.
func (l *leases) ages(now time.Duration, next *moment) bool {
	old := func(lease leased) bool { return now-lease.at > l.trace.Lease/2 }
	return next.operation != nil && slices.Contains(l.trace.Anomalies, checker.WrongfulRenew) && slices.ContainsFunc(slices.Collect(maps.Values(l.given)), old)
}
