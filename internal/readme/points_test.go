package readme

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/report/exploration"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
)

func readPoints(t *testing.T) []points.Line {
	t.Helper()
	lines, err := points.Reviewed()
	require.NoError(t, err)
	return lines
}

// TestPointsPage holds docs/tables/breaking-points.md against the reviewed breaking points.
func TestPointsPage(t *testing.T) {
	var b strings.Builder
	for i, row := range points.Rows(readPoints(t)) {
		if i > 0 {
			row[0] = "`" + row[0] + "`"
			for k, entry := range row[1:] {
				row[k+1] = exploration.PointLetters(entry)
			}
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
		}
	}
	holdPart(t, "../../docs/tables/breaking-points.md", fromPoints, b.String())
}

// TestPointsSigns holds the explanation of its entries there against that of the terminal.
func TestPointsSigns(t *testing.T) {
	text := "| entry | meaning |\n| --- | --- |\n"
	for _, sign := range exploration.Signs() {
		text += fmt.Sprintf("| %s | %s |\n", code(sign[0]), sign[1])
	}
	holdPart(t, "../../docs/tables/breaking-points.md", fromSigns, text)
}

// TestPointsSummary holds the short form of them in docs/tables/one-fault.md: for each lock, what one fault is enough for, and what it withstands.
func TestPointsSummary(t *testing.T) {
	var b strings.Builder
	b.WriteString("| lock | without any fault | one fault makes two holders | one fault does other harm | withstands two of |\n| --- | --- | --- | --- | --- |\n")
	for _, l := range readPoints(t) {
		if l.Why != "" {
			fmt.Fprintf(&b, "| `%s` | not explored | | | |\n", l.Lock)
			continue
		}
		var double, other, none []string
		for _, f := range search.Faults() {
			cell := l.Cells[points.Column(f)]
			switch {
			case cell.Double.Faults == 1:
				double = append(double, string(f))
			case cell.Any.Faults == 1:
				other = append(other, fmt.Sprintf("%s (%s)", f, joined(cell.Any.Anomalies)))
			case slices.Contains(l.None, checker.DoubleHolder): // there is nothing left to withstand
			case cell.Any.Faults == 0 && cell.Any.Clear >= points.MostAlone && cell.Any.Within == "":
				none = append(none, string(f))
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", l.Lock, dash(joined(l.None)), dash(strings.Join(double, ", ")),
			dash(strings.Join(other, ", ")), dash(strings.Join(none, ", ")))
	}
	holdPart(t, "../../docs/tables/one-fault.md", fromPoints, b.String())
}

func joined(names []checker.Name) string {
	var words []string
	for _, name := range names {
		words = append(words, string(name))
	}
	return strings.Join(words, ", ")
}

func dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// TestPointsLegend asserts that the page explains every letter and every fault of its table.
func TestPointsLegend(t *testing.T) {
	page := pageText(t, "../../docs/tables/breaking-points.md")
	require.Contains(t, page, fmt.Sprintf("%d,000 states", points.ReviewedStates/1000))
	for _, f := range search.Faults() {
		require.Contains(t, page, fmt.Sprintf("| %s | `--%s` |", f, f.Of().Flag))
	}
	for _, column := range []points.Column{points.SlowClock, points.FastClock, points.ReleaseAgain} {
		require.Contains(t, page, fmt.Sprintf("| %s | ", column))
	}
	require.Contains(t, page, fmt.Sprintf("a rate of %v", points.DriftRate))
	for _, l := range readPoints(t) {
		for _, cell := range l.Cells {
			for _, name := range slices.Concat(cell.Any.Anomalies, l.None) {
				require.Contains(t, page, fmt.Sprintf("| %s | %s |", exploration.PointLetters(string(name)), name))
			}
		}
	}
}
