package storm

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// maxPerName is how many anomalies of one name a verdict keeps of those that the lock does not promise to prevent, and how many
// of those that break a promise.
const maxPerName = 8

// everything is a bound on anomalies that keeps a judge from running out of memory, and no more: the first that breaks a promise may
// come after many that do not.
const everything = 100_000

// Creed is what a lock is measured by: what its card promises, and whether it is meant to hold.
type Creed struct {
	Promises []impls.Promise
	Broken   bool // known to be: what it does not promise is its bug, and no limit of what it is for
	Renews   bool // it prolongs its lease while it is held
}

// CreedOf is the creed of a lock.
func CreedOf(spec impls.Spec) Creed { return Creed{spec.Promises, spec.Bug != "", spec.Renews} }

// Expected is what a storm is measured by, as run.json has it.
func (c Creed) Expected() checker.Expected {
	e := checker.Expected{Verdict: checker.Verdict{Kind: checker.Safe}, By: checker.ByPromises, Renews: c.Renews}
	if c.Broken {
		e.Verdict.Kind = checker.Broken
	}
	for _, promise := range c.Promises {
		e.Promises = append(e.Promises, string(promise))
	}
	return e
}

// CreedIn reads a creed back.
func CreedIn(e checker.Expected) Creed {
	c := Creed{Broken: e.Verdict.Kind == checker.Broken, Renews: e.Renews}
	for _, promise := range e.Promises {
		c.Promises = append(c.Promises, impls.Promise(promise))
	}
	return c
}

// Conclude judges a storm by its history: what the checker finds in any history, and of each anomaly whether something befell those
// concerned that the lock does not promise to survive. It fills in told what can be told of the storm from its history.
func Conclude(events []history.Event, creed Creed, told checker.Storm) (checker.Verdict, *checker.Storm) {
	v := checker.Conclude(events, checker.Options{MaxPerName: everything})
	r := newRecord(events)
	for i := range v.Anomalies {
		v.Anomalies[i].Beyond = creed.excuse(v.Anomalies[:i], v.Anomalies[i], r)
	}
	told.Operations, told.Faults, told.First = len(r.returns), r.effects, r.first(v.Anomalies)
	v.Anomalies = shorten(v.Anomalies)
	return v, &told
}

// shorten keeps the first anomalies of each sort, those that break a promise before the others.
func shorten(all []checker.Anomaly) []checker.Anomaly {
	type sort struct {
		name    checker.Name
		excused bool
	}
	counts := make(map[sort]int)
	slices.SortStableFunc(all, func(a, b checker.Anomaly) int { return rank(a) - rank(b) })
	return slices.DeleteFunc(all, func(a checker.Anomaly) bool {
		s := sort{a.Name, a.Beyond != ""}
		counts[s]++
		return counts[s] > maxPerName
	})
}

