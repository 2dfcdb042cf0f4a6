package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/scenarios"
)

func newList() *cobra.Command {
	kinds := []string{"locks", "scenarios", "workloads", "anomalies", "words", "sources"}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list locks|scenarios|workloads|anomalies|words|sources",
		Short: "List locks, scenarios, workloads, anomalies, words of scripts or sources",
		Long: `List prints a table of the locks, scenarios, workloads or anomalies that the lab
knows; of the words of the script language, each with a scenario that uses it;
or of the sources: the articles and threads that all this comes from.`,
		Example: `  lab list locks
  lab list words
  lab list sources --json`,
		ValidArgs: kinds,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("list takes one of %s", enumerate(kinds, "and"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := listOf(args[0], kinds)
			if err != nil {
				return err
			}
			if asJSON {
				return l.writeJSON(cmd.OutOrStdout())
			}
			return l.write(cmd.OutOrStdout(), terminalWidth(cmd.OutOrStdout()))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array, with all that is known of each entry")
	return cmd
}

// list is what lab list prints.
type list struct {
	heads   []string
	rows    [][]string
	notes   []string // below the table
	entries any      // for JSON; nil: the rows, by their heads
}

func listOf(kind string, kinds []string) (list, error) {
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
	case "words":
		return listWords()
	case "sources":
		return listSources(), nil
	}
	return list{}, unknown("list", kind, kinds, "there are "+enumerate(kinds, "and"))
}

func listLocks() list {
	l := list{heads: []string{"lock", "from", "idea"}, notes: articleTitles()}
	for _, spec := range impls.Every() {
		from, _, _ := strings.Cut(spec.Source, ";")
		l.rows = append(l.rows, []string{spec.Name, from, spec.Idea})
	}
	return l
}

func listScenarios() (list, error) {
	scripts, err := scenarios.Builtin()
	l := list{heads: []string{"scenario", "title"}}
	for _, script := range scripts {
		l.rows = append(l.rows, []string{script.Name, script.Title})
	}
	return l, err
}

func listWorkloads() list {
	l := list{heads: []string{"workload", "idea"}, notes: articleTitles()}
	for _, work := range scenarios.Workloads() {
		idea := work.Idea
		if work.Source != "" {
			idea += " (" + work.Source + ")"
		}
		l.rows = append(l.rows, []string{string(work.Name), idea})
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
	l := list{heads: []string{"form", "word", "scenario"}, notes: []string{"a scenario: " + invocation(os.Args[0]) + " show NAME"}}
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
		title := strings.TrimPrefix(strings.TrimPrefix(r.String(), "article "), r.ID+": ")
		if len(r.In) > 0 {
			title += " (" + strings.Join(r.In, ", ") + ")"
		}
		l.rows = append(l.rows, []string{r.ID, title})
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
	return append(notes, "more: "+invocation(os.Args[0])+" list sources")
}

func (l list) write(w io.Writer, width int) error {
	heads := make([]string, len(l.heads))
	for i, head := range l.heads {
		heads[i] = strings.ToUpper(head)
	}
	if err := writeTable(w, width, "", append([][]string{heads}, l.rows...)); err != nil || len(l.notes) == 0 {
		return err
	}
	fmt.Fprintln(w)
	for _, note := range l.notes {
		for _, line := range wrapWords(note, width) {
			fmt.Fprintln(w, line)
		}
	}
	return nil
}

func (l list) writeJSON(w io.Writer) error {
	entries := l.entries
	if entries == nil {
		objects := make([]map[string]string, len(l.rows))
		for i, row := range l.rows {
			objects[i] = map[string]string{}
			for k, head := range l.heads {
				objects[i][head] = row[k]
			}
		}
		entries = objects
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(entries)
}
