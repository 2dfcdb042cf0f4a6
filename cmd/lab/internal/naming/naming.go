// Package naming finds what a user names: locks, scenarios and scripts, worlds, workloads, runs and their cells. It completes such words, and suggests
// what one that is unknown may stand for.
//
// It owns the words of users for what the lab has. It must not know what a command does with them.
package naming

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/scenarios"
)

// Subjects are the locks of those names.
func Subjects(names []string) ([]play.Subject, error) {
	var subjects []play.Subject
	var wrong []error
	for i, name := range names {
		spec, ok := impls.Find(name)
		if !ok {
			wrong = append(wrong, UnknownLock(name))
			continue
		}
		if slices.Contains(names[:i], name) {
			return nil, cli.Usagef("--lock names %s twice; use --count to repeat it", name)
		}
		subjects = append(subjects, play.SubjectOf(spec))
	}
	return subjects, errors.Join(wrong...)
}

// UnknownLock is the error for a name that no lock has.
func UnknownLock(name string) error {
	return cli.UnknownName("lock", name, LockNames(impls.Every()), cli.See("lab list locks"))
}

// LockNames are the names of locks.
func LockNames(locks []impls.Spec) []string {
	return cli.Map(locks, func(spec impls.Spec) string { return spec.Name })
}

// CompleteLocks completes locks, and those of single bugs.
func CompleteLocks(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, spec := range impls.Every() {
		out = append(out, cobra.CompletionWithDesc(spec.Name, spec.Idea))
		for _, bug := range spec.Bugs {
			out = append(out, cobra.CompletionWithDesc(spec.Name+"/"+bug.Name, bug.What))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// World refuses a world that there is not.
func World(name string) error {
	return cli.OneOf("world", name, []string{lab.Live, lab.Sim}, "--world takes live or sim")
}

// CompleteWorlds completes live and sim.
func CompleteWorlds(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{
		cobra.CompletionWithDesc(lab.Live, "processes, sockets, Redis"),
		cobra.CompletionWithDesc(lab.Sim, "the model, in virtual time"),
	}, cobra.ShellCompDirectiveNoFileComp
}

// Workload is the workload of that name.
func Workload(name string) (history.Workload, error) {
	work := history.Workload(name)
	if _, ok := scenarios.FindWorkload(work); !ok {
		return "", cli.UnknownName("workload", name, scenarios.WorkloadNames(), cli.See("lab list workloads"))
	}
	return work, nil
}

// CompleteWorkloads completes workloads.
func CompleteWorkloads() cobra.CompletionFunc {
	return cli.Complete(scenarios.Workloads(), func(work scenarios.Workload) (string, string) { return string(work.Name), work.Idea })
}

// CompleteWaiting completes ways to wait.
func CompleteWaiting() cobra.CompletionFunc {
	return cli.Complete(waiting.Examples(), func(way waiting.Example) (string, string) { return way.Name, way.Idea })
}

// CompleteAnomalies completes anomalies.
func CompleteAnomalies() cobra.CompletionFunc {
	return cli.Complete(checker.Definitions(), func(d checker.Definition) (string, string) { return string(d.Name), d.Meaning })
}

// Cell is how a user names a cell.
func Cell(c record.Cell) string { return c.Lock + "/" + c.Scenario }

// CompleteRuns completes the directories of runs.
func CompleteRuns(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// CompleteCells completes the cells of the run named first.
func CompleteCells(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return CompleteRuns(cmd, args, word)
	}
	run, err := rundir.ReadRun(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return cli.Completions(run.Cells, func(cell record.Cell) (string, string) { return Cell(cell), cell.Verdict.String() }), cobra.ShellCompDirectiveNoFileComp
}
