package storm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

// since is from when on faults of the clients of an anomaly matter: a lease before the first of the holds that it is about was granted. What was
// over by then can have ended no lease of these holds, however long the clients had waited for them.
func (r *evidence) since(a checker.Anomaly) time.Duration {
	first := r.events[a.Events[0]].At
	from := first
	for _, client := range a.Clients {
		for _, t := range slices.Backward(r.acquires[client]) {
			if t.called <= first && t.outcome == history.OK {
				from = min(from, r.granted(client, t))
				break
			}
		}
	}
	return from - r.lease
}

// granted is when the client of an acquire that was answered ok may have had the lock at the earliest: when it last asked a server, as far as that is
// on record. One that waits without asking learns of its grant within a quarter of a lease and what hinders it meanwhile.
func (r *evidence) granted(client string, t operation) time.Duration {
	hindered, _ := r.faults.hindered(client, t.ended-r.lease, t.ended)
	return max(t.heard, t.ended-r.lease/4-hindered)
}

// stopped is for how long a client's process did not run between two times, if that ended at most half a lease before the second: a process that
// has run again for longer had the time to tell.
func (r *evidence) stopped(client string, from, to time.Duration) (total time.Duration) {
	for _, s := range r.faults.hindrances[history.ProcessOf(client)] {
		begin, end := max(s.from, from), min(s.to, to)
		if s.what == string(faults.Pause) && end > begin && end >= to-r.lease/2 {
			total += end - begin
		}
	}
	return total
}

// unprotected says why no lock could have protected the data of the history.
func (r *evidence) unprotected() string {
	if r.work == history.FlashSale && len(r.processes) > 1 {
		return "each process sold a stock of its own memory, which no lock on a server protects"
	}
	return ""
}

// leaseGrain is how much sooner than computed a lease may end: servers count it in milliseconds.
const leaseGrain = 5 * time.Millisecond

// hold is the acquire that began the hold of a client at some time.
func (r *evidence) hold(client string, at time.Duration) (t operation, held bool) {
	for _, t := range slices.Backward(r.acquires[client]) {
		if t.outcome == history.OK && t.ended <= at {
			return t, true
		}
	}
	return operation{}, false
}

// outlivers are the clients of an anomaly whose holds may have outlived their leases: of a write the one that wrote; and where nobody has seen when
// servers granted the lock, none that asked for it after another had been told that it has it, and so was granted it later.
func (r *evidence) outlivers(a checker.Anomaly) []string {
	if a.Name == checker.StaleWrite {
		return a.Clients[:1]
	}
	if !r.opaque {
		return a.Clients
	}
	return slices.DeleteFunc(slices.Clone(a.Clients), func(client string) bool {
		mine, held := r.hold(client, a.At)
		return held && slices.ContainsFunc(a.Clients, func(other string) bool {
			t, held := r.hold(other, a.At)
			return held && t.ended < mine.called
		})
	})
}

// pastLease says whether a client's hold had lasted for longer than its lease, and when that lease had begun. The client of a renewal that is
// answered ok believes that its lease began no earlier than it asked for that, whatever the server said. If renews, the lock renews itself: what it
// has sent to any server since counts, because nothing hindered it then. Else its lease ends where another client can have the lock.
func (r *evidence) pastLease(client string, at time.Duration, renews bool) (began time.Duration, over bool) {
	t, held := r.hold(client, at)
	began = t.lease
	if !renews {
		began = r.whole(t)
	}
	if r.opaque {
		began = max(began, r.granted(client, t))
	}
	for _, renewal := range t.renewals {
		if renewal.outcome == history.OK && renewal.ended <= at {
			began = max(began, renewal.called)
		}
	}
	return began, held && !r.leaseless && at-began >= r.lease-leaseGrain
}

// letLapse says whether a client was told of its grant with half of its lease or more to go, no fault hindered it then, and it still did nothing
// that could have kept the lock until that lease was over, which the host does not explain either. The host does if it was slow for half of the
// lease. Else it must have been slow for as long as what the client did next was late and, if the client had not tried before, for half of that time
// shortly before the lease was over or after it: what was due before was kept back all that time.
func (r *evidence) letLapse(client string, began, at time.Duration) bool {
	granted, _ := r.hold(client, at)
	from, over := max(began, granted.ended), began+r.lease
	if over-from < r.lease/2 || r.faults.faulty(client, from, over) > 0 || r.faults.byHost(client, began, over) >= r.lease/2 {
		return false
	}
	next := r.next(client, over, at)
	late := next - over - slow // the lab sees no stall that is shorter
	return late > r.faults.byHost(client, began, next) || late > 2*r.faults.byHost(client, over-r.lease/10, next) && !r.sends(client, from, over)
}

