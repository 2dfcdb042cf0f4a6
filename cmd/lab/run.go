package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
)

// runFlags are the flags of lab run as given.
type runFlags struct {
	settingFlags
	shownFlags
	outFlags
	locks    []string
	programs []string // of --client
	judged   judgedFlags
	faults   []string
	expect   string
	workload string
	shard    string
	baseline string
	parallel int
	count    int
	seed     int64
	failFast bool
	update   bool
	all      bool
}

// judgedFlags say what is expected of the clients of --client.
type judgedFlags struct {
	like     string
	promises []string
}

// outFlags say where results go.
type outFlags struct {
	out, junit, summary string
	annotate            bool
	kept                struct {
		in   string
		most int
	}
}

func (f *outFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.out, "out", "", "write the results to `DIR` (default runs/<time>-<id>)")
	f.bindKept(flags)
	flags.StringVar(&f.junit, "junit", "", "also write a JUnit report to `FILE`")
	flags.StringVar(&f.summary, "summary", "", "also append a summary in Markdown to `FILE`, such as $GITHUB_STEP_SUMMARY")
	flags.BoolVar(&f.annotate, "annotate", false, "also write GitHub's annotations of surprises and failures, on stderr")
}

// bindKept binds the flags about the directory of all runs.
func (f *outFlags) bindKept(flags *pflag.FlagSet) {
	flags.StringVar(&f.kept.in, "runs", "runs", "keep runs in `DIR`, each in a directory of its own")
	flags.IntVar(&f.kept.most, "keep", 20, "keep the `N` newest runs there and remove the others; 0 keeps all")
}

func (f *outFlags) check() error {
	if f.kept.most < 0 {
		return usagef("--keep must be at least 0, not %d", f.kept.most)
	}
	return nil
}

// results says what is kept of a run.
func (f *outFlags) results() lab.Results {
	if f.out != "" {
		return lab.Results{Dir: f.out}
	}
	return lab.Results{Dir: filepath.Join(f.kept.in, lab.NewID()), Latest: true, Most: f.kept.most}
}

// sink adds the reports that were asked for to a screen.
func (f *outFlags) sink(screen report.Sink, stderr io.Writer) (report.Sink, error) {
	sinks := []report.Sink{screen}
	if f.annotate {
		sinks = append(sinks, report.AtEnd(func(run *record.Run) error { return report.Annotations(stderr, run) }))
	}
	if f.junit != "" {
		file, err := openOut("--junit", f.junit, 0) // an old report stays until there is a new one
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, report.AtEnd(func(run *record.Run) error {
			return errors.Join(file.Truncate(0), report.JUnit(file, run), file.Close())
		}))
	}
	if f.summary != "" {
		file, err := openOut("--summary", f.summary, os.O_APPEND)
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, report.AtEnd(func(run *record.Run) error { return errors.Join(report.Summary(file, run), file.Close()) }))
	}
	return report.Tee(sinks...), nil
}

// openOut opens the file of a flag before anything is run.
func openOut(flag, path string, how int) (*os.File, error) {
	if err := checkOut(flag, path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o644)
	if err != nil {
		return nil, usagef("%s: %v", flag, plainly(err))
	}
	return file, nil
}

func newRun() *cobra.Command {
	flags := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [SCENARIO | FILE.lab]...",
		Short: "Run locks through scenarios with injected faults",
		Long: `Run plays scenarios, also your own scripts, with every lock or those of --lock,
and compares the verdicts with what is expected. Without arguments it is a tour
of a few seconds; --all is the whole suite.

Beside a locklab.toml (docs/configuration.md) it runs the suite that the file
describes; flags and arguments override the file.

By default the lab brings its own server (miniredis) and its own toxiproxy, and
runs each client in a process of its own.

--world sim plays the same scripts in a model: the locks' own code and models of
Redis and ZooKeeper in one process, in virtual time. That takes seconds, and
the result is the same every time.

Results go to runs/<time>-<id>; runs/latest points to the newest.`,
		Example: `  lab run
  lab run pause-past-lease --lock setpx-lua
  lab run --all
  lab run --all --world sim
  lab run --all --server redis-server --parallel 8
  lab run --all --server 127.0.0.1:6379 --toxiproxy http://127.0.0.1:8474
  lab run --client 'python3 mylock.py'
  lab run --client 'python3 mylock.py' --expect mylock.expected --update
  lab run --all --workload stock --lock getset,setpx-lua
  lab run --all --wait yield-sleep:600ms,200ms
  lab run my.lab --lock getset --count 50`,
		ValidArgsFunction: completeScenarios,
		RunE:              flags.run,
	}
	useGroups(cmd, append(flags.groups(), withSuite(cmd)))
	completeFlag(cmd, "lock", completeLocks)
	completeFlag(cmd, "world", completeWorlds)
	completeFlag(cmd, "workload", completeWorkloads)
	completeSetting(cmd)
	return cmd
}

