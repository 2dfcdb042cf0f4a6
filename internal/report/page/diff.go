package page

import (
	"fmt"
	"io"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/listing"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/web"
)

// Pair is a cell that came out differently in two runs. Old or New is nil where a run does not have it.
type Pair struct{ Old, New *record.Cell }

// Diff is two runs side by side.
type Diff struct {
	Lead     string
	Facts    [][2]string
	Pairs    []Pair
	Old, New Histories
	Sources  listing.Sources // of the locks; nil: none are shown
}

// The rounds in which a page of two runs has their cells.
const (
	oldRound = iota + 1
	newRound
)

// DiffHTML writes the cells that two runs do not have alike as a page, on which each opens side by side: old beside new.
func DiffHTML(w io.Writer, d Diff) error {
	run, both := &record.Run{Finished: true}, bothHistories{}
	beside := Beside{Sources: d.Sources, sides: []string{"old", "new"}, entries: map[[2]string][]string{}, lead: d.Lead, facts: d.Facts}
	for _, pair := range d.Pairs {
		var name [2]string
		letters, words := []string{"new:", "gone"}, []string{"not there", "not there"}
		for i, side := range []*record.Cell{pair.Old, pair.New} {
			if side == nil {
				continue
			}
			c := *side
			c.Scenario = inWork(c)
			name = [2]string{c.Lock, c.Scenario}
			letters[i], words[i] = resultLetters(c), format.Clean(outcome.Found(c))
			c.Round = oldRound + i
			both[roundOf{c.Lock, c.Scenario, c.Round}] = where{[]Histories{d.Old, d.New}[i], *side}
			run.Cells = append(run.Cells, c)
		}
		sep := " → "
		if pair.Old == nil {
			sep = " "
		}
		beside.entries[name] = []string{strings.Join(letters, sep), strings.Join(words, " → ")}
	}
	return HTML(w, run, both, beside)
}

// inWork is a cell's scenario, with the work that was done under the lock if it is not the usual one.
func inWork(c record.Cell) string {
	if c.Workload == "" {
		return c.Scenario
	}
	return fmt.Sprintf("%s (%s)", c.Scenario, c.Workload)
}

// resultLetters is how a cell came out, by the letters of the matrix.
func resultLetters(c record.Cell) (text string) {
	for _, name := range namesOf(c) {
		text += outcome.Letter(name)
	}
	switch {
	case text != "":
		return text
	case outcome.StatusOf(c) == outcome.Failed:
		return "×"
	case c.Verdict.Kind == checker.Safe:
		return "✓"
	case c.Verdict.Kind == checker.NotApplicable:
		return "n/a"
	}
	return "?"
}

// roundOf names a cell of a page, and where is what one of a page of two runs was in its run.
type (
	roundOf struct {
		lock, scenario string
		round          int
	}
	where struct {
		histories Histories
		cell      record.Cell
	}
)

// bothHistories are the histories of two runs.
type bothHistories map[roundOf]where

func (b bothHistories) at(c record.Cell) where { return b[roundOf{c.Lock, c.Scenario, c.Round}] }

// Read reads the history of a cell in its run.
func (b bothHistories) Read(c record.Cell) ([]history.Event, error) {
	of := b.at(c)
	return of.histories.Read(of.cell)
}

// Where is no file beside the page.
func (b bothHistories) Where(record.Cell) string { return "" }

// diffFindings are what the second run has and the first has not; one for each change.
func diffFindings(index *pageIndex, cells []*pageCell) (list []web.Finding) {
	seen := map[string]bool{}
	for i, c := range index.cells {
		row := index.Cells[i]
		entry := index.Entries[fmt.Sprintf("%d/%d", row[1], row[0])]
		if c.Round != newRound || seen[entry[1]] || len(list) == mostFindings {
			continue
		}
		seen[entry[1]] = true
		f := findingOf(index, i, cells[i])
		if f.Sentence == "" {
			f.Sentence = entry[1]
		}
		f.Link, f.Outcome = strings.TrimSuffix(f.Link, fmt.Sprintf("?round=%d", newRound)), entry[1]
		list = append(list, f)
	}
	return list
}
