package conform

import (
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// Checks lists all checks, in the order in which their results are shown.
func Checks() []Check {
	return append([]Check{
		{Name: "open", wire: true, About: "open sends nothing", clients: 1, hold: opensSilently},
		{Name: "acquire", wire: true, About: "acquire takes a free lock, by the keys that open names", clients: 1, hold: acquires},
		{Name: "refused", About: "acquire of a held lock is answered no", hold: refused},
		{Name: "waits", wire: true, About: "acquire retries for within_ms, and gets what is released", hold: waits},
		{Name: "release", About: "release frees the lock, once", hold: releases},
		{Name: "release-unheld", About: "release of a lock that another holds frees nothing", hold: releasesUnheld},
		{Name: "renew", About: "renew of a held lock, and of a released one", needs: protocol.Renew, clients: 1, hold: verbOfHolder(protocol.Renew, ruleRenew)},
		{Name: "check", About: "check of a held lock, and of a released one", needs: protocol.Check, clients: 1, hold: verbOfHolder(protocol.Check, ruleCheck)},
		{Name: "ends-with-lease", About: "the end of a hold is declared, or told", clients: 1, promise: "ends-with-lease", lease: shortLease, hold: tellsItsEnd},
		{Name: "verbs", About: "verbs that hello does not list are unsupported", clients: 1, hold: knowsWhatItLists},
		{Name: "work", About: "work counts on the resource, held or not", hold: works},
		{Name: "workload", About: "work that hello does not list is unsupported", clients: 1, hold: unknownWorkload},
		{Name: "order", About: "operations on one handle run in order", clients: 1, hold: inOrder},
		{Name: "handles", wire: true, About: "handles do not wait for each other, and keep to their servers", clients: 1, handles: []string{"C1/2"}, hold: handlesApart},
		{Name: "close", About: "close releases nothing, and the handle can be opened again", hold: closes},
		{Name: "skew", About: "the clock can be set at any time", needs: protocol.Skew, clients: 1, hold: skews},
		{Name: "idle", About: "idle answers when no background task waits for a reply", needs: protocol.Idle, clients: 1, hold: idles},
		{Name: "reset", About: "reset forgets everything and releases nothing", needs: protocol.Reset, hold: resets},
		{Name: "exit", About: "exit ends the process and releases nothing", hold: exits},
		{Name: "late", About: "the client says when its host did not run it (advice)", clients: 1, hold: saysLate},
	}, faultChecks()...)
}

func opensSilently(t *talk) {
	t.ask("C1", protocol.Request{Do: protocol.Skew, Clock: protocol.Clock{Rate: 1}}) // answered after open, whatever comes of it
	if n := t.Traffic().Sent("C1"); n > 0 {
		t.broken(ruleOpen, "open sent %d commands about the lock's key", n)
	}
}

func acquires(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	if t.over() {
		return
	}
	if keys, need := t.Keys(); t.Traffic().Touched("C1") < need {
		t.broken(ruleKeys, "acquire was answered ok, but commands have reached the server about %d of the keys %q, and not about %d", t.Traffic().Touched("C1"), keys, need)
	}
}

func refused(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	t.must(t.do("C2", protocol.Acquire), protocol.No, ruleNo)
}

// shortWait is a wait of an acquire, and slack how much less a timer may last.
const (
	shortWait = 300 * time.Millisecond
	slack     = 10 * time.Millisecond
)

func waits(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	began := t.Now()
	t.must(t.ask("C2", within(shortWait)), protocol.No, ruleAcquire)
	if took := t.Now() - began; took < shortWait-slack {
		t.broken(ruleAcquire, "acquire with within_ms %v was given up after %v", shortWait.Milliseconds(), took.Round(time.Millisecond))
	}
	waiting := t.send("C2", within(time.Minute))
	before := t.Traffic().Sent("C2")
	if !t.over() && !t.Until(patience, func() bool { return t.Traffic().Sent("C2") > before || !waiting.open() }) {
		t.broken(ruleAcquire, "acquire with within_ms sends nothing")
	}
	t.must(t.do("C1", protocol.Release), protocol.OK, ruleRelease)
	t.must(answered{waiting, t.await(waiting, patience, ruleAcquire)}, protocol.OK, ruleAcquire)
}

func releases(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	t.must(t.do("C1", protocol.Release), protocol.OK, ruleRelease)
	t.noHolder(t.do("C1", protocol.Release), ruleRelease)
	t.must(t.ask("C2", within(patience/2)), protocol.OK, ruleRelease)
}

func releasesUnheld(t *talk) { t.must(t.unheld("C2"), protocol.No, ruleRelease) }

// unheld has a client that was refused the lock release it, and then acquire it. Where that succeeds it is the lock that frees what
// is another's: no adapter can have it do so.
func (t *talk) unheld(client string) (acquire answered) {
	t.must(t.ask("C1", within(patience/2)), protocol.OK, ruleAcquire)
	t.must(t.do(client, protocol.Acquire), protocol.No, ruleNo)
	release := t.do(client, protocol.Release)
	if taking := t.Traffic().Taking(); taking != nil {
		t.byLock("%v was answered %s, and its %s %s the lock that %s held", release.pending, release.said(), taking.Command, taking.Did, taking.From)
	}
	acquire = t.do(client, protocol.Acquire)
	if acquire.Outcome == protocol.OK {
		t.byLock("%v was answered %s, and freed the lock that C1 held: %s acquired it afterwards", release.pending, release.said(), client)
	}
	t.mustNot(release, protocol.OK, ruleRelease)
	return acquire
}

// noHolder ends the conversation if a client was told that it has released a lock that it did not hold. A lock whose release does not look whose the
// lock is cannot know, and its adapter cannot either.
func (t *talk) noHolder(release answered, rule string) {
	if t.over() || release.Outcome != protocol.OK {
		return
	}
	first := &talk{Talk: t.Talk, subject: t.subject, lease: t.lease}
	if first.unheld("C2"); first.lock != "" {
		t.byLock("%s", first.lock)
	}
	t.mustNot(release, protocol.OK, rule)
}

// shortLease is that of a lock whose end is waited for.
const shortLease = 2 * time.Second

// tellsItsEnd cuts the holder off from the service, so that its lease ends.
func tellsItsEnd(t *talk) {
	a := t.do("C1", protocol.Acquire)
	t.must(a, protocol.OK, ruleAcquire)
	if t.over() || a.ValidMS != nil {
		return
	}
	t.lab(t.Disturb("C1", faults.LinkFault{Kind: faults.Partition}))
	told := !t.over() && t.Until(2*t.lease, func() bool { return t.Traffic().Told("C1") || t.Departed() != "" })
	switch departed := t.Departed(); {
	case t.over():
	case departed != "":
		t.gone(departed)
	case !told:
		t.broken(ruleEndsWithLease, "C1's acquire was answered ok without valid_ms, and neither valid_ms nor lost came within %v of a lease of %v", 2*t.lease, t.lease)
	}
}

// cannot says that a client knows a verb, and its lock does not.
const cannot = "the lock cannot do it, as the client says"

func verbOfHolder(verb, rule string) func(*talk) {
	return func(t *talk) {
		t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
		a := t.do("C1", verb)
		if a.Unsupported {
			t.skipped = cannot
		}
		t.must(a, protocol.OK, rule)
		t.must(t.do("C1", protocol.Release), protocol.OK, ruleRelease)
		t.mustNot(t.do("C1", verb), protocol.OK, rule)
	}
}

func knowsWhatItLists(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	for _, verb := range []string{"dance", protocol.Renew, protocol.Check} {
		if t.subject.Traits.Can(verb) {
			continue
		}
		if a := t.do("C1", verb); !t.over() && !a.Unsupported {
			t.broken(ruleUnsupported, "%s is not in hello, and was answered %s", verb, a.said())
		}
	}
}

func works(t *talk) {
	req := op(protocol.Work)
	req.Key = t.Counter()
	for i, client := range []string{"C1", "C2", "C1"} {
		a := t.ask(client, req)
		t.must(a, protocol.OK, ruleAnyTime)
		if t.over() {
			return
		}
		if a.Read == nil || a.Wrote == nil || *a.Read != int64(i) || *a.Wrote != int64(i)+1 {
			t.broken(ruleWork, "work number %d was answered read %s, wrote %s", i+1, number(a.Read), number(a.Wrote))
		}
	}
}

func unknownWorkload(t *talk) {
	req := op(protocol.Work)
	req.Key, req.Workload = t.Counter(), "dance"
	if a := t.ask("C1", req); !t.over() && !a.Unsupported {
		t.broken(ruleUnsupported, "work with the workload %q was answered %s", req.Workload, a.said())
	}
}

func inOrder(t *talk) {
	work := op(protocol.Work)
	work.Key = t.Counter()
	all := []pending{t.send("C1", op(protocol.Acquire)), t.send("C1", work), t.send("C1", op(protocol.Release))}
	for _, p := range all { // in any other order one of them is not ok
		t.must(answered{p, t.await(p, patience, ruleOrder)}, protocol.OK, ruleOrder)
	}
}

func handlesApart(t *talk) {
	if t.subject.Traits.Servers > 1 {
		t.skipped = "a lock on several servers is granted although one request is held"
		return
	}
	second := t.Open("C1/2")
	t.must(t.ask("C1", second), protocol.OK, ruleOpen)
	held := t.Hold("C1", false)
	defer held.Disarm()
	first := t.send("C1", op(protocol.Acquire))
	t.reached(held, first)
	other := t.ask("C1", protocol.Request{Do: protocol.Acquire, Handle: second.Handle})
	t.must(other, protocol.OK, ruleApart)
	if !t.over() && t.Traffic().Sent("C1/2") == 0 {
		t.broken(ruleSeparate, "the second handle sent nothing to the address that its open names")
	}
	held.Release()
	t.mustNot(answered{first, t.await(first, patience, ruleOneAnswer)}, protocol.OK, ruleSeparate)
	t.must(t.ask("C1", protocol.Request{Do: protocol.Release, Handle: second.Handle}), protocol.OK, ruleRelease)
	t.must(t.ask("C1", within(patience/2)), protocol.OK, ruleAcquire)
}

func closes(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	t.must(t.do("C1", protocol.Close), protocol.OK, ruleClose)
	t.must(t.do("C2", protocol.Acquire), protocol.No, ruleClose)
	t.must(t.ask("C1", t.Open("C1")), protocol.OK, ruleClose)
	t.noHolder(t.do("C1", protocol.Release), ruleClose)
}

func skews(t *talk) {
	for _, req := range []protocol.Request{{Do: protocol.Skew, Clock: protocol.Clock{OffsetMS: -3_600_000, Rate: 2}}, {Do: protocol.Skew}} {
		t.must(t.ask("C1", req), protocol.OK, ruleSkew)
		t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleSkew)
		t.must(t.do("C1", protocol.Release), protocol.OK, ruleSkew)
	}
}

