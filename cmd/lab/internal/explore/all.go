package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/exploration"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
)

// table carries lab explore --all out.
func (f *exploreFlags) table(cmd *cobra.Command, args []string) error {
	if err := f.checkTable(cmd, args); err != nil {
		return err
	}
	locks, err := f.tableLocks(args)
	if err != nil {
		return err
	}
	if f.replay {
		code, err := f.replayAll(cmd)
		if err != nil {
			return err
		}
		return cli.Exit(code)
	}
	states, err := f.tableStates()
	if err != nil {
		return err
	}
	shard, err := f.shard.Parse()
	if err != nil {
		return err
	}
	if err := f.shard.Check(len(locks)); err != nil {
		return err
	}
	began, done, total := time.Now(), 0, len(shard.Locks(locks))
	meter := cli.Meter(cmd, f.quiet)
	table, err := lab.FindBreakingPoints(cmd.Context(), lab.PointsPlan{Locks: locks, States: states, Shard: shard, Results: lab.Results{Dir: f.out}, Command: os.Args[1:], Done: func(l points.Line) {
		done++
		took := time.Since(began)
		meter.Show(took, fmt.Sprintf("%d/%d locks explored, %v elapsed; %s", done, total, took.Round(time.Second), l.Lock))
	}})
	meter.Clear()
	if context.Cause(cmd.Context()) != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "lab: not complete: %d of %d locks were explored\n", done, total)
		return cli.Exit(cli.CodeUnknown) // the signal's code comes before it
	}
	if err != nil {
		return err
	}
	if f.update {
		return updatePoints(cmd, table.Lines)
	}
	if f.out != "" {
		tellPage(cmd, filepath.Join(f.out, rundir.PageFile))
	}
	return ShowTable(cmd, table, f.json)
}

// ShowTable shows breaking points, and what is wrong with them.
func ShowTable(cmd *cobra.Command, table *lab.BreakingPoints, asJSON bool) (err error) {
	rows := points.Rows(table.Lines)
	if asJSON {
		err = cli.WriteJSON(cmd.OutOrStdout(), struct {
			Lines []map[string]string `json:"lines"`
		}{cli.Objects(rows[0], rows[1:])})
	} else {
		err = exploration.Points(cmd.OutOrStdout(), rows, cli.Width(cmd.OutOrStdout()))
	}
	if err != nil {
		return err
	}
	for _, difference := range table.Differences {
		fmt.Fprintf(cmd.ErrOrStderr(), "lab: %s\n", difference)
	}
	return cli.Exit(int(table.Outcome()))
}

// tableLocks are the locks of the table that args name, or all of them.
func (f *exploreFlags) tableLocks(args []string) ([]impls.Spec, error) {
	all := impls.Explored()
	if len(args) == 0 {
		return all, nil
	}
	var locks []impls.Spec
	var wrong []error
	for _, name := range args {
		if spec, ok := impls.Lookup(slices.Concat(impls.OnReplicas(), impls.OnCluster()), name); ok {
			return nil, needsOther(spec)
		}
		i := slices.IndexFunc(all, func(s impls.Spec) bool { return s.Name == name })
		if i < 0 {
			wrong = append(wrong, naming.UnknownLock(name))
			continue
		}
		locks = append(locks, all[i])
	}
	return locks, errors.Join(wrong...)
}

// checkTable: the table has bounds of its own.
func (f *exploreFlags) checkTable(cmd *cobra.Command, args []string) error {
	if f.replay && len(args) > 0 {
		return cli.Usagef("--all --replay is about every lock; remove %s", strings.Join(args, " "))
	}
	names := []string{"clients", "rounds", "tries", "servers", "anomaly", "max-faults", "lag", "skew", "clock-rate", "reenter", "release-again"}
	for _, kind := range search.Faults() {
		names = append(append(names, kind.Of().Flag), kind.Of().Old...)
	}
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--all has bounds of its own; remove --%s", name)
		}
	}
	parted := f.shard != "" || f.out != ""
	switch {
	case f.shard != "" && f.out == "":
		return cli.Usagef("--all --shard needs --out DIR: lab merge puts together what is there")
	case f.update && parted:
		return cli.Usagef("--all --update writes the reviewed table; remove --shard and --out")
	case f.replay && parted:
		return cli.Usagef("--all --replay is about every lock, and writes nothing; remove --shard and --out")
	case f.update && len(f.limits) > 0:
		return cli.Usagef("--all --update writes the table by its own, large searches; remove --limit")
	case f.replay && len(f.limits) > 0:
		return cli.Usagef("--all --replay looks for each counterexample of the table until it is found; remove --limit")
	}
	if _, err := os.Stat(reviewedPoints); f.update && err != nil {
		return cli.Usagef("--update rewrites %s, so run it at the root of the sources: %v", reviewedPoints, cli.Plainly(err))
	}
	return nil
}

// tableStates is how many states each search for the table may find.
func (f *exploreFlags) tableStates() (int, error) {
	for _, limit := range f.limits {
		if !strings.HasPrefix(limit, "states=") {
			return 0, cli.Usagef("--all takes --limit states=N only: with any other the table would depend on the machine")
		}
	}
	plan := lab.ExplorePlan{States: points.UsualStates}
	if f.update {
		plan.States = points.ReviewedStates
	}
	err := f.limit(&plan)
	return plan.States, err
}

// reviewedPoints is the reviewed table, in the root of the sources.
const reviewedPoints = "internal/sim/points/breaking.txt"

// updatePoints writes the lines; those of other locks stay.
func updatePoints(cmd *cobra.Command, lines []points.Line) error {
	reviewed, err := points.Reviewed()
	if err != nil {
		return err
	}
	lines = points.Merge(lines, reviewed)
	var text strings.Builder
	if err := points.WriteLines(&text, lines); err != nil {
		return err
	}
	if err := os.WriteFile(reviewedPoints, []byte(text.String()), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "lab: %s is rewritten; review the difference\n", reviewedPoints)
	return nil
}
