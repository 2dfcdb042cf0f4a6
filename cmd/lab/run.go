package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/report"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/live"
)

// runFlags are the flags of lab run as given.
type runFlags struct {
	locks     []string
	client    string
	server    string
	toxiproxy string
	listen    string
	advertise string
	out       string
	junit     string
	baseline  string
	shard     string
	parallel  int
	count     int
	seed      int64
	timeout   time.Duration
	json      bool
	verbose   bool
	failFast  bool
	update    bool
	questions bool
}

func newRun() *cobra.Command {
	flags := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [SCENARIO | FILE.lab]...",
		Short: "Run locks through scenarios, with real faults, and say what broke",
		Long: `Run plays every scenario (or the ones named, or your own scripts) with every lock (or those of --lock) and compares
the verdict with what is expected. Without --server it needs nothing but itself: an embedded Redis, an embedded toxiproxy, and a
process of its own for each client.

The results go to runs/<time>-<id>; runs/latest points to the newest.`,
		Example: `  lab run
  lab run pause-past-lease --lock setpx-lua -v
  lab run --server redis-server --parallel 8
  lab run --server 127.0.0.1:6379 --toxiproxy http://127.0.0.1:8474
  lab run --client 'python3 mylock.py'
  lab run my.lab --lock getset --count 50`,
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&flags.locks, "lock", nil, "locks to test (default: all); with --client: the lock whose expectations apply")
	f.StringVar(&flags.client, "client", "", "command of a client that speaks docs/protocol.md, instead of the lab's own locks")
	f.StringVar(&flags.server, "server", fromEnv("LOCKLAB_SERVER", live.Embedded), "embedded, redis-server (started by the lab), or host:port [LOCKLAB_SERVER]")
	f.StringVar(&flags.toxiproxy, "toxiproxy", fromEnv("LOCKLAB_TOXIPROXY", ""), "URL of a toxiproxy to use instead of the embedded one [LOCKLAB_TOXIPROXY]")
	f.StringVar(&flags.listen, "listen", fromEnv("LOCKLAB_LISTEN", ""), "host on which the lab listens for an outside toxiproxy (default 127.0.0.1) [LOCKLAB_LISTEN]")
	f.StringVar(&flags.advertise, "advertise", fromEnv("LOCKLAB_ADVERTISE", ""), "host by which toxiproxy reaches the lab, or auto (default: the same) [LOCKLAB_ADVERTISE]")
	f.StringVar(&flags.out, "out", "", "directory for the results (default runs/<time>-<id>)")
	f.StringVar(&flags.junit, "junit", "", "also write a JUnit report to this file")
	f.StringVar(&flags.baseline, "baseline", "", "a run.json, or a run's directory: surprises that it has are no news")
	f.StringVar(&flags.shard, "shard", "", "run the ith of n parts: i/n")
	f.IntVar(&flags.parallel, "parallel", 6*runtime.NumCPU(), "cells in flight; they mostly wait")
	f.IntVar(&flags.count, "count", 1, "run each cell so many times, and list the cells whose verdicts differ")
	f.Int64Var(&flags.seed, "seed", 0, "seed of the order in which cells are started (default: a random one)")
	f.DurationVar(&flags.timeout, "timeout", time.Minute, "after which a cell is given up as unknown")
	f.BoolVar(&flags.json, "json", false, "write one JSON event a line instead of text")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "say of each cell why it was accused")
	f.BoolVar(&flags.failFast, "fail-fast", false, "start no more cells after the first surprise or failure")
	f.BoolVar(&flags.update, "update", false, "write what was seen into scenarios/expected.txt, for review")
	f.BoolVar(&flags.questions, "questions", true, "ask the server for the state of the lock around each command")
	completeFlag(cmd, "lock", completeLocks)
	completeFlag(cmd, "server", cobra.FixedCompletions([]string{live.Embedded, live.RedisServer}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func fromEnv(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// run carries the command out.
func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	plan, err := f.plan(args)
	if err != nil {
		return err
	}
	known, err := baseline(f.baseline)
	if err != nil {
		return err
	}
	run, err := f.newRecord(plan.cases)
	if err != nil {
		return err
	}
	world, err := live.Open(cmd.Context(), live.Config{
		Dir: run.Dir, Guard: plan.guard, Server: f.server, Toxiproxy: f.toxiproxy, Listen: f.listen, Advertise: f.advertise,
		CellTimeout: f.timeout, NoQuestions: !f.questions,
	})
	if err != nil {
		return errors.Join(err, os.Remove(run.Dir))
	}
	err = f.play(cmd, world, run, plan.cases, known)
	return errors.Join(err, world.Close())
}

// play runs the cells and reports them as they end.
func (f *runFlags) play(cmd *cobra.Command, world *live.World, run *checker.Run, cases []live.Case, known func(checker.Cell) bool) error {
	run.Server, run.Toxiproxy = world.ServerVersion(), world.ToxiproxyVersion()
	if err := report.WriteRun(run.Dir, run); err != nil {
		return err
	}
	if err := pointLatest(run.Dir, f.out == ""); err != nil {
		return err
	}
	planned := run.Cells
	run.Cells = nil
	teller := &teller{run: run, total: len(cases), sink: f.sinks(cmd, run), failFast: f.failFast}
	if err := teller.tell(report.RunStart, nil); err != nil {
		return err
	}
	cells, err := world.RunAll(cmd.Context(), cases, live.Order{Parallel: f.parallel, Seed: f.seed}, teller)
	if err != nil && !errors.Is(err, errFailFast) {
		return err
	}
	run.Cells, run.Finished = cells, len(cells) == len(planned)
	if err := errors.Join(report.WriteRun(run.Dir, run), teller.tell(report.RunEnd, nil)); err != nil {
		return err
	}
	if err := f.updateExpected(cmd.ErrOrStderr(), cells); err != nil {
		return err
	}
	if cause := context.Cause(cmd.Context()); cause != nil {
		return cause
	}
	return exitWith(judge(cells, known))
}

// newRecord makes the directory of the run and what goes into its run.json before the first cell.
func (f *runFlags) newRecord(cases []live.Case) (*checker.Run, error) {
	now := time.Now()
	id := fmt.Sprintf("%s-%04x", now.Format("20060102-150405"), rand.N(1<<16))
	dir := f.out
	if dir == "" {
		dir = filepath.Join("runs", id)
	}
	if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
		return nil, usagef("%s holds the results of another run; name another directory with --out", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, usagef("--out: %v", err)
	}
	run := &checker.Run{
		ID: id, Started: now, Seed: f.seed, World: "live", Lab: version(), Dir: dir, Command: os.Args[1:],
		Platform: fmt.Sprintf("%s/%s, %s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU()),
	}
	for _, c := range cases {
		run.Cells = append(run.Cells, c.Planned())
	}
	return run, nil
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// pointLatest lets runs/latest name the newest run.
func pointLatest(dir string, wanted bool) error {
	if !wanted {
		return nil
	}
	link := filepath.Join(filepath.Dir(dir), "latest")
	next := link + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Symlink(filepath.Base(dir), next); err != nil {
		return err
	}
	return os.Rename(next, link)
}

// sinks are the reports that were asked for.
func (f *runFlags) sinks(cmd *cobra.Command, run *checker.Run) report.Sink {
	sinks := []report.Sink{f.screen(cmd)}
	sinks = append(sinks, toFile(filepath.Join(run.Dir, "junit.xml"), report.JUnit))
	if f.junit != "" {
		sinks = append(sinks, toFile(f.junit, report.JUnit))
	}
	sinks = append(sinks, toFile(filepath.Join(run.Dir, "report.html"), page(run.Dir)))
	return report.Tee(sinks...)
}

func (f *runFlags) screen(cmd *cobra.Command) report.Sink {
	if f.json {
		return report.NewJSON(cmd.OutOrStdout())
	}
	opts := terminalOptions(cmd)
	opts.Verbose = f.verbose
	return report.NewTerminal(cmd.OutOrStdout(), cmd.ErrOrStderr(), opts)
}

// toFile renders the whole run into a file when it has ended.
func toFile(path string, render func(io.Writer, *checker.Run) error) report.Sink {
	return report.AtEnd(func(run *checker.Run) error {
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		return errors.Join(render(file, run), file.Close())
	})
}

// errFailFast keeps further cells from being started.
var errFailFast = errors.New("--fail-fast")

// teller passes the progress of the cells on to the reports.
type teller struct {
	run         *checker.Run
	sink        report.Sink
	done, total int
	failFast    bool
}

func (t *teller) tell(kind report.Kind, cell *checker.Cell) error {
	return t.sink.Handle(report.Event{Kind: kind, Run: t.run, Cell: cell, Done: t.done, Total: t.total})
}

func (t *teller) CellStarted(c live.Case) error {
	cell := c.Planned()
	return t.tell(report.CellStart, &cell)
}

func (t *teller) CellEnded(cell checker.Cell) error {
	t.done++
	if err := t.tell(report.CellEnd, &cell); err != nil {
		return err
	}
	if t.failFast && (cell.Surprise() || cell.Failure != "") {
		return errFailFast
	}
	return nil
}

// baseline reads the surprises of an earlier run.
func baseline(path string) (known func(checker.Cell) bool, err error) {
	if path == "" {
		return func(checker.Cell) bool { return false }, nil
	}
	run, err := report.ReadRun(strings.TrimSuffix(path, "run.json"))
	if err != nil {
		return nil, usagef("--baseline: %v", err)
	}
	return func(cell checker.Cell) bool {
		for _, old := range run.Cells {
			if old.Lock == cell.Lock && old.Scenario == cell.Scenario && old.Surprise() && old.Verdict.Same(cell.Verdict) {
				return true
			}
		}
		return false
	}, nil
}

// updateExpected writes what was seen into the reviewed matrix, where --update asks for it.
func (f *runFlags) updateExpected(stderr io.Writer, cells []checker.Cell) error {
	if !f.update {
		return nil
	}
	path := filepath.Join("scenarios", "expected.txt")
	src, err := os.ReadFile(path)
	if err != nil {
		return usagef("--update rewrites %s, so run it where the sources are: %v", path, err)
	}
	matrix, err := scenarios.ParseExpected(path, src)
	if err != nil {
		return err
	}
	changed := 0
	for _, cell := range cells {
		if cell.Surprise() {
			matrix.Set(cell.Scenario, cell.Lock, cell.Verdict)
			changed++
		}
	}
	var text strings.Builder
	if err := matrix.Write(&text); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "lab: %d cells of %s changed; review them\n", changed, path)
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
