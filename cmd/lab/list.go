package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
)

func newList() *cobra.Command {
	kinds := []string{"locks", "scenarios", "anomalies"}
	return &cobra.Command{
		Use:       "list locks|scenarios|anomalies",
		Short:     "List what there is",
		ValidArgs: kinds,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("list takes one of %s", strings.Join(kinds, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			var err error
			switch args[0] {
			case "locks":
				listLocks(out)
			case "scenarios":
				err = listScenarios(out)
			case "anomalies":
				listAnomalies(out)
			default:
				return unknown("list", args[0], kinds)
			}
			if err != nil {
				return err
			}
			return out.Flush()
		},
	}
}

func listLocks(w io.Writer) {
	fmt.Fprintln(w, "LOCK\tFROM\tIDEA")
	for _, spec := range impls.All() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", spec.Name, spec.Source, spec.Idea)
	}
}

func listScenarios(w io.Writer) error {
	scripts, err := scenarios.Builtin()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "SCENARIO\tWHAT HAPPENS")
	for _, script := range scripts {
		fmt.Fprintf(w, "%s\t%s\n", script.Name, script.Title)
	}
	return nil
}

func listAnomalies(w io.Writer) {
	fmt.Fprintln(w, "ANOMALY\tWHAT WAS SEEN")
	for _, d := range checker.Definitions() {
		fmt.Fprintf(w, "%s\t%s\n", d.Name, d.Meaning)
	}
}