func rank(a checker.Anomaly) int {
	if a.Beyond == "" {
		return 0
	}
	return 1
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

func (c Creed) has(p impls.Promise) bool { return slices.Contains(c.Promises, p) }

// excuse says what befell those concerned by an anomaly that the lock does not promise to survive, or "".
func (c Creed) excuse(before []checker.Anomaly, a checker.Anomaly, r *record) string {
	from := r.since(a)
	if what := r.upheaval(from, a.At); what != "" {
		return what
	}
	if who := r.stranger(a); who != "" {
		return who + " was given the lock by another server than the one under test"
	}
	if promise, ok := promised()[a.Name]; ok && !c.Broken && !c.has(promise) {
		return fmt.Sprintf("the lock does not promise %q", promise)
	}
	if !c.Broken && !c.has(impls.IgnoresClientTime) {
		if who := r.skewed(a.Clients, from, a.At); who != "" {
			return who + "'s clock was wrong, which the lock trusts"
		}
	}
	switch a.Name {
	case checker.DoubleHolder:
		if !c.has(impls.ExclusionOnPause) {
			return c.outlived(a, r)
		}
	case checker.StaleWrite:
		return c.outlived(a, r) // a resource that minds fences refuses a write only when it has seen a greater one
	case checker.LostUpdate:
		if !c.has(impls.Fencing) {
			return c.undone(before, a, from, r)
		}
	case checker.GhostLock:
		if what := r.gaveUp(a); what != "" || c.Broken {
			return what
		}
		return r.late(a)
	case checker.HungOperation:
		return r.slowed(a)
	case checker.StuckLock:
		if what := r.beingReleased(a); what != "" {
			return what
		}
		return r.splitVotes(a)
	}
	return ""
}

// outlived excuses what comes of a lease that ended under its holder. Who does not renew it cannot help that, nor who tells the holder
// of it; others must have been hindered, while that lease ran, for half of it or more. (Without a hindrance they renew it in good
// time, and no client keeps a lock that is not renewed for longer than half a lease.)
func (c Creed) outlived(a checker.Anomaly, r *record) string {
	for _, client := range a.Clients {
		began, over := r.overrun(client, a.At)
		switch {
		case !over:
		case !c.Renews || c.has(impls.KnowsLoss):
			return fmt.Sprintf("%s was in its hold %v after its lease had begun", client, (a.At - began).Round(time.Millisecond))
		default:
			if hindered, what := r.hindered(client, began, began+r.lease); hindered >= r.lease/2 {
				return fmt.Sprintf("%s was hindered for %v of its lease (%s)", client, hindered.Round(time.Millisecond), what)
			}
		}
	}
	return ""
}

// undone excuses an update that is lost: whoever lost it had outlived its lease, or an excused write of somebody else undid it.
func (c Creed) undone(before []checker.Anomaly, a checker.Anomaly, from time.Duration, r *record) string {
	if what := c.outlived(a, r); what != "" {
		return what
	}
	atTheEnd := r.events[a.Events[len(a.Events)-1]].Kind == history.KindFinal
	for _, b := range slices.Backward(before) {
		undid := b.Name == checker.StaleWrite || b.Name == checker.DoubleHolder || b.Name == checker.LostUpdate && atTheEnd
		if undid && b.Beyond != "" && (atTheEnd || b.At >= from-r.lease) {
			return fmt.Sprintf("it follows from the %s at %.3fs", b.Name, b.At.Seconds())
		}
	}
	return ""
}

// beingReleased excuses a lock whose owner has called its release, and is kept from it.
func (r *record) beingReleased(a checker.Anomaly) string {
	for _, client := range a.Clients[1:] {
		for _, release := range r.releases[client] {
			if release.called >= a.At || release.ended < a.At {
				continue
			}
			if hindered, what := r.hindered(client, release.called, a.At); hindered > 0 {
				return fmt.Sprintf("%s's release was under way, and hindered for %v (%s)", client, hindered.Round(time.Millisecond), what)
			}
		}
	}
	return ""
}

// splitVotes excuses a lock on several servers that nobody got because others were after it, too: each takes some of the servers and
// gives them back. No such lock promises that one of them wins. In the quiet phase they come one after another.
func (r *record) splitVotes(a checker.Anomaly) string {
	called := r.events[a.Events[0]].At
	for client, acquires := range r.acquires {
		for _, other := range acquires {
			if r.servers > 1 && client != a.Clients[0] && other.called < a.At && other.ended > called {
				return "others were after it, too, and none of them got a majority"
			}
		}
	}
	return ""
}

// late excuses a ghost that was made by a request of the acquire before, which its client had given up. It came when the client was
// at nothing, or at the next one but by a connection that the client used no more.
func (r *record) late(a checker.Anomaly) string {
	client := a.Clients[0]
	made := slices.IndexFunc(a.Events, func(i int) bool { return r.events[i].Kind == history.KindCommand && r.events[i].Client == client })
	if made < 0 {
		return ""
	}
	at := a.Events[made]
	e := r.events[at]
	by := e.Detail.Command
	again := e.ID != 0 && slices.ContainsFunc(r.events[at+1:], func(e history.Event) bool {
		return e.Kind == history.KindCommand && e.Client == client && e.Detail.Command.Server == by.Server && e.Detail.Command.Conn == by.Conn
	})
	var before acquire
	for _, t := range r.acquires[client] {
		if t.ended <= e.At {
			before = t
		}
	}
	if by.Conn == 0 || again || before.id == 0 || before.outcome != history.Unknown {
		return ""
	}
	return fmt.Sprintf("it came late, and %s had given up the acquire that sent it", client)
}

// slowed excuses an operation that did not return while the machine stood still for much of its time: faults the checker has excluded.
func (r *record) slowed(a checker.Anomaly) string {
	called := r.events[a.Events[0]].At
	if hindered, what := r.hindered(a.Clients[0], called, a.At); hindered >= (a.At-called)/4 {
		return fmt.Sprintf("%s's %v was hindered for %v (%s)", a.Clients[0], r.events[a.Events[0]].Op, hindered.Round(time.Millisecond), what)
	}
	return ""
}

// gaveUp excuses a ghost: its client does not know what came of its acquire, and nobody can call back what was sent. One that was
// told no is no excuse.
func (r *record) gaveUp(a checker.Anomaly) string {
	e := r.events[a.Events[0]]
	for _, t := range r.acquires[a.Clients[0]] {
		if t.id == e.ID && t.outcome == history.Unknown || t.called <= e.At && e.At <= t.ended && t.outcome == history.Unknown {
			return fmt.Sprintf("%s never learned what came of its acquire", a.Clients[0])
		}
	}
	return ""
}