func idles(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	t.must(t.do("C1", protocol.Idle), protocol.OK, ruleIdle)
}

func resets(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	if a := t.ask("C1", protocol.Request{Do: protocol.Reset}); a.Outcome == protocol.No || t.over() {
		return // it is ended instead, which is allowed
	}
	t.must(t.ask("C1", t.Init("C1")), protocol.OK, ruleReset)
	t.must(t.ask("C1", t.Open("C1")), protocol.OK, ruleReset)
	t.must(t.do("C2", protocol.Acquire), protocol.No, ruleReset)
	t.mustNot(t.do("C1", protocol.Acquire), protocol.OK, ruleReset)
}

func exits(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	t.must(t.ask("C1", protocol.Request{Do: protocol.Exit}), protocol.OK, ruleExit)
	if t.over() {
		return
	}
	state, exited := t.Exited("C1", patience)
	switch {
	case !exited:
		t.broken(ruleExit, "the process has not ended within %v", patience)
	case !strings.Contains(state, "exit status 0"):
		t.broken(ruleExit, "the process ended with %s", state)
	}
	t.must(t.do("C2", protocol.Acquire), protocol.No, ruleExit)
}

// pauseFor is how long a client is stopped that is to say that it was late.
const pauseFor = 300 * time.Millisecond

func saysLate(t *talk) {
	t.must(t.do("C1", protocol.Acquire), protocol.OK, ruleAcquire)
	if t.over() {
		return
	}
	began := t.Now()
	t.lab(t.Pause("C1", pauseFor))
	if t.over() {
		return
	}
	said := t.Until(2*time.Second, func() bool { return t.Late(began) || t.Departed() != "" })
	switch departed := t.Departed(); {
	case departed != "":
		t.gone(departed)
	case !said:
		t.skipped = "it was stopped for 300ms and sent no late_ms; on a busy host the lab then cannot tell a slow host from a slow lock"
	}
}

func number(n *int64) string {
	if n == nil {
		return "nothing"
	}
	return strconv.FormatInt(*n, 10)
}
