package scenarios

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
)

//go:embed expected.txt
var expected []byte

// Matrix is the reviewed table of the expected verdict of each lock in each scenario. Reads may be concurrent, but not with Set.
type Matrix struct {
	// header is the comment at the top, up to the first blank line, and tail the comment after the last cell.
	header, tail []string
	rows         []row
	at           map[cellName]int // where rows has a cell
}

// cellName names a cell.
type cellName struct{ scenario, lock string }

// row is a cell of the matrix: one line of its file.
type row struct {
	line           int      // of the file; of one that was added: 0
	above          []string // the comment lines above it
	scenario, lock string
	verdict        checker.Verdict
	added          bool // by Set, not read from a file
}

// BuiltinExpected is the built-in matrix.
func BuiltinExpected() (*Matrix, error) { return ParseExpected("expected.txt", expected) }

// Lookup returns the expected verdict of the lock in the scenario, and whether the matrix has that cell.
func (m *Matrix) Lookup(scenario, lock string) (checker.Verdict, bool) {
	at := m.find(scenario, lock)
	if at < 0 {
		return checker.Verdict{}, false
	}
	return m.rows[at].verdict, true
}

// Locks lists the locks that the matrix has in the scenario, in its order.
func (m *Matrix) Locks(scenario string) []string {
	var names []string
	for i := range m.rows { // there are thousands, and each is large
		if r := &m.rows[i]; r.scenario == scenario {
			names = append(names, r.lock)
		}
	}
	return names
}

// Variants lists the locks with selected bugs ("getset-published/short-lease") that the matrix has in the scenario, in its order. Other locks
// are in every scenario.
func (m *Matrix) Variants(scenario string) []string {
	return slices.DeleteFunc(m.Locks(scenario), func(lock string) bool { return !isVariant(lock) })
}

func isVariant(lock string) bool { return strings.Contains(lock, "/") }

func (m *Matrix) find(scenario, lock string) int {
	if at, found := m.at[cellName{scenario, lock}]; found {
		return at
	}
	return -1
}

// add adds a cell that the matrix does not have.
func (m *Matrix) add(r row) {
	if m.at == nil {
		m.at = map[cellName]int{}
	}
	m.at[cellName{r.scenario, r.lock}] = len(m.rows)
	m.rows = append(m.rows, r)
}

// Set sets the verdict of a cell. Unknown is no expectation and changes nothing, nor does an equal verdict with another wording.
func (m *Matrix) Set(scenario, lock string, v checker.Verdict) {
	switch v.Kind {
	case checker.Undecided:
		return
	case checker.Broken:
		v = broken(v.Names())
	default:
		v = checker.Verdict{Kind: v.Kind, Reason: strings.Join(strings.Fields(v.Reason), " ")}
	}
	at := m.find(scenario, lock)
	if at < 0 {
		m.add(row{scenario: scenario, lock: lock, verdict: v, added: true})
		return
	}
	if !m.rows[at].verdict.Same(v) {
		m.rows[at].verdict = v
	}
}

// Write writes the matrix as ParseExpected reads it: aligned, a blank line between scenarios, with its comments. The rows of the file come
// first, in their order, then the added ones, sorted.
func (m *Matrix) Write(w io.Writer) error {
	rows := m.sorted()
	scenarioWidth, lockWidth := 0, 0
	for _, r := range rows {
		scenarioWidth = max(scenarioWidth, len(r.scenario))
		if !isVariant(r.lock) { // these are long, and few
			lockWidth = max(lockWidth, len(r.lock))
		}
	}
	var out bytes.Buffer
	paragraph := func(lines []string) {
		for _, text := range lines {
			out.WriteString(text + "\n")
		}
	}
	paragraph(m.header)
	for i, r := range rows {
		if i > 0 && rows[i-1].scenario != r.scenario || i == 0 && len(m.header) > 0 {
			out.WriteString("\n")
		}
		paragraph(r.above)
		fmt.Fprintf(&out, "%-*s   %-*s   %s\n", scenarioWidth, r.scenario, lockWidth, r.lock, r.verdict)
	}
	if out.Len() > 0 && len(m.tail) > 0 {
		out.WriteString("\n")
	}
	paragraph(m.tail)
	_, err := out.WriteTo(w)
	return err
}

// sorted are the rows, grouped by scenario.
func (m *Matrix) sorted() []row {
	rank := map[string]int{}
	for i, r := range m.rows {
		if _, ok := rank[r.scenario]; !ok && !r.added {
			rank[r.scenario] = i
		}
	}
	place := func(r row) int {
		if at, ok := rank[r.scenario]; ok {
			return at
		}
		return len(m.rows)
	}
	rows := slices.Clone(m.rows)
	slices.SortStableFunc(rows, func(a, b row) int {
		if order := cmp.Or(place(a)-place(b), strings.Compare(a.scenario, b.scenario)); order != 0 {
			return order
		}
		switch {
		case a.added && b.added:
			return strings.Compare(a.lock, b.lock)
		case a.added:
			return 1
		case b.added:
			return -1
		}
		return 0
	})
	return rows
}

// Verdict is the expectation as a verdict.
func (e Expectation) Verdict() checker.Verdict { return broken(e.Anomalies) }

// broken is a verdict with the names of the anomalies only, in the order of their definitions.
func broken(names []checker.Name) checker.Verdict {
	v := checker.Verdict{Kind: checker.Broken}
	for _, name := range anomalies() {
		if slices.Contains(names, checker.Name(name)) {
			v.Anomalies = append(v.Anomalies, checker.Anomaly{Name: checker.Name(name)})
		}
	}
	return v
}
