package explore

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
)

// Assumption is what a search takes for granted of one thing: in a few words, and in full.
type Assumption struct {
	Short string
	Full  []string
}

// Assumptions are what a claim that nothing is wrong rests on, besides the bounds.
func (r *Result) Assumptions() []Assumption {
	server := assumedOfRedis()
	if r.Sessions {
		server = assumedOfZooKeeper()
	}
	return []Assumption{r.assumedOfClients(), assumedOfCode(), server, r.assumedOfSamples(), r.assumedOfJudges()}
}

func (r *Result) assumedOfClients() Assumption {
	a := Assumption{"clients acquire, work and release", []string{
		"clients acquire, work and release: no client calls Renew or Held; no two tokens have the same part; each client has one lock, in a process of its own",
		"an acquire has no deadline, and the lock did not ask for one; its context ends when it returns",
		"an operation notices a loss at once, or after any time; a background task does at once; without --release-again, a release is asked for once",
	}}
	if len(r.Uncalled) > 0 {
		a.Short += " and do not wait"
		a.Full = append(a.Full, "no client waits: the search does not call the lock's "+strings.Join(r.Uncalled, ", "))
	}
	if r.Fewer != "" {
		a.Short += ", on fewer servers"
		a.Full = append(a.Full, r.Fewer)
	}
	return a
}

func assumedOfCode() Assumption {
	return Assumption{"the lock uses Env only", []string{
		"the lock waits, reads clocks, draws chance and starts tasks through Env only: its code was searched for direct calls of real clocks and chance, and for go statements (amd64, arm64), and for those by what it keeps",
		"chance by the order of a map, or by a select of several channels, is noticed only where a step that was taken again came out otherwise; package variables are as the first use in this process has left them",
		"what a lock does between two requests, waits or sleeps it does at once, and so a background task begins: the lock's own goroutines do not interleave there",
	}}
}

// assumedOfRedis is what is taken for granted of Redis, and of clocks.
func assumedOfRedis() Assumption {
	return Assumption{fmt.Sprintf("every lease is %v", Lease), []string{
		fmt.Sprintf("every lease is %v: what a lock does with another one, such as by rounding it, is not found", Lease),
		"right clocks begin at 2020-01-01 00:00 UTC: what a lock does at other dates and times of day is not found; unless the card names the monotonic clock, a sample was run by one that began 20 days earlier",
		"clocks go at the same speed, but for those that --clock-rate lets run slow or fast: time also passes to where one is off by another lease; they are wrong from the start or never; a wall clock may also step, by 1.5 leases or --skew",
		"what a lock does by its clock is tried 16 times in a lease, and after 4 leases ever less often: what it then does for a short while is not found; of a time that it rounds, to a third of a lease or more, and compares, the ends are followed as clients' clocks show them",
		"a server's clock jumps, or is set back, by 2 leases at once",
		"a restart or a fail-over breaks connections: what is on its way may be lost, and its client learns so at once; a request that is late arrives all the same",
		"a refused client tries again once something has changed: a server, the time, or what its lock and Env.Shared keep; a sample of tries that changed nothing, repeated 16 times, did the same",
		"members of a set and fields of a hash are listed by their names; a sample of paths did the same with lists the other way round, but for those that a script reads",
		"where renewals go on after the time that is followed, a sample of them, repeated 200 times, did the same",
	}}
}

// assumedOfZooKeeper is what is taken for granted of a ZooKeeper, and of its clients' libraries.
func assumedOfZooKeeper() Assumption {
	return Assumption{"one ZooKeeper keeps its data; a session lasts while its client has contact", []string{
		"one ZooKeeper that keeps its data; a session lasts as long as its client is neither paused, cut off nor dead, and then for its time-out",
		"all clients have their sessions from the start, and no lock reads a clock",
		"a client that was paused or cut off makes contact before time passes again: then it learns whether its session is over, and gets another",
		"a client that is cut off goes on, and its user works or waits without a further fault; what it had sent is carried out after the partition, or never; " +
			"what it asks for meanwhile is sent then, in a new session if the old one is over",
		"a lost reply or request breaks the connection: what its client has sent before is carried out before it connects again, or never; watches are set again",
		"the lock does at each contact with the server, while it waits, what it did at the first; a sample of clients made contact again and again",
		"numbers of nodes are compared, and nothing else: those that no client or node has any more are given again; nodes are listed by their numbers, and a sample of paths did the same with lists the other way round",
		"a refused client tries again at once, and then only after the first node has changed or time has passed",
	}}
}

func (r *Result) assumedOfSamples() Assumption {
	a := Assumption{"other tokens, times and errors were tried as samples", []string{
		"time passes to the ends of waits and leases, to a millisecond beside these, and to where some client's next step or try, or how its validity " +
			"goes on, changes; paths that a client has taken are executed again at other times in between, as a sample, and did nothing else there",
		"what a lock does only after more acquires than these, such as with a number of two digits, is not found",
		"a sample of paths did the same with 32 other tokens each, and with losses that other errors report: a lock may yet tell one token in hundreds, or another error",
	}}
	if r.Counting {
		a.Full = append(a.Full, "a client whose lock may remember each refusal is refused 8 times in a row, and again once something has changed; a sample of such tries, repeated up to 1000 times, did the same, and so did what came after")
	}
	if r.Tired {
		a.Full = append(a.Full, "beside a background task, a refused client tries twice at most, if the try may have changed what the lock remembers; a sample of such tries, repeated 16 times, did the same")
	}
	return a
}

func (r *Result) assumedOfJudges() Assumption {
	a := Assumption{fmt.Sprintf("not looked for: %s", checker.DeadGrant), []string{
		fmt.Sprintf("%s is not looked for: lab run and lab check judge it", checker.DeadGrant),
		"a stuck lock is looked for in one order only, by a client that asks again when something ends, or every quarter of a lease; a lock that promises no order is stuck only while its key is there, " +
			"and what keeps all others out without it, on one server, is not shown to hold",
		"the validity that an acquire declares counts from its last reply, however much later the lock has worked it out",
	}}
	if !r.Sessions {
		a.Full = append(a.Full, fmt.Sprintf("what comes in the last %v of a lease, or the last %v of a declared validity, is not held against a lock: that is how exactly the judges measure", Margin(), history.ExpiryMargin))
	}
	if len(r.Unjudged) > 0 {
		var names []string
		for _, name := range r.Unjudged {
			names = append(names, string(name))
		}
		a.Short += ", " + strings.Join(names, ", ")
		a.Full = append(a.Full, "not looked for on several servers: "+strings.Join(names, ", "))
	}
	return a
}