// sends says whether a server carried out a command of a client on the lock between two times.
func (r *evidence) sends(client string, from, to time.Duration) bool {
	for _, e := range r.between(from, to) {
		if c := e.Command(); c != nil && e.Client == client && c.Server != history.Resource {
			return true
		}
	}
	return false
}

// between are the events after a time, up to another.
func (r *evidence) between(from, to time.Duration) []history.Event {
	after := func(t time.Duration) int {
		i, _ := slices.BinarySearchFunc(r.events, t+1, func(e history.Event, t time.Duration) int { return cmp.Compare(e.At, t) })
		return i
	}
	return r.events[after(from):after(to)]
}

// next is when a client did something about a lock that it held, for the first time after its lease was over, or a fault began that kept it from
// that: it sent a command that a server carried out, learned of the loss, or gave the lock back. If it never did, that is when it was seen to hold it.
func (r *evidence) next(client string, over, seen time.Duration) time.Duration {
	until := forever
	for _, s := range r.faults.of(client) {
		if s.from >= over {
			until = min(until, s.from)
		}
	}
	for _, e := range r.between(over, forever-1) {
		c := e.Command()
		switch {
		case e.Client != client:
		case c != nil && c.Server != history.Resource:
			return min(c.Sent, until)
		case e.Kind == history.KindLost, e.Kind == history.KindExit, e.Kind == history.KindCall && e.Op == history.OpRelease:
			return min(e.At, until)
		}
	}
	return min(seen, until)
}

// broken says which fault broke the connections of a client that held the lock.
func (r *evidence) broken(client string, at time.Duration) string {
	granted, held := r.hold(client, at)
	for _, s := range r.faults.hindrances[history.ProcessOf(client)] {
		breaks := []string{string(faults.Refuse), string(faults.ReplyLost), string(faults.Crash)}
		if held && slices.Contains(breaks, s.what) && s.from < at && s.to > granted.ended {
			return fmt.Sprintf("%s's connections were broken at %.3fs (%s)", client, s.from.Seconds(), s.what)
		}
	}
	return ""
}

// reconnecting excuses an operation in a session that was called while its client had no connection: the fault that broke it was over for a lease at
// most, and nothing that the client sent has arrived since. Libraries wait before they try again, go-zookeeper 1.0.4 a second after each failed try
// (connect in conn.go).
func (r *evidence) reconnecting(a checker.Anomaly) string {
	client, called := a.Clients[0], r.events[a.Events[0]].At
	if !r.session {
		return ""
	}
	for _, s := range r.faults.of(client) {
		breaks := s.effective && (s.what == string(faults.Refuse) || s.what == string(faults.ReplyLost))
		if breaks && s.from < called && called <= s.to+r.lease && !r.arrived(client, s.to, a.At) {
			return fmt.Sprintf("%s's connection was broken at %.3fs (%s), and it had no other yet", client, s.from.Seconds(), s.what)
		}
	}
	return ""
}

// arrived says whether a request of a client reached a server between two times.
func (r *evidence) arrived(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.events, func(e history.Event) bool {
		if e.Kind != history.KindCommand || e.Client != client || e.At >= to {
			return false
		}
		c := e.Command()
		return c.Sent > from && !c.ByServer()
	})
}

// grantedElsewhere names a client of an anomaly that was granted its lock without a command to the server under test: while its
// connections were refused, another program on this host had taken its port. A client that was never refused has asked nobody.
func (r *evidence) grantedElsewhere(a checker.Anomaly) string {
	if r.local || r.opaque { // no command is on record anyway
		return ""
	}
	for _, client := range a.Clients {
		for _, t := range r.acquires[client] {
			refused := func(s faultInterval) bool {
				return s.what == string(faults.Refuse) && s.from < t.ended && s.to >= r.granted(client, t)-r.lease
			}
			if !t.seen && t.outcome == history.OK && t.ended <= a.At && slices.ContainsFunc(r.faults.hindrances[history.ProcessOf(client)], refused) {
				return client
			}
		}
	}
	return ""
}

// first tells how soon the first promise was broken.
func (r *evidence) first(anomalies []checker.Anomaly) *record.First {
	i := slices.IndexFunc(anomalies, func(a checker.Anomaly) bool { return a.Beyond == "" })
	if i < 0 {
		return nil
	}
	a := anomalies[i]
	answered, _ := slices.BinarySearch(r.returns, a.Events[len(a.Events)-1])
	return &record.First{Name: a.Name, After: a.At - r.began, Operation: answered + 1}
}
