package search

import (
	"fmt"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
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
	code := Assumption{"the lock keeps to Env", []string{
		"the lock is deterministic and has time, chance and goroutines from Env only, as its State declares: what was executed again had the same results",
		"what its State leaves out makes no difference; package variables keep what their first use in this process left",
		"a lock takes no time between two requests, waits or sleeps, and its own goroutines do not interleave there",
	}}
	inputs := Assumption{"times, tokens and errors are the model's", []string{
		"time passes to the ends of waits, leases and validities, and to 1 ms before and after",
		"what a lock does only after more acquires, for example with a number of two digits, is not found",
		"tokens are compared for equality alone, as the card says (EqualTokens)",
		"every loss is reported by one error: what a lock does after another one is not found",
	}}
	return []Assumption{r.assumedOfClients(), code, server, inputs, r.assumedOfJudges()}
}

func (r *Result) assumedOfClients() Assumption {
	a := Assumption{"clients acquire, work and release", []string{
		"clients acquire, work and release: no client calls Renew or Held; no two tokens share a part; each client has one lock, in a process of its own",
		fmt.Sprintf("a client tries %d times in each round, at most (--tries), and on beside the fresh client that comes in the end", r.Tries),
		"an acquire has no deadline, and the lock did not ask for one; its context ends when it returns",
		"an operation notices a lost reply at once or after any time, a background task at once; without --release-again, a client releases once",
	}}
	if len(r.Uncalled) > 0 {
		a.Short += " and do not wait"
		a.Full = append(a.Full, "no client waits: the search does not call the lock's "+strings.Join(r.Uncalled, ", "))
	}
	if r.FewerServers != "" {
		a.Short += ", on fewer servers"
		a.Full = append(a.Full, r.FewerServers)
	}
	return a
}

// assumedOfRedis is what is taken for granted of Redis, and of clocks.
func assumedOfRedis() Assumption {
	return Assumption{fmt.Sprintf("every lease is %v", Lease), []string{
		fmt.Sprintf("every lease is %v: what a lock does with another lease, for example by rounding it, is not found", Lease),
		"right clocks begin at 2020-01-01 00:00 UTC, and monotonic clocks all at one moment: what a lock does at other dates, or with the clock of another machine, is not found",
		"all clocks have the same speed, except with --clock-rate; a clock is wrong from the start or never, and a wall clock may also step, by 1.5 leases or --skew",
		"a lock that reads its clock is tried 4 times in a lease, for 2½ leases after it read one: what it does later, for a short time, or by a time that it rounds, is not found",
		"a server's clock jumps, or is set back, by 2 leases at once",
		"a restart or a fail-over breaks connections: a message on its way may be lost, and its client notices at once; a late request still arrives",
		"members of sets and fields of hashes are listed by name: what a lock does with another order is not found",
		"renewals go on as before after the time that the search follows",
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
		"a lock that waits on in the same way after two contacts with the server does so after every one",
		"locks compare node numbers and use them for nothing else: unused numbers are given again; nodes are listed by number",
	}}
}

func (r *Result) assumedOfJudges() Assumption {
	a := Assumption{fmt.Sprintf("not looked for: %s", checker.DeadGrant), []string{
		fmt.Sprintf("%s is not looked for: lab run and lab check judge it", checker.DeadGrant),
		"a stuck lock is looked for in one order only, by a client that asks again every quarter of a lease; a lock that promises no order is stuck only while its key exists, " +
			"and a lock on one server that keeps all clients out without its key is not shown to hold",
		"the validity that an acquire declares counts from its last reply, even if the lock computed it later",
	}}
	if !r.Sessions {
		a.Full = append(a.Full, fmt.Sprintf("the last %v of a lease and the last %v of a declared validity are not judged: that is the judges' precision", Margin(), history.ExpiryMargin))
	}
	return a
}

// Margin is how much of a lease must be left before it counts as running.
func Margin() time.Duration { return ownership.LeaseMargin(Lease) }
