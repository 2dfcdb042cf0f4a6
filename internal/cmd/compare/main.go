// Command compare recomputes the table of breaking points, lock by lock and fault by fault, by the slow reference search, and prints where
// the explorer says something else within the same bounds.
//
// It owns its flags and the form of its page. It must not know how either search goes about it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/compare"
)

func main() {
	b := compare.Usual()
	locks := flag.String("locks", "", "these locks only, separated by commas")
	kinds := flag.String("faults", "", "these faults only, separated by commas; none: without a fault")
	parallel := flag.Int("parallel", 1, "how many cells are searched at a time")
	flag.IntVar(&b.Clients, "clients", b.Clients, "clients")
	flag.IntVar(&b.Rounds, "rounds", b.Rounds, "how often each client acquires, works and releases")
	flag.IntVar(&b.Tries, "tries", b.Tries, "how often a client of the reference search tries in a round")
	flag.IntVar(&b.Faults, "max-faults", b.Faults, "how many faults of the kind strike")
	flag.IntVar(&b.States, "states", b.States, "how many states each search may find")
	flag.DurationVar(&b.Grid, "grid", b.Grid, "how far apart the times are at which something may happen, beside those at which something ends")
	flag.DurationVar(&b.Horizon, "horizon", b.Horizon, "how long the reference search follows time; a lock that sets longer leases than it is asked for needs more")
	flag.BoolVar(&b.ReleaseAgain, "release-again", b.ReleaseAgain, "after a release of unknown outcome a client may release once more")
	flag.IntVar(&b.Reenter, "reenter", b.Reenter, "how often each holder acquires its lock again; of locks that promise re-entrance only")
	flag.IntVar(&b.Lag, "lag", b.Lag, "how many writes a replica lacks at most when it takes over")
	flag.BoolVar(&b.Queue, "queue", b.Queue, "clients wait until they hold the lock: of locks that promise order only, and nothing else is compared")
	flag.DurationVar(&b.Skew, "skew", b.Skew, "by how much a wrong clock is wrong")
	flag.Float64Var(&b.ClockRate, "clock-rate", b.ClockRate, "clocks that are behind run at this rate, and those that are ahead as many times too fast")
	beside := flag.String("beside", "", "faults of these kinds, separated by commas, may strike too, one of each")
	show := flag.String("show", "", "print the reference search's history of this anomaly")
	flag.Parse()
	for _, kind := range compare.Faults() {
		if *beside != "" && picked(*beside, string(kind)) {
			b.Beside = append(b.Beside, kind)
		}
	}
	cells := search(chosen(*locks, *kinds, b), b, *parallel)
	if *show != "" {
		for _, c := range cells {
			history(os.Stdout, c, checker.Named(*show))
		}
	}
	if !page(os.Stdout, cells, b) {
		os.Exit(1)
	}
}

// cell is one to be searched, and what came of it.
type cell struct {
	lock impls.Spec
	kind faults.Kind
	compare.Cell
	err error
}

func chosen(locks, kinds string, b compare.Bounds) (list []*cell) {
	for _, lock := range impls.Explored() {
		if !b.For(lock) {
			continue
		}
		for _, kind := range compare.Kinds(lock) {
			if picked(locks, lock.Name) && picked(kinds, kindText(kind)) {
				list = append(list, &cell{lock: lock, kind: kind})
			}
		}
	}
	return list
}

func picked(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

func kindText(kind faults.Kind) string {
	if kind == "" {
		return "none"
	}
	return string(kind)
}

// mostTries is how often a client tries at most where the searches differ with fewer tries.
const mostTries = 3

func search(cells []*cell, b compare.Bounds, parallel int) []*cell {
	next := make(chan *cell)
	var group sync.WaitGroup
	for range max(parallel, 1) {
		group.Go(func() {
			for c := range next {
				c.Cell, c.err = compare.FindPatiently(context.Background(), c.lock, c.kind, b, mostTries)
				fmt.Fprintf(os.Stderr, "%s %s: %d states\n", c.lock.Name, kindText(c.kind), c.SlowStates)
			}
		})
	}
	for _, c := range cells {
		next <- c
	}
	close(next)
	group.Wait()
	return cells
}

// page prints the comparison, and says whether nothing differs.
func page(w io.Writer, cells []*cell, b compare.Bounds) bool {
	complete, different, questions, failed := 0, 0, 0, 0
	var rows, found strings.Builder
	for _, c := range cells {
		if c.err != nil {
			failed++
			fmt.Fprintf(&found, "- `%s`, %s: not searched: %v\n", c.lock.Name, kindText(c.kind), c.err)
			continue
		}
		questions += len(c.Names)
		how := "all"
		if c.SlowLimit == "" && c.FastLimit == "" {
			complete++
		} else {
			how = "stopped"
		}
		for _, d := range c.Differences() {
			different++
			how = "differs"
			fmt.Fprintf(&found, "- `%s`, %s, %s: reference search %s, explorer %s\n", c.lock.Name, kindText(c.kind), d.Name, fewest(d.Slow), fewest(d.Fast))
		}
		for _, d := range c.Disputed {
			different++
			fmt.Fprintf(&found, "- `%s`, %s, %s: the explorer's own checker disputes it\n", c.lock.Name, kindText(c.kind), d.Anomaly)
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %d | %d | %s |\n", c.lock.Name, kindText(c.kind), anomalies(c.Slow, c.Names), c.Tries, c.SlowStates, how)
	}
	fmt.Fprintf(w, "%d cells, %d × %d, up to %d faults: %d answers compared, %d differ; %d cells searched to the end by both, %d not searched.\n\n",
		len(cells), b.Clients, b.Rounds, b.Faults, questions, different, complete, failed)
	if found.Len() > 0 {
		fmt.Fprintf(w, "Differences:\n\n%s\n", found.String())
	}
	fmt.Fprintf(w, "| lock | fault | fewest faults, by the reference search | tries | states | searched |\n| --- | --- | --- | --- | --- | --- |\n%s", rows.String())
	return different+failed == 0
}

func fewest(n int) string {
	if n < 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// anomalies lists what was found, with the fewest faults.
func anomalies(found map[checker.Name]int, names []checker.Name) string {
	var words []string
	for _, name := range names {
		if n, there := found[name]; there {
			words = append(words, fmt.Sprintf("%d %s", n, name))
		}
	}
	if len(words) == 0 {
		return "–"
	}
	return strings.Join(words, ", ")
}

// history prints the history that shows an anomaly.
func history(w io.Writer, c *cell, name checker.Name) {
	if c.Result == nil {
		return
	}
	for _, e := range c.Result.All[name].Events {
		fmt.Fprintf(w, "%v kind %d %s op %d id %d outcome %d", e.At, e.Kind, e.Client, e.Op, e.ID, e.Outcome)
		if q := e.Command(); q != nil {
			fmt.Fprintf(w, " %s %v: %s %v", q.Server, q.Args, q.Reply, q.Changes)
		}
		if e.Detail != nil && e.Detail.Fault != nil {
			fmt.Fprintf(w, " %s of %s", e.Detail.Fault.Name, e.Detail.Fault.Target)
		}
		fmt.Fprintln(w)
	}
}
