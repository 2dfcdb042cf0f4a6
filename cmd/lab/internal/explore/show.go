package explore

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/exploration"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// boundsText says what is explored, and how far: the first lines of the report.
func boundsText(c search.Config, width int) string {
	s := fitted{width: width}
	tries := "1 try"
	if c.Tries > 1 {
		tries = fmt.Sprintf("up to %d tries", c.Tries)
	}
	s.line("%s: %s, %s each with %s, %s", c.Lock.Name, format.Plural(c.Clients, "client", "clients"), format.Plural(c.Rounds, "round", "rounds"), tries, format.Plural(c.ServerCount(), "server", "servers"))
	if c.Reenter > 0 {
		s.field("re-enters", "each holder takes the lock %s more before it works", format.Plural(c.Reenter, "time", "times"))
	}
	if c.ReleaseAgain {
		s.field("releases", "a release of unknown outcome may be tried once more")
	}
	s.field("faults", "%s", budgetText(c))
	if c.Skew != 0 && c.Budget[faults.ClockAhead]+c.Budget[faults.ClockBehind] > 0 {
		s.field("skew", "a wrong clock is wrong by %v, %s", c.Skew, trace.InLeases(c.Skew, search.Lease))
	}
	if c.ClockRate != 0 && c.Budget[faults.ClockAhead]+c.Budget[faults.ClockBehind] > 0 {
		s.field("drift", "clocks that are behind run at rate %v, and those that are ahead as many times too fast", c.ClockRate)
	}
	if c.Lag > 1 && c.Budget[faults.FailOver] > 0 {
		s.field("lag", "a replica that takes over lacks up to %d writes", c.Lag)
	}
	if len(c.Only) > 0 {
		s.field("looks for", "%s", cli.List(c.Only))
	}
	return s.text.String()
}

func budgetText(c search.Config) string {
	switch {
	case c.MostFaults == 0 || c.Budget.String() == search.Budget(nil).String():
		return "none"
	case maps.Equal(c.Budget, search.Any(c.Lock, c.MostFaults)):
		return fmt.Sprintf("up to %d, of any kind", c.MostFaults)
	}
	if total(c.Budget) <= c.MostFaults {
		return c.Budget.String()
	}
	return fmt.Sprintf("up to %d, of these: %s", c.MostFaults, c.Budget)
}

// total is how many faults a budget allows together.
func total(b search.Budget) (sum int) {
	for _, n := range b {
		sum += n
	}
	return sum
}

// exploreOptions say how an exploration is shown.
type exploreOptions struct {
	exploration.TraceOptions
	Assumptions bool // each in full, also beside a counterexample, which needs none: it can be checked step by step
}

// writeExploration writes what an exploration came to: the counterexample, that the lock holds within the bounds, or how far the search
// came.
func writeExploration(w io.Writer, e *lab.Exploration, opts exploreOptions) error {
	r, s := e.Result, fitted{width: opts.Width}
	s.line("")
	for _, t := range shown(r, opts.Verbose) {
		if err := exploration.Write(&s.text, t, opts.TraceOptions); err != nil {
			return err
		}
		s.line("")
	}
	s.conclusion(e, opts)
	s.field("expected", "%v", e.Expected)
	_, err := io.WriteString(w, s.text.String())
	return err
}

// shown are the traces to print: the counterexample, or else the first of those that are excused; verbose: all of those.
func shown(r *search.Result, verbose bool) []*trace.Trace {
	if verbose && r.Found == nil {
		return r.Excused
	}
	if t := r.Shown(); t != nil {
		return []*trace.Trace{t}
	}
	return nil
}

// conclusion is the result with what it rests on.
func (s *fitted) conclusion(e *lab.Exploration, opts exploreOptions) {
	r, unstruck := e.Result, e.Config.Unstruck(e.Result)
	switch {
	case r.Found != nil:
		s.line("BROKEN: %s", found(r.Found))
	case r.Doubt != "":
		s.line("NOT SHOWN: no counterexample within these bounds, but the search does not follow all of the lock. No verdict")
		s.field("noticed", "%s", r.Doubt)
		s.field("any code", "%s", lab.AnyCode)
	case !r.Complete():
		s.line("NOT COMPLETE: stopped at the limit of %s", r.Limit)
		s.field("searched", "%s; %s", searched(r.Progress), [...]string{"no counterexample", "no promise was broken"}[min(len(r.Excused), 1)])
		s.field("go on", "%s", smaller(e.Config, "a larger --limit"))
	case r.Vacuous() && r.Unnamed && slices.Contains(r.Coverage, "held"):
		s.line("VACUOUS: nothing is wrong within these bounds, but the lock's key was never set, so its owner was not judged")
	case r.Vacuous():
		s.line("VACUOUS: nothing is wrong within these bounds, but the lock was never held")
	case len(unstruck) > 0:
		s.line("VACUOUS: nothing is wrong within these bounds, but the search never came to a %s", cli.List(unstruck))
	case len(r.Excused) > 0:
		s.line("EXCUSED: %s; what the lock's card promises holds within these bounds", found(r.Excused[0]))
	default:
		s.line("HOLDS within these bounds")
	}
	s.passed(r, unstruck)
	s.field("states", "%d in %v (%s/s), the longest path has %d steps", r.States, r.Took.Round(time.Millisecond), rate(r.States, r.Took), r.Longest)
	s.field("coverage", "%s", cmp.Or(strings.Join(r.Coverage, ", "), "none: no client asked for the lock"))
	switch {
	case opts.Assumptions:
		s.basis(r)
	case r.Found == nil:
		s.field("assumed", "%s", assumed(r))
	}
	if r.Horizon > 0 {
		s.field("horizon", "the search follows time for %v", r.Horizon)
	}
}

