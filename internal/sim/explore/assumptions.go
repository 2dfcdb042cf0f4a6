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
		"clients acquire, work and release: no client calls Renew or Held; no two tokens share a part; each client has one lock, in a process of its own",
		"an acquire has no deadline, and the lock did not ask for one; its context ends when it returns",
		"an operation notices a lost reply at once or after any time, a background task at once; without --release-again, a client releases once",
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
		"the lock waits, reads clocks, draws chance and starts tasks through Env only: its code, and what it keeps, was searched for direct calls of real clocks and chance and for go statements (amd64, arm64)",
		"chance by map order or by select is noticed only where a repeated step had another result; package variables keep what their first use in this process left",
		"a lock takes no time between two requests, waits or sleeps, and its own goroutines do not interleave there",
	}}
}

// assumedOfRedis is what is taken for granted of Redis, and of clocks.
func assumedOfRedis() Assumption {
	return Assumption{fmt.Sprintf("every lease is %v", Lease), []string{
		fmt.Sprintf("every lease is %v: what a lock does with another lease, for example by rounding it, is not found", Lease),
		"right clocks begin at 2020-01-01 00:00 UTC: what a lock does at other dates is not found; unless the card names the monotonic clock, a sample ran with one that began 20 days earlier",
		"all clocks have the same speed, except with --clock-rate; a clock is wrong from the start or never, and a wall clock may also step, by 1.5 leases or --skew",
		"a lock that reads its clock is tried 16 times in a lease, and after 4 leases less and less often: what it does for a short time is not found; a time that it rounds to a third of a lease or more is followed to its ends",
		"a server's clock jumps, or is set back, by 2 leases at once",
		"a restart or a fail-over breaks connections: a message on its way may be lost, and its client notices at once; a late request still arrives",
		"a refused client tries again once something has changed: a server, the time, or what its lock and Env.Shared keep; a sample of tries that changed nothing, repeated 16 times, had the same results",
		"members of sets and fields of hashes are listed by name; a sample of paths had the same results with reversed lists, except for those that a script reads",
		"renewals after the time that the search follows: a sample, repeated 200 times, had the same results",
	}}
}

// assumedOfZooKeeper is what is taken for granted of a ZooKeeper, and of its clients' libraries.
func assumedOfZooKeeper() Assumption {
	return Assumption{"one ZooKeeper keeps its data; a session lasts while its client has contact", []string{
		"one ZooKeeper that keeps its data; a session lasts as long as its client is neither paused, cut off nor dead, and then for its time-out",
		"all clients have their sessions from the start, and no lock reads a clock",
		"a client that was paused or cut off makes contact before time passes again: then it learns whether its session is over, and gets another",
		"a client that is cut off continues, and its user works or waits without a further fault; what it sent before is carried out after the partition, or never; " +
			"its later requests are sent then, in a new session if the old one is over",
		"a lost reply or request breaks the connection: what its client sent before is carried out before it connects again, or never; watches are set again",
		"a lock reacts to every contact with the server alike; a sample of clients made contact again and again",
		"locks compare node numbers and use them for nothing else: unused numbers are given again; nodes are listed by number, and a sample of paths had the same results with reversed lists",
		"a refused client tries again at once, and then only after the first node has changed or time has passed",
	}}
}

func (r *Result) assumedOfSamples() Assumption {
	a := Assumption{"other tokens, times and errors were tried as samples", []string{
		"time passes to the ends of waits and leases, to 1 ms before and after, and to where some client's next step, try or " +
			"validity changes; a sample of paths, executed at other times in between, had the same results",
		"what a lock does only after more acquires, for example with a number of two digits, is not found",
		"a sample of paths had the same results with 32 other tokens each, and with other errors for a loss: a lock may still react to one token in hundreds, or to another error",
	}}
	if r.Counting {
		a.Full = append(a.Full, "a client whose lock may remember each refusal is refused 8 times in a row, and again once something has changed; a sample of such tries, repeated up to 1000 times, and the steps after them had the same results")
	}
	if r.Tired {
		a.Full = append(a.Full, "beside a background task, a refused client tries twice at most, if the try may have changed what the lock remembers; a sample of such tries, repeated 16 times, had the same results")
	}
	return a
}

func (r *Result) assumedOfJudges() Assumption {
	a := Assumption{fmt.Sprintf("not looked for: %s", checker.DeadGrant), []string{
		fmt.Sprintf("%s is not looked for: lab run and lab check judge it", checker.DeadGrant),
		"a stuck lock is looked for in one order only, by a client that asks again when something ends, or every quarter of a lease; a lock that promises no order is stuck only while its key exists, " +
			"and a lock on one server that keeps all clients out without its key is not shown to hold",
		"the validity that an acquire declares counts from its last reply, even if the lock computed it later",
	}}
	if !r.Sessions {
		a.Full = append(a.Full, fmt.Sprintf("the last %v of a lease and the last %v of a declared validity are not judged: that is the judges' precision", Margin(), history.ExpiryMargin))
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
