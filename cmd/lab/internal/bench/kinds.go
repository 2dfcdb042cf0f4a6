package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// Bounds of measurements.
const (
	minBench     = 10 * time.Millisecond
	maxBench     = time.Hour
	maxThreads   = 2000
	maxRequests  = 1_000_000
	maxProcesses = 16
	maxSeeds     = 10
)

func newMarket() *cobra.Command {
	flags, what, plan, lock := &benchFlags{}, cli.FlagSet(), &measure.MarketPlan{}, ""
	what.DurationVar(&plan.For, "for", time.Second, "let each of the 12 crowds trade for `TIME` in each round")
	what.IntVar(&plan.Rounds, "rounds", 5, "measure `N` rounds; medians and the range of the rounds are shown")
	what.StringVar(&lock, "lock", "setnx-watch", "guard the market, or each item, by the lock `NAME`; article 004 has setnx-watch")
	what.StringVar(&plan.Wait, "wait", "sleep:1ms", "`HOW` clients wait for the lock; see docs/workloads.md")
	return flags.command(&cobra.Command{
		Use:   "market",
		Short: "Sellers and buyers under WATCH, under one lock, and under a lock for each item (article 004)",
		Long: `Market has 1 or 5 sellers list items, and 1 or 5 buyers buy them: under WATCH,
under one lock for the market, and under a lock for each item. The article's
figures stand beside, where it has any. Retries are aborted transactions, or
items that were gone when the lock was granted. Each round measures every crowd
under every guard, so ratios compare what was measured within the same seconds.`,
		Example: "  lab bench market\n  lab bench market --for 5s --rounds 12\n  lab bench market --lock setpx-lua --wait sleep:5ms",
	}, what, func(context.Context) (lab.BenchPlan, error) {
		locks, _, err := benchLocks([]string{lock}, nil)
		if err != nil {
			return lab.BenchPlan{}, err
		}
		plan.Lock = locks[0]
		if plan.Lock.Needs == impls.OneZooKeeper {
			return lab.BenchPlan{}, cli.Usagef("--lock %s: each item would need a node of its own on the ZooKeeper; take a lock on Redis", lock)
		}
		return lab.BenchPlan{Market: plan}, errors.Join(bound("for", plan.For, minBench, maxBench), bound("rounds", plan.Rounds, 1, 100),
			checkWait(plan.Wait, plan.Lock), checkServed(plan.Lock))
	})
}

func newWaiting() *cobra.Command {
	const sale, held = "sale", "held"
	parts := []string{sale, held}
	flags, what, plan, only := &benchFlags{}, cli.FlagSet(), &measure.WaitingPlan{}, ""
	what.IntVar(&plan.Requests, "requests", 2000, "send `N` requests to the flash sale")
	what.IntVar(&plan.AtOnce, "at-once", 1000, "send `N` of them at a time")
	what.DurationVar(&plan.Within, "within", 30*time.Second, "a request that has no lock after `TIME` has failed")
	what.IntVar(&plan.Waiters, "waiters", 100, "have `N` clients take a lock in turn")
	what.DurationSliceVar(&plan.Holds, "hold", []time.Duration{time.Millisecond, 20 * time.Millisecond}, "which they hold for each of these `TIMES`")
	what.DurationVar(&plan.For, "for", 3*time.Second, "for `TIME` with each way to wait")
	what.StringVar(&only, "only", "", "measure one `PART`: sale or held")
	cmd := flags.command(&cobra.Command{
		Use:   "waiting",
		Short: "Ways to wait: failed requests, percentiles, fairness, commands per acquisition (article 000)",
		Long: `Waiting has two parts. The flash sale of article 000: many requests take one
lock at the same time, with its five ways to wait, a back-off with jitter, and
wake-ups (PUBLISH to all waiters, and to the next one). And a lock that clients
hold for a time in turn: what a wake-up costs against a poll.`,
		Example: "  lab bench waiting\n  lab bench waiting --only held --waiters 100 --hold 1ms\n  lab bench waiting --only sale --requests 500 --at-once 100",
	}, what, func(context.Context) (lab.BenchPlan, error) {
		if only != "" {
			if err := cli.OneOf("part", only, parts, "--only takes "+cli.Enumerate(parts, "or")); err != nil {
				return lab.BenchPlan{}, err
			}
		}
		if only != held {
			plan.Sale, plan.Absent = present(bench.Strategies(), plan.Absent)
		}
		if only != sale {
			plan.Held, plan.Absent = present(bench.HeldStrategies(), plan.Absent)
		}
		err := errors.Join(
			bound("requests", plan.Requests, 1, maxRequests), bound("at-once", plan.AtOnce, 1, maxThreads), bound("within", plan.Within, minBench, maxBench),
			bound("waiters", plan.Waiters, 1, maxThreads), bound("for", plan.For, minBench, maxBench),
		)
		for _, hold := range plan.Holds {
			err = errors.Join(err, bound("hold", hold, 0, 10*time.Second))
		}
		return lab.BenchPlan{Waiting: plan}, err
	})
	cli.CompleteFlag(cmd, "only", cli.Fixed(parts...))
	return cmd
}

