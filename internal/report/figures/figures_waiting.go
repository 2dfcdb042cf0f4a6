package figures

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/report/format"
)

func waitingSections(w *bench.Waiting) []section {
	var all []section
	for _, stock := range bench.Stocks() {
		if cells := ofStock(w.Sale, stock); len(cells) > 0 {
			all = append(all, saleSection(w, stock, cells))
		}
	}
	if len(w.Sale) > 0 {
		all = append(all, conclusions(w))
	}
	var holds []bench.WaitingCell
	for _, cell := range w.Held {
		if len(holds) > 0 && holds[0].Hold != cell.Hold {
			all = append(all, heldSection(w, holds))
			holds = nil
		}
		holds = append(holds, cell)
	}
	if len(holds) > 0 {
		all = append(all, heldSection(w, holds))
	}
	if len(all) > 0 {
		last := &all[len(all)-1]
		last.Notes = append(last.Notes, absent(w.Absent)...)
		last.Notes = append(last.Notes, "fair: Jain's index of all times in the column before: 1 if all are the same, 1/n if one of n takes all the time",
			"commands: sent for the lock, per acquisition, refused tries too; a script is one, SUBSCRIBE is one")
	}
	return all
}

func ofStock(cells []bench.WaitingCell, stock bench.Stock) []bench.WaitingCell {
	return slices.DeleteFunc(slices.Clone(cells), func(c bench.WaitingCell) bool { return c.Stock != stock })
}

func saleSection(w *bench.Waiting, stock bench.Stock, cells []bench.WaitingCell) section {
	s := section{
		Title: "Flash sale (W2), stock in " + map[bench.Stock]string{bench.InMemory: "the memory of the process", bench.InStore: "the store"}[stock],
		Lead: fmt.Sprintf("%s requests, %s at a time; a request that has no lock within %s has failed. Times are of whole requests.",
			thousands(w.Requests), thousands(w.AtOnce), format.Duration(w.Within)),
		Table: waitingTable(cells, "failed", func(c bench.WaitingCell) string { return thousands(c.Failed) }),
	}
	s.Plots = waitingPlots(cells, "Time of a request")
	for _, c := range cells {
		if c.Sold != c.Granted {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: %s had the lock, but %s were sold", wayName(c), thousands(c.Granted), thousands(c.Sold)))
		}
	}
	return s
}

func wayName(c bench.WaitingCell) string { return format.Clean(c.Way) + " " + format.Clean(c.Lock) }

// waitingTable has a line for each way, with one column of its own.
func waitingTable(cells []bench.WaitingCell, own string, value func(bench.WaitingCell) string) figures {
	t := figures{
		Head: []string{"way to wait", "lock", own, "mean", "p50", "p90", "p99", "fair", "commands"},
		Text: []bool{true, true},
	}
	for _, c := range cells {
		t.Rows = append(t.Rows, []string{
			format.Clean(c.Way), format.Clean(c.Lock), value(c), shortTime(c.Time.Mean), shortTime(c.Time.P50), shortTime(c.Time.P90), shortTime(c.Time.P99),
			fmt.Sprintf("%.2f", c.Fairness), decimal(c.PerGrant()),
		})
	}
	return t
}

func waitingPlots(cells []bench.WaitingCell, title string) []plot {
	times := plot{Title: title, Unit: "ms", Parts: percentiles(), Log: true}
	commands := plot{Title: "Commands per acquisition", Log: true}
	for _, c := range cells {
		times.Bars = append(times.Bars, spreadBar(wayName(c), c.Time))
		commands.Bars = append(commands.Bars, bar{wayName(c), []float64{c.PerGrant()}, decimal(c.PerGrant())})
	}
	return []plot{times, commands}
}

// conclusions has what article 000 says of each way, beside what came out.
func conclusions(w *bench.Waiting) section {
	s := section{
		Title: "The article's conclusions",
		Lead:  "Its figures were pictures, and are lost.",
		Table: figures{Head: []string{"way to wait", "article 000", "here"}, Text: []bool{true, true, true}},
	}
	cells := ofStock(w.Sale, bench.InMemory)
	base := slices.IndexFunc(cells, func(c bench.WaitingCell) bool { return c.Way == "sleep:200ms" })
	for _, strategy := range bench.Strategies() {
		at := slices.IndexFunc(cells, func(c bench.WaitingCell) bool { return c.Way == strategy.Way && c.Lock == strategy.Lock })
		if strategy.Said == "" || at < 0 {
			continue
		}
		c := cells[at]
		here := joined(
			fmt.Sprintf("%s of %s failed", thousands(c.Failed), thousands(w.Requests)),
			fmt.Sprintf("mean %s, p90 %s, p99 %s", shortTime(c.Time.Mean), shortTime(c.Time.P90), shortTime(c.Time.P99)),
		)
		if base >= 0 && base != at {
			b := cells[base]
			here = joined(here, fmt.Sprintf("%s the time and %s the commands of sleep:200ms",
				times(float64(c.Time.Mean), float64(b.Time.Mean)), times(c.PerGrant(), b.PerGrant())))
		}
		s.Table.Rows = append(s.Table.Rows, []string{format.Clean(c.Way), strategy.Said, here})
	}
	return s
}

// leastCommands is what an acquisition costs without any wait: one command to acquire and one to release.
const leastCommands = 2

func heldSection(w *bench.Waiting, cells []bench.WaitingCell) section {
	s := section{
		Title: fmt.Sprintf("The lock is held for %s, by %d clients in turn", format.Duration(cells[0].Hold), w.Waiters),
		Lead:  fmt.Sprintf("%s each. Times are of waits, until the lock is granted.", format.Duration(w.For)),
		Table: waitingTable(cells, "acquired", func(c bench.WaitingCell) string { return thousands(c.Granted) }),
		Plots: waitingPlots(cells, "Wait for the lock"),
	}
	poll := cells[0]
	if poll.Way != bench.Poll {
		return s
	}
	for _, c := range cells[1:] {
		if c.Way == poll.Way {
			continue
		}
		s.Notes = append(s.Notes, fmt.Sprintf("%s: %s the commands of %s, %s its p99", wayName(c),
			times(c.PerGrant(), poll.PerGrant()), wayName(poll), times(float64(c.Time.P99), float64(poll.Time.P99))))
	}
	for _, c := range cells {
		if c.Failed > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: %s", wayName(c), format.Plural(c.Failed, "acquire or release failed", "acquires and releases failed")))
		}
	}
	if poll.PerGrant() < 10*leastCommands {
		s.Notes = append(s.Notes, fmt.Sprintf("no way to wait can need a tenth of the poll's %s commands: an acquire and its release are %d",
			decimal(poll.PerGrant()), leastCommands))
	}
	return s
}

// times is a ratio in words.
func times(a, b float64) string {
	if b == 0 {
		return "∞ times"
	}
	return decimal(a/b) + " times"
}
