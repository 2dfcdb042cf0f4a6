package report

import (
	"fmt"

	"github.com/locklab/locklab/bench"
)

func marketSections(m *bench.Market) []section {
	s := section{
		Title: "Sellers list items, buyers buy them",
		Lead: fmt.Sprintf("%s for each line; the article's lines are of 60s. Lock: %s, waiting by %s.",
			duration(m.For), clean(m.Lock), clean(m.Wait)),
		Table: figures{
			Head: []string{"guard", "sellers, buyers", "", "listed", "bought", "bought per listed", "retries per purchase", "mean wait"},
			Text: []bool{true, true, true},
		},
	}
	per, wait := plot{Title: "Bought per listed item", Log: true}, plot{Title: "Mean wait for a purchase", Unit: "ms", Log: true}
	for _, crowd := range bench.Crowds() {
		for _, guard := range bench.Guards() {
			cell, found := bench.FindCell(m.Cells, guard, crowd)
			if !found {
				continue
			}
			s.Table.Rows = append(s.Table.Rows, append([]string{string(guard), crowd.String(), "here"}, marketRow(cell)...))
			if article, found := bench.FindCell(m.Article, guard, crowd); found {
				s.Table.Rows = append(s.Table.Rows, append([]string{"", "", "article"}, marketRow(article)...))
			}
			label := fmt.Sprintf("%v %s", crowd, guard)
			per.Bars = append(per.Bars, bar{label, []float64{cell.PerListing()}, decimal(cell.PerListing())})
			wait.Bars = append(wait.Bars, bar{label, []float64{milliseconds(cell.Wait)}, marketWait(cell)})
		}
		s.Notes = append(s.Notes, marketNotes(m, crowd)...)
	}
	s.Plots = []plot{per, wait}
	s.Notes = append(s.Notes, absent(m.Absent)...)
	s.Notes = append(s.Notes,
		"retries: an aborted transaction, or an item that was gone under the lock; mean wait: the time that buyers spent on purchases per item bought")
	return []section{s}
}

func marketRow(c bench.MarketCell) []string {
	below := ""
	if c.Below {
		below = "< "
	}
	perBought := none
	if c.Bought > 0 {
		perBought = decimal(c.PerPurchase())
	}
	return []string{
		thousands(c.Listed), below + thousands(c.Bought), below + decimal(c.PerListing()), perBought, marketWait(c),
	}
}

func marketWait(c bench.MarketCell) string {
	if c.Bought == 0 {
		return none
	}
	return shortTime(c.Wait)
}

// marketNotes compare the guards for one crowd, and say whether they stand as the article says.
func marketNotes(m *bench.Market, crowd bench.Crowd) []string {
	watch, a := bench.FindCell(m.Cells, bench.Watch, crowd)
	one, b := bench.FindCell(m.Cells, bench.OneLock, crowd)
	item, c := bench.FindCell(m.Cells, bench.PerItem, crowd)
	if !a || !b || !c {
		return nil
	}
	notes := []string{fmt.Sprintf("%v: %s", crowd, joined(
		"one lock bought "+times(one.PerListing(), watch.PerListing())+" as much per listing as WATCH"+articleTimes(m, crowd),
		fmt.Sprintf("retries per purchase %s, was %s", decimal(one.PerPurchase()), perPurchase(watch)),
		"a lock per item bought "+times(float64(item.Bought), float64(one.Bought))+" as much as one lock, "+times(float64(item.Bought), float64(watch.Bought))+" as much as WATCH",
	))}
	for _, failed := range []bench.MarketCell{watch, one, item} {
		if failed.Failed > 0 {
			notes = append(notes, fmt.Sprintf("%v, %s: %s given up", crowd, failed.Guard, plural(failed.Failed, "purchase or listing", "purchases and listings")))
		}
	}
	if crowd == (bench.Crowd{Sellers: 1, Buyers: 5}) {
		notes = append(notes, "1/5: not in the article; where buyers abort one another, one of them has bought, so WATCH is less far behind")
	}
	return notes
}

func perPurchase(c bench.MarketCell) string {
	if c.Bought == 0 {
		return fmt.Sprintf("%s without any purchase", thousands(c.Tried))
	}
	return decimal(c.PerPurchase())
}

// times is a ratio in words.
func times(a, b float64) string {
	if b == 0 {
		return "∞ times"
	}
	return decimal(a/b) + " times"
}

// articleTimes is the article's ratio of one lock to WATCH.
func articleTimes(m *bench.Market, crowd bench.Crowd) string {
	watch, a := bench.FindCell(m.Article, bench.Watch, crowd)
	one, b := bench.FindCell(m.Article, bench.OneLock, crowd)
	if !a || !b {
		return ""
	}
	more := ""
	if watch.Below {
		more = "more than "
	}
	return fmt.Sprintf(" (article: %s%s)", more, times(one.PerListing(), watch.PerListing()))
}
