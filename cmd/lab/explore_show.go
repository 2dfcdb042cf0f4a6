package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/sim/explore"
	"github.com/locklab/locklab/internal/sim/trace"
)

// boundsText says what is explored, and how far: the first lines of the report.
func boundsText(c explore.Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s each, %s\n", c.Lock.Name, count(c.Clients, "client"), count(c.Rounds, "round"), count(c.ServerCount(), "server"))
	if c.Reenter > 0 {
		fmt.Fprintf(&b, "  re-enters  each holder takes the lock %s more before it works\n", count(c.Reenter, "time"))
	}
	if c.ReleaseAgain {
		fmt.Fprintf(&b, "  releases   a release of unknown outcome may be tried once more\n")
	}
	fmt.Fprintf(&b, "  faults     %s\n", budgetText(c))
	if c.Skew != 0 && c.Budget[faults.ClockAhead]+c.Budget[faults.ClockBehind] > 0 {
		fmt.Fprintf(&b, "  skew       a wrong clock is wrong by %v, %s\n", c.Skew, trace.InLeases(c.Skew, explore.Lease))
	}
	if c.ClockRate != 0 && c.Budget[faults.ClockAhead]+c.Budget[faults.ClockBehind] > 0 {
		fmt.Fprintf(&b, "  drift      clocks that are behind run at rate %v, and those that are ahead as many times too fast\n", c.ClockRate)
	}
	if c.Lag > 1 && c.Budget[faults.FailOver] > 0 {
		fmt.Fprintf(&b, "  lag        a replica that takes over lacks up to %d writes\n", c.Lag)
	}
	if len(c.Only) > 0 {
		fmt.Fprintf(&b, "  looks for  %s\n", listed(c.Only))
	}
	return b.String()
}

func budgetText(c explore.Config) string {
	switch {
	case c.MostFaults == 0 || c.Budget.String() == explore.Budget(nil).String():
		return "none"
	case maps.Equal(c.Budget, explore.Any(c.Lock, c.MostFaults)):
		return fmt.Sprintf("up to %d, of any kind", c.MostFaults)
	}
	sum := 0
	for _, n := range c.Budget {
		sum += n
	}
	if sum <= c.MostFaults {
		return c.Budget.String()
	}
	return fmt.Sprintf("up to %d, of these: %s", c.MostFaults, c.Budget)
}

// writeExploration writes what an exploration came to: the counterexample, that the lock holds within the bounds, or how far the search
// came.
func writeExploration(w io.Writer, e *lab.Exploration, opts report.TraceOptions) error {
	r := e.Result
	if len(r.Disputed) > 0 {
		d := r.Disputed[0] // the others are of the same kind, mostly
		fmt.Fprintf(w, "\nDISPUTED: the explorer saw %s where the checker's verdict is %s. The lab is at fault, not the lock.\n\n", d.Anomaly, d.Verdict)
		if err := report.Trace(w, d.Trace, opts); err != nil {
			return err
		}
	}
	if n := len(r.Disputed); n > 1 {
		fmt.Fprintf(w, "\nand %d more disputed traces\n", n-1)
	}
	fmt.Fprintln(w)
	for _, t := range shown(r, opts.Verbose) {
		if err := report.Trace(w, t, opts); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "%s  expected   %s\n", conclusion(e, opts.Verbose), e.Expected)
	return err
}

// shown are the traces to print: the counterexample, or else the first of those that are excused; verbose: all of those.
func shown(r *explore.Result, verbose bool) []*trace.Trace {
	if verbose && r.Found == nil {
		return r.Excused
	}
	if t := r.Shown(); t != nil {
		return []*trace.Trace{t}
	}
	return nil
}

