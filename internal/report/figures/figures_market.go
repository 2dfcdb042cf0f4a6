package figures

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/report/format"
)

func marketSections(m *bench.Market) []section {
	s := section{
		Title: "Sellers list items, buyers buy them",
		Lead: fmt.Sprintf("%s, %s each for each line; the article's lines are of 60s. A crowd of 5/1 is five sellers and one buyer. Lock: %s, waiting by %s.",
			format.Plural(m.Rounds, "round", "rounds"), format.Duration(m.For), format.Clean(m.Lock), format.Clean(m.Wait)),
		Table: figures{
			Head: []string{"guard", "crowd", "", "listed", "bought", "bought per listed", "retries per purchase", "mean wait"},
			Text: []bool{true, true, true},
		},
	}
	per, wait := plot{Title: "Bought per listed item", Log: true}, plot{Title: "Mean wait for a purchase", Unit: "ms", Log: true}
	for _, crowd := range bench.Crowds() {
		for _, guard := range bench.Guards() {
			cells := bench.CellsOf(m.Cells, guard, crowd)
			if len(cells) == 0 {
				continue
			}
			s.Table.Rows = append(s.Table.Rows, append([]string{string(guard), crowd.String(), "here"}, marketRow(cells)...))
			if spread := rangeOf(bench.Figures(cells, bench.MarketCell.PerListing)); spread != "" {
				s.Table.Rows = append(s.Table.Rows, []string{"", "", "rounds", "", "", spread, "", ""})
			}
			if article := bench.CellsOf(m.Article, guard, crowd); len(article) > 0 {
				s.Table.Rows = append(s.Table.Rows, append([]string{"", "", "article"}, marketRow(article)...))
			}
			label := fmt.Sprintf("%v %s", crowd, guard)
			bought := bench.Median(bench.Figures(cells, bench.MarketCell.PerListing))
			per.Bars = append(per.Bars, bar{label, []float64{bought}, decimal(bought)})
			wait.Bars = append(wait.Bars, bar{label, []float64{format.Milliseconds(medianWait(cells))}, marketWait(cells)})
		}
		s.Notes = append(s.Notes, marketNotes(m, crowd)...)
	}
	s.Plots = []plot{per, wait}
	s.Notes = append(s.Notes, absent(m.Absent)...)
	s.Notes = append(s.Notes,
		"figures are medians of the rounds, with the least and the most of them below or in brackets; a ratio is of one round",
		"retries: an aborted transaction, or an item that was gone under the lock; mean wait: the time that buyers spent on purchases per item bought")
	return []section{s}
}

// marketRow has the medians of the rounds.
func marketRow(cells []bench.MarketCell) []string {
	below := ""
	if cells[0].Below {
		below = "< "
	}
	retries := none
	if bought := boughtIn(cells); len(bought) > 0 {
		retries = medianOf(bought, bench.MarketCell.PerPurchase)
	}
	return []string{
		middle(cells, func(c bench.MarketCell) int { return c.Listed }),
		below + middle(cells, func(c bench.MarketCell) int { return c.Bought }),
		below + medianOf(cells, bench.MarketCell.PerListing), retries, marketWait(cells),
	}
}

// middle is the median of a count.
func middle(cells []bench.MarketCell, of func(bench.MarketCell) int) string {
	return thousands(int(math.Round(bench.Median(bench.Figures(cells, func(c bench.MarketCell) float64 { return float64(of(c)) })))))
}

func medianOf(cells []bench.MarketCell, of func(bench.MarketCell) float64) string {
	return decimal(bench.Median(bench.Figures(cells, of)))
}

// rangeOf is the least and the most value; "" if they are printed alike.
func rangeOf(values []float64) string {
	least, most := decimal(slices.Min(values)), decimal(slices.Max(values))
	if least == most {
		return ""
	}
	return least + "-" + most
}

// boughtIn are the rounds in which something was bought.
func boughtIn(cells []bench.MarketCell) []bench.MarketCell {
	return slices.DeleteFunc(slices.Clone(cells), func(c bench.MarketCell) bool { return c.Bought == 0 })
}

func medianWait(cells []bench.MarketCell) time.Duration {
	return time.Duration(bench.Median(bench.Figures(boughtIn(cells), func(c bench.MarketCell) float64 { return float64(c.Wait) })))
}

func marketWait(cells []bench.MarketCell) string {
	if len(boughtIn(cells)) == 0 {
		return none
	}
	return shortTime(medianWait(cells))
}

// marketNotes compare the guards for one crowd, and say whether they stand as the article says.
func marketNotes(m *bench.Market, crowd bench.Crowd) []string {
	watch := bench.CellsOf(m.Cells, bench.Watch, crowd)
	one := bench.CellsOf(m.Cells, bench.OneLock, crowd)
	item := bench.CellsOf(m.Cells, bench.PerItem, crowd)
	if len(watch) == 0 || len(one) == 0 || len(item) == 0 {
		return nil
	}
	bought := func(c bench.MarketCell) float64 { return float64(c.Bought) }
	notes := []string{fmt.Sprintf("%v: %s", crowd, joined(
		"one lock bought "+timesByRound(one, watch, bench.MarketCell.PerListing)+" as much per listing as WATCH"+articleTimes(m, crowd),
		fmt.Sprintf("retries per purchase %s, was %s", perPurchase(one), perPurchase(watch)),
		"a lock per item bought "+timesByRound(item, one, bought)+" as much as one lock, "+timesByRound(item, watch, bought)+" as much as WATCH",
	))}
	for _, cells := range [][]bench.MarketCell{watch, one, item} {
		failed := 0
		for _, c := range cells {
			failed += c.Failed
		}
		if failed > 0 {
			notes = append(notes, fmt.Sprintf("%v, %s: %s given up", crowd, cells[0].Guard, format.Plural(failed, "purchase or listing", "purchases and listings")))
		}
	}
	if crowd == (bench.Crowd{Sellers: 1, Buyers: 5}) {
		notes = append(notes, "1/5: not in the article; where buyers abort one another, one of them has bought, so WATCH is less far behind")
	}
	return notes
}

func perPurchase(cells []bench.MarketCell) string {
	bought := boughtIn(cells)
	if len(bought) == 0 {
		return fmt.Sprintf("%s without any purchase", middle(cells, func(c bench.MarketCell) int { return c.Tried }))
	}
	return medianOf(bought, bench.MarketCell.PerPurchase)
}

// timesByRound is the ratio of two guards, round by round, in words.
func timesByRound(a, b []bench.MarketCell, of func(bench.MarketCell) float64) string {
	ratios := bench.Ratios(a, b, of)
	if len(ratios) == 0 {
		return "0 times"
	}
	words := decimal(bench.Median(ratios)) + " times"
	if spread := rangeOf(ratios); spread != "" {
		words += " (" + spread + ")"
	}
	return words
}

// articleTimes is the article's ratio of one lock to WATCH.
func articleTimes(m *bench.Market, crowd bench.Crowd) string {
	watch, one := bench.CellsOf(m.Article, bench.Watch, crowd), bench.CellsOf(m.Article, bench.OneLock, crowd)
	if len(watch) == 0 || len(one) == 0 {
		return ""
	}
	more := ""
	if watch[0].Below {
		more = "more than "
	}
	return fmt.Sprintf(" (article: %s%s)", more, timesByRound(one, watch, bench.MarketCell.PerListing))
}
