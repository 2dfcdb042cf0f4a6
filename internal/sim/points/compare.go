package points

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/checker"
)

// Differences says where lines are not as reviewed: where they show something else, or know more. Smaller searches may know less.
func Differences(lines, reviewed []Line) []string {
	var out []string
	for _, l := range lines {
		i := slices.IndexFunc(reviewed, func(r Line) bool { return r.Lock == l.Lock })
		if i < 0 {
			out = append(out, fmt.Sprintf("%s is not in the reviewed table", l.Lock))
			continue
		}
		if l.Why != reviewed[i].Why {
			out = append(out, fmt.Sprintf("%s cannot be explored: %q; the reviewed table has %q", l.Lock, l.Why, reviewed[i].Why))
		}
		got, want, agrees := l.entries(Columns()), reviewed[i].entries(Columns()), l.agreements(reviewed[i])
		for k := range got {
			if got[k].Text != want[k].Text && !agrees[k] {
				out = append(out, fmt.Sprintf("%s, %s: %s; the reviewed table has %s", l.Lock, got[k].Head, got[k].Text, want[k].Text))
			}
		}
	}
	return out
}

// agreements says of each entry of a line whether it is of a search that came less far than the reviewed one.
func (l Line) agreements(reviewed Line) []bool {
	needNone := func(names []checker.Name) bool { // as reviewed; a search without a fault that is not complete does not know
		return l.Unsure && !slices.ContainsFunc(names, func(n checker.Name) bool { return !slices.Contains(reviewed.None, n) })
	}
	less := []bool{needNone(l.None)}
	for _, column := range Columns() {
		got, want := l.Cells[column], reviewed.Cells[column]
		first := got.Any.agrees(want.Any) || got.Any.Faults > 0 && needNone(got.Any.Anomalies)
		less = append(less, first && (got.Any.Faults == 0 && got.Double.Faults == 0 || got.Double.agrees(want.Double)))
	}
	want := reviewed.MixtureBound
	if len(reviewed.Mixture) > 0 {
		want = Break{Faults: len(reviewed.Mixture)}
	}
	return append(less, len(l.Mixture) == 0 && l.MixtureBound.agrees(want))
}

// agrees says whether a break is as reviewed, or knows less: of fewer faults, or of fewer clients and rounds.
func (b Break) agrees(reviewed Break) bool {
	switch {
	case b.String() == reviewed.String():
		return true
	case b.Faults > 0:
		return false
	case reviewed.Faults > 0:
		return b.Clear < reviewed.Faults || b.breadth() == 0 || b.breadth() == 1 && reviewed.Twice
	case b.breadth() != reviewed.breadth():
		return b.breadth() < reviewed.breadth() || b.open()
	}
	return b.Clear < reviewed.Clear || b.Clear == reviewed.Clear && b.Steps < reviewed.Steps
}

// breadth is how much of the bounds was searched in vain: 0 two clients once, 1 three clients once, 2 all.
func (b Break) breadth() int {
	return map[string]int{"2x1": 0, "3x1": 1, "": 2}[b.Within]
}
