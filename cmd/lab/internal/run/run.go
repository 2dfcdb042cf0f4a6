// Package run is lab run and lab storm: flags, arguments and a locklab.toml become cells, which are run, shown, and compared with what is expected.
//
// It owns what a campaign is: which scenarios or storms, with which locks, how often. It must not know how a cell is run or judged. Package browse
// asks it for plans (Request).
package run

import (
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/screen"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// runFlags are the flags of lab run as given.
type runFlags struct {
	campaign campaign
	expected expectations
	all      bool
	failFast bool
}

// Run is lab run.
func Run() *cobra.Command {
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
		ValidArgsFunction: naming.CompleteScenarios,
		RunE:              flags.run,
	}
	cli.UseGroups(cmd, append(flags.groups(), withSuite(cmd)))
	cli.CompleteFlag(cmd, "world", naming.CompleteWorlds)
	flags.campaign.complete(cmd)
	return cmd
}

// groups binds the flags of lab run.
func (f *runFlags) groups() []cli.FlagGroup {
	c := &f.campaign
	what, where, expected := cli.FlagSet(), cli.FlagSet(), cli.FlagSet()

	what.BoolVar(&f.all, "all", false, "every scenario with every lock")
	c.subjects.Bind(what, expected, "with --client: expect what is expected of `LOCK` (default: that it breaks none of its promises)")
	what.StringSliceVar(&c.faults, "faults", nil, "only scenarios in which no other `KINDS` of faults strike, or none; see docs/tables/faults.md")
	what.StringVar(&c.where.World, "world", lab.Live, "`WORLD` is live (processes, sockets, Redis) or sim (a model, in virtual time)")
	c.bindWork(what)
	what.IntVar(&c.count, "count", 1, "run each cell `N` times and list the cells whose verdicts differ")
	c.shard.Bind(what, "cells")
	what.IntVar(&c.parallel, "parallel", 0, fmt.Sprintf("run `N` cells at once (default: %d in the live world, where cells mostly wait)", lab.CellsPerCore*runtime.NumCPU()))
	what.Int64Var(&c.seed, "seed", 0, "start the cells in the order of seed `N` (default: random)")
	what.DurationVar(&c.where.Timeout, "timeout", option.DefaultTimeout, "give up a cell after `TIME`, and what its script waits for besides; its verdict is then unknown")
	what.BoolVar(&f.failFast, "fail-fast", false, "start no more cells after the first surprise or failure")

	c.where.Bind(where)
	f.expected.bind(expected)
	return []cli.FlagGroup{
		{Title: "What to run", Flags: what},
		{Title: "Where to run it", Flags: where},
		{Title: "What is expected", Flags: expected},
		{Title: "What to report", Flags: c.bindShown()},
	}
}

// run carries lab run out.
func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	c := &f.campaign
	if err := c.begin(cmd); err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("seed"):
	case c.shard != "":
		c.seed = 1 // it decides on the order only, and must be that of all parts
	default:
		c.seed = rand.Int64N(1 << 31)
	}
	if f.tours(args) {
		return f.tour(cmd)
	}
	plan, table, err := f.plan(args, func(subjects []play.Subject, scripts []*scenarios.Script) ([]play.Subject, error) {
		meet := func(subject play.Subject) (play.Subject, error) {
			return lab.Meet(cmd.Context(), c.where.Setting, subject, scripts...)
		}
		return c.subjects.Meet(meet, subjects, cmd.ErrOrStderr())
	})
	if err != nil {
		return err
	}
	if plan.Options, err = f.options(cmd, c.screen.Sink(cmd, nil)); err != nil {
		return err
	}
	run, err := lab.Run(cmd.Context(), plan)
	if err != nil {
		return err
	}
	if f.expected.update {
		if err := table.accept(cmd.ErrOrStderr(), run.Cells); err != nil {
			return err
		}
	}
	return cli.Conclude(run)
}

// options are those of any campaign, and what only lab run has.
func (f *runFlags) options(cmd *cobra.Command, screen report.Sink) (lab.Options, error) {
	known, err := f.expected.known()
	if err != nil {
		return lab.Options{}, err
	}
	options, err := f.campaign.options(cmd, screen)
	options.FailFast, options.Known = f.failFast, known
	return options, err
}

// tours says whether the user has chosen nothing: then lab run is a tour.
func (f *runFlags) tours(args []string) bool {
	c := &f.campaign
	chosen := f.all || len(args) > 0 || c.subjects.Chosen() || c.shard != "" || c.count != 1 || f.expected.update || f.expected.expect != "" || c.workload != string(history.Counter)
	return !chosen
}

// tour runs what a newcomer should see, and shows it on one screen.
func (f *runFlags) tour(cmd *cobra.Command) error {
	c := &f.campaign
	if err := c.check(); err != nil {
		return err
	}
	if err := c.where.CheckLocks(); err != nil {
		return err
	}
	if live.OnZooKeeper(c.where.Server) {
		return cli.Usagef("the tour shows locks on Redis; for those on a ZooKeeper write lab run --all --server zookeeper")
	}
	cases, situations, err := lab.Tour()
	if err != nil {
		return err
	}
	setting := "real processes and faults"
	if c.where.World == lab.Sim {
		setting = "in the model"
	}
	screen := c.screen.Sink(cmd, &screen.Tour{
		Setting: setting, Dir: c.results.Path(), Situations: situations, Race: lab.TourRace,
		Read: func(run *record.Run, cell record.Cell) ([]history.Event, error) {
			return lab.HistoriesOf(run).Read(cell)
		},
		More: [][2]string{
			{"your lock", "run --client 'python3 mylock.py'"},
			{"everything", "run --all"},
			{"explore", "explore setpx-lua --clients 2 --pauses 1"},
		},
	})
	options, err := f.options(cmd, screen)
	if err != nil {
		return err
	}
	run, err := lab.Run(cmd.Context(), lab.Plan{Cases: cases, Options: options})
	if err != nil {
		return err
	}
	return cli.Conclude(run)
}
