package look

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/internal/find"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/sources"
)

// Find is lab find.
func Find() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "find WORDS...",
		Short: "Find the scenario of a race by words",
		Long: `Find looks for words in the titles and comments of the scenarios, their faults,
commands and anomalies, the troubles and articles that they come from, and other
names of their races. It knows synonyms, and the Chinese words of the articles.
Of each scenario it prints what it shows, the verdicts to expect of the lock
that shows it best and of one that withstands it, and the command to run both.

A scenario ranks by the sum over the words found in it: how rare a word is,
times the weight of where it was found. --json lists what was found where.
If nothing is found, the exit code is 4.`,
		Example: `  lab find failover
  lab find kleppmann
  lab find deletes the lock of another client
  lab find 超卖`,
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, "")) == "" {
				return cli.Usagef("find takes words, for example: lab find failover")
			}
			return nil
		},
		ValidArgsFunction: completeFind,
		RunE: func(cmd *cobra.Command, args []string) error {
			return findScenarios(cmd.OutOrStdout(), cli.Width(cmd.OutOrStdout()), strings.Join(args, " "), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array, with what was found where")
	return cmd
}

// completeFind completes the names of anomalies and of sources.
func completeFind(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	anomalies, directive := naming.CompleteAnomalies()(cmd, args, word)
	return append(anomalies, cli.Completions(sources.All(), func(r sources.Reference) (string, string) { return r.ID, r.Title })...), directive
}

func findScenarios(w io.Writer, width int, words string, asJSON bool) error {
	index, err := find.Builtin()
	if err != nil {
		return err
	}
	hits := index.Find(words)
	for i := range hits {
		hits[i].Command = cli.Program() + " " + hits[i].Command
	}
	if asJSON {
		if err := cli.WriteIndented(w, append([]find.Hit{}, hits...)); err != nil {
			return err
		}
	} else if _, err := io.WriteString(w, showHits(hits, width)); err != nil {
		return err
	}
	if len(hits) == 0 {
		return cli.Nothingf("nothing found for %q; try a fault (pause), a command (GETSET), an anomaly (lost-update) or an author (Kleppmann), or %s",
			words, cli.See("lab list scenarios"))
	}
	return nil
}

func showHits(hits []find.Hit, width int) string {
	const indent = "  "
	var b strings.Builder
	for _, hit := range hits {
		fmt.Fprintln(&b, hit.Scenario)
		expected := cli.Map(hit.Locks, func(lock find.Shown) string { return lock.Lock + ": " + lock.Expected })
		if len(expected) == 0 {
			expected = []string{"n/a with the lab's own locks; for a client that can do it"}
		}
		for _, text := range []string{format.Sentence(hit.Shows), strings.Join(expected, "; ")} {
			b.WriteString(cli.Hang(indent, indent, text, width))
		}
		fmt.Fprintln(&b, indent+foldCommand(hit.Command, len(indent), width))
	}
	return b.String()
}

// foldCommand continues a command that is wider than the room beside an indent on further lines. Two locks that are too long for one become two flags.
func foldCommand(command string, indent, width int) string {
	for word := range strings.FieldsSeq(command) {
		if one, other, both := strings.Cut(word, ","); both && indent+len("  --lock ")+len(word)+len(" \\") > width {
			command = strings.Replace(command, word, one+" --lock "+other, 1)
		}
	}
	return format.FoldCommand(command, indent, width)
}
