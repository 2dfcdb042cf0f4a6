package storm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
)

// maxAnomalies keeps a judge from running out of memory. It is this large because the first anomaly that breaks a promise may come after
// many that do not.
const maxAnomalies = 100_000

// Contract is what a lock is measured by: what its card promises, and whether it is meant to hold.
type Contract struct {
	Promises []impls.Promise
	Broken   bool // known to be: what it does not promise is its bug, and not a limit of what it is for
	history.Contract
}

// ContractOf is the contract of a lock.
func ContractOf(spec impls.Spec) Contract {
	return Contract{spec.Promises, spec.Bug != "", spec.Declares()}
}

// Expected is what a storm is measured by, as run.json has it.
func (c Contract) Expected() record.Expectation {
	e := record.Expectation{Verdict: checker.Verdict{Kind: checker.Safe}, By: record.ByPromises, Contract: c.Contract}
	if c.Broken {
		e.Verdict.Kind = checker.Broken
	}
	for _, promise := range c.Promises {
		e.Promises = append(e.Promises, string(promise))
	}
	return e
}

// ContractIn reads a contract back.
func ContractIn(e record.Expectation) Contract {
	c := Contract{Broken: e.Verdict.Kind == checker.Broken, Contract: e.Contract}
	for _, promise := range e.Promises {
		c.Promises = append(c.Promises, impls.Promise(promise))
	}
	return c
}

// Conclude judges a storm by its history: what the checker finds in any history, and of each anomaly whether a fault explains it that the
// lock does not promise to survive. It completes the summary with what the history says. If nothing but the host explains an anomaly, and
// no other breaks a promise, the verdict is unknown: on another host the lock might have shown it as well, or not. So it is if the storm was
// interrupted before a promise was broken.
func Conclude(events []history.Event, contract Contract, summary record.Storm) (checker.Verdict, *record.Storm) {
	opts := Options()
	opts.Twice = true // calls overlap all the time
	return Excuse(checker.Conclude(events, opts), events, contract, summary)
}

// ByPromises judges a script as Conclude judges a storm: by what the lock promises.
func ByPromises(events []history.Event, contract Contract, twice bool) checker.Verdict {
	opts := Options()
	opts.Twice = twice
	v, _ := Excuse(checker.Conclude(events, opts), events, contract, record.Storm{})
	return v
}

// Options are those of the checker whose verdict Excuse takes.
func Options() checker.Options { return checker.Options{MaxPerName: maxAnomalies} }

// Excuse is the part of Conclude after the checker's verdict.
func Excuse(v checker.Verdict, events []history.Event, contract Contract, summary record.Storm) (checker.Verdict, *record.Storm) {
	r := newRecord(events)
	calm := r.withoutStalls()
	byHost := ""
	for i := range v.Anomalies {
		before, a := v.Anomalies[:i], &v.Anomalies[i]
		a.Beyond = contract.excuse(before, *a, r)
		if byHost == "" && a.Beyond != "" && contract.excuse(before, *a, calm) == "" {
			byHost = fmt.Sprintf("%s at %.3fs, which the host explains: %s", a.Name, a.At.Seconds(), a.Beyond)
		}
	}
	contract.nameBroken(v.Anomalies, r)
	summary.Operations, summary.Faults, summary.First = len(r.returns), r.effects, r.first(v.Anomalies)
	cut, interrupted := checker.Interrupted(events)
	switch {
	case summary.First != nil:
	case interrupted && v.Kind == checker.Broken:
		return checker.Verdict{Kind: checker.Undecided, Reason: cut}, &summary
	case byHost != "":
		return checker.Verdict{Kind: checker.Undecided, Reason: byHost}, &summary
	}
	all := v.Anomalies
	if v.Anomalies = shorten(all); len(v.Anomalies) < len(all) {
		summary.Seen = seen(all)
	}
	return v, &summary
}

// promised is what a lock must promise to be blamed for an anomaly. Others no lock may show.
func promised() map[checker.Name]impls.Promise {
	return map[checker.Name]impls.Promise{
		checker.WrongfulDelete:  impls.ReleaseByOwner,
		checker.WrongfulRenew:   impls.RenewByOwner,
		checker.StuckLock:       impls.CrashSafety,
		checker.FenceRegression: impls.Fencing,
	}
}

func (c Contract) has(p impls.Promise) bool { return slices.Contains(c.Promises, p) }

