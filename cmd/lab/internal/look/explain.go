package look

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/internal/explain"
	"github.com/locklab/locklab/internal/reasons"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/rundir"
)

// NamedEntry is the entry that the words name; nil: they name none, or a run.
func NamedEntry(cmd *cobra.Command, args []string) (*explain.Entry, error) {
	index, err := explain.New()
	if err != nil || len(args) == 0 {
		return nil, err
	}
	e, found := index.Find(strings.Join(args, " "))
	switch {
	case !found:
		return nil, nil
	case isRun(args[0]):
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s is a run here; for the %s: lab explain %s/%s\n", cmd.Root().Name(), args[0], e.Kind, e.Kind, e.Name.Name)
		return nil, nil
	}
	return e, nil
}

// isRun says whether a path is that of a run: then it is no name.
func isRun(path string) bool {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		_, err = os.Stat(filepath.Join(path, rundir.RunFile))
		return err == nil
	}
	return err == nil && filepath.Ext(path) == ".json"
}

// ExplainName prints an entry and its story.
func ExplainName(ctx context.Context, w io.Writer, width int, e *explain.Entry, asJSON bool) error {
	story, err := explain.Play(ctx, e)
	if err != nil {
		return err
	}
	prefix := cli.Program()
	for i := range e.More {
		if command, ok := strings.CutPrefix(e.More[i].Text, "lab "); ok {
			e.More[i].Text = prefix + " " + command
		}
	}
	if asJSON {
		return cli.WriteIndented(w, struct {
			*explain.Entry
			Story *explain.Story `json:"story,omitempty"`
		}{e, story})
	}
	screen := ""
	for why := maxLines; why >= minLines && (screen == "" || strings.Count(screen, "\n") > nameHeight); why-- {
		screen = (&nameScreen{width: min(width, nameWidth), why: why}).of(e, story)
	}
	_, err = io.WriteString(w, screen)
	return err
}

// The screen of a name: how large it is at most, and how many lines a paragraph may have, and keeps where there is no room for all.
const (
	nameWidth, nameHeight = 80, 40
	maxLines, minLines    = 9, 4
)

// nameScreen writes the screen of a name: what it is, the story, why, what stops it, and where to go on.
type nameScreen struct {
	b     strings.Builder
	width int
	why   int // how many lines the reason may have
}

func (s *nameScreen) of(e *explain.Entry, story *explain.Story) string {
	s.fill("", fmt.Sprintf("%s (%s): %s", e.Name.Name, e.Kind, format.Sentence(e.What)), maxLines)
	s.story(e, story)
	if len(e.Why) > 0 {
		s.head("Why")
		s.fill("  ", strings.Join(e.Why, " "), s.why)
	}
	s.repairs(e)
	if len(e.Facts) > 0 {
		s.head("Facts")
		s.facts(e.Facts)
	}
	s.head("More")
	more := slices.Clone(e.More)
	for _, kind := range e.Also {
		more = append(more, explain.Fact{Label: "also", Text: fmt.Sprintf("%s explain %s", cli.Program(), format.ShellLine([]string{string(kind) + "/" + e.Name.Name}))})
	}
	s.facts(more)
	return s.b.String()
}

func (s *nameScreen) head(words string) { s.b.WriteString("\n" + words + "\n") }

// fill writes a text as lines, at most so many; what is longer ends with its last whole sentence that fits.
func (s *nameScreen) fill(indent, text string, most int) {
	lines := format.Wrap(format.Clean(text), s.width-len(indent))
	for len(lines) > most {
		text = strings.Join(lines[:most], " ")
		end := strings.LastIndex(text, ". ")
		if end < 0 {
			lines = lines[:most]
			break
		}
		lines = format.Wrap(text[:end+1], s.width-len(indent))
	}
	for _, line := range lines {
		s.b.WriteString(indent + line + "\n")
	}
}

