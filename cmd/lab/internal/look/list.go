// Package look answers what a user asks about names: lab list, find, show and adapters, and lab explain of a name.
//
// It owns the tables and screens of what there is. Of runs it must not know more than whether a word is one.
package look

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/explain"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/scenarios"
)

// kinds are what lab list lists.
func kinds() []string {
	return []string{"locks", "scenarios", "workloads", "anomalies", "faults", "promises", "words", "sources", "exit-codes"}
}

// List is lab list.
func List() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list WHAT",
		Short: "List locks, scenarios, anomalies, faults and all other names",
		Long: `List prints a table of WHAT: locks, scenarios, workloads, anomalies, faults or
promises that the lab knows; words of the script language, each with a scenario
that uses it; sources: the articles and threads that all this comes from; or
exit-codes. To look for one of them, see "lab find".

With --json it prints all that is known of each, and without a name an object
that has every list.`,
		Example: `  lab list locks
  lab list words
  lab list sources --json
  lab list --json`,
		ValidArgs: kinds(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && !asJSON {
				return cli.Usagef("list takes one of %s", cli.Enumerate(kinds(), "and"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listAll(cmd.OutOrStdout())
			}
			l, err := listOf(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return cli.WriteIndented(cmd.OutOrStdout(), l.known())
			}
			return l.write(cmd.OutOrStdout(), cli.Width(cmd.OutOrStdout()))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array, with all that is known of each entry; without a name an object of all lists")
	return cmd
}

// listAll prints every list by its name.
func listAll(w io.Writer) error {
	all := map[string]any{}
	for _, kind := range kinds() {
		l, err := listOf(kind)
		if err != nil {
			return err
		}
		all[strings.ReplaceAll(kind, "-", "_")] = l.known()
	}
	return cli.WriteIndented(w, all)
}

// list is what lab list prints.
type list struct {
	heads   []string
	rows    [][]string
	notes   []string // below the table
	entries any      // for JSON; nil: the rows, by their heads
}

func listOf(kind string) (list, error) {
	switch kind {
	case "locks":
		return listLocks(), nil
	case "scenarios":
		return listScenarios()
	case "workloads":
		return listWorkloads(), nil
	case "anomalies":
		rows := cli.Map(checker.Definitions(), func(d checker.Definition) []string { return []string{string(d.Name), d.Meaning} })
		return list{heads: []string{"anomaly", "meaning"}, rows: rows}, nil
	case "faults":
		return listFaults(), nil
	case "promises":
		l := list{heads: []string{"promise", "meaning"}}
		for _, p := range impls.PromiseWords() {
			l.rows = append(l.rows, []string{p.Word, string(p.Promise)})
		}
		return l, nil
	case "words":
		return listWords()
	case "sources":
		return listSources(), nil
	case "exit-codes":
		return list{heads: []string{"code", "meaning"}, rows: cli.Map(explain.ExitCodes(), func(code [2]string) []string { return code[:] })}, nil
	}
	return list{}, cli.UnknownName("list", kind, kinds(), "there are "+cli.Enumerate(kinds(), "and"))
}

func listLocks() list {
	known := knownLocks()
	rows := cli.Map(known, func(lock knownLock) []string { return []string{lock.Lock, lock.From, lock.Idea} })
	return list{heads: []string{"lock", "from", "idea"}, rows: rows, notes: articleTitles(), entries: known}
}

func listScenarios() (list, error) {
	scripts, err := scenarios.Builtin()
	if err != nil {
		return list{}, err
	}
	known, err := knownScenarios(scripts)
	rows := cli.Map(known, func(s knownScenario) []string { return []string{s.Scenario, s.Title} })
	return list{heads: []string{"scenario", "title"}, rows: rows, entries: known}, err
}

func listWorkloads() list {
	l := list{heads: []string{"workload", "idea"}, notes: articleTitles(), entries: knownWorkloads()}
	for _, work := range scenarios.Workloads() {
		idea := work.Idea
		if work.Source != "" {
			idea += " (" + work.Source + ")"
		}
		l.rows = append(l.rows, []string{string(work.Name), idea})
	}
	return l
}

func listFaults() list {
	rows := cli.Map(faults.All(), func(fault faults.Fault) []string { return []string{string(fault.Kind), fault.Meaning} })
	return list{heads: []string{"fault", "meaning"}, rows: rows, entries: knownFaults()}
}

// listWords names for each word of the language the first built-in scenario that uses it.
func listWords() (list, error) {
	scripts, err := scenarios.Builtin()
	used := map[[2]string]string{}
	for _, script := range slices.Backward(scripts) {
		for form, words := range script.Uses() {
			for _, word := range words {
				used[[2]string{form, word}] = script.Name
			}
		}
	}
	l := list{heads: []string{"form", "word", "scenario"}, notes: []string{"a scenario: " + cli.Program() + " show NAME"}}
	for _, form := range scenarios.Grammar() {
		for _, word := range form.Words {
			l.rows = append(l.rows, []string{form.Name, word, cmp.Or(used[[2]string{form.Name, word}], "-")})
		}
	}
	return l, err
}

func listSources() list {
	rows := cli.Map(sources.All(), func(r sources.Reference) []string { return []string{r.ID, r.Describe()} })
	return list{heads: []string{"source", "title"}, rows: rows, entries: sources.All()}
}

// articleTitles says what the numbers of articles stand for.
func articleTitles() []string {
	var notes []string
	for _, r := range sources.All() {
		if r.Kind == sources.Article {
			notes = append(notes, "article "+r.ID+": "+r.Title)
		}
	}
	return append(notes, "more: "+cli.Program()+" list sources")
}

func (l list) write(w io.Writer, width int) error {
	if err := cli.WriteTable(w, width, "", append([][]string{cli.Map(l.heads, strings.ToUpper)}, l.rows...)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, note := range append(l.notes, "about one of them: "+cli.Program()+" explain NAME") {
		fmt.Fprint(w, cli.Hang("", "", note, width))
	}
	return nil
}

// known is what JSON says of the entries.
func (l list) known() any {
	if l.entries != nil {
		return l.entries
	}
	return cli.Objects(l.heads, l.rows)
}
