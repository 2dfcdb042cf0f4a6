package run

import (
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

// stormFlags are the flags of lab storm as given.
type stormFlags struct {
	campaign campaign
	clients  int
	handles  int
	length   time.Duration
	lease    time.Duration
	leased   bool // somebody has named it
	hold     time.Duration
	servers  int
	chosen   bool // the faults are those of the flag
}

// Storm is lab storm.
func Storm() *cobra.Command {
	flags := &stormFlags{}
	cmd := &cobra.Command{
		Use:   "storm",
		Short: "Run locks under random faults from a seed, and judge thousands of operations",
		Long: `Storm lets clients use a lock in a loop (acquire, work, release) while random
faults strike. Then all faults end, and every client must acquire once more.

The history is judged by the promises on the lock's card: a sound lock must keep
them, and a broken one must break one. Other anomalies are named, and are no
surprise.

A client of your own (--client) is judged by the promises in its hello. A lock
on several servers gets as many as it asks for there, or as --servers says.

The same seed gives the same plan of faults, which is saved with the results.
Part of the faults wait for the next client that is granted the lock. With
--count N, each lock goes through N storms, with the seeds that follow.`,
		Example: `  lab storm --lock setpx-del
  lab storm --lock redisson,watchdog --for 10m
  lab storm --lock setpx-lua --clients 5 --for 60s \
      --faults pause,partition,clock --seed 7
  lab storm --lock getset --for 20s --count 20
  lab storm --lock setpx-lua --workload ledger
  lab storm --lock zookeeper-protected --server zookeeper
  lab storm --client 'python3 mylock.py' --for 60s --servers 5
  lab storm --lock redisson --count 20 --seed 1 --shard 2/4 --out part-2`,
		Args: cli.NoArgs,
		RunE: flags.run,
	}
	cli.UseGroups(cmd, append(flags.groups(), withSuite(cmd)))
	cli.CompleteFlag(cmd, "faults", completeFaults)
	flags.campaign.complete(cmd)
	return cmd
}

// groups binds the flags of lab storm.
func (f *stormFlags) groups() []cli.FlagGroup {
	c := &f.campaign
	what, where := cli.FlagSet(), cli.FlagSet()

	c.subjects.Bind(what, what, "with --client: judge it by the promises of `LOCK` if it names none")
	what.IntVar(&f.servers, "servers", 0, "keep locks that are on several servers on `N` (default: as many as each asks for)")
	what.IntVar(&f.clients, "clients", stormClients, "run `N` clients, each in a process")
	what.IntVar(&f.handles, "handles", stormHandles, "open `N` further locks in the process of every other client")
	what.DurationVar(&f.length, "for", time.Minute, "let the storm last for `TIME`, before a phase without faults")
	what.StringSliceVar(&c.faults, "faults", kindNames(), "mix these `KINDS` of faults, or none")
	what.Int64Var(&c.seed, "seed", 0, "plan the faults from seed `N` (default: random)")
	c.bindWork(what)
	what.DurationVar(&f.lease, "lease", 0, "use a lease of `TIME`; faults are shorter or longer than it (default: 1s, or the shortest that a client of yours names)")
	what.DurationVar(&f.hold, "hold", 0, "hold the lock for up to `TIME` (default: a quarter of the lease); a renewing lock sometimes longer")
	what.IntVar(&c.count, "count", 1, "run `N` storms for each lock, each with a seed of its own")
	c.shard.Bind(what, "storms")
	what.IntVar(&c.parallel, "parallel", runtime.NumCPU(), "run `N` storms at once; on several servers one keeps a core busy")

	c.where.Bind(where)
	return []cli.FlagGroup{
		{Title: "What to run", Flags: what},
		{Title: "Where to run it", Flags: where},
		{Title: "What to report", Flags: c.bindShown()},
	}
}

func kindNames() []string {
	return cli.Map(storm.Defaults(), func(kind faults.Kind) string { return string(kind) })
}

func completeFaults(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	kinds := cli.Completions(storm.Mixture(), func(d storm.Kind) (string, string) { return string(d.Kind), d.Means() })
	return append(kinds, cobra.CompletionWithDesc("none", "no faults at all")), cobra.ShellCompDirectiveNoFileComp
}

// What storms have unless a flag says otherwise.
const (
	stormClients = 5
	stormHandles = 2
)

// Bounds of a storm.
const (
	maxStormClients = 16
	maxStormHandles = 8
	maxStorm        = time.Hour
)

// run carries lab storm out.
func (f *stormFlags) run(cmd *cobra.Command, _ []string) error {
	c := &f.campaign
	if err := c.begin(cmd); err != nil {
		return err
	}
	f.chosen, f.leased = cmd.Flags().Changed("faults"), cmd.Flags().Changed("lease")
	plan, err := f.plan()
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("seed") {
		if c.shard != "" {
			return cli.Usagef("--shard needs --seed N, the same for every part: each is a part of the same storms")
		}
		plan.Params.Seed = rand.Int64N(1 << 31)
	}
	c.seed = plan.Params.Seed
	meet := func(subject play.Subject) (play.Subject, error) {
		return lab.Meet(cmd.Context(), c.where.Setting, subject)
	}
	if plan.Subjects, err = c.subjects.Meet(meet, plan.Subjects, cmd.ErrOrStderr()); err != nil {
		return err
	}
	if err := f.spread(plan.Subjects); err != nil {
		return err
	}
	if c.where.Timeout, err = plan.Longest(); err != nil {
		return cli.Usagef("%v", err)
	}
	if plan.Options, err = c.options(cmd, c.screen.Sink(cmd, nil)); err != nil {
		return err
	}
	run, err := lab.Storm(cmd.Context(), plan)
	if err != nil {
		return err
	}
	return cli.Conclude(run)
}

// plan turns flags into storms, and finds every mistake in them before anything is started.
func (f *stormFlags) plan() (plan lab.StormPlan, err error) {
	c := &f.campaign
	if f.servers < 0 || f.servers == 1 || f.servers > play.MaxServers {
		return plan, cli.Usagef("--servers must be from 2 to %d, not %d", play.MaxServers, f.servers)
	}
	if plan.Params, err = f.params(); err != nil {
		return plan, err
	}
	if plan.Subjects, err = c.subjects.In(&c.where); err != nil {
		return plan, err
	}
	if err := c.check(); err != nil {
		return plan, err
	}
	if c.count > maxCells/len(plan.Subjects) {
		return plan, cli.Usagef("--count %d makes more than %d storms, too many for one run", c.count, maxCells)
	}
	plan.Storms = c.count
	if plan.Workload, err = naming.Workload(c.workload); err != nil {
		return plan, err
	}
	return plan, c.shard.Check(len(plan.Subjects) * plan.Storms)
}

// spread gives locks that are on several servers as many as the flag says.
func (f *stormFlags) spread(subjects []play.Subject) error {
	if f.servers == 0 {
		return nil
	}
	for i := range subjects {
		servers := &subjects[i].Traits.Servers
		if *servers < 2 {
			return cli.Usagef("--servers %d: %s is kept on one server; a client says in hello if its lock is on several", f.servers, subjects[i].Name)
		}
		*servers = f.servers
	}
	return nil
}

// params are the values of the flags that only a storm has.
func (f *stormFlags) params() (none storm.Params, err error) {
	c := &f.campaign
	kinds, err := storm.ParseKinds(c.faults)
	lease := lab.StormLease
	if f.leased {
		lease = f.lease
	}
	p := storm.Params{Seed: c.seed, Clients: f.clients, Handles: f.handles, For: f.length, Lease: f.lease, Work: f.hold, Faults: kinds}
	switch {
	case err != nil:
		return none, cli.Usagef("--faults: %v", err)
	case f.clients < 1 || f.clients > maxStormClients:
		return none, cli.Usagef("--clients must be from 1 to %d, not %d", maxStormClients, f.clients)
	case f.handles < 0 || f.handles > maxStormHandles:
		return none, cli.Usagef("--handles must be from 0 to %d, not %d", maxStormHandles, f.handles)
	case lease < play.MinLease || lease > play.MaxLease:
		return none, cli.Usagef("--lease must be from %v to %v, not %v", play.MinLease, play.MaxLease, lease)
	case f.length < lease || f.length > maxStorm:
		return none, cli.Usagef("--for must be from one lease (%v) to %v, not %v", lease, maxStorm, f.length)
	case f.hold < 0:
		return none, cli.Usagef("--hold must not be below zero, and is %v", f.hold)
	case c.where.Server == live.Cluster:
		return none, cli.Usagef("--server: storms have no cluster; take replicated")
	case f.chosen && (live.OnZooKeeper(c.where.Server) || c.where.ForPrograms()):
		return p, f.lacked(p)
	case c.where.Restart != "":
		return none, cli.Usagef("--restart-command: a storm restarts no server at an address; remove it")
	case !c.where.OwnServer() && !live.OnZooKeeper(c.where.Server) && p.Restarts():
		return none, cli.Usagef("--faults: a server at an address is never restarted; remove restart")
	}
	return p, nil
}

// lacked finds a kind of faults that a storm on the server does not have.
func (f *stormFlags) lacked(p storm.Params) error {
	where := &f.campaign.where
	p.ZooKeeper, p.Opaque = live.OnZooKeeper(where.Server), where.ForPrograms()
	for _, kind := range p.Faults {
		if why := p.Lacks(kind); why != "" {
			return cli.Usagef("--faults: a storm on %s has no %s: %s; remove it", where.Server, kind, why)
		}
	}
	return nil
}
