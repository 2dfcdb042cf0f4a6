package readme

import (
	"fmt"
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
	return expected.Verdict
}

// TestSummary holds docs/locks.md against the reviewed matrix.
func TestSummary(t *testing.T) {
	holdPart(t, "../../docs/locks.md", fromMatrix, readReviewed(t).summary())
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

// TestMatrixPage holds docs/matrix.md against the reviewed matrix.
func TestMatrixPage(t *testing.T) {
	holdPart(t, "../../docs/matrix.md", fromMatrix, readReviewed(t).page())
}

// page has, for each scenario, the locks by what they come to in it.
func (r reviewed) page() string {
	var b strings.Builder
	for _, script := range r.scripts {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n| comes to | locks |\n| --- | --- |\n", script.Name, script.Title)
		var texts []string
		locks := map[string][]string{}
		for _, name := range r.locksIn(script.Name) {
			text := outcome(r.verdict(script.Name, name))
			if locks[text] == nil {
				texts = append(texts, text)
			}
			locks[text] = append(locks[text], "`"+name+"`")
		}
		slices.SortStableFunc(texts, func(a, b string) int { return place(a) - place(b) })
		for _, text := range texts {
			fmt.Fprintf(&b, "| %s | %s |\n", text, strings.Join(locks[text], ", "))
		}
		b.WriteString("\n")
	}
	return b.String()
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
