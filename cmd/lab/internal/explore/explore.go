// Package explore is lab explore: a lock is searched, its counterexample shown, written as a script, and replayed.
//
// It owns what such a search looks like to its user. It must not know what a state is, nor how a script is played.
package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/exploration"
	"github.com/locklab/locklab/internal/report/terminal"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// exploreFlags are the flags of lab explore as given.
type exploreFlags struct {
	find                 func(lock string) (impls.Spec, bool)
	bounds               lab.ExplorePlan
	budget               map[faults.Kind]*int
	anomalies            []string
	limits               []string
	all, update          bool
	json, quiet, verbose bool
	assumptions          bool
	shard                option.Shard
	out                  string
	replay               bool
	where                option.Replay
	count                int // of replays
}

// Explore is lab explore; find looks a lock up by its name.
func Explore(find func(lock string) (impls.Spec, bool)) *cobra.Command {
	flags := &exploreFlags{find: find, budget: map[faults.Kind]*int{}}
	cmd := &cobra.Command{
		Use:   "explore LOCK | --all [LOCK…]",
		Short: "Explore every interleaving of a lock, and show the smallest set of faults that breaks it",
		Long: `Explore runs a lock's own code in a model, in every interleaving of its
clients, its servers and time. Fewest faults first, then fewest steps: fewer
faults do not show what the counterexample does, and none of its steps can be
left out. Without one, the lock holds within the bounds that the report names.
A search that a limit has stopped never says so.

Without a flag for a fault, every kind may strike, up to --max-faults together;
with some, only these. The lease is 1.2 s of the model's time.

With --all it finds the fewest faults of each kind that break each lock, or each
of those named, and compares that with docs/tables/breaking-points.md. Its
searches are smaller than those of the table, so they may know less, unless
--limit states=6000000. With --update, the lines of other locks stay.

With --replay a script forces the counterexample on a real server, with real
processes; --world sim plays it in the model, and --out FILE.lab writes it. With
--all --replay, every counterexample of the table is replayed. --out DIR writes
a page that shows the counterexample step by step; with --all it is the table,
of which each entry opens its counterexample.

Exit codes: 0 as expected, also for a broken lock that should break; 1 a
surprise, or a replay that showed something else; 2 unknown: a limit stopped the
search, the lock was never held, the search does not follow all of it,
or the host stalled during a replay; 3 the lab
failed, or the lock cannot be explored.`,
		Example: `  lab explore getset
  lab explore setpx-lua --clients 3 --rounds 2 --pauses 1 --crashes 1
  lab explore watchdog-published --long-holds 1 --limit time=30s
  lab explore redisson --reenter 1 --lost-replies 1 --anomaly unreleasable
  lab explore redlock --servers 3 --limit states=5000000,memory=2GiB
  lab explore --all
  lab explore --all getset redlock --limit states=6000000
  lab explore --all --shard 2/4 --out part-2
  lab explore --all --replay --world sim
  lab explore --all --replay --server redis-server --count 20`,
		ValidArgsFunction: flags.complete,
		RunE:              flags.run,
	}
	cli.UseGroups(cmd, flags.groups())
	cli.CompleteFlag(cmd, "anomaly", naming.CompleteAnomalies())
	flags.where.Complete(cmd)
	return cmd
}