// groups binds the flags of lab run.
func (f *runFlags) groups() []flagGroup {
	what, where, expected, shown := flagSet(), flagSet(), flagSet(), flagSet()

	what.BoolVar(&f.all, "all", false, "every scenario with every lock")
	what.StringSliceVar(&f.locks, "lock", nil, "test the locks `NAMES` (default: all)")
	what.StringArrayVar(&f.programs, "client", nil, "test your own client, started by `COMMAND`; it speaks docs/protocol.md; may be repeated")
	what.StringSliceVar(&f.faults, "faults", nil, "only scenarios in which no other `KINDS` of faults strike, or none; see docs/tables/faults.md")
	what.StringVar(&f.World, "world", lab.Live, "`WORLD` is live (processes, sockets, Redis) or sim (a model, in virtual time)")
	f.bindWork(what)
	what.IntVar(&f.count, "count", 1, "run each cell `N` times and list the cells whose verdicts differ")
	bindShard(what, &f.shard, "cells")
	what.IntVar(&f.parallel, "parallel", 0, fmt.Sprintf("run `N` cells at once (default: %d in the live world, where cells mostly wait)", lab.CellsPerCore*runtime.NumCPU()))
	what.Int64Var(&f.seed, "seed", 0, "start the cells in the order of seed `N` (default: random)")
	what.DurationVar(&f.Timeout, "timeout", defaultTimeout, "give up a cell after `TIME`, and what its script waits for besides; its verdict is then unknown")
	what.BoolVar(&f.failFast, "fail-fast", false, "start no more cells after the first surprise or failure")

	f.bindServers(where)

	expected.StringVar(&f.judged.like, "like", "", "with --client: expect what is expected of `LOCK` (default: that it breaks none of its promises)")
	f.judged.bind(expected)
	expected.StringVar(&f.expect, "expect", "", "expect what the table in `FILE` says; --update writes it")
	expected.StringVar(&f.baseline, "baseline", "", "ignore the surprises of an earlier run: `FILE` is its directory or its run.json")
	expected.BoolVar(&f.update, "update", false, "write the verdicts into the table of --expect, or into scenarios/expected.txt, for review")

	f.outFlags.bind(shown)
	f.shownFlags.bind(shown)

	return []flagGroup{
		{"What to run", what},
		{"Where to run it", where},
		{"What is expected", expected},
		{"What to report", shown},
	}
}

// bindWork binds the flags about what clients do.
func (f *runFlags) bindWork(flags *pflag.FlagSet) {
	flags.StringVar(&f.workload, "workload", string(history.Counter), "use the workload `NAME` in scenarios that name none; see lab list workloads")
	flags.StringVar(&f.Wait, "wait", "", "`HOW` clients wait between tries: sleep:200ms, spin, yield, backoff:1ms,1s,7, wake, ... (default: as each lock does)")
}

func (f *judgedFlags) bind(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.promises, "promises", nil, "with --client: judge it by these `PROMISES` (docs/tables/protocol.md), whatever its hello says")
}

// run carries lab run out.
func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	collectLess()
	if err := f.settle(cmd); err != nil {
		return err
	}
	if err := f.checkGiven(cmd); err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("seed"):
	case f.shard != "":
		f.seed = 1 // it decides on the order only, and must be that of all parts
	default:
		f.seed = rand.Int64N(1 << 31)
	}
	if f.tours(args) {
		return f.tour(cmd)
	}
	plan, table, err := f.plan(cmd, args)
	if err != nil {
		return err
	}
	if plan.Options, err = f.options(cmd, f.screen(cmd)); err != nil {
		return err
	}
	run, err := lab.Run(cmd.Context(), plan)
	if err != nil {
		return err
	}
	if f.update {
		if err := table.accept(cmd.ErrOrStderr(), run.Cells); err != nil {
			return err
		}
	}
	return conclude(run)
}

// checkGiven looks at flags that mean something else when they are left out. An unset variable of a shell makes an empty value.
func (f *runFlags) checkGiven(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	switch {
	case given("parallel") && f.parallel < 1:
		return usagef("--parallel must be at least 1, not %d", f.parallel)
	case slices.ContainsFunc(f.programs, func(command string) bool { return strings.TrimSpace(command) == "" }):
		return usagef("--client needs a command, for example 'python3 mylock.py'")
	case len(f.programs) > 0 && given("lock"):
		return usagef("--client is the lock under test; for the expectations of one of the lab's locks use --like, not --lock")
	case len(f.programs) == 0 && f.judged.like != "":
		return usagef("--like is for --client: it names the lock that the client is compared with")
	case len(f.programs) == 0 && len(f.judged.promises) > 0:
		return usagef("--promises is for --client: a lock of the lab has its promises on its card")
	case given("lock") && len(f.locks) == 0:
		return usagef("--lock needs a name; %s", see("lab list locks"))
	}
	return nil
}

// options are what lab run and lab storm have in common.
func (f *runFlags) options(cmd *cobra.Command, screen report.Sink) (lab.Options, error) {
	known, err := f.known()
	if err != nil {
		return lab.Options{}, err
	}
	shard, err := parseShard(f.shard)
	if err != nil {
		return lab.Options{}, err
	}
	sink, err := f.sink(screen, cmd.ErrOrStderr())
	f.Alone = true
	return lab.Options{
		Setting: f.Setting, Results: f.results(), Parallel: f.parallel, Seed: f.seed, FailFast: f.failFast, Known: known, Sink: sink, Command: os.Args[1:],
		Shard: shard,
	}, err
}