// excuse says which fault explains an anomaly that the lock does not promise to survive, or "". before are the anomalies before it,
// excused or not.
func (c Contract) excuse(before []checker.Anomaly, a checker.Anomaly, r *evidence) string {
	from := r.since(a)
	if what := r.faults.server(from, a.At); what != "" {
		return what
	}
	if who := r.grantedElsewhere(a); who != "" {
		return who + " was given the lock by another server than the one under test"
	}
	if promise, ok := promised()[a.Name]; ok && !c.Broken && !c.has(promise) {
		return fmt.Sprintf("the lock does not promise %q", promise)
	}
	if !c.Broken && !c.has(impls.IgnoresClientTime) {
		if who := r.faults.clock(a.Clients, from, a.At); who != "" {
			return who + "'s clock was wrong, which the lock trusts"
		}
	}
	return c.excuseByName(before, a, from, r)
}

// excuseByName is what may explain anomalies of one name only.
func (c Contract) excuseByName(before []checker.Anomaly, a checker.Anomaly, from time.Duration, r *evidence) string {
	switch a.Name {
	case checker.DoubleHolder:
		switch {
		case c.has(impls.ExclusionOnPause):
		case c.has(impls.ToldInTime):
			return c.stoppedPastLease(a, r)
		default:
			return c.outlivedLease(a, r)
		}
	case checker.StaleWrite:
		return c.outlivedLease(a, r) // a resource that checks fencing tokens refuses a write only when it has seen a greater one
	case checker.LostUpdate:
		if what := r.unprotected(); what != "" {
			return what
		}
		if !c.has(impls.Fencing) {
			return cmp.Or(c.outlivedLease(a, r), r.follows(before, a, from))
		}
	case checker.GhostLock:
		if what := r.abandoned(a); what != "" || c.Broken {
			return what
		}
		return r.lateRequest(a)
	case checker.FalseAlarm:
		if !c.Broken {
			return r.lateRelease(a)
		}
	case checker.HungOperation, checker.MissedWakeup:
		return cmp.Or(r.slowHost(a), r.reconnecting(a))
	case checker.StuckLock:
		return cmp.Or(c.beingReleased(a, r), r.beingWithdrawn(a), r.lateRenewal(a), r.splitVotes(a))
	}
	return ""
}

// outlivedLease excuses an anomaly of a hold that was longer than its lease. A lock that does not renew cannot help that, nor one that
// tells its holder of the loss, unless nothing kept it from renewing. Of any other lock, faults must have hindered the client for half of that
// lease or more: else it renews in good time, and no client keeps a lock that is not renewed for longer than half a lease. Where nobody saw the
// renewals, any lease of the hold may have been the last one, and the first may have begun before the hold: a session can be older, but by a lease
// at most when the lock is granted.
//
// A lock that ends with its connection ends when a fault breaks that.
func (c Contract) outlivedLease(a checker.Anomaly, r *evidence) string {
	for _, client := range r.outlivers(a) {
		if what := r.broken(client, a.At); what != "" && c.EndsWithConnection {
			return what
		}
		began, over := r.pastLease(client, a.At, c.Renews)
		t, held := r.hold(client, a.At)
		until := began + r.lease
		if r.opaque && held && !r.leaseless {
			began, until, over = min(began, a.At-r.lease), a.At, over || c.Renews
		}
		switch {
		case !over:
		case c.Renews && c.has(impls.KnowsLoss) && !r.opaque && r.letLapse(client, began, a.At):
		case !c.Renews || c.has(impls.KnowsLoss) && !r.opaque:
			return fmt.Sprintf("%s's lease had begun %v before, and was over", client, (a.At - began).Round(time.Millisecond))
		default:
			from := max(began, r.granted(client, t)-r.lease)
			if hindered, what := r.faults.hindered(client, from, until); hindered >= r.lease/2 {
				return fmt.Sprintf("%s was hindered for %v of its lease (%s)", client, hindered.Round(time.Millisecond), what)
			}
		}
	}
	return ""
}

// stoppedPastLease excuses an anomaly of a hold that was longer than its lease, of a lock that promises to tell its holder in time while its
// process runs: the process did not run up to half a lease before, or the host was slow for as long as the news was late.
func (c Contract) stoppedPastLease(a checker.Anomaly, r *evidence) string {
	for _, client := range r.outlivers(a) {
		began, over := r.pastLease(client, a.At, c.Renews)
		if !over {
			continue
		}
		if stopped := r.stopped(client, began, a.At); stopped > 0 {
			return fmt.Sprintf("%s did not run for %v of its lease (%s)", client, stopped.Round(time.Millisecond), faults.Pause)
		}
		if lost := r.faults.byHost(client, began, a.At); lost > 0 && a.At-began-r.lease <= lost+slow {
			return fmt.Sprintf("the host was slow for %v of %s's lease", lost.Round(time.Millisecond), client)
		}
	}
	return ""
}