// story tells what came of the cell.
func (s *nameScreen) story(e *explain.Entry, story *explain.Story) {
	if story == nil {
		return
	}
	finding := format.Sentence(story.Finding)
	switch {
	case story.Verdict.Kind == checker.Safe:
		finding = "Safe: nothing went wrong."
	case story.Verdict.Kind != checker.NotApplicable:
	case e.Cell.Expected == story.Finding:
		finding = story.Finding + "."
	default:
		finding = fmt.Sprintf("The model cannot play it: %s. Where it can be played: %s.", story.Verdict.Reason, e.Cell.Expected)
	}
	if outcome := e.Cell.Outcome(story); outcome != "" {
		finding += " " + outcome
	}
	s.b.WriteString("\n")
	s.fill("", fmt.Sprintf("%s in %s", e.Cell.Lock, e.Cell.Scenario), maxLines)
	s.fill("  ", finding, maxLines)
	cell := record.Cell{Lock: e.Cell.Lock, Scenario: e.Cell.Scenario, Verdict: story.Verdict}
	for _, line := range diagram.Race(cell, story.Events, s.width-1) {
		s.b.WriteString(line + "\n")
	}
}

// repairs says what stops it, and what only seems to.
func (s *nameScreen) repairs(e *explain.Entry) {
	if e.Scenarios == 0 {
		return
	}
	s.head("What stops it")
	many := e.Scenarios > 1
	scope := "that scenario"
	if many {
		scope = fmt.Sprintf("all %d scenarios about it", e.Scenarios)
	}
	switch {
	case len(e.Stops) > 0 && many:
		s.fill("  ", fmt.Sprintf("In %s, as far as they fit the lock: %s.", scope, locksOf(e.Stops, func(stop reasons.Stop) string { return fmt.Sprintf("%s (%d)", stop.Lock, stop.Of) })), maxLines)
	case len(e.Stops) > 0:
		s.fill("  ", fmt.Sprintf("In %s: %s.", scope, locksOf(e.Stops, func(stop reasons.Stop) string { return stop.Lock })), maxLines)
	case len(e.Best) > 0 && many:
		s.fill("  ", fmt.Sprintf("No lock without a known bug, in %s. The best: %s.", scope, locksOf(e.Best, func(stop reasons.Stop) string {
			return fmt.Sprintf("%s (%d of %d)", stop.Lock, stop.Withstands, stop.Of)
		})), maxLines)
	default:
		s.fill("  ", fmt.Sprintf("No lock without a known bug, in %s.", scope), maxLines)
	}
	if len(e.Seems) == 0 {
		return
	}
	s.head("What only seems to")
	for _, seem := range e.Seems {
		s.fill("  ", seem.String()+".", 2)
	}
}

// locksOf are locks in a line.
func locksOf(stops []reasons.Stop, word func(reasons.Stop) string) string {
	const most = 8
	text := strings.Join(cli.Map(stops[:min(len(stops), most)], word), ", ")
	if more := len(stops) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// facts are lines with labels.
func (s *nameScreen) facts(all []explain.Fact) {
	first := 0
	for _, f := range all {
		first = max(first, len(f.Label))
	}
	for _, f := range all {
		label := "  " + f.Label + strings.Repeat(" ", first-len(f.Label)+2)
		text := strings.Join(format.Wrap(format.Clean(f.Text), s.width-len(label)), "\n"+format.Blanks(len(label)))
		if strings.HasPrefix(f.Text, cli.Program()+" ") {
			text = foldCommand(f.Text, len(label), s.width)
		}
		s.b.WriteString(label + text + "\n")
	}
}

// CompleteNames completes the names that can be explained, and then the cells of a run.
func CompleteNames(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return naming.CompleteCells(cmd, args, word)
	}
	index, err := explain.New()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return cli.Completions(index.Names(), func(n explain.Name) (string, string) { return n.Name, n.What }), cobra.ShellCompDirectiveDefault // and directories
}
