package reproduce

import (
	"errors"
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

func (w *writer) lease() time.Duration {
	switch {
	case w.exact:
		return w.trace.Lease
	case w.tries:
		return triedLease
	case !w.short:
		return longLease
	case w.out.Servers > 0:
		return middleLease
	}
	return shortLease
}

// sessions says whether the lock lasts as long as its client's session with a ZooKeeper.
func (w *writer) sessions() bool { return w.lock.Needs == impls.OneZooKeeper }

// touch notes when a lock got its lease.
func (w *writer) touch(b *moment) {
	if !b.changes || b.server < 0 {
		return
	}
	if lock, known := b.change(); known && lock.Before == lock.After {
		return // what it has changed is something else, such as a queue
	}
	delete(w.touched, b.server)
	if key := b.step.After.Keys[b.server]; key.Exists() {
		w.touched[b.server] = leased{b.step.At, max(w.trace.Lease, key.TTL)}
	}
}

// pass waits for a lease to end, or for what a client's clock shows to matter. What else time brings comes by itself.
func (w *writer) pass(i int, b *moment) {
	w.passed += b.step.Passed
	w.byClock = w.byClock || b.step.Clock
	if i+1 == len(w.moments) || w.moments[i+1].kind == trace.Time {
		return // who tries in the end waits by itself; or more of it passes
	}
	passed, clock := w.passed, w.byClock
	w.passed, w.byClock = 0, false
	if w.sessions() {
		if slices.ContainsFunc(b.events, func(e history.Event) bool {
			return e.Kind == history.KindCommand && e.Command().Args[0] == "EXPIRED" && !e.Command().Changes[0].After.Exists()
		}) {
			w.short = true
			w.lab(scenarios.Step{Verb: scenarios.VerbWaitExpired})
		}
		return
	}
	before, ended := len(w.touched), time.Duration(0)
	maps.DeleteFunc(w.touched, func(_ int, l leased) bool {
		over := b.step.At+b.step.Passed-l.at >= l.lasts
		if over {
			ended = max(ended, l.lasts)
		}
		return over
	})
	switch {
	case w.tries:
		w.lab(scenarios.Step{Verb: scenarios.VerbWaitFor, Span: scenarios.Span{Leases: w.trace.Leases(passed)}})
		return
	case clock:
		w.exact = true
		w.lab(scenarios.Step{Verb: scenarios.VerbWaitFor, Span: scenarios.Span{Fixed: passed}})
		return
	case w.lock.Leaseless:
		return
	case len(w.touched) == before:
		w.age(i, b)
		return
	}
	w.short = true
	if ended > longLease { // no script knows how long it really is
		w.lab(scenarios.Step{Verb: scenarios.VerbWaitFor, Span: scenarios.Span{Fixed: time.Duration(w.trace.Leases(ended)+1) * shortLease}})
		return
	}
	w.lab(scenarios.Step{Verb: scenarios.VerbWaitExpired})
}

// age lets a good part of a lease pass, where it matters that somebody adds to what is left.
func (w *writer) age(i int, b *moment) {
	old := func(l leased) bool { return b.step.At+b.step.Passed-l.at > w.trace.Lease/2 }
	next := w.moments[i+1]
	if next.operation == nil || !slices.Contains(w.trace.Anomalies, checker.WrongfulRenew) || !slices.ContainsFunc(slices.Collect(maps.Values(w.touched)), old) {
		return
	}
	w.short = true
	w.lab(scenarios.Step{Verb: scenarios.VerbWaitHalf})
}

// beside tells what runs beside the operations: a lease is prolonged.
func (w *writer) beside(i int, b *moment) error {
	switch {
	case b.kind != trace.Serve:
		return nil
	case w.unheard(i) && w.stopped(b.who): // see loseReplyBeside
		return nil
	case w.unheard(i):
		w.renews(b.who, w.breakpoint(faults.ActHoldReply, b.step, nil))
		return nil
	case !b.changes:
		return nil
	}
	if lock, known := b.change(); known && lock.Before.Exists() && !lock.After.Exists() {
		return errors.New("what a background task removes cannot be waited for")
	}
	w.resume(b.who)
	w.short = true
	w.lab(scenarios.Step{Verb: scenarios.VerbWaitRenewed, Want: []scenarios.Result{scenarios.ResultOK}})
	return nil
}
