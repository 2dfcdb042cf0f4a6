package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/locklab/locklab/checker"
)

// Markdown writes the matrix of the run as a table for a README: scenarios down, locks across, anomalies by their full names.
func Markdown(w io.Writer, run *checker.Run) error {
	m := newMatrix(run.Cells)
	var b strings.Builder
	b.WriteString("| scenario |")
	for _, lock := range m.columns() {
		fmt.Fprintf(&b, " `%s` |", markdownText(lock))
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(m.columns())) + "\n")
	for _, scenario := range m.scenarios {
		fmt.Fprintf(&b, "| `%s` |", markdownText(scenario))
		for _, lock := range m.columns() {
			fmt.Fprintf(&b, " %s |", markdownCell(m.at(lock, scenario)))
		}
		b.WriteString("\n")
	}
	if apart := m.apart(); len(apart) > 0 {
		b.WriteString("\n| scenario | single bugs | |\n| --- | --- | --- |\n")
		for _, g := range apart {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", markdownText(g[0].Scenario), markdownText(g[0].Lock), markdownCell(g))
		}
	}
	fmt.Fprintf(&b, "\n%s", markdownText(countCells(run.Cells).String()))
	fmt.Fprintf(&b, "; seed %d, %s.", run.Seed, markdownText(run.Server))
	if !run.Finished {
		b.WriteString(" **The run was interrupted.**")
	}
	b.WriteString("\n")
	for _, d := range m.seen() {
		fmt.Fprintf(&b, "\n- **%s**: %s", d.Name, markdownText(d.Meaning))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownCell(g group) string {
	if g == nil {
		return "not run"
	}
	c := g.worst()
	text := markdownVerdict(c)
	switch statusOf(c) {
	case statusSurprise:
		text = "‼ **SURPRISE: " + text + "**"
	case statusFailed:
		text = "‼ **FAILED**"
	}
	if g.differs() {
		text += "<br>(differs between rounds)"
	}
	return text
}

func markdownVerdict(c checker.Cell) string {
	switch c.Verdict.Kind {
	case checker.Safe:
		return "✓ safe"
	case checker.Broken:
		words := make([]string, 0, len(c.Verdict.Names()))
		for _, name := range c.Verdict.Names() {
			words = append(words, markdownText(string(name)))
		}
		return "✗ " + strings.Join(words, "<br>✗ ")
	}
	return markdownText(string(c.Verdict.Kind))
}

// markdownText makes text harmless in a table.
func markdownText(s string) string {
	return strings.NewReplacer("|", `\|`, "`", "'", "<", "&lt;", ">", "&gt;", "*", `\*`, "[", `\[`).Replace(clean(s))
}