func newLocks() *cobra.Command {
	flags, what, plan, names := &benchFlags{}, cli.FlagSet(), &measure.LocksPlan{}, []string{}
	what.StringSliceVar(&names, "lock", nil, "measure the locks `NAMES` (default: all)")
	what.DurationVar(&plan.For, "for", 200*time.Millisecond, "use each lock for `TIME` alone, and once more together, in each round")
	what.IntVar(&plan.Rounds, "rounds", 3, "measure `N` rounds, each with plain SET and DEL first; medians are shown")
	what.IntVar(&plan.Clients, "clients", 8, "have `N` clients contend")
	what.StringVar(&plan.Wait, "wait", "", "`HOW` they wait (default: as each lock does)")
	programs := bindPrograms(what)
	return flags.command(&cobra.Command{
		Use:   "locks",
		Short: "Acquire and release of every lock, alone and contended, and the cost of a check",
		Long: `Locks measures how often a second a client acquires and releases each lock,
alone and among others, against plain SET and DEL in the same round; and what it
costs to ask whether the lock is still held.`,
		Example: "  lab bench locks\n  lab bench locks --lock setpx-lua,redisson,redlock --for 2s --rounds 5\n  lab bench locks --clients 32 --wait sleep:5ms\n  lab bench locks --client /tmp/etcd-client --client /tmp/postgres-client",
	}, what, func(ctx context.Context) (_ lab.BenchPlan, err error) {
		var own []impls.Spec
		if own, plan.Programs, err = programLocks(ctx, *programs); err != nil {
			return lab.BenchPlan{}, err
		}
		if plan.Locks, plan.Absent, err = benchLocks(names, slices.Concat(naming.LockNames(impls.Every()), naming.LockNames(own)), own...); err != nil {
			return lab.BenchPlan{}, err
		}
		return lab.BenchPlan{Locks: plan}, errors.Join(bound("for", plan.For, minBench, maxBench), bound("rounds", plan.Rounds, 1, 100),
			bound("clients", plan.Clients, 1, maxThreads), checkWait(plan.Wait))
	})
}

