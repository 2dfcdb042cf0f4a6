package explore

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
)

// Bounds says what is explored, and how far: the first lines of an account.
func (c Config) Bounds() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s each, %s\n", c.Lock.Name, count(c.Clients, "client"), count(c.Rounds, "round"), count(c.servers(), "server"))
	if c.Reenter > 0 {
		fmt.Fprintf(&b, "  re-enters  each holder takes the lock %s more before it works\n", count(c.Reenter, "time"))
	}
	fmt.Fprintf(&b, "  faults     %s\n", c.faultWords())
	if c.Skew != 0 && c.Budget[ClockAhead]+c.Budget[ClockBehind] > 0 {
		fmt.Fprintf(&b, "  skew       a wrong clock is wrong by %v, %s\n", c.Skew, leases(c.Skew))
	}
	if c.Lag > 1 && c.Budget[FailOver] > 0 {
		fmt.Fprintf(&b, "  lag        a replica that takes over lacks up to %d writes\n", c.Lag)
	}
	if len(c.Only) > 0 {
		var names []string
		for _, name := range c.Only {
			names = append(names, string(name))
		}
		fmt.Fprintf(&b, "  looks for  %s\n", strings.Join(names, ", "))
	}
	return b.String()
}

func (c Config) servers() int { return cmp.Or(c.Servers, max(c.Lock.Servers, 1)) }

func (c Config) faultWords() string {
	if c.MostFaults == 0 || c.Budget == (Budget{}) {
		return "none"
	}
	whole := c.Budget
	for f := range whole {
		whole[f] = uint8(c.MostFaults)
	}
	if c.Budget == whole {
		return fmt.Sprintf("up to %d, of any kind", c.MostFaults)
	}
	return fmt.Sprintf("up to %d, of these: %s", c.MostFaults, c.Budget)
}

// Account says what came of an exploration: the counterexample as a story, that the lock holds within the bounds, or how far the
// search has come.
func (r *Result) Account(w io.Writer, c Config, opts StoryOptions) error {
	if len(r.Disputed) > 0 {
		d := r.Disputed[0] // the others are of the same kind, mostly
		fmt.Fprintf(w, "\nDISPUTED: the explorer saw %s where the checker's verdict is %s. The lab is at fault, not the lock.\n\n", d.Anomaly, d.Verdict)
		if err := d.Trace.Story(w, opts); err != nil {
			return err
		}
	}
	if n := len(r.Disputed); n > 1 {
		fmt.Fprintf(w, "\nand %d more disputed traces\n", n-1)
	}
	fmt.Fprintln(w)
	if r.Found != nil {
		if err := r.Found.Story(w, opts); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := io.WriteString(w, r.conclusion(c))
	return err
}

// conclusion is the result in words, with what it rests on.
func (r *Result) conclusion(c Config) string {
	var b strings.Builder
	switch {
	case r.Found != nil:
		fmt.Fprintf(&b, "BROKEN: %s after %s with %s\n", joined(r.Found), count(len(r.Found.rows()), "step"), count(len(r.Found.Faults), "fault"))
	case !r.Complete():
		fmt.Fprintf(&b, "NOT COMPLETE: stopped at the limit of %s\n", r.Limit)
		fmt.Fprintf(&b, "  covered    %s; nothing was found there\n", r.covered())
	case r.Vacuous():
		fmt.Fprintf(&b, "VACUOUS: nothing is wrong within these bounds, but the lock was never held\n")
	case len(r.Disputed) > 0:
		fmt.Fprintf(&b, "UNDECIDED: the judges disagree\n")
	default:
		fmt.Fprintf(&b, "HOLDS within these bounds\n")
	}
	fmt.Fprintf(&b, "  states     %d in %v (%s/s), the longest path has %d steps, %d MiB\n",
		r.States, r.Took.Round(time.Millisecond), rate(r.States, r.Took), r.Longest, r.Memory>>20)
	fmt.Fprintf(&b, "  learned    %d steps of the lock's own code; %d local states of clients\n", r.Learned, r.Nodes)
	fmt.Fprintf(&b, "  seen       %s\n", cmp.Or(strings.Join(r.Facts, ", "), "nothing: the lock was never asked for"))
	symmetry := "clients that differ only by name are taken for one"
	if !r.Symmetric {
		symmetry = "not used: clients are told apart"
	}
	fmt.Fprintf(&b, "  symmetry   %s\n", symmetry)
	fmt.Fprintf(&b, "  collision  two states were taken for one with a probability of about %.0e\n", r.Collision)
	if r.Horizon > 0 {
		fmt.Fprintf(&b, "  horizon    time was followed for %v\n", r.Horizon)
	}
	return b.String()
}

// covered is what was looked at before a limit.
func (r *Result) covered() string {
	if r.Faults == 0 {
		return fmt.Sprintf("all up to step %d", r.Steps)
	}
	return fmt.Sprintf("all with fewer than %s, and with as many up to step %d", count(r.Faults, "fault"), r.Steps)
}

func joined(t *Trace) string {
	var names []string
	for _, name := range t.Anomalies {
		names = append(names, string(name))
	}
	return strings.Join(names, ", ")
}

// Line says how far an exploration has come, in one line.
func (p Progress) Line() string {
	return fmt.Sprintf("%d states, %s/s, depth %d, %d to look at, %d MiB, %s spent, %v",
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
