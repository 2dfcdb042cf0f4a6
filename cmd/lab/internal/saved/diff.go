package saved

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/internal/compare"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/page"
)

// Diff is lab diff.
func Diff() *cobra.Command {
	var asJSON bool
	var page string
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say which cells of two saved runs differ",
		Long: `Diff compares the verdicts of two saved runs, each a directory or its run.json,
and lists the cells whose verdicts differ, that only NEW has, and that only OLD
has. Equal changes are one group. With --html it also writes a page that shows
these cells step by step, old beside new. Reasons, times and histories do not
count; lab check says whether a run's verdicts are still those of its histories.

The exit code is 0 if no cell differs, 1 if one does, and 64 if a run cannot be
read.`,
		Example: `  lab diff runs/2026-11-28T09-12-01-6f2a runs/latest
  lab diff before after --json
  lab diff before after --html diff.html`,
		Args: cli.Args(2, 2, "diff takes two runs, not %d, for example: lab diff runs/before runs/latest"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return naming.CompleteRuns(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var runs [2]*record.Run
			for i, path := range args {
				var err error
				if runs[i], err = Read(path); err != nil {
					return err
				}
			}
			d := compare.Runs(runs[0], runs[1])
			show := showDifference
			if asJSON {
				show = func(w io.Writer, d *compare.Difference) error { return cli.WriteJSON(w, d) }
			}
			if page != "" {
				if err := writeDiffPage(cmd, page, d, runs); err != nil {
					return err
				}
			}
			err := show(cmd.OutOrStdout(), d)
			if err == nil && d.Any() {
				err = cli.Exit(cli.CodeSurprise)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	cmd.Flags().StringVar(&page, "html", "", "write a page to `FILE`, on which each cell that differs opens side by side, old beside new")
	return cmd
}

// writeDiffPage writes the cells that differ as a page.
func writeDiffPage(cmd *cobra.Command, path string, d *compare.Difference, runs [2]*record.Run) error {
	if err := cli.CheckOut("--html", path); err != nil {
		return err
	}
	page := page.Diff{Lead: differenceText(d)}
	for _, line := range sides(d) {
		name, text, _ := strings.Cut(line, "  ")
		page.Facts = append(page.Facts, [2]string{name, text})
	}
	var cells []lab.CellName
	for _, g := range slices.Concat(d.Changed, d.Appeared, d.Disappeared) {
		for _, c := range g.Cells {
			cells = append(cells, lab.CellName(c))
		}
	}
	if err := lab.WriteDiff(path, cells, runs[0], runs[1], page); err != nil {
		return cli.Usagef("--html: %v", cli.Plainly(err))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "lab: %s has them side by side\n", path)
	return nil
}

// differenceText says in a line how much differs.
func differenceText(d *compare.Difference) string {
	if !d.Any() {
		return fmt.Sprintf("no difference in %d cells", d.Same)
	}
	return fmt.Sprintf("%d changed, %d appeared, %d disappeared; %d the same", countCells(d.Changed), countCells(d.Appeared), countCells(d.Disappeared), d.Same)
}

// showDifference writes a difference for people: the result first, then each change with its cells, a lock a line.
func showDifference(w io.Writer, d *compare.Difference) error {
	width := cli.Width(w)
	var b strings.Builder
	b.WriteString(differenceText(d) + "\n")
	for _, line := range sides(d) {
		b.WriteString(cli.Hang("  ", "       ", line, width))
	}
	for _, part := range []struct {
		groups []compare.Group
		head   func(compare.Group) string
	}{
		{d.Changed, func(g compare.Group) string { return g.Old + " → " + g.New }},
		{d.Appeared, func(g compare.Group) string { return "appeared: " + g.New }},
		{d.Disappeared, func(g compare.Group) string { return "disappeared: " + g.Old }},
	} {
		for _, g := range part.groups {
			b.WriteString("\n" + cli.Hang("", "  ", fmt.Sprintf("%s  (%d)", part.head(g), len(g.Cells)), width))
			if err := cli.WriteTable(&b, width, "  ", byLock(g.Cells)); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sides says which runs were compared, and in which setting each was made, if that differs.
func sides(d *compare.Difference) (lines []string) {
	settings := func(s compare.Side) string { return fmt.Sprintf("%s, %s, lab %s", s.World, s.Server, s.Lab) }
	differ := settings(d.Old) != settings(d.New)
	for _, side := range []struct {
		name string
		of   compare.Side
	}{{"old", d.Old}, {"new", d.New}} {
		line := fmt.Sprintf("%s  %s", side.name, side.of.Dir)
		if differ {
			line += ": " + settings(side.of)
		}
		if !side.of.Finished {
			line += ", CUT SHORT"
		}
		lines = append(lines, format.Clean(line))
	}
	return lines
}

func countCells(groups []compare.Group) (n int) {
	for _, g := range groups {
		n += len(g.Cells)
	}
	return n
}

// byLock has a row for each lock, with its scenarios.
func byLock(cells []compare.Cell) (rows [][]string) {
	for _, c := range cells {
		name := c.Scenario
		if c.Workload != "" {
			name += " (" + c.Workload + ")"
		}
		i := slices.IndexFunc(rows, func(row []string) bool { return row[0] == format.Clean(c.Lock) })
		if i < 0 {
			rows = append(rows, []string{format.Clean(c.Lock), format.Clean(name)})
			continue
		}
		rows[i][1] += ", " + format.Clean(name)
	}
	return rows
}
