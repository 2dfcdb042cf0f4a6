package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios/live"
)

// runFlags are the flags of lab run as given.
type runFlags struct {
	locks     []string
	client    string
	world     string
	workload  string
	wait      string
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
		Long: `Run plays every scenario (or the ones named, or your own scripts) with every
lock (or those of --lock), and compares the verdict with what is expected.
Without --server it needs nothing but itself: an embedded Redis, an embedded
toxiproxy, and a process of its own for each client.

With --world sim the same scripts run in the formal model: the locks' own code
and a model of Redis in one process and in virtual time, without a network. That
takes seconds, and comes out the same every time.

The results go to runs/<time>-<id>; runs/latest points to the newest.`,
		Example: `  lab run
  lab run pause-past-lease --lock setpx-lua -v
  lab run --world sim
  lab run --server redis-server --parallel 8
  lab run --server 127.0.0.1:6379 --toxiproxy http://127.0.0.1:8474
  lab run --client 'python3 mylock.py'
  lab run --workload stock --lock getset,setpx-lua
  lab run --wait yield-sleep:600ms,200ms
  lab run my.lab --lock getset --count 50`,
		ValidArgsFunction: completeScenarios,
		RunE:              flags.run,
	}
	groups := flags.groups()
	for _, group := range groups {
		cmd.Flags().AddFlagSet(group.flags)
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return writeUsage(cmd, groups) })
	completeFlag(cmd, "lock", completeLocks)
	completeFlag(cmd, "world", completeWorlds)
	completeFlag(cmd, "workload", completeWorkloads)
	completeFlag(cmd, "wait", completeWaiting)
	completeFlag(cmd, "server", cobra.FixedCompletions([]string{live.Embedded, live.RedisServer}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// flagGroup is a part of the flags of a command, under a title in its help.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// groups binds the flags of lab run.
func (f *runFlags) groups() []flagGroup {
	what, where, expected, shown := flagSet(), flagSet(), flagSet(), flagSet()

	what.StringSliceVar(&f.locks, "lock", nil, "`NAMES` of the locks to test (default: all); with --client: the lock whose expectations apply")
	what.StringVar(&f.client, "client", "", "`COMMAND` of a client that speaks docs/protocol.md, instead of the lab's own locks")
	what.StringVar(&f.world, "world", worldLive, "`WORLD` is live (processes, sockets, Redis) or sim (the model: the locks' own code in virtual time)")
	what.StringVar(&f.workload, "workload", string(history.Counter), "`NAME` of what is done under the lock, in scenarios that do not say; see lab list workloads")
	what.StringVar(&f.wait, "wait", "", "`HOW` clients wait between the tries of an acquire, for example sleep:200ms, spin, backoff:1ms,1s,7 or wake (default: each lock's own way)")
	what.IntVar(&f.count, "count", 1, "run each cell `N` times, and list the cells whose verdicts differ")
	what.StringVar(&f.shard, "shard", "", "run the ith of n parts, given as `i/n`")
	what.IntVar(&f.parallel, "parallel", 14*runtime.NumCPU(), "`N` cells in flight; they mostly wait")
	what.Int64Var(&f.seed, "seed", 0, "`N` decides in which order cells are started (default: a random one)")
	what.DurationVar(&f.timeout, "timeout", time.Minute, "a cell that takes longer than `TIME` is given up as unknown")
	what.BoolVar(&f.failFast, "fail-fast", false, "start no more cells after the first surprise or failure")

	where.StringVar(&f.server, "server", fromEnv("LOCKLAB_SERVER", live.Embedded), "`SERVER` is embedded, redis-server (started by the lab), or host:port [LOCKLAB_SERVER]")
	where.StringVar(&f.toxiproxy, "toxiproxy", fromEnv("LOCKLAB_TOXIPROXY", ""), "`URL` of a toxiproxy to use instead of the embedded one [LOCKLAB_TOXIPROXY]")
	where.StringVar(&f.listen, "listen", fromEnv("LOCKLAB_LISTEN", ""), "`HOST` on which the lab listens for an outside toxiproxy (default 127.0.0.1) [LOCKLAB_LISTEN]")
	where.StringVar(&f.advertise, "advertise", fromEnv("LOCKLAB_ADVERTISE", ""), "`HOST` by which toxiproxy reaches the lab, or auto (default: that of --listen) [LOCKLAB_ADVERTISE]")
	where.BoolVar(&f.questions, "questions", true, "ask the server for the state of the lock around each command; without, nothing can come out safe")

	expected.StringVar(&f.baseline, "baseline", "", "`FILE` is the run.json of an earlier run, or its directory: surprises that it has are no news")
	expected.BoolVar(&f.update, "update", false, "write what was seen into scenarios/expected.txt, for review")

	shown.StringVar(&f.out, "out", "", "`DIR` for the results (default runs/<time>-<id>)")
	shown.StringVar(&f.junit, "junit", "", "also write a JUnit report to `FILE`")
	shown.BoolVar(&f.json, "json", false, "write one JSON event a line instead of text")
	shown.BoolVarP(&f.verbose, "verbose", "v", false, "say of each cell why it was accused")

	return []flagGroup{
		{"What to run", what},
		{"Where to run it", where},
		{"What is expected", expected},
		{"What to report", shown},
	}
}

func flagSet() *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	return set
}

func fromEnv(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// writeUsage is the help of a command with many flags.
func writeUsage(cmd *cobra.Command, groups []flagGroup) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	width := terminalWidth(cmd.Root()) // cobra collects the text of cmd itself in a buffer
	for _, group := range groups {
		fmt.Fprintf(&text, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(width))
	}
	_, err := io.WriteString(cmd.OutOrStderr(), text.String())
	return err
}