// found sums up a counterexample.
func found(t *trace.Trace) string {
	return fmt.Sprintf("%s after %s with %s", cli.List(t.Anomalies), format.Plural(exploration.TraceRows(t), "step", "steps"), format.Plural(len(t.Faults), "fault", "faults"))
}

// passed is what a search came past: anomalies that are excused, and faults that never struck and have not been named yet.
func (s *fitted) passed(r *search.Result, named []faults.Kind) {
	for i, t := range r.Excused {
		s.field([...]string{"excused", ""}[min(i, 1)], "%s after %s", cli.List(t.Anomalies), cmp.Or(cli.List(t.Faults), "no fault"))
	}
	if r.Found == nil && r.Complete() && len(r.Idle) > len(named) {
		s.field("unstruck", "the search never came to these, so nothing is known of them: %s", cli.List(r.Idle))
	}
}

// assumed is what a claim that nothing is wrong rests on, in short: five lines of 80 columns at most.
func assumed(r *search.Result) string {
	var short []string
	all := 0
	for _, a := range r.Assumptions() {
		short = append(short, a.Short)
		all += len(a.Full)
	}
	return fmt.Sprintf("%s; --assumptions lists all %d", strings.Join(short, "; "), all)
}

// basis is what a claim that nothing is wrong rests on, in full.
func (s *fitted) basis(r *search.Result) {
	for i, a := range r.Assumptions() {
		s.field([...]string{"assumed", ""}[min(i, 1)], "%s", a.Short)
		for _, full := range a.Full {
			s.hang(blank+"- ", blank+"  ", full)
		}
	}
	symmetry := "clients that differ only by name count as one"
	if !r.Symmetric {
		symmetry = "not used: clients are told apart"
	}
	s.field("symmetry", "%s", symmetry)
	s.field("executed", "%d steps of the lock's own code; %d MiB", r.Runs, r.Memory>>20)
}

// searched is what a search has covered before it ended.
func searched(p search.Progress) string {
	if p.Faults == 0 {
		return fmt.Sprintf("all up to step %d", p.Steps)
	}
	return fmt.Sprintf("all with fewer than %s, and with as many up to step %d", format.Plural(p.Faults, "fault", "faults"), p.Steps)
}

// smaller says how to bound a search that takes too long, or that a limit has stopped: by a limit, or by less to search.
func smaller(c search.Config, limit string) string {
	ways := []string{limit}
	if most := min(total(c.Budget), c.MostFaults); most > 1 {
		ways = append(ways, fmt.Sprintf("--max-faults %d", most-1))
	}
	if len(c.Budget) > 1 {
		ways = append(ways, "one kind of fault, such as --pauses 1")
	}
	if c.Rounds > 1 {
		ways = append(ways, fmt.Sprintf("--rounds %d", c.Rounds-1))
	}
	if c.Clients > 2 {
		ways = append(ways, fmt.Sprintf("--clients %d", c.Clients-1))
	}
	return cli.Enumerate(ways, "or")
}

// fitted is a text of lines that fit a width: paragraphs, and fields with a name before them.
type fitted struct {
	text  strings.Builder
	width int
}

// blank is as wide as the name of a field.
const blank = "             "

// line writes a paragraph.
func (s *fitted) line(format string, args ...any) { s.hang("", "  ", fmt.Sprintf(format, args...)) }

// field writes a value after its name.
func (s *fitted) field(name, format string, args ...any) {
	s.hang(fmt.Sprintf("  %-9s  ", name), blank, fmt.Sprintf(format, args...))
}

// hang writes a text after a head, and what does not fit beside it below.
func (s *fitted) hang(head, below, text string) {
	s.text.WriteString(cli.Hang(head, below, text, s.width))
}

// progressLine is how far an exploration has come, in one line.
func progressLine(p search.Progress) string {
	return fmt.Sprintf("%d states, depth %d, %d queued, %d MiB, %s, %v",
		p.States, p.Steps, p.Frontier, p.Memory>>20, format.Plural(p.Faults, "fault", "faults"), p.Took.Round(time.Second))
}

func rate(n int, took time.Duration) string {
	if took <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", float64(n)/took.Seconds())
}
