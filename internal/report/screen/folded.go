package screen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
)

// fold is the matrix without the locks and the scenarios that are n/a throughout, as was expected, and what it left out.
func fold(m outcome.Matrix) (outcome.Matrix, folded) {
	f := folded{of: m}
	shown := m
	shown.Locks = slices.DeleteFunc(slices.Clone(m.Locks), func(lock string) bool {
		return f.takes(&f.locks, lock, func(c record.Cell) bool { return c.Lock == lock })
	})
	shown.Scenarios = slices.DeleteFunc(slices.Clone(m.Scenarios), func(scenario string) bool {
		return f.takes(&f.scenarios, scenario, func(c record.Cell) bool { return c.Scenario == scenario })
	})
	return shown, f
}

// folded is what a table does not show: the rows and columns of a matrix that have nothing but n/a.
type folded struct {
	of               outcome.Matrix
	locks, scenarios []string
}

// takes leaves a name out if all of its cells are n/a.
func (f *folded) takes(names *[]string, name string, has func(record.Cell) bool) bool {
	absent := !slices.ContainsFunc(f.of.All(), func(g outcome.Group) bool { return has(g[0]) && outcome.StatusOf(g.Worst()) != outcome.Skipped })
	if absent {
		*names = append(*names, name)
	}
	return absent
}

// count says how much is n/a; empty: nothing is.
func (f *folded) count() string {
	var what []string
	if n := len(f.locks); n > 0 {
		what = append(what, fmt.Sprintf("%d of %s", n, format.Plural(len(f.of.Locks), "lock", "locks")))
	}
	if n := len(f.scenarios); n > 0 {
		what = append(what, fmt.Sprintf("%d of %s", n, format.Plural(len(f.of.Scenarios), "scenario", "scenarios")))
	}
	if len(what) == 0 {
		return ""
	}
	return "  n/a     " + strings.Join(what, " and ")
}

// line is count with the reasons, as many as have room before the tail in width columns.
func (f *folded) line(width int, tail string) string {
	line := f.count()
	if line == "" {
		return ""
	}
	counts := map[string]int{}
	for _, g := range f.of.All() {
		if c := g.Worst(); slices.Contains(f.locks, c.Lock) || slices.Contains(f.scenarios, c.Scenario) {
			counts[c.Verdict.Reason]++
		}
	}
	var texts []string
	for _, reason := range byFrequency(counts) {
		texts = append(texts, fmt.Sprintf("%s (%d)", format.Clean(reason), counts[reason]))
	}
	for shown := len(texts); shown > 0; shown-- {
		whole := line + ": " + strings.Join(texts[:shown], ", ")
		if shown < len(texts) {
			whole += ", …"
		}
		if whole += tail; utf8.RuneCountInString(whole) <= width {
			return whole
		}
	}
	return format.Clip(line+": "+texts[0], width-utf8.RuneCountInString(tail)) + tail
}

// byFrequency are the reasons, the most frequent first.
func byFrequency(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(one, other string) int {
		return cmp.Or(cmp.Compare(counts[other], counts[one]), strings.Compare(one, other))
	})
}