// follows excuses a lost update that an excused write of another client explains.
func (r *evidence) follows(before []checker.Anomaly, a checker.Anomaly, from time.Duration) string {
	atTheEnd := r.events[a.Events[len(a.Events)-1]].Kind == history.KindFinal
	for _, b := range slices.Backward(before) {
		explains := b.Name == checker.StaleWrite || b.Name == checker.DoubleHolder || b.Name == checker.LostUpdate && atTheEnd
		if explains && b.Beyond != "" && (atTheEnd || b.At >= from) {
			return fmt.Sprintf("it follows from the %s at %.3fs", b.Name, b.At.Seconds())
		}
	}
	return ""
}

// beingReleased excuses a lock whose owner has called its release, and was kept from it by a fault within the last lease, or by the host for a quarter
// of the time. A lock that renews does so until its client has given the release up, which leaves a lease.
func (c Contract) beingReleased(a checker.Anomaly, r *evidence) string {
	for _, client := range a.Clients[1:] {
		for _, release := range r.releases[client] {
			from, to := release.called, a.At
			switch {
			case release.ended >= a.At:
			case c.Renews && release.outcome == history.Unknown:
				from, to = max(from, a.At-r.lease), release.ended
			default:
				continue
			}
			faulty, byHost := r.faults.faulty(client, max(from, a.At-r.lease), to), r.faults.byHost(client, from, to)
			if hindered, what := r.faults.hindered(client, from, to); faulty > 0 || byHost > 0 && byHost >= (to-from)/4 {
				return fmt.Sprintf("%s's release was under way, and hindered for %v (%s)", client, hindered.Round(time.Millisecond), what)
			}
		}
	}
	return ""
}

// beingWithdrawn excuses a lock whose owner keeps its session, does not know whether it got the lock, and is kept by a fault from taking
// its request back. What it leaves behind when the fault is over stays in the lock's way for longer.
func (r *evidence) beingWithdrawn(a checker.Anomaly) string {
	if !r.session {
		return ""
	}
	for _, client := range a.Clients[1:] {
		all := r.acquires[client]
		last := slices.IndexFunc(all, func(t operation) bool { return t.ended >= a.At }) // the first that is under way
		if last < 0 {
			last = len(all)
		}
		if last == 0 || all[last-1].outcome != history.Unknown {
			continue
		}
		if hindered, what := r.faults.hindered(client, a.At-r.lease, a.At); hindered >= r.lease/2 {
			return fmt.Sprintf("%s took back an acquire of unknown outcome, and was hindered for %v (%s)", client, hindered.Round(time.Millisecond), what)
		}
		if stalled := r.tooBusy(client, all[last-1].ended, a.At); stalled > 0 {
			return fmt.Sprintf("%s took back an acquire of unknown outcome, and the host was too slow for %v", client, stalled.Round(time.Millisecond))
		}
	}
	return ""
}

// tooBusy is for how long the host kept a client from what it does in the background, if that was for a quarter of the time, and the client has
// had less than a lease and a half for it: a client library may wait for a second, which is a storm's lease, before it connects again.
func (r *evidence) tooBusy(client string, from, to time.Duration) time.Duration {
	stalled, _ := r.faults.hindered("", from, to)
	hindered, _ := r.faults.hindered(client, from, to)
	if stalled < (to-from)/4 || to-from-hindered >= r.lease*3/2 {
		return 0
	}
	return stalled
}

// lateRenewal excuses a lock whose owner has ended, and whose last renewal arrived only after that: the lease begins there.
func (r *evidence) lateRenewal(a checker.Anomaly) string {
	for _, client := range a.Clients[1:] {
		for _, at := range r.lateRenewals[client] {
			if at <= a.At && a.At-at <= r.lease {
				return fmt.Sprintf("a renewal of %s arrived at %.3fs, after the client had ended", client, at.Seconds())
			}
		}
	}
	return ""
}

