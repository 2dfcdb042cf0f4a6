package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// reason is why a cell has an anomaly: with the promise that it breaks, or with what excuses the lock.
func reason(a checker.Anomaly) string {
	switch {
	case a.Breaks != "":
		return fmt.Sprintf("breaks %s: %s", a.Breaks, a.Why)
	case a.Beyond != "":
		return fmt.Sprintf("%s Beyond its promises: %s.", a.Why, a.Beyond)
	}
	return a.Why
}

// brokenPromises are the promises that a verdict's anomalies break, in their order: "; breaks exclusion, fair", or "".
func brokenPromises(v checker.Verdict) string {
	var words []string
	for _, a := range v.Anomalies {
		if a.Breaks != "" && !slices.Contains(words, a.Breaks) {
			words = append(words, a.Breaks)
		}
	}
	return after("; breaks ", strings.Join(words, ", "))
}

// stormWords says in one line how the storm of a cell went.
func stormWords(c record.Cell) string {
	s := c.Storm
	text := fmt.Sprintf("seed %d: %s, %d of %s struck", s.Seed, plural(s.Operations, "operation", "operations"),
		s.Faults, plural(s.Planned, "fault", "faults"))
	switch {
	case s.First == nil && c.Interrupted:
		return text + " before it was interrupted"
	case s.First == nil:
		return text + "; no promise was broken"
	}
	return fmt.Sprintf("%s; caught by %s after %s, at operation %d", text, clean(string(s.First.Name)), duration(s.First.After), s.First.Operation)
}

// stormed is a lock and how its storms went.
type stormed struct {
	lock           string
	storms, caught int
	undecided      int
	interrupted    int             // of the undecided
	soonest        []time.Duration // sorted
	names          []checker.Name  // that caught it
	operations     int
}

// storms sums up the storms of a run, by lock.
func storms(cells []record.Cell) []stormed {
	var all []stormed
	for _, c := range cells {
		if c.Storm == nil {
			continue
		}
		i := slices.IndexFunc(all, func(s stormed) bool { return s.lock == c.Lock })
		if i < 0 {
			i = len(all)
			all = append(all, stormed{lock: c.Lock})
		}
		all[i].add(c)
	}
	for i := range all {
		slices.Sort(all[i].soonest)
	}
	return all
}

func (s *stormed) add(c record.Cell) {
	s.storms++
	s.operations += c.Storm.Operations
	if c.Verdict.Kind == checker.Undecided {
		s.undecided++
		if c.Interrupted {
			s.interrupted++
		}
	}
	if first := c.Storm.First; first != nil {
		s.caught++
		s.soonest = append(s.soonest, first.After)
		if !slices.Contains(s.names, first.Name) {
			s.names = append(s.names, first.Name)
		}
	}
}

// String is the sum in one line, without the lock.
func (s stormed) String() string {
	text := fmt.Sprintf("%d of %s caught it", s.caught, plural(s.storms, "storm", "storms"))
	if s.undecided > s.interrupted {
		text += fmt.Sprintf(", %d undecided", s.undecided-s.interrupted)
	}
	if s.interrupted > 0 {
		text += fmt.Sprintf(", %d interrupted", s.interrupted)
	}
	if s.caught == 0 {
		return text + fmt.Sprintf(", in %s", plural(s.operations, "operation", "operations"))
	}
	words := make([]string, len(s.names))
	for i, name := range s.names {
		words[i] = string(name)
	}
	return fmt.Sprintf("%s, the median after %s: %s", text, duration(s.soonest[len(s.soonest)/2]), strings.Join(words, ", "))
}

// storms says how soon the storms of a run caught each lock.
func (t *Terminal) storms(b *strings.Builder, cells []record.Cell) {
	all := storms(cells)
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n", t.paint.bold("Storms"))
	width := 0
	for _, s := range all {
		width = max(width, len(s.lock))
	}
	for _, s := range all {
		t.beside(b, "  "+pad(clean(s.lock), width)+"  ", width+4, 4, clean(s.String()))
		b.WriteString("\n")
	}
	b.WriteString("\n")
}
