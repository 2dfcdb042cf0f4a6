// Package bench is lab bench: locks and ways to wait are measured.
//
// It owns the bounds of measurements, and which locks one is about. It must not know how anything is timed.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/figures"
	"github.com/locklab/locklab/internal/waiting"
)

// Bench is lab bench.
func Bench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what locks and ways to wait cost, beside the articles' figures",
		Long: `Bench measures. Clients connect straight to servers that the lab starts: no
proxy, no tap and no state probes, so that only the lock and the server are
timed. Compare figures of one run only: machines, and hours, differ.

Results go to runs/bench-<time>-<id>: bench.json, and bench.html with the plots.
Ctrl-C shows and saves what is known by then.`,
		Example: `  lab bench market
  lab bench waiting --requests 500 --at-once 100
  lab bench locks --lock setpx-lua,redlock
  lab bench updates --seeds 1,2,3`,
		Args: cli.NoSubcommand,
		RunE: cli.ShowHelp,
	}
	cmd.AddCommand(newMarket(), newWaiting(), newLocks(), newUpdates())
	return cmd
}

// benchFlags are the flags of every measurement.
type benchFlags struct {
	server      string
	out         string
	keep        int
	json, quiet bool
}

func (f *benchFlags) groups(what *pflag.FlagSet) []cli.FlagGroup {
	where, shown := cli.FlagSet(), cli.FlagSet()
	where.StringVar(&f.server, "server", "", "measure on `SERVER`: redis-server or embedded (default: redis-server where the machine has it)")
	shown.StringVar(&f.out, "out", "", "write the results to `DIR` (default runs/bench-<time>-<id>)")
	shown.IntVar(&f.keep, "keep", option.DefaultKeep, "keep the `N` newest measurements in runs and remove the others; 0 keeps all")
	shown.BoolVar(&f.json, "json", false, "write the figures as JSON instead of tables")
	shown.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return []cli.FlagGroup{{Title: "What to measure", Flags: what}, {Title: "Where", Flags: where}, {Title: "What to report", Flags: shown}}
}

// command makes a measurement's command. plan reads its own flags; the caller's locks may all be n/a.
func (f *benchFlags) command(cmd *cobra.Command, what *pflag.FlagSet, plan func(context.Context) (lab.BenchPlan, error)) *cobra.Command {
	cmd.Args = cli.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := plan(cmd.Context())
		if err != nil {
			return err
		}
		if err := f.check(cmd); err != nil {
			return err
		}
		return f.measure(cmd, p)
	}
	cli.UseGroups(cmd, f.groups(what))
	cli.CompleteFlag(cmd, "server", cli.Fixed(measure.Embedded, measure.RedisServer))
	if what.Lookup("lock") != nil {
		cli.CompleteFlag(cmd, "lock", naming.CompleteLocks)
	}
	if what.Lookup("wait") != nil {
		cli.CompleteFlag(cmd, "wait", naming.CompleteWaiting())
	}
	return cmd
}

func (f *benchFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("server") {
		names := []string{measure.Embedded, measure.RedisServer}
		if err := cli.OneOf("server", f.server, names, "--server takes "+cli.Enumerate(names, "or")+": a measurement floods a server, so it has its own"); err != nil {
			return err
		}
	}
	if f.keep < 0 {
		return cli.Usagef("--keep must be at least 0, not %d", f.keep)
	}
	return nil
}

