package storm

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// maxPerName is how many anomalies of one name a verdict keeps of those that the lock does not promise to prevent, and how many
// of those that break a promise.
const maxPerName = 8

// shorten keeps the first anomalies of each sort, those that break a promise before the others.
func shorten(all []checker.Anomaly) []checker.Anomaly {
	var kept []checker.Anomaly
	for _, excused := range []bool{false, true} {
		counts := map[checker.Name]int{}
		for _, a := range all {
			if counts[a.Name] < maxPerName && (a.Beyond != "") == excused {
				counts[a.Name]++
				kept = append(kept, a)
			}
		}
	}
	return kept
}

// seen is when anomalies of each sort were seen, in the order in which the sorts were.
func seen(all []checker.Anomaly) []record.Seen {
	var sorts []record.Seen
	for _, a := range all {
		excused := a.Beyond != ""
		i := slices.IndexFunc(sorts, func(s record.Seen) bool { return s.Name == a.Name && s.Beyond == excused })
		if i < 0 {
			i = len(sorts)
			sorts = append(sorts, record.Seen{Name: a.Name, Beyond: excused})
		}
		sorts[i].At = append(sorts[i].At, a.At.Milliseconds())
	}
	for i := range sorts {
		slices.Sort(sorts[i].At)
		sorts[i].At = slices.CompactFunc(sorts[i].At, func(a, b int64) bool { return a/100 == b/100 })
	}
	return sorts
}
