package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/lab"
)

// The groups of commands in the help.
const (
	groupRun   = "run"
	groupLook  = "look"
	groupTools = "tools"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "A fault-injection test lab for distributed locks",
		Long: `Lab runs distributed locks through scripted scenarios: real client processes
that are paused and killed, links that are cut, clocks that are wrong. A checker
then names what went wrong.

Exit codes:
    0  everything as expected
    1  a surprise: a lock broke that should hold, or held where it should break
    2  unknown: a cell could not be decided
    3  the lab, its checker or a server failed
    4  nothing ran, or nothing but n/a
   64  usage, a bad script, or an unreadable history
  130  ended by Ctrl-C, 143 by SIGTERM`,
		Example: `  # every lock in every scenario
  lab run
  # one lock in one scenario, and why it was accused
  lab run pause-past-lease --lock setpx-lua -v
  # the script, and what is expected of each lock
  lab show pause-past-lease`,
		Version:       lab.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSubcommand,
		RunE:          showHelp,
	}
	root.SetVersionTemplate(fmt.Sprintf("lab {{.Version}}, %s, %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH))
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run locks, and understand what happened:"},
		&cobra.Group{ID: groupLook, Title: "Look things up:"},
		&cobra.Group{ID: groupTools, Title: "Tools:"},
	)
	root.SetHelpCommandGroupID(groupTools)
	root.SetCompletionCommandGroupID(groupTools)
	add(root, groupRun, newRun(), newStorm(), newShrink(), newExplore(impls.Find), newExplain(), newCheck())
	add(root, groupLook, newShow(), newList())
	add(root, groupTools, newDoctor(), newWorker())
	strict(root)
	return root
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
				return noSubcommand(topic, rest)
			}
		case "completion":
			cmd.Short = "Complete commands, locks and scenarios in your shell"
			cmd.Args, cmd.RunE = noSubcommand, showHelp
		}
	}
}

func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }
