package readme

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
)

// reviewed is the reviewed matrix with what it is about.
type reviewed struct {
	t       *testing.T
	scripts []*scenarios.Script
	matrix  *scenarios.Matrix
}

func readReviewed(t *testing.T) reviewed {
	t.Helper()
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	return reviewed{t, scripts, matrix}
}

func (r reviewed) verdict(scenario, lock string) checker.Verdict {
	r.t.Helper()
	expected, ok := r.matrix.Lookup(scenario, lock)
	require.True(r.t, ok, "%s in %s is not in the matrix", lock, scenario)
	return expected
}

// TestSummary holds docs/tables/locks.md against the reviewed matrix.
func TestSummary(t *testing.T) {
	holdPart(t, "../../docs/tables/locks.md", fromMatrix, readReviewed(t).summary())
}

// summary is, for each lock, what the suite shows of it.
func (r reviewed) summary() string {
	var b strings.Builder
	b.WriteString("| lock | what it is | what the scenarios show of it | withstands |\n| --- | --- | --- | --- |\n")
	for _, spec := range impls.Every() {
		counts := map[checker.Name]int{}
		safe, applicable := 0, 0
		for _, script := range r.scripts {
			verdict := r.verdict(script.Name, spec.Name)
			switch verdict.Kind {
			case checker.Safe:
				safe++
				applicable++
			case checker.Broken:
				applicable++
			}
			for _, name := range verdict.Names() {
				counts[name]++
			}
		}
		var shown []string
		for _, d := range checker.Definitions() {
			if n := counts[d.Name]; n > 0 {
				shown = append(shown, fmt.Sprintf("%s %d", d.Name, n))
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %d of %d |\n", spec.Name, cell(spec.Idea), strings.Join(shown, ", "), safe, applicable)
	}
	return b.String()
}

// cell makes text harmless in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// TestMatrixPage holds docs/tables/matrix.md against the reviewed matrix, and against the tables of services.
func TestMatrixPage(t *testing.T) {
	holdPart(t, "../../docs/tables/matrix.md", fromMatrix, readReviewed(t).page())
}

// page has, for each scenario, the locks by what they come to in it.
func (r reviewed) page() string {
	var b strings.Builder
	tables, scripts := services(r.t)
	for _, script := range slices.Concat(r.scripts, scripts) {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n| comes to | locks |\n| --- | --- |\n", script.Name, script.Title)
		var texts []string
		locks := map[string][]string{}
		add := func(table *scenarios.Matrix, name string) {
			expected, ok := table.Lookup(script.Name, name)
			require.True(r.t, ok, "%s in %s is in no table", name, script.Name)
			text := outcome(expected)
			if locks[text] == nil {
				texts = append(texts, text)
			}
			locks[text] = append(locks[text], "`"+name+"`")
		}
		if _, builtin := scenarios.Find(r.scripts, script.Name); builtin {
			for _, name := range r.locksIn(script.Name) {
				add(r.matrix, name)
			}
		}
		for _, table := range tables {
			for _, name := range table.Locks(script.Name) {
				add(table, name)
			}
		}
		slices.SortStableFunc(texts, func(a, b string) int { return place(a) - place(b) })
		for _, text := range texts {
			fmt.Fprintf(&b, "| %s | %s |\n", text, strings.Join(locks[text], ", "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// services are the reviewed tables of the clients for an etcd, a PostgreSQL and of Curator, and the scripts beside these.
func services(t *testing.T) (tables []*scenarios.Matrix, scripts []*scenarios.Script) {
	t.Helper()
	for _, name := range []string{"etcd", "postgres", "java"} {
		dir := filepath.Join("../../adapters", name)
		tables = append(tables, adapterTable(t, filepath.Join(dir, "expected.txt")))
		paths, err := filepath.Glob(filepath.Join(dir, "*.lab"))
		require.NoError(t, err)
		for _, path := range paths {
			script, err := scenarios.ParseFile(path)
			require.NoError(t, err)
			scripts = append(scripts, script)
		}
	}
	return tables, scripts
}

func adapterTable(t *testing.T, path string) *scenarios.Matrix {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	table, err := scenarios.ParseExpected(path, text)
	require.NoError(t, err)
	return table
}

func (r reviewed) locksIn(scenario string) []string {
	var names []string
	for _, spec := range impls.Every() {
		names = append(names, spec.Name)
	}
	return append(names, r.matrix.Variants(scenario)...)
}

func outcome(v checker.Verdict) string {
	switch v.Kind {
	case checker.Safe:
		return "✓ safe"
	case checker.NotApplicable:
		return "n/a"
	}
	return "✗ " + v.String()
}

// place orders outcomes: what is broken first, then what is safe, then what is not applicable.
func place(outcome string) int {
	switch outcome {
	case "✓ safe":
		return 1
	case "n/a":
		return 2
	}
	return 0
}