// conclusion is the result with what it rests on. A counterexample needs no basis: it can be checked step by step.
func conclusion(e *lab.Exploration, verbose bool) string {
	var b strings.Builder
	r, unstruck := e.Result, e.Config.Unstruck(e.Result)
	switch {
	case r.Found != nil:
		fmt.Fprintf(&b, "BROKEN: %s\n", found(r.Found))
	case r.Doubt != "":
		fmt.Fprintf(&b, "NOT SHOWN: nothing is wrong within these bounds, but the lock goes by what the search does not follow\n")
		fmt.Fprintf(&b, "  noticed    %s\n", r.Doubt)
	case !r.Complete():
		fmt.Fprintf(&b, "NOT COMPLETE: stopped at the limit of %s\n", r.Limit)
		fmt.Fprintf(&b, "  searched   %s; %s\n", searched(r), [...]string{"no counterexample", "no promise was broken"}[min(len(r.Excused), 1)])
	case r.Vacuous() && r.Unnamed && slices.Contains(r.Coverage, "held"):
		fmt.Fprintf(&b, "VACUOUS: nothing is wrong within these bounds, but nothing was ever under the lock's key, so whose the lock is was not judged\n")
	case r.Vacuous():
		fmt.Fprintf(&b, "VACUOUS: nothing is wrong within these bounds, but the lock was never held\n")
	case len(unstruck) > 0:
		fmt.Fprintf(&b, "VACUOUS: nothing is wrong within these bounds, but the search never came to a %s\n", listed(unstruck))
	case len(r.Disputed) > 0:
		fmt.Fprintf(&b, "UNDECIDED: explorer and checker disagree\n")
	case len(r.Excused) > 0:
		fmt.Fprintf(&b, "EXCUSED: %s; what the lock's card promises holds within these bounds\n", found(r.Excused[0]))
	default:
		fmt.Fprintf(&b, "HOLDS within these bounds\n")
	}
	b.WriteString(passed(r, unstruck))
	fmt.Fprintf(&b, "  states     %d in %v (%s/s), the longest path has %d steps\n", r.States, r.Took.Round(time.Millisecond), rate(r.States, r.Took), r.Longest)
	fmt.Fprintf(&b, "  coverage   %s\n", cmp.Or(strings.Join(r.Coverage, ", "), "none: no client asked for the lock"))
	if r.Unmerged != "" && (r.Found == nil || verbose) {
		fmt.Fprintf(&b, "  merging    off, so the search is larger than it need be: %s\n", r.Unmerged)
	}
	if r.Found == nil || verbose {
		b.WriteString(basis(r))
	}
	if r.Horizon > 0 {
		fmt.Fprintf(&b, "  horizon    the search follows time for %v\n", r.Horizon)
	}
	return b.String()
}

// found sums up a counterexample.
func found(t *trace.Trace) string {
	return fmt.Sprintf("%s after %s with %s", listed(t.Anomalies), count(report.TraceRows(t), "step"), count(len(t.Faults), "fault"))
}

// passed is what a search came past: anomalies that are excused, and faults that never struck and have not been named yet.
func passed(r *explore.Result, named []faults.Kind) string {
	var b strings.Builder
	for i, t := range r.Excused {
		fmt.Fprintf(&b, "  %-9s  %s after %s\n", [...]string{"excused", ""}[min(i, 1)], listed(t.Anomalies), cmp.Or(listed(t.Faults), "no fault"))
	}
	if r.Found == nil && r.Complete() && len(r.Idle) > len(named) {
		fmt.Fprintf(&b, "  unstruck   the search never came to these, so nothing is known of them: %s\n", listed(r.Idle))
	}
	return b.String()
}

// basis is what a claim that nothing is wrong rests on.
func basis(r *explore.Result) string {
	var b strings.Builder
	symmetry := "clients that differ only by name count as one"
	if !r.Symmetric {
		symmetry = "not used: clients are told apart"
	}
	for i, line := range assumed(r) {
		fmt.Fprintf(&b, "  %-9s  %s\n", [...]string{"assumed", ""}[min(i, 1)], line)
	}
	fmt.Fprintf(&b, "  symmetry   %s\n", symmetry)
	fmt.Fprintf(&b, "  collision  hash-collision probability %.0e\n", r.Collision)
	fmt.Fprintf(&b, "  executed   %d steps of the lock's own code; %d local states of clients; %d MiB\n", r.Learned, r.Nodes, r.Memory>>20)
	return b.String()
}

// assumed is what the search takes for granted of everything within its bounds.
func assumed(r *explore.Result) []string {
	list := []string{
		"time passes to the ends of waits and leases, to a millisecond beside these, and to where some client's next step or try, or how its validity",
		"goes on, changes; paths that a client has taken are executed again at other times in between, as a sample, and did nothing else there",
		"clients acquire, work and release: nobody calls Renew or Held; no two tokens have the same part; each client has one lock, in a process of its own",
		"what a lock does only after more acquires than these, such as with a number of two digits, is not found",
		"the lock waits, reads clocks, draws chance and starts tasks through Env only: its code was searched for direct calls of real clocks and chance, and for go statements (amd64, arm64), and for those by what it keeps",
		"chance by the order of a map, or by a select of several channels, is noticed only where a step that was taken again came out otherwise; package variables are as the first use in this process has left them",
		"a sample of paths did the same with 32 other tokens each, and with losses that other errors report: a lock may yet tell one token in hundreds, or another error",
		"an acquire has no deadline, and the lock did not ask for one; its context ends when it returns",
		"what a lock does between two requests, waits or sleeps it does at once, and so a background task begins: the lock's own goroutines do not interleave there",
		"an operation notices a loss at once, or after any time; a background task does at once; without --release-again, a release is asked for once",
		"a stuck lock is looked for in one order only, by a client that asks again when something ends, or every quarter of a lease; a lock that promises no order is stuck only while its key is there",
		"and what keeps all others out without it, on one server, is not shown to hold",
		"the validity that an acquire declares counts from its last reply, however much later the lock has worked it out",
	}
	if r.Sessions {
		list = append(list, assumedOfSessions()...)
	} else {
		list = append(list, assumedOfLeases()...)
	}
	if len(r.Uncalled) > 0 {
		list = append(list, "nobody waits: the search does not call the lock's "+strings.Join(r.Uncalled, ", "))
	}
	if r.Fewer != "" {
		list = append(list, r.Fewer)
	}
	list = append(list, fmt.Sprintf("%s is not looked for: lab run and lab check judge it", checker.DeadGrant))
	if len(r.Unjudged) > 0 {
		list = append(list, "not looked for on several servers: "+listed(r.Unjudged))
	}
	if r.Counting {
		list = append(list, "a client whose lock may remember each refusal is refused 8 times in a row, and again once something has changed; a sample of such tries, repeated up to 1000 times, did the same, and so did what came after")
	}
	if r.Tired {
		list = append(list, "beside a background task, a refused client tries twice at most, if the try may have changed what the lock remembers; a sample of such tries, repeated 16 times, did the same")
	}
	return list
}

