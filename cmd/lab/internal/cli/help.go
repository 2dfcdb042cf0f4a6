package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ShowHelp is the work of a command that only has others below it.
func ShowHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// FlagGroup is a part of the flags of a command, under a title in its help.
type FlagGroup struct {
	Title string
	Flags *pflag.FlagSet
}

// UseGroups gives a command its flags.
func UseGroups(cmd *cobra.Command, groups []FlagGroup) {
	for _, group := range groups {
		cmd.Flags().AddFlagSet(group.Flags)
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return WriteUsage(cmd, groups) })
}

// FlagSet is an empty group, which shows its flags in the order in which they are bound.
func FlagSet() *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	return set
}

// WriteUsage is what the help of a command says after its text: how it is called, what it can be followed by, and its flags, in groups or not.
func WriteUsage(cmd *cobra.Command, groups []FlagGroup) error {
	var text strings.Builder
	width := Width(cmd.Root().OutOrStdout()) // cobra collects the text of cmd itself in a buffer
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
		groups = []FlagGroup{{"Flags", cmd.Flags()}}
	}
	for _, group := range groups {
		fmt.Fprintf(&text, "\n%s:\n%s", group.Title, group.Flags.FlagUsagesWrapped(width-flagSlack))
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
		if err := WriteTable(w, width, "  ", rows); err != nil {
			return err
		}
	}
	return nil
}

// CompleteFlag registers the completion of a flag that the command has.
func CompleteFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // only for a flag that does not exist
	}
}

// Complete completes entries that have a name and an idea.
func Complete[T any](all []T, describe func(T) (name, idea string)) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return Completions(all, describe), cobra.ShellCompDirectiveNoFileComp
	}
}

// Completions are entries as completions, each with its idea.
func Completions[T any](all []T, describe func(T) (name, idea string)) []cobra.Completion {
	return Map(all, func(entry T) cobra.Completion { return cobra.CompletionWithDesc(describe(entry)) })
}

// Fixed completes one of some words.
func Fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}