// complete offers locks without LOCK/BUG: one, or several with --all.
func (f *exploreFlags) complete(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 && !f.all {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	others := slices.DeleteFunc(impls.Explored(), func(spec impls.Spec) bool { return slices.Contains(args, spec.Name) })
	return cli.Completions(others, func(spec impls.Spec) (string, string) { return spec.Name, spec.Idea }), cobra.ShellCompDirectiveNoFileComp
}

// groups binds the flags of lab explore.
func (f *exploreFlags) groups() []cli.FlagGroup {
	what, flags, shown := cli.FlagSet(), cli.FlagSet(), cli.FlagSet()
	what.IntVar(&f.bounds.Clients, "clients", 0, "`N` clients, from 1 to 4 (default: 3; 2 if the lock lives on several servers)")
	what.IntVar(&f.bounds.Rounds, "rounds", 0, "each client acquires, works and releases `N` times (default: 1)")
	what.IntVar(&f.bounds.Tries, "tries", 0, fmt.Sprintf("a client tries up to `N` times in each round (default: %d)", search.UsualTries))
	what.IntVar(&f.bounds.Servers, "servers", 0, "`N` servers, from 1 to 5 (default: as many as the lock's card names, up to 3)")
	what.BoolVar(&f.bounds.ReleaseAgain, "release-again", false, "a client may release once more after a release of unknown outcome")
	what.IntVar(&f.bounds.Reenter, "reenter", 0, "each holder takes its lock `N` times more before it works, and releases it as often")
	what.StringArrayVar(&f.anomalies, "anomaly", nil, "look for the anomaly `NAME` only; may be given again; see lab list anomalies")
	what.StringSliceVar(&f.limits, "limit", nil, "stop the search at `LIMITS`: states=N, time=30s, memory=4GiB (default: memory=4GiB)")
	what.BoolVar(&f.all, "all", false, "find the breaking points of every lock, and compare them with the reviewed table")

	f.shard.Bind(what, "locks of --all")

	flags.IntVar(&f.bounds.MostFaults, "max-faults", 2, "up to `N` faults together")
	flags.DurationVar(&f.bounds.Skew, "skew", 0, "a wrong clock is wrong by `TIME` (default: 1.8s, 1.5 leases)")
	flags.Float64Var(&f.bounds.ClockRate, "clock-rate", 0, "a clock that is behind runs at `RATE` instead, and one that is ahead as many times too fast")
	flags.IntVar(&f.bounds.Lag, "lag", 0, "a replica that takes over lacks up to `N` writes (default: 1)")
	f.budgetFlags(flags)

	shown.StringVar(&f.out, "out", "", "write the counterexample to `DIR`/report.html, step by step, or to FILE.lab as a script; with --all: the lines and the table with its counterexamples")
	shown.BoolVar(&f.replay, "replay", false, "replay the counterexample as a script; with --all, those of the table")
	f.where.Bind(shown, "`WORLD` to replay in: live (real processes, faults and servers) or sim (the model)", "`SERVER` to replay on")
	shown.IntVar(&f.count, "count", 1, "replay `N` times")
	shown.BoolVar(&f.json, "json", false, "write one JSON object instead of text")
	shown.BoolVar(&f.assumptions, "assumptions", false, "list all that the result rests on; docs/tables/assumptions.md has it, too")
	shown.BoolVarP(&f.verbose, "verbose", "v", false, "show every step, and all that the result rests on")
	shown.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on stderr")
	shown.BoolVar(&f.update, "update", false, "with --all: write the table to internal/sim/points/breaking.txt, for review")
	return []cli.FlagGroup{{Title: "What to explore", Flags: what}, {Title: "Faults", Flags: flags}, {Title: "What to report", Flags: shown}}
}

// budgetFlags binds a flag for each kind of fault. A flag's earlier name still works.
func (f *exploreFlags) budgetFlags(flags *pflag.FlagSet) {
	for _, kind := range search.Faults() {
		entry := kind.Of()
		n := new(int)
		f.budget[kind] = n
		flags.IntVar(n, entry.Flag, 0, "up to `N` times, "+trace.Meaning(kind, search.UsualSkew, search.Lease, 1))
		for _, old := range entry.Old {
			flags.IntVar(n, old, 0, "")
			_ = flags.MarkHidden(old)
		}
	}
}

// run carries lab explore out.
func (f *exploreFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.checkReplay(cmd); err != nil {
		return err
	}
	if f.all {
		return f.table(cmd, args)
	}
	plan, err := f.plan(args)
	if err != nil {
		return err
	}
	if err := f.where.For(cmd, plan.Lock); err != nil && f.replay {
		return err
	}
	opts := cli.Terminal(cmd)
	if !f.json {
		fmt.Fprint(cmd.OutOrStdout(), boundsText(search.Config(plan), opts.Width))
	}
	cli.CollectLess()
	meter := terminal.NewMeter(cmd.ErrOrStderr(), opts, f.quiet)
	last := f.follow(cmd.ErrOrStderr(), &plan, meter, opts.Width)
	page, err := f.claim()
	if err != nil {
		return err
	}
	explored, err := lab.Explore(cmd.Context(), plan)
	meter.Clear()
	if err != nil {
		if page != nil {
			err = errors.Join(err, page.Discard())
		}
		return f.interrupted(cmd, err, *last)
	}
	if f.json {
		err = cli.WriteJSON(cmd.OutOrStdout(), newExploreRecord(explored))
	} else {
		err = writeExploration(cmd.OutOrStdout(), explored, exploreOptions{
			TraceOptions: exploration.TraceOptions{Width: opts.Width, Color: opts.Color, Verbose: f.verbose}, Assumptions: f.assumptions || f.verbose,
		})
	}
	switch {
	case err != nil || f.out == "":
	case page == nil:
		err = f.script(cmd, plan.Lock, explored.Shown())
	default:
		var path string
		if path, err = page.Write(explored, os.Args[1:]); err == nil {
			tellPage(cmd, path)
		}
	}
	if err != nil {
		return err
	}
	code := int(explored.Outcome())
	if f.replay {
		played, err := f.replayOne(cmd, plan.Lock, explored.Shown())
		if err != nil {
			return err
		}
		if code == cli.CodeExpected {
			code = played
		}
	}
	return cli.Exit(code)
}

// claim makes the directory of --out; nil: it names a script, or nothing.
func (f *exploreFlags) claim() (*lab.ExplorationPage, error) {
	if f.out == "" || namesScript(f.out) {
		return nil, nil
	}
	return lab.ClaimExploration(f.out)
}

// tellPage says where a page of counterexamples is.
func tellPage(cmd *cobra.Command, path string) {
	fmt.Fprintf(cmd.ErrOrStderr(), "lab: %s has the counterexamples step by step\n", path)
}

// namesScript says whether a path has an ending: a script has, and a directory that is there need not.
func namesScript(path string) bool {
	info, err := os.Stat(path)
	return filepath.Ext(path) != "" && (err != nil || !info.IsDir())
}

// follow shows how far the search of a plan has come, and once, if it takes long, how to bound it. What it returns is how far it had come last.
func (f *exploreFlags) follow(stderr io.Writer, plan *lab.ExplorePlan, meter *terminal.Meter, width int) *search.Progress {
	var last search.Progress
	plan.Progress = func(p search.Progress) {
		if last.Memory < largeTables && p.Memory >= largeTables {
			cli.CollectAsUsual()
		}
		if !f.quiet && last.Took < longSearch && p.Took >= longSearch {
			meter.Clear()
			note := fitted{width: width}
			note.line("lab: this search may take long; Ctrl-C ends it and says how far it came. To bound it: %s", smaller(search.Config(*plan), "--limit time=1m"))
			io.WriteString(stderr, note.text.String())
		}
		last = p
		meter.Show(p.Took, progressLine(p))
	}
	return &last
}

// longSearch is after how long a user is told how to bound a search.
const longSearch = 10 * time.Second

// interrupted says what is known of an exploration that did not come to its end.
func (f *exploreFlags) interrupted(cmd *cobra.Command, err error, last search.Progress) error {
	if context.Cause(cmd.Context()) == nil {
		return err
	}
	note := fitted{width: cli.Width(cmd.OutOrStdout())}
	note.line("lab: not complete: %s", progressLine(last))
	note.field("searched", "%s; no counterexample so far", searched(last))
	fmt.Fprint(cmd.ErrOrStderr(), note.text.String())
	return cli.Exit(cli.CodeUnknown) // the signal's code comes before it
}

// plan turns flags into what to explore, and finds every mistake in them.
func (f *exploreFlags) plan(args []string) (lab.ExplorePlan, error) {
	var plan lab.ExplorePlan
	if len(args) != 1 {
		return plan, cli.Usagef("explore takes one lock, or --all; %s", cli.See("lab list locks"))
	}
	spec, ok := f.find(args[0])
	if !ok {
		return plan, naming.UnknownLock(args[0])
	}
	if err := needsOther(spec); err != nil {
		return plan, err
	}
	if namesScript(f.out) {
		if err := cli.CheckScriptOut(f.out); err != nil {
			return plan, err
		}
	}
	if f.update {
		return plan, cli.Usagef("--update is for --all")
	}
	if f.shard != "" {
		return plan, cli.Usagef("--shard is for --all")
	}
	plan = f.bounds
	plan.Lock, plan.Budget = spec, f.spendable()
	if err := errors.Join(f.only(&plan), f.limit(&plan)); err != nil {
		return plan, err
	}
	config, err := plan.Config()
	if bound := new(search.BoundError); errors.As(err, &bound) {
		return plan, cli.Usagef("--%v", err)
	}
	return lab.ExplorePlan(config), err
}

// spendable is the budget of the flags; without any, every kind may strike.
func (f *exploreFlags) spendable() search.Budget {
	budget := search.Budget{}
	for kind, n := range f.budget {
		if *n != 0 {
			budget[kind] = *n
		}
	}
	switch {
	case f.bounds.MostFaults == 0:
		return search.Budget{}
	case len(budget) == 0:
		return nil
	}
	return budget
}

// only reads --anomaly.
func (f *exploreFlags) only(plan *lab.ExplorePlan) error {
	names := cli.Map(search.Anomalies(), func(name checker.Name) string { return string(name) })
	var wrong []error
	for _, name := range f.anomalies {
		known := checker.Named(name)
		if known == checker.DeadGrant {
			return cli.Usagef("the explorer does not look for %s; lab run and lab check judge it", known)
		}
		if !slices.Contains(names, string(known)) {
			wrong = append(wrong, cli.UnknownName("anomaly", name, names, cli.See("lab list anomalies")))
		}
		plan.Only = append(plan.Only, known)
	}
	return errors.Join(wrong...)
}

// limit reads --limit.
func (f *exploreFlags) limit(plan *lab.ExplorePlan) error {
	plan.Memory = 4 << 30
	for _, limit := range f.limits {
		name, value, _ := strings.Cut(limit, "=")
		var err error
		switch name {
		case "states":
			plan.States, err = positive(value)
		case "memory":
			plan.Memory, err = bytesOf(value)
		case "time":
			plan.Time, err = time.ParseDuration(value)
			if err == nil && plan.Time <= 0 {
				err = errNotPositive
			}
		default:
			return cli.UnknownName("limit", name, []string{"states", "time", "memory"}, "--limit takes states=N, time=30s or memory=4GiB")
		}
		if err != nil {
			return cli.Usagef("--limit takes states=N, time=30s or memory=4GiB, not %q", limit)
		}
	}
	return nil
}

// largeTables is how many bytes of tables a search may have before garbage is collected as usual: the heap is twice as large then, and not five times.
const largeTables = 128 << 20

// needsOther says that a lock cannot be explored because the explorer has no such service.
func needsOther(lock impls.Spec) error {
	service := map[impls.Need]string{impls.Replicas: "a server with replicas", impls.Masters: "a cluster"}[lock.Needs]
	if service == "" {
		return nil
	}
	return cli.Nothingf("nothing to explore: %s is n/a, because it needs %s and the explorer has none; lab run has it", lock.Name, service)
}

var errNotPositive = errors.New("it must be more than zero")

// positive reads a number of one or more.
func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = errNotPositive
	}
	return n, err
}

// bytesOf reads an amount of memory: 4GiB, 512MiB, or bytes.
func bytesOf(text string) (int, error) {
	for unit, shift := range map[string]int{"GiB": 30, "MiB": 20, "KiB": 10} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := positive(digits)
			return n << shift, err
		}
	}
	return positive(text)
}
