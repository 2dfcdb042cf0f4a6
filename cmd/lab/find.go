package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/explain"
	"github.com/locklab/locklab/internal/find"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/internal/spelling"
	"github.com/locklab/locklab/scenarios"
)

func newFind() *cobra.Command {
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
				return usagef("find takes words, for example: lab find failover")
			}
			return nil
		},
		ValidArgsFunction: completeFind,
		RunE: func(cmd *cobra.Command, args []string) error {
			return findScenarios(cmd.OutOrStdout(), terminalWidth(cmd.OutOrStdout()), strings.Join(args, " "), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array, with what was found where")
	return cmd
}

// completeFind completes the names of anomalies and of sources.
func completeFind(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, d := range checker.Definitions() {
		out = append(out, cobra.CompletionWithDesc(string(d.Name), d.Meaning))
	}
	for _, r := range sources.All() {
		out = append(out, cobra.CompletionWithDesc(r.ID, r.Title))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func findScenarios(w io.Writer, width int, words string, asJSON bool) error {
	index, err := findIndex()
	if err != nil {
		return err
	}
	hits := index.Find(words)
	for i := range hits {
		hits[i].Command = invocation(os.Args[0]) + " " + hits[i].Command
	}
	if asJSON {
		if err := writeIndented(w, append([]find.Hit{}, hits...)); err != nil {
			return err
		}
	} else if _, err := io.WriteString(w, showHits(hits, width)); err != nil {
		return err
	}
	if len(hits) == 0 {
		return &nothingError{fmt.Sprintf("nothing found for %q; try a fault (pause), a command (GETSET), an anomaly (lost-update) or an author (Kleppmann), or %s",
			words, see("lab list scenarios"))}
	}
	return nil
}

// findIndex is made once: that is most of the work.
var findIndex = sync.OnceValues(func() (*find.Index, error) {
	builtin, err := scenarios.Builtin()
	if err != nil {
		return nil, err
	}
	matrix, err := scenarios.BuiltinExpected()
	if err != nil {
		return nil, err
	}
	return find.New(builtin, matrix), nil
})

func showHits(hits []find.Hit, width int) string {
	const indent = "  "
	var b strings.Builder
	for _, hit := range hits {
		fmt.Fprintln(&b, hit.Scenario)
		var expected []string
		for _, lock := range hit.Locks {
			expected = append(expected, lock.Lock+": "+lock.Expected)
		}
		if len(expected) == 0 {
			expected = []string{"n/a with the lab's own locks; for a client that can do it"}
		}
		for _, text := range []string{sentence(hit.Shows), strings.Join(expected, "; ")} {
			for _, line := range wrapWords(text, width-len(indent)) {
				fmt.Fprintln(&b, indent+line)
			}
		}
		fmt.Fprintln(&b, indent+foldCommand(hit.Command, width-len(indent)))
	}
	return b.String()
}

// sentence writes a clause as a sentence, but for a name in it that begins with a small letter: "isLocked asks only …".
func sentence(clause string) string {
	first, size := utf8.DecodeRuneInString(clause)
	word, _, _ := strings.Cut(clause, " ")
	if !strings.ContainsFunc(word[size:], unicode.IsUpper) {
		clause = string(unicode.ToUpper(first)) + clause[size:]
	}
	return strings.TrimSuffix(clause, ".") + "."
}

// foldCommand continues a command that is wider than the room on further lines, as a shell reads it.
func foldCommand(command string, room int) string {
	if room <= 0 || utf8.RuneCountInString(command) <= room {
		return command
	}
	command = strings.ReplaceAll(command, " --", " \\\n      --")
	var lines []string
	for line := range strings.SplitSeq(command, "\n") {
		if utf8.RuneCountInString(line) > room-4 {
			line = strings.Replace(line, ",", " \\\n      --lock ", 1)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// maxSuggested is how many scenarios an error about an unknown one suggests.
const maxSuggested = 3

// unknownScenario is the error for a name that no scenario has. A name that was misspelt is corrected; else its words are looked for, as lab find does.
func unknownScenario(kind, name string, names []string, help string) error {
	near := spelling.Nearest(name, names)
	if _, isScenario := scenarios.Source(near); near != "" && !(isScenario && isPart(name, near)) {
		return unknown(kind, name, names, help)
	}
	index, err := findIndex()
	if err != nil {
		return err
	}
	hits := index.Find(name)
	if len(hits) == 0 {
		return unknown(kind, name, names, help)
	}
	lines := []string{fmt.Sprintf("unknown %s %q; did you mean:", kind, name)}
	for _, hit := range hits[:min(maxSuggested, len(hits))] {
		lines = append(lines, suggestion(hit.Scenario, hit.Title)...)
	}
	return usagef("%s", strings.Join(lines, "\n"))
}

// isPart says whether a name is only a part of the nearest one, and not that one misspelt.
func isPart(name, near string) bool {
	return strings.Contains(near, name) && len(near)-len(name) > len(name)/3
}

// suggestion are the lines for a name in such an error, each after the name of the program.
func suggestion(name, title string) []string {
	const width, program = 80, "lab: "
	lines := wrapWords(fmt.Sprintf("%s (%s)", name, strings.TrimSuffix(title, ".")), width-len(program)-4)
	return strings.Split("  "+strings.Join(lines, "\n    "), "\n")
}

// unknownRun is the error of explain for what is neither a run nor a name: a misspelt name leads to the name, a word to a scenario about it.
func unknownRun(name string, err error) error {
	var none *usageError
	if _, exists := os.Stat(name); exists == nil || !errors.As(err, &none) || strings.ContainsAny(name, `/\.`) {
		return err
	}
	explained, failed := explain.New()
	if failed != nil {
		return failed
	}
	var names []string
	for _, n := range explained.Names() {
		names = append(names, n.Name)
	}
	if near := spelling.Nearest(name, names); near != "" && !isPart(name, near) {
		return usagef("no run and no name %q; did you mean %q?", name, near)
	}
	index, failed := findIndex()
	if failed != nil {
		return failed
	}
	hits := index.Find(name)
	if len(hits) == 0 {
		return usagef("no run and no name %q; lab list prints the names, and a run is a directory, for example runs/latest", name)
	}
	lines := []string{fmt.Sprintf("no run and no name %q. Did you mean:", name)}
	for _, hit := range hits[:min(maxSuggested, len(hits))] {
		lines = append(lines, suggestion(hit.Scenario, hit.Title)...)
	}
	return usagef("%s\n  %s explain %s", strings.Join(lines, "\n"), invocation(os.Args[0]), hits[0].Scenario)
}

// unknownCell is the error for a cell that a run does not have: the scenario may be meant by its words.
func unknownCell(name string, known []string) error {
	if near := spelling.Nearest(name, known); near != "" && !isPart(name, near) {
		return unknown("cell", name, known, "")
	}
	index, err := findIndex()
	if err != nil {
		return err
	}
	words := name
	if lock, scenario, ok := strings.Cut(name, "/"); ok && slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, lock+"/") }) {
		words = scenario
	}
	suggested := 0
	lines := []string{fmt.Sprintf("unknown cell %q; did you mean:", name)}
	for _, hit := range index.Find(words) {
		at := slices.IndexFunc(known, func(k string) bool { return strings.HasSuffix(k, "/"+hit.Scenario) })
		if at >= 0 && suggested < maxSuggested {
			suggested++
			lines = append(lines, suggestion(known[at], hit.Title)...)
		}
	}
	if suggested == 0 {
		return unknown("cell", name, known, "a cell is LOCK/SCENARIO, for example "+known[0])
	}
	return usagef("%s", strings.Join(lines, "\n"))
}
