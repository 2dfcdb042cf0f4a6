package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
)

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
	text := fmt.Sprintf("%d of %s caught it", s.caught, format.Plural(s.storms, "storm", "storms"))
	if s.undecided > s.interrupted {
		text += fmt.Sprintf(", %d undecided", s.undecided-s.interrupted)
	}
	if s.interrupted > 0 {
		text += fmt.Sprintf(", %d interrupted", s.interrupted)
	}
	if s.caught == 0 {
		return text + fmt.Sprintf(", in %s", format.Plural(s.operations, "operation", "operations"))
	}
	words := make([]string, len(s.names))
	for i, name := range s.names {
		words[i] = string(name)
	}
	return fmt.Sprintf("%s, the median after %s: %s", text, format.Duration(s.soonest[len(s.soonest)/2]), strings.Join(words, ", "))
}

// storms says how soon the storms of a run caught each lock.
func (t *Screen) storms(b *strings.Builder, cells []record.Cell) {
	all := storms(cells)
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n", t.paint.Bold("Storms"))
	width := 0
	for _, s := range all {
		width = max(width, len(s.lock))
	}
	for _, s := range all {
		t.beside(b, "  "+format.Pad(format.Clean(s.lock), width)+"  ", width+4, 4, format.Clean(s.String()))
		b.WriteString("\n")
	}
	b.WriteString("\n")
}