// splitVotes excuses a lock on several servers that nobody got because others tried at the same time: each takes some of the servers and
// gives them back. No such lock promises that one of them wins. In the quiet phase they come one after another.
func (r *evidence) splitVotes(a checker.Anomaly) string {
	called := r.events[a.Events[0]].At
	for client, acquires := range r.acquires {
		for _, other := range acquires {
			if r.servers > 1 && client != a.Clients[0] && other.called < a.At && other.ended > called {
				return "other clients tried at the same time, and none of them got a majority"
			}
		}
	}
	return ""
}

// lateRequest excuses a ghost that was made by a request of the acquire before, which its client had given up. It arrived when the client
// was idle, or at its next operation but on a connection that the client no longer used, or, in a session, before that operation's own.
func (r *evidence) lateRequest(a checker.Anomaly) string {
	client := a.Clients[0]
	made := r.commandsOf(client, a)
	if len(made) == 0 {
		return ""
	}
	return r.late(made[0], "acquire", r.acquires[client])
}

// lateRelease excuses a release that was answered no because requests of the release before, which its client had given up, arrived in
// between and removed the lock. Its own requests alone have not removed it from enough servers, then.
func (r *evidence) lateRelease(a checker.Anomaly) string {
	client := a.Clients[0]
	why, own := "", 0
	for _, at := range r.commandsOf(client, a) {
		if late := r.late(at, "release", r.releases[client]); late != "" {
			why = late
		} else {
			own++
		}
	}
	if own >= r.enough() {
		return ""
	}
	return why
}

// commandsOf are the client's commands among the events of an anomaly.
func (r *evidence) commandsOf(client string, a checker.Anomaly) (commands []int) {
	for _, i := range a.Events {
		if e := r.events[i]; e.Kind == history.KindCommand && e.Client == client {
			commands = append(commands, i)
		}
	}
	return commands
}

// late says that a command belongs to an earlier operation, of those given, that its client had given up; empty: it does not.
func (r *evidence) late(at int, what string, asked []operation) string {
	e := r.events[at]
	if e.Command().Conn == 0 {
		return ""
	}
	for _, before := range slices.Backward(asked) {
		if before.ended <= e.At {
			if before.outcome != history.Unknown || e.ID != 0 && r.usesAgain(at) && !r.wasQueued(at, before.id) {
				return ""
			}
			return fmt.Sprintf("the request arrived late: %s had given up the %s that sent it", e.Client, what)
		}
	}
	return ""
}

// usesAgain says whether the client of a command sends another one on the same connection.
func (r *evidence) usesAgain(at int) bool {
	e := r.events[at]
	by := e.Command()
	return slices.ContainsFunc(r.events[at+1:], func(next history.Event) bool {
		c := next.Command()
		return c != nil && next.Client == e.Client && c.Server == by.Server && c.Conn == by.Conn
	})
}

// wasQueued says whether a command in a session is one of an earlier operation of its client that waited in the library for a connection. A
// session's requests arrive in the order in which they were asked for. So nothing of that operation had arrived, and the operation under way
// sends the same request for itself afterwards.
func (r *evidence) wasQueued(at int, before int64) bool {
	e := r.events[at]
	by := e.Command()
	if !r.session || len(by.Args) == 0 {
		return false
	}
	sends := func(events []history.Event, id int64, name string) bool {
		return slices.ContainsFunc(events, func(other history.Event) bool {
			c := other.Command()
			return c != nil && other.Client == e.Client && other.ID == id && c.Server == by.Server && (name == "" || len(c.Args) > 0 && c.Args[0] == name)
		})
	}
	return !sends(r.events[:at], before, "") && sends(r.events[at+1:], e.ID, by.Args[0])
}

// slowHost excuses an operation that did not return while the host stalled for much of its time. Faults the checker has excluded.
func (r *evidence) slowHost(a checker.Anomaly) string {
	called := r.events[a.Events[0]]
	if hindered, what := r.faults.hindered(a.Clients[0], called.At, a.At); hindered >= (a.At-called.At)/4 {
		return fmt.Sprintf("%s's %v was hindered for %v (%s)", a.Clients[0], called.Op, hindered.Round(time.Millisecond), what)
	}
	return ""
}

// abandoned excuses a ghost that an acquire of unknown outcome has made: nobody can call back what was sent. An acquire that was answered
// no is no excuse.
func (r *evidence) abandoned(a checker.Anomaly) string {
	e := r.events[a.Events[0]]
	for _, t := range r.acquires[a.Clients[0]] {
		if t.outcome == history.Unknown && (t.id == e.ID || t.called <= e.At && e.At <= t.ended) {
			return fmt.Sprintf("%s never learned the outcome of its acquire", a.Clients[0])
		}
	}
	return ""
}
