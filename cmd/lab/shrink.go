package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/live"
	"github.com/locklab/locklab/scenarios/shrink"
	"github.com/locklab/locklab/scenarios/storm"
)

// shrinkFlags are the flags of lab shrink as given.
type shrinkFlags struct {
	anomaly  string
	out      string
	server   string
	parallel int
	lease    time.Duration
}

func newShrink() *cobra.Command {
	flags := &shrinkFlags{}
	cmd := &cobra.Command{
		Use:   "shrink DIR [LOCK/SCENARIO]",
		Short: "Turn what a storm has found into a short script that shows the same",
		Long: `Shrink takes an anomaly of a saved run, writes a script that forces the order in
which the commands of its clients reached the server, and plays it. If it shows
the same anomaly, steps, breakpoints and clients are left out for as long as it
still does. What is left is printed: a scenario for lab run.

DIR is a run, or the directory of one of its cells. Where the order alone does
not show the anomaly again, shrink says so, and what it tried; exit code 2.`,
		Example: `  lab shrink runs/latest
  lab shrink runs/latest setpx-getdel/storm --out race.lab
  lab run race.lab --lock setpx-getdel`,
		Args:              oneRun,
		ValidArgsFunction: completeCells,
		RunE:              flags.run,
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&flags.out, "out", "", "write the script to `FILE`, too")
	cmd.Flags().StringVar(&flags.anomaly, "anomaly", "", "`NAME` of the anomaly to show (default: one that breaks a promise)")
	cmd.Flags().StringVar(&flags.server, "server", live.Embedded, "`SERVER` on which scripts are played: embedded or redis-server")
	cmd.Flags().DurationVar(&flags.lease, "lease", time.Second, "`TIME` of the lease in the script")
	cmd.Flags().IntVar(&flags.parallel, "parallel", 12, "`N` scripts at a time; they mostly wait")
	completeFlag(cmd, "anomaly", completeAnomalies)
	completeFlag(cmd, "server", cobra.FixedCompletions([]string{live.Embedded, live.RedisServer}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func completeAnomalies(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, d := range checker.Definitions() {
		out = append(out, cobra.CompletionWithDesc(string(d.Name), d.Meaning))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (f *shrinkFlags) check() error {
	var names []string
	for _, d := range checker.Definitions() {
		names = append(names, string(d.Name))
	}
	switch {
	case f.anomaly != "" && !slices.Contains(names, f.anomaly):
		return unknown("anomaly", f.anomaly, names, see("lab list anomalies"))
	case f.server != live.Embedded && f.server != live.RedisServer:
		return unknown("server", f.server, []string{live.Embedded, live.RedisServer}, "--server takes embedded or redis-server")
	case f.parallel < 1:
		return usagef("--parallel must be at least 1, not %d", f.parallel)
	case f.lease < minStormLease || f.lease > maxStormLease:
		return usagef("--lease must be from %v to %v, not %v", minStormLease, maxStormLease, f.lease)
	case f.out != "" && !strings.HasSuffix(f.out, ".lab"):
		return usagef("--out: a script's name ends in .lab, %q does not", f.out)
	}
	return nil
}

// run carries lab shrink out.
func (f *shrinkFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	cell, events, err := readCell(args)
	if err != nil {
		return err
	}
	spec, ok := impls.Find(cell.Lock)
	if !ok {
		return usagef("%s is no lock of the lab: shrink plays scripts with the lab's own locks only", cell.Lock)
	}
	found := f.choose(cell.Verdict)
	if len(found) == 0 {
		return usagef("%s/%s shows %s; there is nothing to shrink", cell.Lock, cell.Scenario, cmp.Or(f.anomaly+" nowhere", cell.Verdict.String()))
	}
	lab, err := f.open(cmd, spec)
	if err != nil {
		return err
	}
	script, err := lab.shrink(cmd.Context(), events, found)
	if err := errors.Join(err, lab.close()); err != nil {
		return err
	}
	if script == nil {
		for _, tried := range lab.tried {
			fmt.Fprintf(cmd.ErrOrStderr(), "lab: tried %s\n", tried)
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "lab: none of these shows the anomaly again by the order of commands alone; lab explain tells the story as it was")
		return &outcome{codeUnknown}
	}
	text := scenarios.Format(script)
	if f.out != "" {
		if err := os.WriteFile(f.out, text, 0o644); err != nil {
			return usagef("--out: %v", plainly(err))
		}
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// readCell reads the cell that the user named, by its run or by its own directory.
func readCell(args []string) (checker.Cell, []history.Event, error) {
	dir, own := args[0], ""
	for up := filepath.Clean(args[0]); ; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, "run.json")); err == nil {
			dir = up
			if rel, err := filepath.Rel(up, filepath.Clean(args[0])); err == nil && rel != "." {
				own = rel
			}
			break
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	run, err := readRun(dir)
	if err != nil {
		return checker.Cell{}, nil, err
	}
	cell, err := cellOf(run, own, args[1:])
	if err != nil {
		return cell, nil, err
	}
	file, err := history.ReadFile(historyPath(run.Dir, cell))
	if err != nil {
		return cell, nil, usagef("%v", err)
	}
	return judged(cell, file.Events), file.Events, nil
}

// cellOf is the cell with that directory, or of that name; without either, the first that broke a promise, or was broken.
func cellOf(run *checker.Run, dir string, names []string) (checker.Cell, error) {
	if dir != "" {
		i := slices.IndexFunc(run.Cells, func(c checker.Cell) bool { return c.Dir == dir })
		if i < 0 {
			return checker.Cell{}, usagef("%s is no cell of %s", dir, run.Dir)
		}
		return run.Cells[i], nil
	}
	caught := func(c checker.Cell) bool { return c.Storm != nil && c.Storm.First != nil }
	if len(names) == 1 {
		for _, c := range run.Cells {
			if c.Lock+"/"+c.Scenario == names[0] && caught(c) {
				return c, nil
			}
		}
	}
	if i := slices.IndexFunc(run.Cells, caught); i >= 0 && len(names) == 0 {
		return run.Cells[i], nil
	}
	return pickCell(run, names)
}

// choose lists the anomalies that are to be shown, those that break a promise first.
func (f *shrinkFlags) choose(v checker.Verdict) []checker.Anomaly {
	var found, beyond []checker.Anomaly
	for _, a := range v.Anomalies {
		switch {
		case f.anomaly != "" && string(a.Name) != f.anomaly:
		case a.Beyond == "":
			found = append(found, a)
		default:
			beyond = append(beyond, a)
		}
	}
	if len(found) > 0 {
		return found
	}
	return beyond
}

// shrinker plays scripts.
type shrinker struct {
	flags   *shrinkFlags
	world   *live.World
	dir     string
	subject cells.Subject
	creed   storm.Creed
	say     func(format string, args ...any)
	played  int
	tried   []string
}

func (f *shrinkFlags) open(cmd *cobra.Command, spec impls.Spec) (*shrinker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "locklab-shrink-")
	if err != nil {
		return nil, err
	}
	world, err := live.Open(cmd.Context(), live.Config{Dir: dir, Guard: []string{self, "guard"}, Server: f.server, CellTimeout: 20*f.lease + 10*time.Second})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &shrinker{
		flags: f, world: world, dir: dir, subject: cells.SubjectOf(spec, []string{self, "worker"}), creed: storm.CreedOf(spec),
		say: func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), "shrink: "+format+"\n", args...) },
	}, nil
}

func (s *shrinker) close() error { return errors.Join(s.world.Close(), os.RemoveAll(s.dir)) }

// shrink finds a script that shows one of the anomalies, and makes it as small as it can; nil if none shows one.
func (s *shrinker) shrink(ctx context.Context, events []history.Event, found []checker.Anomaly) (*scenarios.Script, error) {
	scripts := make(map[*scenarios.Script]checker.Anomaly)
	var all []*scenarios.Script
	for _, a := range found {
		script, err := shrink.Script(events, a, shrink.Options{
			Name: "race", Title: fmt.Sprintf("%s of %s, as a storm found it.", a.Name, s.subject.Name), Lease: s.flags.lease, Renews: s.creed.Renews,
		})
		if err != nil {
			s.tried = append(s.tried, fmt.Sprintf("%s at %.3fs: no script can tell it (%s)", a.Name, a.At.Seconds(), firstLine(err)))
			continue
		}
		scripts[script] = a
		all = append(all, script)
	}
	slices.SortStableFunc(all, func(a, b *scenarios.Script) int {
		return cmp.Or(consequence(scripts[a])-consequence(scripts[b]), len(a.Steps)-len(b.Steps))
	})
	for _, script := range all {
		a := scripts[script]
		name := a.Name
		s.say("%s in %d steps?", name, len(script.Steps))
		cells, err := s.play(ctx, []*scenarios.Script{script})
		if err != nil {
			return nil, err
		}
		if !same(cells[0].Verdict, a) {
			s.tried = append(s.tried, fmt.Sprintf("%s at %.3fs, by a script of %d steps, which came to: %s",
				name, a.At.Seconds(), len(script.Steps), cells[0].Verdict))
			continue
		}
		return shrink.Shrink(script, func(scripts []*scenarios.Script) ([]bool, error) { return s.shows(ctx, a, scripts) })
	}
	return nil, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// consequence ranks what a lock did before what came of it.
func consequence(a checker.Anomaly) int {
	switch a.Name {
	case checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate:
		return 1
	}
	return 0
}

// tries is how often a script is played on a machine that stalls before it counts as one that shows nothing.
const tries = 3

// sure is how often a script must show the anomaly, one time after the other, to count.
const sure = 3

// shows plays scripts and says which of them show an anomaly.
func (s *shrinker) shows(ctx context.Context, a checker.Anomaly, scripts []*scenarios.Script) ([]bool, error) {
	cells, err := s.play(ctx, slices.Repeat(scripts, sure))
	if err != nil {
		return nil, err
	}
	shown := make([]bool, len(scripts))
	best := -1
	for i := range scripts {
		shown[i] = true
		for k := i; k < len(cells); k += len(scripts) {
			shown[i] = shown[i] && same(cells[k].Verdict, a)
		}
		if shown[i] && (best < 0 || len(scripts[i].Steps) < len(scripts[best].Steps)) {
			best = i
		}
	}
	if best >= 0 {
		s.say("%s in %s", a.Name, sizeOf(scripts[best]))
	}
	return shown, nil
}

// same says whether a verdict has the anomaly: of the same name, and the lock's own doing if it was that.
func same(v checker.Verdict, a checker.Anomaly) bool {
	return slices.ContainsFunc(v.Anomalies, func(b checker.Anomaly) bool {
		return b.Name == a.Name && (b.Beyond == "" || a.Beyond != "")
	})
}

func sizeOf(s *scenarios.Script) string {
	return fmt.Sprintf("%d steps of %d clients", len(s.Steps), len(s.Clients))
}

// play plays scripts at the same time.
func (s *shrinker) play(ctx context.Context, scripts []*scenarios.Script) ([]checker.Cell, error) {
	verdicts := make([]checker.Cell, len(scripts))
	var again []int
	for i := range scripts {
		again = append(again, i)
	}
	for range tries {
		var cases []cells.Case
		for _, i := range again {
			s.played++
			cases = append(cases, cells.Case{Subject: s.subject, Script: scripts[i], Round: s.played})
		}
		ended, err := cells.RunAll(ctx, cases, cells.Order{Parallel: s.flags.parallel}, silent{}, s.world.Run)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var stalled []int
		for n, i := range again {
			verdicts[i] = ended[n]
			if file, err := history.ReadFile(historyPath(s.dir, ended[n])); err == nil {
				verdicts[i].Verdict, _ = storm.Conclude(file.Events, s.creed, checker.Storm{})
			}
			if strings.HasPrefix(ended[n].Verdict.Reason, "the machine ") {
				stalled = append(stalled, i)
			}
		}
		if again = stalled; len(again) == 0 {
			break
		}
	}
	return verdicts, nil
}

// silent tells nobody how it goes on.
type silent struct{}

func (silent) CellStarted(cells.Case) error                       { return nil }
func (silent) StormGoesOn(cells.Case, time.Duration, int64) error { return nil }
func (silent) CellEnded(checker.Cell) error                       { return nil }
