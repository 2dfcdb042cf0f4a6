package cli

import "github.com/spf13/cobra"

// CompleteFlag registers the completion of a flag that the command has.
func CompleteFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // only for a flag that does not exist
	}
}

// Completions completes entries that have a name and an idea.
func Completions[T any](all []T, describe func(T) (name, idea string)) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return Described(all, describe), cobra.ShellCompDirectiveNoFileComp
	}
}

// Described are entries as completions.
func Described[T any](all []T, describe func(T) (name, idea string)) (out []cobra.Completion) {
	for _, entry := range all {
		out = append(out, cobra.CompletionWithDesc(describe(entry)))
	}
	return out
}

// Fixed completes one of some words.
func Fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}
