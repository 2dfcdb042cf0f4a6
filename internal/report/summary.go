package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
)

// Summary writes a run as Markdown for the page of a CI job: what came of it, and each cell that needs attention.
func Summary(w io.Writer, run *record.Run) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Lock Lab: %s\n\n", summaryHead(run))
	for _, f := range outcome.Facts(run) {
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, markdown(f.Value))
	}
	b.WriteString("\n")
	if news := outcome.NewMatrix(run.Cells).Notices(); len(news) > 0 {
		b.WriteString("| | cell | verdict |\n| --- | --- | --- |\n")
		for i, n := range news {
			if i == outcome.MaxListed {
				fmt.Fprintf(&b, "| | and %d more | |\n", len(news)-i)
				break
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", n.Status, markdown(n.Name), markdown(n.Text))
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summaryHead is the run in one line.
func summaryHead(run *record.Run) string {
	head := outcome.Count(run.Cells).String()
	if !run.Finished {
		head = "CUT SHORT; " + head
	}
	return head
}

// markdown makes text safe within a cell of a Markdown table.
func markdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`).Replace(format.Clean(s))
}

// Annotations writes the cells that need attention as workflow commands of GitHub Actions, which shows them beside the job.
func Annotations(w io.Writer, run *record.Run) error {
	var b strings.Builder
	for i, n := range outcome.NewMatrix(run.Cells).Notices() {
		if i == outcome.MaxListed {
			break // GitHub shows ten of a step; the summary has all
		}
		level := "error"
		if n.Status == outcome.Unknown {
			level = "warning"
		}
		text := n.Text
		if where := explained(run, n.Cell); where != "" {
			text += "; " + where
		}
		fmt.Fprintf(&b, "::%s title=%s::%s\n", level, property(n.Name), commandValue(text))
	}
	if !run.Finished {
		b.WriteString("::warning title=Lock Lab::the run was cut short\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// explained is the command that shows what happened in a cell; empty if nothing was kept.
func explained(run *record.Run, c record.Cell) string {
	if run.Dir == "" || outcome.StatusOf(c) == outcome.Failed {
		return ""
	}
	return "lab explain " + format.ShellWord(filepath.ToSlash(run.Dir)) + " " + format.ShellWord(c.Lock+"/"+c.Scenario)
}

// commandValue is text as the value of a workflow command.
func commandValue(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(format.Clean(s))
}

// property is text as a property of a workflow command.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandValue(s))
}
