package readme

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/find"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/scenarios"
)

// TestTroubles holds docs/tables/troubles.md against its rows, and these against the reviewed matrix.
func TestTroubles(t *testing.T) {
	r := readReviewed(t)
	var b strings.Builder
	b.WriteString("| from | trouble | scenario | breaks | shown by | withstood by | see it |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, row := range find.Troubles() {
		b.WriteString(troubleLine(r, row))
	}
	holdPart(t, "../../docs/tables/troubles.md", fromMatrix, b.String())
}

// troubleLine checks a row and words it.
func troubleLine(r reviewed, row find.Trouble) string {
	script, ok := scenarios.Find(r.scripts, row.Scenario)
	require.True(r.t, ok, "%q: there is no scenario %s", row.What, row.Scenario)
	_, ok = impls.Find(row.Lock)
	require.True(r.t, ok, "%q: there is no lock %s", row.What, row.Lock)
	cited, err := sources.Cited(row.Article)
	require.NoError(r.t, err, row.What)
	assert.NotEmpty(r.t, cited, row.What)
	shown := r.verdict(row.Scenario, row.Lock).Names()
	claimed := row.Names()
	for _, name := range claimed {
		assert.Contains(r.t, shown, name, "%q: %s in %s", row.What, row.Lock, row.Scenario)
	}
	locks, withstood := []string{row.Lock}, "none of those here"
	if row.Withstands != "" {
		verdict := r.verdict(row.Scenario, row.Withstands)
		assert.Contains(r.t, []checker.Kind{checker.Safe, checker.Broken}, verdict.Kind, "%q: %s in %s", row.What, row.Withstands, row.Scenario)
		for _, name := range verdict.Names() {
			assert.NotContains(r.t, claimed, name, "%q: %s in %s", row.What, row.Withstands, row.Scenario)
		}
		withstood = fmt.Sprintf("`%s` (%s)", row.Withstands, withoutReason(verdict))
		locks = append(locks, row.Withstands)
	} else {
		nobodyWithstands(r, row, claimed)
	}
	return fmt.Sprintf("| %s | %s | %s | `%s` | %s | %s | `lab %s` |\n",
		row.Article, cell(row.What), row.Scenario, row.Lock, row.Anomalies, withstood, find.Command(script, locks...))
}

// nobodyWithstands: a row without a lock that withstands must be right in that.
func nobodyWithstands(r reviewed, row find.Trouble, claimed []checker.Name) {
	those := impls.All()
	if spec, _ := impls.Find(row.Lock); spec.Needs == impls.OneZooKeeper {
		those = impls.OnZooKeeper()
	}
	for _, spec := range those {
		verdict := r.verdict(row.Scenario, spec.Name)
		spared := !slices.ContainsFunc(verdict.Names(), func(n checker.Name) bool { return slices.Contains(claimed, n) })
		assert.False(r.t, verdict.Kind != checker.NotApplicable && spared, "%q: %s withstands it; say so", row.What, spec.Name)
	}
}

// withoutReason is a verdict as a table has it.
func withoutReason(v checker.Verdict) string {
	v.Reason = ""
	return v.String()
}

// TestTroublesByArticle holds the index of docs/troubles.md against the reviewed matrix: it names the scenario of every row, and each scenario of a line
// is one in which a lock of that line breaks.
func TestTroublesByArticle(t *testing.T) {
	r := readReviewed(t)
	words := regexp.MustCompile("`([a-z0-9/+-]+)`")
	named, prefix := map[string]bool{}, ""
	for line := range strings.Lines(pageText(t, "../../docs/troubles.md")) {
		cells := strings.Split(line, " | ")
		switch {
		case strings.HasPrefix(line, "All of these with `watchdog-published`"):
			prefix = "watchdog-published/"
		case strings.HasPrefix(line, "## "):
			prefix = ""
		case len(cells) == 3 && strings.Contains(cells[1], "`"):
			var locks []string
			for _, m := range words.FindAllStringSubmatch(cells[2], -1) {
				locks = append(locks, prefix+m[1])
			}
			if locks == nil {
				locks = []string{strings.TrimSuffix(prefix, "/")}
			}
			for _, m := range words.FindAllStringSubmatch(cells[1], -1) {
				scenario := m[1]
				if _, known := scenarios.Find(r.scripts, scenario); !known {
					continue // a command or an option
				}
				named[scenario] = true
				assert.True(t, slices.ContainsFunc(locks, func(lock string) bool { return r.verdict(scenario, lock).Kind == checker.Broken }),
					"%q: %v break in %s by no verdict of the matrix", line, locks, scenario)
			}
		case strings.HasPrefix(line, "A client pauses"):
			named["pause-past-lease"] = true
		}
	}
	for _, row := range find.Troubles() {
		assert.True(t, named[row.Scenario], "docs/troubles.md does not name %s", row.Scenario)
	}
}
