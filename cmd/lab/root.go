package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/bench"
	"github.com/locklab/locklab/cmd/lab/internal/browse"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/client"
	"github.com/locklab/locklab/cmd/lab/internal/explore"
	"github.com/locklab/locklab/cmd/lab/internal/look"
	"github.com/locklab/locklab/cmd/lab/internal/run"
	"github.com/locklab/locklab/cmd/lab/internal/saved"
	"github.com/locklab/locklab/cmd/lab/internal/write"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/explain"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/worker"
)

// The groups of commands in the help.
const (
	groupRun   = "run"
	groupLook  = "look"
	groupTools = "tools"
)

func newRoot() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "lab",
		Short: "A fault-injection test lab for distributed locks",
		Long: `Lab runs a distributed lock in real processes, injects faults (pauses, crashes,
partitions, lost replies, clock skew, restarts), and names what broke, which
client did it and by which command. Start with "lab run".

Exit codes:
` + exitCodesHelp(),
		Example: `  # a tour: six locks, six situations, a few seconds
  lab run
  # one lock in one scenario, with the evidence
  lab run pause-past-lease --lock setpx-lua -v
  # every lock in every scenario
  lab run --all
  # every interleaving of a lock, with up to one pause
  lab explore setpx-lua --pauses 1`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cli.NoSubcommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !version {
				return cli.ShowHelp(cmd, args)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "lab %s, %s, %s/%s\n", lab.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	root.Flags().BoolVarP(&version, "version", "v", false, "version for lab") // not cobra's, which wants it for every command, and to learn it may take a look at the whole executable
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetUsageFunc(func(cmd *cobra.Command) error { return cli.WriteUsage(cmd, nil) })
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run locks and explain results:"},
		&cobra.Group{ID: groupLook, Title: "Look things up:"},
		&cobra.Group{ID: groupTools, Title: "Tools:"},
	)
	root.SetHelpCommandGroupID(groupTools)
	root.SetCompletionCommandGroupID(groupTools)
	add(root, groupRun, run.Run(), run.Storm(), saved.Shrink(), explore.Explore(impls.Find), bench.Bench(), saved.Merge(), saved.Explain(), browse.Serve(), browse.Open(), saved.Export(), saved.Diff(), saved.Check(), client.Grade())
	add(root, groupLook, look.Find(), look.Show(), look.List(), look.Adapters())
	add(root, groupTools, write.New(), run.Init(), write.Fmt(), write.Clocks(), client.Doctor(), newWorker())
	strict(root)
	return root
}

// exitCodesHelp lists the exit codes for the help.
func exitCodesHelp() string {
	lines := cli.Map(explain.ExitCodes(), func(code [2]string) string { return fmt.Sprintf("%5s  %s", code[0], code[1]) })
	return strings.Join(lines, "\n")
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
	}
	root.AddCommand(commands...)
}

// strict makes the commands that cobra adds by itself complain about words that they do not know.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Short = "Help about a command"
			cmd.Args = func(_ *cobra.Command, args []string) error {
				topic, rest, err := root.Find(args)
				if err != nil {
					return err
				}
				return cli.NoSubcommand(topic, rest)
			}
		case "completion":
			cmd.Short = "Shell completion of commands, locks and scenarios"
			cmd.Args, cmd.RunE = cli.NoSubcommand, cli.ShowHelp
			for _, shell := range cmd.Commands() {
				shell.Long = strings.Replace(shell.Long, "you can install it via your OS's package manager", "you can install it\nvia your OS's package manager", 1)
			}
		}
	}
}

// newWorker is the client process of the lab's own locks.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Run as a client process that speaks docs/protocol.md",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return worker.Main(cmd.Context(), impls.Every())
		},
	}
}