// assumedOfLeases is what is taken for granted of Redis, and of clocks.
func assumedOfLeases() []string {
	return []string{
		"right clocks begin at 2020-01-01 00:00 UTC: what a lock does at other dates and times of day is not found; unless the card names the monotonic clock, a sample was run by one that began 20 days earlier",
		"clocks go at the same speed, but for those that --clock-rate lets run slow or fast: time also passes to where one is off by another lease; they are wrong from the start or never; a wall clock may also step, by 1.5 leases or --skew",
		"what a lock does by its clock is tried 16 times in a lease, and after 4 leases ever less often: what it then does for a short while is not found; of a time that it rounds, to a third of a lease or more, and compares, the ends are followed as clients' clocks show them",
		"a server's clock jumps, or is set back, by 2 leases at once",
		fmt.Sprintf("every lease is %v: what a lock does with another one, such as by rounding it, is not found", explore.Lease),
		fmt.Sprintf("what comes in the last %v of a lease, or the last %v of a declared validity, is not held against a lock: that is how exactly the judges measure",
			explore.Margin(), history.ExpiryMargin),
		"a restart or a fail-over breaks connections: what is on its way may be lost, and its client learns so at once; a request that is late arrives all the same",
		"a refused client tries again once something has changed: a server, the time, or what its lock and Env.Shared keep; a sample of tries that changed nothing, repeated 16 times, did the same",
		"members of a set and fields of a hash are listed by their names; a sample of paths did the same with lists the other way round, but for those that a script reads",
		"where renewals go on after the time that is followed, a sample of them, repeated 200 times, did the same",
	}
}

// assumedOfSessions is what is taken for granted of a ZooKeeper, and of its clients' libraries.
func assumedOfSessions() []string {
	return []string{
		"one ZooKeeper that keeps its data; a session lasts as long as its client is neither paused, cut off nor dead, and then for its time-out",
		"a client that was paused or cut off makes contact before time passes again: then it learns whether its session is over, and gets another",
		"a client that is cut off goes on, and its user works or waits without a further fault; what it had sent is carried out after the partition, or never; " +
			"what it asks for meanwhile is sent then, in a new session if the old one is over",
		"a lost reply or request breaks the connection: what its client has sent before is carried out before it connects again, or never; watches are set again",
		"the lock does at each contact with the server, while it waits, what it did at the first; a sample of clients made contact again and again",
		"numbers of nodes are compared, and nothing else: those that nobody knows any more are given again; nodes are listed by their numbers, and a sample of paths did the same with lists the other way round",
		"a refused client tries again at once, and then only after the first node has changed or time has passed",
		"all clients have their sessions from the start, and no lock reads a clock",
	}
}

// searched is what a search has covered before a limit.
func searched(r *explore.Result) string {
	if r.Faults == 0 {
		return fmt.Sprintf("all up to step %d", r.Steps)
	}
	return fmt.Sprintf("all with fewer than %s, and with as many up to step %d", count(r.Faults, "fault"), r.Steps)
}

func listed[T ~string](names []T) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = string(name)
	}
	return strings.Join(words, ", ")
}

// progressLine is how far an exploration has come, in one line.
func progressLine(p explore.Progress) string {
	return fmt.Sprintf("%d states, %s/s, depth %d, %d queued, %d MiB, %s, %v",
		p.States, rate(p.States, p.Took), p.Steps, p.Frontier, p.Memory>>20, count(p.Faults, "fault"), p.Took.Round(100*time.Millisecond))
}

func rate(n int, took time.Duration) string {
	if took <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", float64(n)/took.Seconds())
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
