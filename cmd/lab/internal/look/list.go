// Package look is what a user asks without running anything: lab list, find, show and adapters, and lab explain of a name.
//
// It owns the tables and screens of what there is. It must not know runs, which may not be there yet.
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
		l := list{heads: []string{"anomaly", "meaning"}}
		for _, d := range checker.Definitions() {
			l.rows = append(l.rows, []string{string(d.Name), d.Meaning})
		}
		return l, nil
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
		l := list{heads: []string{"code", "meaning"}}
		for _, code := range explain.ExitCodes() {
			l.rows = append(l.rows, code[:])
		}
		return l, nil
	}
	return list{}, cli.Unknown("list", kind, kinds(), "there are "+cli.Enumerate(kinds(), "and"))
}

func listLocks() list {
	l := list{heads: []string{"lock", "from", "idea"}, notes: articleTitles(), entries: knownLocks()}
	for _, spec := range impls.Every() {
		from, _, _ := strings.Cut(spec.Source, ";")
		l.rows = append(l.rows, []string{spec.Name, from, spec.Idea})
	}
	return l
}

func listScenarios() (list, error) {
	scripts, err := scenarios.Builtin()
	if err != nil {
		return list{}, err
	}
	known, err := knownScenarios(scripts)
	l := list{heads: []string{"scenario", "title"}, entries: known}
	for _, script := range scripts {
		l.rows = append(l.rows, []string{script.Name, script.Title})
	}
	return l, err
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
	l := list{heads: []string{"fault", "meaning"}, entries: knownFaults()}
	for _, fault := range faults.All() {
		l.rows = append(l.rows, []string{string(fault.Kind), fault.Meaning})
	}
	return l
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
	l := list{heads: []string{"source", "title"}, entries: sources.All()}
	for _, r := range sources.All() {
		l.rows = append(l.rows, []string{r.ID, r.Describe()})
	}
	return l
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
	heads := make([]string, len(l.heads))
	for i, head := range l.heads {
		heads[i] = strings.ToUpper(head)
	}
	if err := cli.WriteTable(w, width, "", append([][]string{heads}, l.rows...)); err != nil {
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
	objects := make([]map[string]string, len(l.rows))
	for i, row := range l.rows {
		objects[i] = map[string]string{}
		for k, head := range l.heads {
			objects[i][head] = row[k]
		}
	}
	return objects
}