// measure carries a measurement out, and shows what is known of it.
func (f *benchFlags) measure(cmd *cobra.Command, plan lab.BenchPlan) error {
	plan.Server, plan.Command = f.server, os.Args[1:]
	plan.Results = lab.Results{Dir: f.out}
	if f.out == "" {
		plan.Results = lab.Results{Dir: filepath.Join(option.DefaultRuns, lab.NewBenchID()), Most: f.keep}
	}
	meter := cli.Meter(cmd, f.quiet)
	plan.Tell = func(p measure.Progress) { meter.Show(p.Took, progressLine(p)) }
	record, err := lab.Bench(cmd.Context(), plan)
	meter.Clear()
	if record.Empty() {
		if err == nil {
			err = cli.Nothingf("nothing was measured")
		}
		return err
	}
	if f.json {
		err = errors.Join(err, cli.WriteJSON(cmd.OutOrStdout(), record))
	} else {
		err = errors.Join(err, figures.Terminal(cmd.OutOrStdout(), record, plan.Results.Dir, cli.Terminal(cmd)))
	}
	if err != nil {
		return err
	}
	return cli.Exit(int(lab.OutcomeOfBench(record)))
}

func progressLine(p measure.Progress) string {
	return fmt.Sprintf("%d/%d %s; %v elapsed, about %v left", p.Step, p.Steps, p.What, p.Took.Round(time.Second), p.Left.Round(time.Second))
}

// bound says that a flag's value is out of bounds.
func bound[N int | time.Duration](flag string, value, least, most N) error {
	if value < least || value > most {
		return cli.Usagef("--%s must be from %v to %v, not %v", flag, least, most, value)
	}
	return nil
}

// benchLocks are the named locks, and those among them whose servers this machine or the lab does not have. Without names they are usual and all of those.
// own are those of a program.
func benchLocks(names, usual []string, own ...impls.Spec) (locks []impls.Spec, absent []bench.Absent, _ error) {
	planned := slices.DeleteFunc(bench.Planned(), func(a bench.Absent) bool {
		return slices.ContainsFunc(own, func(s impls.Spec) bool { return s.Name == a.Lock })
	})
	if len(names) == 0 {
		names, absent = usual, planned
	}
	var wrong []error
	for _, name := range names {
		at := slices.IndexFunc(planned, func(a bench.Absent) bool { return a.Lock == name })
		if at >= 0 {
			absent = append(absent, planned[at])
			continue
		}
		spec, found := impls.Lookup(slices.Concat(impls.Every(), own), name)
		if !found {
			wrong = append(wrong, naming.UnknownLock(name))
			continue
		}
		if why := measure.Lacks(spec); why != "" {
			absent = append(absent, bench.Absent{Lock: name, Why: why})
			continue
		}
		locks = append(locks, spec)
	}
	if wrong != nil {
		return nil, nil, errors.Join(wrong...)
	}
	if len(locks) == 0 {
		return nil, nil, cli.Nothingf("nothing to measure: %s is n/a, because %s", absent[0].Lock, absent[0].Why)
	}
	return locks, absent, nil
}

// present are the strategies whose locks this machine can measure, and the locks of the others.
func present(all []bench.Strategy, absent []bench.Absent) ([]bench.Strategy, []bench.Absent) {
	var here []bench.Strategy
	for _, s := range all {
		spec, _ := impls.Find(s.Lock)
		why := measure.Lacks(spec)
		if why == "" {
			here = append(here, s)
			continue
		}
		if lacked := (bench.Absent{Lock: s.Lock, Why: why}); !slices.Contains(absent, lacked) {
			absent = append(absent, lacked)
		}
	}
	return here, absent
}

// checkWait finds a way to wait that does not exist, or that one of the locks does not have.
func checkWait(wait string, locks ...impls.Spec) error {
	if err := waiting.Check(wait); err != nil {
		return cli.Usagef("--wait: %v", err)
	}
	for _, spec := range locks {
		if why := measure.CannotWait(spec, wait); why != "" {
			return cli.Usagef("--wait %s and --lock %s do not go together: %s", wait, spec.Name, why)
		}
	}
	return nil
}

// checkServed finds a lock without a server: each client would have one of its own.
func checkServed(locks ...impls.Spec) error {
	for _, spec := range locks {
		if spec.Needs == impls.NoServer {
			return cli.Usagef("--lock %s: it has no server, so clients here do not share it", spec.Name)
		}
	}
	return nil
}
