package screen

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/reporttest"
)

func TestEveryAnomalyHasAShortWord(t *testing.T) {
	seen := make(map[string]bool)
	for _, d := range checker.Definitions() {
		word := outcome.ShortWord(d.Name)
		require.NotEqual(t, string(d.Name), word)
		require.LessOrEqual(t, len(word)+len("!!"), gridLeast)
		require.Len(t, outcome.Letter(d.Name), 1)
		for _, s := range []string{word, outcome.Letter(d.Name)} {
			require.False(t, seen[s], s)
			seen[s] = true
		}
	}
}

// gridOf makes a run of every lock in every scenario.
func gridOf(locks, scenarios int) []record.Cell {
	var cells []record.Cell
	for s := range scenarios {
		for l := range locks {
			v := reporttest.Broken(checker.DoubleHolder, checker.WrongfulDelete, checker.StaleWrite, checker.LostUpdate)
			cells = append(cells, reporttest.CellOf(fmt.Sprintf("lock-number-%d", l), fmt.Sprintf("scenario-with-long-name-%d", s), v, v))
		}
	}
	return cells
}

func TestGridFitsTheTerminal(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 20}, {20, 3}, {20, 30}} {
		for _, width := range []int{60, 80, 120} {
			out := grid{m: outcome.NewMatrix(gridOf(size[0], size[1])), width: width}.String()
			for line := range strings.Lines(out) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, "%v at %d: %s", size, width, line)
			}
			cells := regexp.MustCompile(`\bdbl\b|\bDXSL\b`).FindAllString(out, -1)
			legend := len(regexp.MustCompile(`(?m)^  dbl  +double-holder`).FindAllString(out, -1))
			require.Len(t, cells, size[0]*size[1]+legend, "%v at %d", size, width)
		}
	}
}

func TestGridIsTurnedWhereThatFits(t *testing.T) {
	out := grid{m: outcome.NewMatrix(gridOf(20, 3)), width: 80}.String()
	require.Contains(t, out, "\nlock-number-19")
	require.NotContains(t, out, "\nscenario-with")
}

// A lock with chosen bugs that only some scenarios are about stands below the table; one that all were run with has its column.
func TestVariantsStandBelowTheTable(t *testing.T) {
	run := reporttest.RunOfVariants()
	m := outcome.NewMatrix(run.Cells)
	assert.Equal(t, []string{"getset", "getset/always"}, m.Columns())
	require.Len(t, m.Apart(), 1)

	table := grid{m: m, width: 80}.String()
	assert.Contains(t, table, "Single bugs\n  getset/once/crash  !!stuck\n")
	assert.NotContains(t, table, "not run")
}
