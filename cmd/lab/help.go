package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is a part of the flags of a command, under a title in its help.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// useGroups gives a command its flags.
func useGroups(cmd *cobra.Command, groups []flagGroup) {
	for _, group := range groups {
		cmd.Flags().AddFlagSet(group.flags)
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return writeUsage(cmd, groups) })
}

func flagSet() *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	return set
}

// writeUsage is what the help of a command says after its text: how it is called, what it can be followed by, and its flags, in groups or not.
func writeUsage(cmd *cobra.Command, groups []flagGroup) error {
	var text strings.Builder
	width := terminalWidth(cmd.Root().OutOrStdout()) // cobra collects the text of cmd itself in a buffer
	text.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&text, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&text, "\nExamples:\n%s\n", cmd.Example)
	}
	if err := writeCommands(&text, width, cmd); err != nil {
		return err
	}
	if groups == nil && cmd.HasAvailableFlags() {
		groups = []flagGroup{{"Flags", cmd.Flags()}}
	}
	for _, group := range groups {
		fmt.Fprintf(&text, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(width-flagSlack))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), text.String())
	return err
}

// flagSlack is by how much pflag lets words stick out.
const flagSlack = 5

// writeCommands lists the commands below cmd, by their groups.
func writeCommands(w io.Writer, width int, cmd *cobra.Command) error {
	for _, group := range append(cmd.Groups(), &cobra.Group{Title: "Available Commands:"}) {
		var rows [][]string
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				rows = append(rows, []string{sub.Name(), sub.Short})
			}
		}
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", group.Title)
		if err := writeTable(w, width, "  ", rows); err != nil {
			return err
		}
	}
	return nil
}
