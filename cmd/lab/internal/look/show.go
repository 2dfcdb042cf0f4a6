package look

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/scenarios"
)

// Show is lab show.
func Show() *cobra.Command {
	return &cobra.Command{
		Use:   "show SCENARIO|FILE.lab|LOCK",
		Short: "Show a scenario or a lock, and what is expected",
		Long: `Show prints a scenario: its script, its preconditions, its sources, and what is
expected of each lock. Of a lock it prints the card: what it promises, which
line is the bug, its sources, and what is expected of it in each scenario.`,
		Example: `  lab show pause-past-lease
  lab show watchdog`,
		Args:              cli.Args(1, 1, "show takes one scenario, .lab file or lock"),
		ValidArgsFunction: completeShow,
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.OutOrStdout(), cli.Width(cmd.OutOrStdout()), args[0])
		},
	}
}

func completeShow(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, directive := naming.CompleteScenarios(cmd, args, word)
	locks, _ := naming.CompleteLocks(cmd, args, word)
	return append(names, locks...), directive
}

func show(w io.Writer, width int, name string) error {
	builtin, err := scenarios.Builtin()
	if err != nil {
		return err
	}
	matrix, err := scenarios.BuiltinExpected()
	if err != nil {
		return err
	}
	if spec, ok := impls.Find(name); ok {
		return showLock(w, width, spec, builtin, matrix)
	}
	if _, ok := scenarios.Find(builtin, name); !ok && !strings.HasSuffix(name, ".lab") {
		return naming.UnknownScenario("scenario or lock", name, append(naming.ScenarioNames(builtin), naming.LockNames(impls.Every())...),
			cli.See("lab list scenarios")+` and "lab list locks"`)
	}
	script, err := naming.Script(builtin, name)
	if err != nil {
		return err
	}
	source, ok := scenarios.Source(name)
	if !ok {
		text, err := scenarios.ReadFile(script.Path)
		if err != nil {
			return err
		}
		source = string(text)
	}
	return showScenario(w, width, script, source, matrix)
}

// showScenario prints the script as it was written, then what has to be seen, then the row of the matrix.
func showScenario(w io.Writer, width int, script *scenarios.Script, source string, matrix *scenarios.Matrix) error {
	fmt.Fprintf(w, "%s\nPreconditions: if one is not observed, the verdict is unknown\n", foldScript(source, width))
	for _, step := range script.Steps {
		if len(step.Want) > 0 {
			head := fmt.Sprintf("  line %-3d ", step.Line)
			fmt.Fprint(w, cli.Hang(head, format.Blanks(len(head)+2), step.Text, width))
		}
	}
	if err := writeSources(w, width, script.Source); err != nil {
		return err
	}
	fmt.Fprint(w, "\nExpected\n")
	expect := lab.Expect(matrix)
	names := naming.LockNames(impls.Every())
	if script.Builtin {
		names = append(names, matrix.Variants(script.Name)...)
	}
	subjects, err := naming.Subjects(names)
	if err != nil {
		return err
	}
	return cli.WriteTable(w, width, "  ", cli.Map(subjects, func(subject play.Subject) []string {
		return []string{subject.Name, expectation(expect(script, subject).Verdict)}
	}))
}

// foldScript folds the lines of a script that are wider than the screen: headers below their values, and comments with the lines that go on from there.
func foldScript(source string, width int) string {
	var b strings.Builder
	carry := "" // of a comment
	end := func() {
		if carry != "" {
			b.WriteString(cli.Hang("# ", "# ", carry, width))
		}
		carry = ""
	}
	for line := range strings.SplitSeq(strings.TrimRight(source, "\n"), "\n") {
		wide := utf8.RuneCountInString(line) > width
		comment, isComment := strings.CutPrefix(line, "# ")
		switch {
		case isComment && (wide || carry != ""):
			carry += " " + comment
		case wide:
			end()
			head := headOfLine.FindString(line)
			b.WriteString(cli.Hang(head, format.Blanks(len(head)), line[len(head):], width))
		default:
			end()
			b.WriteString(line + "\n")
		}
	}
	end()
	return b.String()
}

// headOfLine matches the first word of a line, with the blanks that follow it.
var headOfLine = regexp.MustCompile(`^\s*\S+\s+`)

func expectation(v checker.Verdict) string {
	if v.Kind == "" {
		return "any verdict: the lock is known to be broken"
	}
	return v.String()
}

// showLock prints a lock's card, and its column of the matrix.
func showLock(w io.Writer, width int, spec impls.Spec, scripts []*scenarios.Script, matrix *scenarios.Matrix) error {
	card := [][]string{{"idea", spec.Idea}, {"from", spec.Source}, {"needs", string(spec.Needs)}}
	if spec.Servers > 1 {
		card = append(card, []string{"servers", fmt.Sprintf("%d, where a scenario does not say how many", spec.Servers)})
	}
	list := func(label string, values []string) {
		for _, value := range values {
			card = append(card, []string{label, value})
			label = ""
		}
	}
	list("clocks", cli.Map(spec.Clocks, func(clock impls.Clock) string { return "reads its client's " + string(clock) }))
	list("promises", cli.Map(spec.Promises, func(promise impls.Promise) string { return string(promise) }))
	if spec.Bug != "" {
		card = append(card, []string{"bug", spec.Bug})
	}
	list("alone", cli.Map(spec.Bugs, func(bug impls.Bug) string { return spec.Name + "/" + bug.Name + ": " + bug.What }))
	fmt.Fprintf(w, "%s\n", spec.Name)
	if err := cli.WriteTable(w, width, "  ", card); err != nil {
		return err
	}
	if err := writeSources(w, width, spec.Source); err != nil {
		return err
	}
	fmt.Fprint(w, "\nExpected\n")
	var rows [][]string
	for _, script := range scripts {
		if expected, ok := matrix.Lookup(script.Name, spec.Name); ok {
			rows = append(rows, []string{script.Name, expectation(expected)})
		}
		for _, variant := range matrix.Variants(script.Name) {
			if bugs, ok := strings.CutPrefix(variant, spec.Name+"/"); ok {
				expected, _ := matrix.Lookup(script.Name, variant)
				rows = append(rows, []string{script.Name + ", " + bugs + " alone", expectation(expected)})
			}
		}
	}
	return cli.WriteTable(w, width, "  ", rows)
}

// writeSources says what a citation stands for. Scripts of users cite what they like.
func writeSources(w io.Writer, width int, citation string) error {
	cited, err := sources.Cited(citation)
	if err != nil || len(cited) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nSources\n")
	return cli.WriteTable(w, width, "  ", cli.Map(cited, func(r sources.Reference) []string { return []string{r.String()} }))
}
