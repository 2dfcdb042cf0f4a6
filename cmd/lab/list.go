package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
)

func newList() *cobra.Command {
	kinds := []string{"locks", "scenarios", "workloads", "anomalies"}
	return &cobra.Command{
		Use:       "list locks|scenarios|workloads|anomalies",
		Short:     "List what there is",
		ValidArgs: kinds,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("list takes one of %s", enumerate(kinds, "and"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := listOf(args[0], kinds)
			if err != nil {
				return err
			}
			return writeTable(cmd.OutOrStdout(), terminalWidth(cmd), "", rows)
		},
	}
}

// listOf is a table of one of the kinds, with its heads.
func listOf(kind string, kinds []string) ([][]string, error) {
	switch kind {
	case "locks":
		rows := [][]string{{"LOCK", "FROM", "IDEA"}}
		for _, spec := range impls.All() {
			from, _, _ := strings.Cut(spec.Source, ";")
			rows = append(rows, []string{spec.Name, from, spec.Idea})
		}
		return rows, nil
	case "scenarios":
		scripts, err := scenarios.Builtin()
		rows := [][]string{{"SCENARIO", "WHAT HAPPENS"}}
		for _, script := range scripts {
			rows = append(rows, []string{script.Name, script.Title})
		}
		return rows, err
	case "workloads":
		rows := [][]string{{"WORKLOAD", "WHAT IS DONE UNDER THE LOCK"}}
		for _, work := range scenarios.Workloads() {
			idea := work.Idea
			if work.Source != "" {
				idea += " (" + work.Source + ")"
			}
			rows = append(rows, []string{string(work.Name), idea})
		}
		return rows, nil
	case "anomalies":
		rows := [][]string{{"ANOMALY", "WHAT WAS SEEN"}}
		for _, d := range checker.Definitions() {
			rows = append(rows, []string{string(d.Name), d.Meaning})
		}
		return rows, nil
	}
	return nil, unknown("list", kind, kinds, "there are "+enumerate(kinds, "and"))
}
