package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/live"
)

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show SCENARIO|FILE.lab|LOCK",
		Short: "Show a scenario: script, premise, what is expected of each lock; or a lock's card",
		Example: `  lab show pause-past-lease
  lab show watchdog`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("show takes one scenario, .lab file or lock")
			}
			return nil
		},
		ValidArgsFunction: completeShow,
		RunE: func(cmd *cobra.Command, args []string) error {
			if spec, ok := impls.Find(args[0]); ok {
				return showLock(cmd.OutOrStdout(), spec)
			}
			builtin, err := scenarios.Builtin()
			if err != nil {
				return err
			}
			if _, ok := scenarios.Find(builtin, args[0]); !ok && !strings.HasSuffix(args[0], ".lab") {
				return unknown("scenario", args[0], append(scenarioNames(builtin), lockNames()...))
			}
			script, err := selectScript(builtin, args[0])
			if err != nil {
				return err
			}
			return showScenario(cmd.OutOrStdout(), script)
		},
	}
}

func completeShow(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, directive := completeScenarios(cmd, args, word)
	locks, _ := completeLocks(cmd, args, word)
	return append(names, locks...), directive
}

// showScenario prints the script as it was written, then what has to be seen, then the row of the matrix.
func showScenario(w io.Writer, script *scenarios.Script) error {
	source, err := scriptText(script)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n", strings.TrimRight(source, "\n"))
	fmt.Fprint(w, "\nPremise: without this the script has not happened, and the verdict is unknown\n")
	for _, step := range script.Steps {
		if len(step.Want) > 0 {
			fmt.Fprintf(w, "  line %-3d %s\n", step.Line, step.Text)
		}
	}
	matrix, err := scenarios.BuiltinExpected()
	if err != nil {
		return err
	}
	expect := live.Expect(matrix, impls.All())
	fmt.Fprint(w, "\nExpected\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, spec := range impls.All() {
		expected := expect(script, live.Subject{Name: spec.Name})
		fmt.Fprintf(table, "  %s\t%s\n", spec.Name, expectation(expected))
	}
	return table.Flush()
}

func expectation(e checker.Expected) string {
	if e.Verdict.Kind == "" {
		return "anything: the lock is known to be broken"
	}
	return e.Verdict.String()
}

// scriptText is the script as its author wrote it.
func scriptText(script *scenarios.Script) (string, error) {
	if filepath.Base(script.Path) == script.Path {
		if text, ok := scenarios.Source(script.Name); ok {
			return text, nil
		}
	}
	text, err := os.ReadFile(script.Path)
	return string(text), err
}

func showLock(w io.Writer, spec impls.Spec) error {
	fmt.Fprintf(w, "%s: %s\n\n", spec.Name, spec.Idea)
	fmt.Fprintf(w, "  from      %s\n", spec.Source)
	fmt.Fprintf(w, "  needs     %s\n", spec.Needs)
	for i, promise := range spec.Promises {
		label := "promises"
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(w, "  %-8s  %s\n", label, promise)
	}
	if spec.Bug != "" {
		fmt.Fprintf(w, "  bug       %s\n", spec.Bug)
	}
	matrix, err := scenarios.BuiltinExpected()
	if err != nil {
		return err
	}
	scripts, err := scenarios.Builtin()
	if err != nil {
		return err
	}
	fmt.Fprint(w, "\nExpected\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, script := range scripts {
		if expected, ok := matrix.Lookup(script.Name, spec.Name); ok {
			fmt.Fprintf(table, "  %s\t%s\n", script.Name, expectation(expected))
		}
	}
	return table.Flush()
}
