package points

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/search"
)

//go:embed breaking.txt
var reviewedText string

// Reviewed are the breaking points as people have read them and found them right.
func Reviewed() ([]Line, error) { return parseLines(reviewedText) }

const reviewedHead = `# What breaks each lock, as the explorer finds it: lock, fault, the fewest faults of that kind alone and what they lead to first.
# '-' not within the bounds (up to 2 faults; 3 clients once and 2 clients twice, or 2 clients of 3 servers once); '>1' one is not
# enough, but the search for two is not complete; '? 1 to step 25' nothing is found with fewer than one, nor with one in 25 steps, and
# what comes later is not known; '- in 3x1' is about three clients once only, '>1 in 2x1' about two; '1 double-holder in 2x2' it takes
# two rounds. After a ';' is when two clients hold the lock at the same time, if that is not what comes first.
# slow-clock, fast-clock: a client's clocks run at 0.3 of the right rate, or as many times too fast, and a pause or a long hold strikes.
# release-again: replies are lost, or requests late, and a client releases again. What the same faults do alone is left out there.
# A fault that is not there is none of the lock's service.
# 'lab explore --all --update' rewrites this file; read what has changed before you commit it.
`

// Merge puts lines in place of the reviewed ones of the same locks, in the order of the locks of the lab.
func Merge(lines, reviewed []Line) []Line {
	var merged []Line
	for _, spec := range impls.Explored() {
		both := slices.Concat(lines, reviewed)
		if i := slices.IndexFunc(both, func(l Line) bool { return l.Lock == spec.Name }); i >= 0 {
			merged = append(merged, both[i])
		}
	}
	return merged
}

// WriteLines writes the breaking points as a file for review.
func WriteLines(w io.Writer, lines []Line) error {
	var b strings.Builder
	b.WriteString(reviewedHead)
	for _, l := range lines {
		b.WriteString("\n")
		say := func(what, text string) { fmt.Fprintf(&b, "%-24s %-13s %s\n", l.Lock, what, text) }
		if l.Why != "" {
			say("n/a", l.Why)
			continue
		}
		for _, e := range l.Entries() {
			say(e.Head, e.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func parseLines(text string) ([]Line, error) {
	var lines []Line
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("breaking.txt:%d: a line is a lock, a fault and what it comes to", i+1)
		}
		if n := len(lines); n == 0 || lines[n-1].Lock != fields[0] {
			lines = append(lines, Line{Lock: fields[0], Cells: map[Column]Cell{}})
		}
		if err := lines[len(lines)-1].read(fields[1], strings.Join(fields[2:], " ")); err != nil {
			return nil, fmt.Errorf("breaking.txt:%d: %w", i+1, err)
		}
	}
	return lines, nil
}

func (l *Line) read(what, text string) error {
	switch what {
	case "n/a":
		l.Why = text
		return nil
	case "none":
		for name := range strings.SplitSeq(text, ",") {
			switch name {
			case "-":
			case "?":
				l.Unsure = true
			default:
				anomaly, err := parseAnomaly(name)
				if err != nil {
					return err
				}
				l.None = append(l.None, anomaly)
			}
		}
		return nil
	case "mixture":
		return l.readMixture(text)
	}
	column, err := parseColumn(what)
	if err != nil {
		return err
	}
	first, double, both := strings.Cut(text, "; ")
	var cell Cell
	if cell.Any, err = parseBreak(first); err != nil {
		return err
	}
	cell.Double = cell.Any
	if both {
		cell.Double, err = parseBreak(double)
	}
	l.Cells[column] = cell
	return err
}

func (l *Line) readMixture(text string) (err error) {
	if !strings.Contains(text, " + ") {
		l.MixtureBound, err = parseBreak(text)
		return err
	}
	for name := range strings.SplitSeq(text, " + ") {
		kind, err := parseKind(name)
		if err != nil {
			return err
		}
		l.Mixture = append(l.Mixture, kind)
	}
	return nil
}

func parseColumn(name string) (Column, error) {
	if v, ok := variantOf(Column(name)); ok {
		return v.column, nil
	}
	kind, err := parseKind(name)
	return Column(kind), err
}

func parseKind(name string) (faults.Kind, error) {
	f, known := faults.Find(name)
	if !known {
		return "", fmt.Errorf("%q is no fault", name)
	}
	return f.Kind, nil
}

func parseBreak(text string) (Break, error) {
	if b, err := parseSearch(text); err == nil {
		return b, nil
	}
	text, twice := strings.CutSuffix(text, " in 2x2")
	var b Break
	var names string
	if _, err := fmt.Sscanf(text, "%d %s", &b.Faults, &names); err != nil {
		return b, fmt.Errorf("%q is no breaking point", text)
	}
	b.Twice, b.Clear = twice, b.Faults-1
	for name := range strings.SplitSeq(names, ",") {
		anomaly, err := parseAnomaly(name)
		if err != nil {
			return b, err
		}
		b.Anomalies = append(b.Anomalies, anomaly)
	}
	return b, nil
}

func parseAnomaly(name string) (checker.Name, error) {
	anomaly := checker.Named(name)
	if !slices.Contains(search.Anomalies(), anomaly) {
		return "", fmt.Errorf("%q is no anomaly that the explorer looks for", name)
	}
	return anomaly, nil
}

// parseSearch reads what a search has come to that has found nothing.
func parseSearch(text string) (b Break, err error) {
	searched, within, _ := strings.Cut(text, " in ")
	switch b.Within = within; searched {
	case "-":
		b.Clear = MostAlone
	case ">1":
		b.Clear = 1
	case "?":
		b.Clear = -1
	default:
		_, err = fmt.Sscanf(searched, "? %d to step %d", &b.Clear, &b.Steps)
		b.Clear--
	}
	return b, err
}
