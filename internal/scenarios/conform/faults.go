package conform

import (
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// faultChecks are about cancel and about links.
func faultChecks() []Check {
	return []Check{
		{Name: "cancel-nothing", About: "cancel of what is not under way is answered no", clients: 1, hold: cancelsNothing},
		{Name: "cancel-waiting", cancels: true, wire: true, About: "an acquire that waits for the lock can be cancelled", hold: cancelsWaiting},
		{Name: "cancel-queued", cancels: true, wire: true, About: "a cancelled operation that waits for its turn never begins", hold: cancelsQueued},
		{Name: "cancel-order", cancels: true, wire: true, About: "by the order of answers the lab knows whose connections to end", clients: 1, hold: answersInOrder},
		{Name: "cancel-acquire", cancels: true, wire: true, About: "an acquire that waits for the server can be cancelled", clients: 1, hold: cancelsHeld(protocol.Acquire, false)},
		{Name: "cancel-release", cancels: true, wire: true, About: "a release that waits for the server can be cancelled", clients: 1, hold: cancelsHeld(protocol.Release, true)},
		{Name: "cancel-check", cancels: true, wire: true, About: "a check that waits for the server can be cancelled", clients: 1, needs: protocol.Check, hold: cancelsHeld(protocol.Check, true)},
		{Name: "cancel-renew", cancels: true, wire: true, About: "a renewal that waits for the server can be cancelled", clients: 1, needs: protocol.Renew, hold: cancelsHeld(protocol.Renew, true)},
		{Name: "cancel-work", cancels: true, About: "work that waits for the resource can be cancelled", clients: 1, hold: cancelsWork},
		{Name: "work-after-cancel", cancels: true, About: "a cancel ends its own operation, and the work that follows runs", hold: worksAfterCancel},
		{Name: "reconnect-after-refusal", About: "it works again after its connections were broken", clients: 1, hold: reconnects(faults.LinkFault{Kind: faults.Refuse})},
		{Name: "reconnect-after-partition", About: "it works again after a partition", clients: 1, hold: reconnects(faults.LinkFault{Kind: faults.Partition, Direction: faults.Both})},
		{Name: "reconnect-after-lost-replies", About: "it works again after replies were lost", clients: 1, hold: reconnects(faults.LinkFault{Kind: faults.ReplyLost})},
		{Name: "broken-while-idle", About: "it works again after its connections broke while it was idle", clients: 1, hold: survivesBreakWhileIdle},
		{Name: "silent-connection", cancels: true, wire: true, About: "an acquire over a connection that died silently can be given up, and the next one works", clients: 1, hold: leavesSilentConnection},
		{Name: "broken-amid-acquire", wire: true, About: "a connection that breaks in an acquire: no silent retry, no false answer", clients: 1, hold: breaksAmidAcquire},
		{Name: "time-outs", wire: true, About: "no time-out of the client fires by accident", clients: 1, hold: bearsSilence},
		{Name: "errors", wire: true, About: "an error of the server is no grant, and ends nothing", clients: 1, hold: bearsErrors},
	}
}

// reached waits until an operation is held up, and ends the conversation if it is answered instead.
func (t *talk) reached(held play.Armed, p pending) {
	if t.over() {
		return
	}
	if t.Until(patience, func() bool { return held.Reached() || !p.open() }); held.Reached() {
		return
	}
	if p.req.Do == protocol.Work {
		t.broken(ruleWork, "%v was answered without a request to the resource", p)
	}
	t.broken(ruleKeys, "%v was answered without a request about the key", p)
}

// cancel orders an operation to be cancelled, and waits for both answers. The rule is the one that is broken if the operation is not answered.
func (t *talk) cancel(p pending, rule string) answered {
	t.must(t.ask(p.client, protocol.Request{Do: protocol.Cancel, Op: p.id}), protocol.OK, ruleCancelNow)
	return answered{p, t.await(p, patience, rule)}
}

func cancelsNothing(t *talk) {
	t.must(t.ask("C1", protocol.Request{Do: protocol.Cancel, Op: 1 << 40}), protocol.No, ruleNotUnderWay)
	acquired := t.do("C1", protocol.Acquire)
	t.must(acquired, protocol.OK, ruleAcquire)
	t.must(t.ask("C1", protocol.Request{Do: protocol.Cancel, Op: acquired.id}), protocol.No, ruleNotUnderWay)
}

func cancelsWaiting(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	waiting := t.send("C2", within(time.Minute))
	if !t.over() && !t.Until(patience, func() bool { return t.Traffic().Sent("C2") > 0 }) {
		t.broken(ruleAcquire, "acquire with within_ms sends nothing")
	}
	t.mustNot(t.cancel(waiting, ruleCancelNow), protocol.OK, ruleCancelled)
	t.must(t.do("C1", protocol.Release), protocol.OK, ruleRelease)
	t.must(t.ask("C2", within(patience/2)), protocol.OK, ruleNextRuns)
}

func cancelsQueued(t *talk) {
	held := t.Hold("C1", false)
	defer held.Disarm()
	first := t.send("C1", op(protocol.Acquire))
	t.reached(held, first)
	queued := t.send("C1", op(protocol.Release))
	a := t.cancel(queued, ruleQueued)
	t.must(a, protocol.Unknown, ruleQueued)
	held.Release()
	t.must(answered{first, t.await(first, patience, ruleOneAnswer)}, protocol.OK, ruleQueued)
	t.must(t.do("C2", protocol.Acquire), protocol.No, ruleQueued)
}

// answersInOrder is about clients whose connections the lab ends: those of an operation that has no answer when its cancel is answered.
func answersInOrder(t *talk) {
	switch {
	case t.over():
		return
	case !t.Hello("C1").LabCuts:
		t.skipped = `hello does not say "lab_cuts"`
		return
	case t.subject.Traits.Servers > 1:
		t.skipped = "a lock on several servers is granted although one request is held"
		return
	}
	held := t.Hold("C1", false)
	defer held.Disarm()
	under := t.send("C1", op(protocol.Acquire))
	t.reached(held, under)
	queued := t.send("C1", op(protocol.Release))
	if first := t.cancelledFirst(queued, ruleQueued); !first && !t.over() {
		t.broken(ruleQueuedFirst, "the cancel of %v, which waited for its turn, was answered before it", queued)
	}
	if first := t.cancelledFirst(under, ruleCancelNow); !first || t.over() || t.subject.Traits.ZooKeeper { // one session has all requests, in order
		return
	}
	next := t.send("C1", within(shortWait))
	if answered := t.Until(patience, func() bool { return !next.open() }); !t.over() && (!answered || t.await(next, patience, ruleCancelFirst).Outcome == protocol.Unknown) {
		t.broken(ruleCancelFirst, "%v was answered before its cancel, so its connections stayed, and the next one cannot run", under)
	}
}

// cancelledFirst orders an operation to be cancelled, and says whether it was answered before the cancel was.
func (t *talk) cancelledFirst(p pending, rule string) bool {
	cancel := t.ask(p.client, protocol.Request{Do: protocol.Cancel, Op: p.id})
	t.must(cancel, protocol.OK, rule)
	return t.await(p, patience, rule).Line < cancel.Line
}

// cancelsHeld cancels an operation whose request is held on the wire, of a client that holds the lock or not.
func cancelsHeld(verb string, holds bool) func(*talk) {
	return func(t *talk) {
		known := false // its library has sent it again
		if holds {
			t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
		}
		held := t.Hold("C1", false)
		defer held.Disarm()
		p := t.send("C1", op(verb))
		if t.Until(patience, func() bool { return held.Reached() || !p.open() }); !held.Reached() && !p.open() {
			if a := t.await(p, patience, ruleOneAnswer); a.Unsupported {
				t.skipped = cannot
			}
		}
		t.reached(held, p)
		if t.subject.Traits.Servers > 1 { // the answers of the others may be enough, at any time
			t.ask(p.client, protocol.Request{Do: protocol.Cancel, Op: p.id})
			t.await(p, patience, ruleCancelNow)
		} else {
			a := t.cancel(p, ruleCancelNow)
			if known = verb == protocol.Release && t.subject.Traits.Resends != protocol.ResendsNothing && a.Outcome == protocol.OK; !known {
				t.must(a, protocol.Unknown, ruleCancelled)
			}
		}
		held.Release() // it arrives late
		a := t.ask("C1", within(patience/2))
		t.mustNot(a, protocol.Unknown, ruleNextRuns)
		if known {
			t.must(a, protocol.OK, ruleCancelled)
		}
	}
}

func cancelsWork(t *talk) {
	held := t.Hold("C1", true)
	defer held.Disarm()
	work := op(protocol.Work)
	work.Key = t.Counter()
	p := t.send("C1", work)
	t.reached(held, p)
	t.must(t.cancel(p, ruleCancelNow), protocol.Unknown, ruleCancelled)
	held.Release()
	t.must(t.ask("C1", work), protocol.OK, ruleNextRuns)
}

// rounds is how often a client must tell a cancelled operation from the next one, which it may do by chance.
const rounds = 3

// worksAfterCancel has work follow cancelled operations: queued behind one, after its answer, and under way while the lab cancels what has been
// answered. The connections that a client ends must be those of the operation that the lab names.
func worksAfterCancel(t *talk) {
	work := op(protocol.Work)
	work.Key = t.Counter()
	t.must(t.ask("C1", work), protocol.OK, ruleAnyTime) // over a connection that a cancel may break
	t.must(t.do("C2", protocol.Acquire), protocol.OK, ruleAcquire)
	var waiting pending
	for range rounds {
		before := t.Traffic().Sent("C1")
		waiting = t.send("C1", within(time.Minute))
		if reads := t.subject.Traits.Opaque == ""; reads && !t.over() && !t.Until(patience, func() bool { return t.Traffic().Sent("C1") > before }) {
			t.broken(ruleAcquire, "acquire with within_ms sends nothing")
		}
		queued := t.send("C1", work)
		t.mustNot(t.cancel(waiting, ruleCancelNow), protocol.OK, ruleCancelled)
		t.must(answered{queued, t.await(queued, patience, ruleNextRuns)}, protocol.OK, ruleNextRuns)
		t.must(t.ask("C1", work), protocol.OK, ruleNextRuns)
	}

	held := t.Hold("C1", true)
	defer held.Disarm()
	under := t.send("C1", work)
	t.reached(held, under)
	t.must(t.ask("C1", protocol.Request{Do: protocol.Cancel, Op: waiting.id}), protocol.No, ruleNotUnderWay)
	held.Release()
	t.must(answered{under, t.await(under, patience, ruleNotUnderWay)}, protocol.OK, ruleNotUnderWay)
}

// tries is how many operations may be unknown after a fault of a client that cannot reconnect on request: one for each connection that it may
// have kept.
const tries = 3

// reconnects breaks connections of a client that is idle, and has it acquire while the fault lasts, and again afterwards.
func reconnects(fault faults.LinkFault) func(*talk) {
	return func(t *talk) {
		if t.holdOnce(); t.over() {
			return
		}
		t.lab(t.Disturb("C1", fault))
		p := t.send("C1", op(protocol.Acquire))
		if !t.over() && !t.Until(time.Second, func() bool { return !p.open() }) {
			t.ask("C1", protocol.Request{Do: protocol.Cancel, Op: p.id})
		}
		if t.over() {
			return
		}
		t.lab(t.Heal("C1"))
		t.await(p, lease, ruleCancelNow) // it may clean up first
		t.worksAgain()
	}
}

// holdOnce has the client acquire and release, so that its connections are there.
func (t *talk) holdOnce() {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	t.must(t.do("C1", protocol.Release), protocol.OK, ruleRelease)
}

// worksAgain has a client acquire whose connections were broken: at once if it reconnects on request, or else after some tries.
func (t *talk) worksAgain() {
	if t.subject.Traits.Can(protocol.Reconnect) {
		t.must(t.ask("C1", protocol.Request{Do: protocol.Reconnect}), protocol.OK, ruleReconnect)
		t.mustNot(t.ask("C1", within(shortWait)), protocol.Unknown, ruleReconnect)
		return
	}
	var a answered
	for range tries {
		if a = t.ask("C1", within(shortWait)); a.Outcome != protocol.Unknown || t.over() {
			break
		}
	}
	t.mustNot(a, protocol.Unknown, ruleConnectsNew)
}

// survivesBreakWhileIdle breaks the connections of a client that learns of it by nothing that it sends.
func survivesBreakWhileIdle(t *talk) {
	if t.holdOnce(); t.over() {
		return
	}
	t.lab(t.Disturb("C1", faults.LinkFault{Kind: faults.Refuse}))
	if t.over() {
		return
	}
	t.lab(t.Heal("C1"))
	t.worksAgain()
}

// leavesSilentConnection lets nothing more arrive over a connection that the client takes for a sound one, until after the next acquire.
func leavesSilentConnection(t *talk) {
	t.holdOnce()
	silent := t.Hold("C1", false)
	defer silent.Disarm()
	p := t.send("C1", op(protocol.Acquire))
	if t.reached(silent, p); t.over() {
		return
	}
	t.ask("C1", protocol.Request{Do: protocol.Cancel, Op: p.id})
	t.await(p, patience, ruleCancelNow)
	if t.subject.Traits.Can(protocol.Reconnect) {
		t.must(t.ask("C1", protocol.Request{Do: protocol.Reconnect}), protocol.OK, ruleReconnect)
	}
	t.mustNot(t.ask("C1", within(shortWait)), protocol.Unknown, ruleNextRuns)
}

func breaksAmidAcquire(t *talk) {
	held := t.Hold("C1", false)
	defer held.Disarm()
	p := t.send("C1", op(protocol.Acquire))
	t.reached(held, p)
	if t.over() {
		return
	}
	t.lab(t.Disturb("C1", faults.LinkFault{Kind: faults.Refuse}))
	t.lab(t.Heal("C1"))
	if t.subject.Traits.Resends != protocol.ResendsNothing {
		t.skipped = "the client resends, as hello says"
		return
	}
	a := answered{p, t.await(p, patience, ruleConnectsNew)}
	if t.subject.Traits.Servers > 1 && !t.over() && a.Outcome != protocol.Unknown {
		t.skipped = "a lock on several servers is granted although one connection breaks"
		return
	}
	t.mustNot(a, protocol.OK, ruleRetries)
	t.mustNot(a, protocol.No, ruleDoubt)
}

// silence is how long a server is silent: longer than what most libraries bear by default.
const silence = 6 * time.Second

func bearsSilence(t *talk) {
	switch {
	case t.subject.Traits.Servers > 1:
		t.skipped = "a lock on several servers may have time-outs of its own"
		return
	case t.subject.Traits.Resends == protocol.ResendsUnanswered:
		t.skipped = "the client resends when no reply comes, as hello says"
		return
	}
	held := t.Hold("C1", false)
	defer held.Disarm()
	p := t.send("C1", op(protocol.Acquire))
	t.reached(held, p)
	if t.over() {
		return
	}
	began := t.Now()
	if t.Until(silence, func() bool { return !p.open() }) {
		a := t.await(p, patience, ruleTimeouts)
		t.broken(ruleTimeouts, "the server was silent, and after %v the acquire was answered %s%s", (t.Now() - began).Round(100*time.Millisecond), a.Outcome, clause(a.Error))
	}
	held.Release()
	t.must(answered{p, t.await(p, patience, ruleOneAnswer)}, protocol.OK, ruleTimeouts)
}

func bearsErrors(t *talk) {
	if t.subject.Traits.ZooKeeper {
		t.skipped = "a ZooKeeper has no key of another type"
		return
	}
	keys, _ := t.Keys()
	for _, key := range keys {
		t.lab(t.Do("RPUSH", key, "not a lock"))
	}
	a := t.do("C1", protocol.Acquire)
	if found, err := t.State(); err == nil && a.Outcome == protocol.OK && found.Exists() && found.Type != "list" {
		t.byLock("%v was answered ok, and replaced the list that was there under its key: it did not look", a.pending)
	}
	t.mustNot(a, protocol.OK, ruleNo)
	if t.over() {
		return
	}
	for _, key := range keys {
		t.lab(t.Do("DEL", key))
	}
	t.must(t.ask("C1", within(shortWait)), protocol.OK, ruleNextRuns)
}
