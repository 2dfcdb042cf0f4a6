package explore

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
)

//go:embed breaking.txt
var reviewedText string

// Reviewed are the breaking points as people have read them and found them right.
func Reviewed() ([]Line, error) { return parseLines(reviewedText) }

const reviewedHead = `# What breaks each lock, as the explorer finds it: lock, fault, the fewest faults of that kind alone and what they lead to first.
# '-' not within the bounds (up to 2 faults; 3 clients once and 2 clients twice, or 2 clients of 3 servers once); '>1' one is not
# enough, and the search for two is not complete; '? 1 to step 25' nothing is found with fewer than one, nor with one in 25 steps,
# and what comes later is not known; '- in 3x1' is about three clients once only, '>1 in 2x1' about two; '1 double-holder in 2x2'
# it takes two rounds. After a ';' is when two clients hold the lock at the same time, if that is not what comes first.
# 'lab explore --all --update' rewrites this file; read what has changed before you commit it.
`

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
		say("none", l.noneText())
		for _, f := range Faults() {
			say(f.String(), l.Cells[f].String())
		}
		say("mixture", l.mixtureText())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (l Line) noneText() string {
	var names []string
	for _, name := range l.None {
		names = append(names, string(name))
	}
	if l.Unsure {
		names = append(names, "?")
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ",")
}

func (l Line) mixtureText() string {
	switch {
	case len(l.Mixture) > 0:
		return strings.Join(l.Mixture, " + ")
	case l.Blend.Clear < MostAlone:
		return l.Blend.asFarAs()
	}
	return l.Blend.String()
}

// String is the cell as the reviewed table has it.
func (c Cell) String() string {
	if c.Any.Faults == 0 || slices.Contains(c.Any.Anomalies, checker.DoubleHolder) {
		return c.Any.String()
	}
	return c.Any.String() + "; " + c.Double.String()
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
			lines = append(lines, Line{Lock: fields[0]})
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
				l.None = append(l.None, checker.Name(name))
			}
		}
		return nil
	case "mixture":
		if strings.Contains(text, " + ") {
			l.Mixture = strings.Split(text, " + ")
			return nil
		}
		var err error
		l.Blend, err = parseBreak(text)
		return err
	}
	f, ok := FaultByName(what)
	if !ok {
		return fmt.Errorf("%q is no fault", what)
	}
	first, double, both := strings.Cut(text, "; ")
	cell := &l.Cells[f]
	var err error
	if cell.Any, err = parseBreak(first); err != nil {
		return err
	}
	cell.Double = cell.Any
	if both {
		cell.Double, err = parseBreak(double)
	}
	return err
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
		b.Anomalies = append(b.Anomalies, checker.Name(name))
	}
	return b, nil
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

const (
	// ReviewedStates is how many states each search for the reviewed table may find; UsualStates is enough to find most of it again.
	ReviewedStates = 4_000_000
	UsualStates    = 200_000
	// LongestStates is how many states suffice to find whatever the reviewed table has.
	LongestStates = max(longer, wider) * ReviewedStates
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
		got, want := l.texts(), reviewed[i].texts()
		for k := range got {
			if !l.agrees(k, reviewed[i]) {
				out = append(out, fmt.Sprintf("%s, %s: %s; the reviewed table has %s", l.Lock, headOf(k), got[k], want[k]))
			}
		}
	}
	return out
}

// agrees says whether an entry of a line is as reviewed, or is of a search that came less far.
func (l Line) agrees(k int, reviewed Line) bool {
	switch {
	case l.texts()[k] == reviewed.texts()[k]:
		return true
	case k == 0:
		return l.Unsure && !slices.ContainsFunc(l.None, func(n checker.Name) bool { return !slices.Contains(reviewed.None, n) })
	case k <= int(faultKinds):
		got, want := l.Cells[k-1], reviewed.Cells[k-1]
		return got.Any.agrees(want.Any) && (got.Any.Faults == 0 || got.Double.agrees(want.Double))
	case k == int(faultKinds)+1:
		want := reviewed.Blend
		if len(reviewed.Mixture) > 0 {
			want = Break{Faults: len(reviewed.Mixture)}
		}
		return len(l.Mixture) == 0 && l.Blend.agrees(want)
	}
	return false
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

// breadth is how much of the bounds a break that was not found is about: 0 two clients once, 1 three clients once, 2 all.
func (b Break) breadth() int {
	switch b.Within {
	case "":
		return 2
	case "2x1":
		return 0
	}
	return 1
}

// texts are the entries of a line: without a fault, with each kind, with a mixture.
func (l Line) texts() []string {
	texts := []string{l.noneText()}
	for _, cell := range l.Cells {
		texts = append(texts, cell.String())
	}
	return append(texts, l.mixtureText(), l.Why)
}

func headOf(k int) string {
	switch {
	case k == 0:
		return "no fault"
	case k <= int(faultKinds):
		return Fault(k - 1).String()
	case k == int(faultKinds)+1:
		return "mixture"
	}
	return "whether it can be explored"
}

// Cells are the lines as rows of words, with their heads: what a renderer needs to know.
func Cells(lines []Line) [][]string {
	heads := []string{"lock"}
	for k := range int(faultKinds) + 2 {
		heads = append(heads, headOf(k))
	}
	rows := [][]string{heads}
	for _, l := range lines {
		row := []string{l.Lock}
		if l.Why != "" {
			row = append(row, "n/a: "+l.Why)
		} else {
			texts := l.texts()
			row = append(row, texts[:len(texts)-1]...)
		}
		rows = append(rows, row)
	}
	return rows
}
