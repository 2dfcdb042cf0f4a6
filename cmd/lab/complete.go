package main

import (
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/scenarios"
)

// completeFlag registers the completion of a flag that the command has.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // only for a flag that does not exist
	}
}

// completeScenarios completes the names of scenarios, and of .lab files.
func completeScenarios(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	scripts, err := scenarios.Builtin()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []cobra.Completion
	for _, script := range scripts {
		out = append(out, cobra.CompletionWithDesc(script.Name, script.Title))
	}
	return out, cobra.ShellCompDirectiveDefault
}

func completeLocks(_ *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, spec := range impls.Every() {
		out = append(out, cobra.CompletionWithDesc(spec.Name, spec.Idea))
		for _, bug := range spec.Bugs {
			out = append(out, cobra.CompletionWithDesc(spec.Name+"/"+bug.Name, bug.What))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func completeWorlds(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{
		cobra.CompletionWithDesc(lab.Live, "processes, sockets, Redis"),
		cobra.CompletionWithDesc(lab.Sim, "the model, in virtual time"),
	}, cobra.ShellCompDirectiveNoFileComp
}

func completeWorkloads(_ *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, work := range scenarios.Workloads() {
		out = append(out, cobra.CompletionWithDesc(string(work.Name), work.Idea))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func completeWaiting(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, way := range waiting.Examples() {
		out = append(out, cobra.CompletionWithDesc(way.Name, way.Idea))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRuns completes the directories of runs.
func completeRuns(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeServers completes the servers that the lab starts.
func completeServers(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return cobra.FixedCompletions(live.Servers(), cobra.ShellCompDirectiveNoFileComp)(cmd, args, word)
}

// completeCells completes the cells of the run named first.
func completeCells(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	run, err := rundir.ReadRun(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []cobra.Completion
	for _, cell := range run.Cells {
		out = append(out, cobra.CompletionWithDesc(cell.Lock+"/"+cell.Scenario, cell.Verdict.String()))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// builtByGoRun matches where go run puts a program: in a temporary directory, or in its cache, wherever that is.
var builtByGoRun = regexp.MustCompile(`go-build|/[0-9a-f]{64}-d/`)

// invocation is how the user calls a program, for commands to copy.
func invocation(program string) string {
	if builtByGoRun.MatchString(filepath.ToSlash(program)) {
		return "go run ./cmd/lab"
	}
	return program
}
