package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/report/web"
	"github.com/locklab/locklab/internal/serve"
	"github.com/locklab/locklab/scenarios"
)

// serveFlags are the flags of lab serve as given.
type serveFlags struct {
	where  settingFlags
	out    outFlags
	port   int
	noOpen bool
}

func newServe() *cobra.Command {
	flags := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve [RUN]...",
		Short: "Show runs in a browser, and run scenarios and storms from there",
		Long: `Serve shows runs in a browser: those in runs/, or those that are named. A button
starts a scenario or a storm and shows it while it runs. The results are kept
like those of any other run.

It prints its address and opens it. Only programs on this machine reach it, and
only with the token in the address. Ctrl-C ends it, and what it runs.`,
		Example: `  lab serve
  lab serve runs/latest
  lab serve --server redis-server
  lab serve --no-open --port 8080`,
		ValidArgsFunction: completeRuns,
		RunE:              flags.run,
	}
	where, shown := flagSet(), flagSet()
	flags.where.bindServers(where)
	flags.out.bindKept(shown)
	shown.IntVar(&flags.port, "port", 0, "listen on port `N` of 127.0.0.1 (default: a free one)")
	bindNoOpen(shown, &flags.noOpen)
	useGroups(cmd, []flagGroup{{"Where to run", where}, {"What to show", shown}})
	completeFlag(cmd, "server", completeServers)
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command, args []string) error {
	if f.port < 0 || f.port > 1<<16-1 {
		return usagef("--port must be from 0 to 65535, not %d", f.port)
	}
	for _, run := range args {
		if _, err := readRun(run); err != nil {
			return err
		}
	}
	f.where.World, f.where.Timeout = lab.Live, defaultTimeout
	if err := f.where.settle(cmd); err != nil {
		return err
	}
	if f.where.forPrograms() {
		return f.where.needsProgram()
	}
	if err := f.out.check(); err != nil {
		return err
	}
	if err := f.where.check(); err != nil {
		return err
	}
	builtin, err := scenarios.Builtin()
	if err != nil {
		return err
	}
	config := serve.Config{Dir: f.out.kept.in, Named: runDirs(args), Lengths: []string{"10s", "30s", "1m", "5m"}, Plan: f.plan}
	for _, script := range builtin {
		config.Scenarios = append(config.Scenarios, web.Choice{Name: script.Name, Title: script.Title})
	}
	for _, spec := range impls.Every() {
		config.Locks = append(config.Locks, web.Choice{Name: spec.Name, Title: spec.Idea})
	}
	server, err := serve.Listen(config, f.port)
	if err != nil {
		return usagef("--port: the lab cannot listen at 127.0.0.1:%d: %v", f.port, netCause(err))
	}
	if err := announce(cmd, server.URL(), server.Once(), f.noOpen); err != nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "Ctrl-C ends it, and what it runs.")
	return server.Serve(cmd.Context())
}

// runDirs are the directories of runs, of which a user may name the file within.
func runDirs(args []string) []string {
	var dirs []string
	for _, arg := range args {
		if filepath.Base(arg) == rundir.RunFile {
			arg = filepath.Dir(arg)
		}
		dirs = append(dirs, arg)
	}
	return dirs
}

// plan turns what was ordered into what lab run or lab storm would do.
func (f *serveFlags) plan(order serve.Order) (*serve.Job, error) {
	base := runFlags{settingFlags: f.where, outFlags: f.out, workload: string(history.Counter), count: 1, seed: rand.Int64N(1 << 31)}
	if order.Lock != "" {
		base.locks = []string{order.Lock}
	}
	switch order.Kind {
	case serve.Scenario:
		return base.scenarioJob(order)
	case serve.Storm:
		return base.stormJob(order)
	}
	return nil, unknown("order", order.Kind, []string{serve.Scenario, serve.Storm}, "there are scenario and storm")
}

// scenarioJob is lab run with one scenario.
func (f *runFlags) scenarioJob(order serve.Order) (*serve.Job, error) {
	switch order.World {
	case lab.Sim:
		f.Setting = lab.Setting{World: lab.Sim, Timeout: f.Timeout}
	case lab.Live:
	default:
		return nil, unknown("world", order.World, []string{lab.Live, lab.Sim}, "it is live or sim")
	}
	plan, _, err := f.plan(nil, []string{order.Scenario})
	if err != nil {
		return nil, err
	}
	plan.Options = f.ordered("run", order.Scenario, "--world", order.World)
	return &serve.Job{Dir: plan.Results.Dir, Run: func(ctx context.Context, sink report.Sink) error {
		plan.Sink = sink
		_, err := lab.Run(ctx, plan)
		return err
	}}, nil
}

// stormJob is lab storm with one lock.
func (f *runFlags) stormJob(order serve.Order) (*serve.Job, error) {
	length, err := time.ParseDuration(order.For)
	if err != nil {
		return nil, usagef("a storm lasts for a duration such as 30s, not %q", order.For)
	}
	if len(f.locks) == 0 {
		return nil, usagef("name a lock for the storm; %s", see("lab list locks"))
	}
	storm := &stormFlags{runFlags: *f, clients: stormClients, handles: stormHandles, length: length}
	storm.faults = kindNames()
	storm.parallel = runtime.NumCPU()
	plan, err := storm.plan()
	if err != nil {
		return nil, err
	}
	if storm.Timeout, err = plan.Longest(); err != nil {
		return nil, usagef("%v", err)
	}
	plan.Options = storm.ordered("storm", "--for", order.For)
	return &serve.Job{Dir: plan.Results.Dir, For: length, Run: func(ctx context.Context, sink report.Sink) error {
		plan.Sink = sink
		_, err := lab.Storm(ctx, plan)
		return err
	}}, nil
}

// ordered are the options of a run that was ordered in the browser, with the command that would do the same.
func (f *runFlags) ordered(command ...string) lab.Options {
	if len(f.locks) > 0 {
		command = append(command, "--lock", strings.Join(f.locks, ","))
	}
	return lab.Options{Setting: f.Setting, Results: f.results(), Parallel: f.parallel, Seed: f.seed, Command: slices.Clone(command)}
}