func newUpdates() *cobra.Command {
	flags, what, plan, names, seeds := &benchFlags{}, cli.FlagSet(), &measure.UpdatesPlan{}, []string{}, []int64{}
	programs := bindPrograms(what)
	what.StringSliceVar(&names, "lock", nil, "measure the locks `NAMES` (default: "+cli.Enumerate(bench.UpdatesLocks(), "and")+")")
	what.IntVar(&plan.Clients, "clients", 5, "run `N` clients, each in a process")
	what.DurationVar(&plan.For, "for", time.Minute, "let them update for `TIME`")
	what.DurationVar(&plan.Lease, "lease", 2*time.Second, "use a lease of `TIME`")
	what.DurationVar(&plan.Every, "every", 5*time.Second, "pause one of them every `TIME`")
	what.DurationVar(&plan.Pause, "pause", 3*time.Second, "for `TIME`")
	what.DurationVar(&plan.Think, "think", 100*time.Millisecond, "let a client think for `TIME` between reading the set and writing it")
	what.DurationVar(&plan.Rest, "rest", 50*time.Millisecond, "let it rest for about `TIME` between two updates")
	what.StringVar(&plan.Wait, "wait", "sleep:20ms", "`HOW` clients wait for the lock")
	what.Int64SliceVar(&seeds, "seeds", []int64{1, 2, 3}, "pause by the seeds `N,...`, all at the same time")
	return flags.command(&cobra.Command{
		Use:   "updates",
		Short: "The share of acknowledged updates that is lost when clients are paused, with and without a fence",
		Long: `Updates has clients append to a shared set under a lock: acquire, read, think,
write, release. Now and then one of them is paused with SIGSTOP for longer than
its lease. What was acknowledged and is missing in the end is lost. The same is
measured on a store that compares fences, where nothing may be lost.`,
		Example: "  lab bench updates\n  lab bench updates --lock setpx-lua,fenced --seeds 1,2,3,4,5\n  lab bench updates --pause 2500ms --think 20ms --for 2m",
	}, what, func(ctx context.Context) (_ lab.BenchPlan, err error) {
		plan.Seeds = seeds
		var own []impls.Spec
		if own, plan.Programs, err = programLocks(ctx, *programs); err != nil {
			return lab.BenchPlan{}, err
		}
		if plan.Locks, plan.Absent, err = benchLocks(names, slices.Concat(bench.UpdatesLocks(), naming.LockNames(own)), own...); err != nil {
			return lab.BenchPlan{}, err
		}
		return lab.BenchPlan{Updates: plan}, errors.Join(checkUpdates(*plan), checkWait(plan.Wait, plan.Locks...), checkServed(plan.Locks...))
	})
}

// bindPrograms binds the flag that names programs with locks of their own.
func bindPrograms(what *pflag.FlagSet) *[]string {
	return what.StringArray("client", nil, "measure the locks of a program, too, such as adapters/etcd, started by `COMMAND`; may be repeated")
}

// programLocks are the locks of programs, and the program of each.
func programLocks(ctx context.Context, programs []string) (own []impls.Spec, by map[string]string, _ error) {
	by = map[string]string{}
	for _, program := range programs {
		locks, err := lab.ProgramLocks(ctx, program)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, nil, cli.Usagef("--client: %v", err)
		}
		for _, spec := range locks {
			if _, twice := by[spec.Name]; twice {
				return nil, nil, cli.Usagef("--client: two programs have a lock %s", spec.Name)
			}
			if _, labs := impls.Find(spec.Name); labs {
				return nil, nil, cli.Usagef("--client: %s has a lock %s, which is also the name of one of the lab's", program, spec.Name)
			}
			by[spec.Name] = program
			own = append(own, spec)
		}
	}
	return own, by, nil
}

// checkUpdates finds values that are out of bounds or make no sense together.
func checkUpdates(p measure.UpdatesPlan) error {
	err := errors.Join(
		bound("clients", p.Clients, 2, maxProcesses), bound("for", p.For, p.Lease, maxBench), bound("lease", p.Lease, play.MinLease, play.MaxLease),
		bound("think", p.Think, 0, p.Lease/2), bound("rest", p.Rest, 0, maxBench), bound("pause", p.Pause, 0, maxBench),
	)
	switch {
	case err != nil:
		return err
	case p.Every <= p.Pause:
		return cli.Usagef("--every (%v) must be more than --pause (%v): one client is paused at a time", p.Every, p.Pause)
	case p.Every+p.Pause > p.For:
		return cli.Usagef("--for (%v) has no room for a pause; give at least %v", p.For, p.Every+p.Pause)
	case len(p.Seeds) == 0 || len(p.Seeds) > maxSeeds:
		return cli.Usagef("--seeds takes 1 to %d seeds, not %d", maxSeeds, len(p.Seeds))
	}
	return nil
}
