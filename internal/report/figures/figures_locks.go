package figures

import (
	"fmt"
	"strconv"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/report/format"
)

func locksSections(l *bench.Locks) []section {
	wait := "as each lock does"
	if l.Wait != "" {
		wait = "by " + format.Clean(l.Wait)
	}
	s := section{
		Title: "Acquire and release, alone and contended",
		Lead: fmt.Sprintf("%s of %s each, medians of the rounds. Alone: one client, times of acquire and release. Together: %d clients wait %s, times of acquire.",
			format.Plural(l.Rounds, "round", "rounds"), format.Duration(l.For), l.Clients, wait),
		Table: figures{
			Head: []string{"lock", "servers", "alone/s", "of plain", "p50", "p99", "commands", "together/s", "p50", "p99", "commands"},
			Text: []bool{true},
		},
	}
	rates := plot{Title: "Acquisitions per second, alone", Log: true}
	contended := plot{Title: "Wait of one of several clients", Unit: "ms", Parts: percentiles(), Log: true}
	checks := section{
		Title: "The cost of a check",
		Lead:  "Article 000: a check took a few milliseconds, where the whole hold took under ten. Here: asking whether the lock is still held, by one client.",
		Table: figures{Head: []string{"lock", "check p50", "check p99", "acquire and release p50", "check of it"}, Text: []bool{true}},
	}
	rows := l.Rows
	if l.Plain.Alone != nil {
		rows = append([]bench.LockRow{l.Plain}, rows...)
	}
	for _, r := range rows {
		s.Table.Rows = append(s.Table.Rows, append([]string{format.Clean(r.Lock), strconv.Itoa(r.Servers)}, append(aloneColumns(r), togetherColumns(r)...)...))
		if r.Alone != nil {
			rates.Bars = append(rates.Bars, bar{format.Clean(r.Lock), []float64{r.Alone.PerSecond}, thousands(int64(r.Alone.PerSecond))})
		}
		if r.Together != nil {
			contended.Bars = append(contended.Bars, spreadBar(format.Clean(r.Lock), r.Together.Time))
		}
		if r.Why != "" && r.Lock != l.Plain.Lock {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: not measured together: %s", format.Clean(r.Lock), format.Clean(r.Why)))
		}
		s.Notes = append(s.Notes, failures(r)...)
		if r.Check != nil {
			checks.Table.Rows = append(checks.Table.Rows, []string{
				format.Clean(r.Lock), shortTime(r.Check.P50), shortTime(r.Check.P99), shortTime(r.Hold()), percent(bench.Ratio(float64(r.Check.P50), float64(r.Hold()))),
			})
		}
	}
	s.Plots = []plot{rates, contended}
	s.Notes = append(s.Notes, "of plain: the share of the rate of plain SET and DEL in the same round", "commands: sent per acquisition, refused tries too")
	s.Notes = append(s.Notes, absent(l.Absent)...)
	all := []section{s}
	if len(checks.Table.Rows) > 0 {
		all = append(all, checks)
	}
	return all
}

func failures(r bench.LockRow) []string {
	var notes []string
	for _, load := range []struct {
		name string
		rate *bench.LockRate
	}{{"alone", r.Alone}, {"together", r.Together}} {
		if load.rate != nil && load.rate.Failed > 0 {
			notes = append(notes, fmt.Sprintf("%s, %s: %s", format.Clean(r.Lock), load.name, format.Plural(load.rate.Failed, "acquire or release failed", "acquires and releases failed")))
		}
	}
	return notes
}

func aloneColumns(row bench.LockRow) []string {
	r := row.Alone
	if r == nil {
		return []string{none, none, none, none, none}
	}
	return []string{thousands(int64(r.PerSecond)), decimal(r.Share), shortTime(r.Time.P50), shortTime(r.Time.P99), commands(row, r)}
}

func togetherColumns(row bench.LockRow) []string {
	r := row.Together
	if r == nil {
		return []string{none, none, none, none}
	}
	return []string{thousands(int64(r.PerSecond)), shortTime(r.Time.P50), shortTime(r.Time.P99), commands(row, r)}
}

func commands(row bench.LockRow, r *bench.LockRate) string {
	if row.Uncounted {
		return none
	}
	return decimal(r.Commands)
}
