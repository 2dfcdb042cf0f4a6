// Package page writes the page of a run, of two runs side by side or of a search: one file that needs nothing else.
//
// It owns what the page's data are. How they are shown is in report/web, which it fills. It must not judge.
package page

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/listing"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/web"
)

// Histories are the histories of a run's cells. Several goroutines read at once.
type Histories interface {
	Read(record.Cell) ([]history.Event, error)
	// Where is the file in the run's directory that has the history of a cell; empty if it was not kept.
	Where(record.Cell) string
}

// mostFindings bounds what stands before the matrix.
const mostFindings = 5

// Beside is what a page has besides the cells of a run.
type Beside struct {
	Sources  listing.Sources // of the locks; nil: none are shown
	Home     string          // where "All runs" leads; empty: nowhere
	Explored *Explored       // the cells are the explorer's; nil: they are those of scenarios

	// Of two runs side by side, see DiffHTML: which they are, and what became of each cell, as letters and in words.
	sides   []string
	entries map[[2]string][]string
	lead    string
	facts   [][2]string
}

// Page is the page of a run whose cells come in any order: each is encoded when it comes, and only that is kept.
type Page struct {
	beside  Beside
	sources *pageSources
	room    int // how many events it has of a storm

	mu    sync.Mutex
	cells map[roundOf]*pageCell
}

// New is a page for cells of which it is known what they are, and not yet what they came to.
func New(planned []record.Cell, beside Beside) *Page {
	storms := 0
	for _, c := range planned {
		storms += btoi(c.Storm != nil)
	}
	return &Page{beside: beside, sources: newPageSources(beside.Sources, planned), room: stormEvents / max(1, storms), cells: map[roundOf]*pageCell{}}
}

// Add encodes a cell with its history; err says why there is none. It may be called by several goroutines at once.
func (p *Page) Add(c record.Cell, events []history.Event, err error) {
	cell := newPageCell(c, events, err, p.sources, p.room)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cells[roundOf{c.Lock, c.Scenario, c.Round}] = cell
}

// cell is what was encoded of a cell; histories say where it lies.
func (p *Page) cell(c record.Cell, histories Histories) *pageCell {
	cell := p.cells[roundOf{c.Lock, c.Scenario, c.Round}]
	if cell == nil {
		cell = newPageCell(c, nil, unseenError("The history was not kept."), p.sources, p.room)
	} else if played(c) {
		cell.Where = histories.Where(c)
	}
	return cell
}

// HTML writes the run as one page that needs nothing else: the findings, the matrix, and each cell step by step. If a history cannot be read, the
// cell says so. Without histories there are verdicts only. Long histories are cut, and the page says how much is missing.
func HTML(w io.Writer, run *record.Run, histories Histories, beside Beside) error {
	page := New(run.Cells, beside)
	if histories != nil {
		cells := slices.Concat(outcome.NewMatrix(run.Cells).All()...)
		parallel(len(cells), func(i int) {
			var events []history.Event
			var err error
			if played(cells[i]) {
				events, err = histories.Read(cells[i])
			}
			page.Add(cells[i], events, err)
		})
	}
	return page.Write(w, run, histories)
}

// Write writes the page of the run with the cells that were added, which are all of the run's or none: then there are verdicts only. It is the same in
// whichever order they came.
func (p *Page) Write(w io.Writer, run *record.Run, histories Histories) error {
	m, beside := outcome.NewMatrix(run.Cells), p.beside
	index := newPageIndex(m, beside, p.sources)
	cells := make([]*pageCell, len(index.cells))
	for i, c := range index.cells {
		cells[i] = p.cell(c, histories)
	}
	counts := outcome.Count(run.Cells)
	page := &web.Page{Home: beside.Home, Title: "Lock Lab: " + counts.String(), Counts: counts.String(), Lead: lead(counts, expectedUnknown(run.Cells)), Findings: pageFindings(m, index, cells)}
	if !run.Finished {
		page.Alarm = "The run was interrupted: cells that were not started are missing below."
	}
	if beside.sides != nil {
		page.Title, page.Lead, page.Counts, page.Facts = "Lock Lab: "+beside.lead, beside.lead, "Old beside new: what is the same is left out.", beside.facts
		page.Findings = diffFindings(index, cells)
	}
	for _, f := range outcome.Facts(run) {
		if f.Name == "seed" && (beside.Explored != nil || beside.sides != nil) {
			continue // a search has none, and two runs have two
		}
		page.Facts = append(page.Facts, [2]string{f.Name, f.Value})
	}
	if len(run.Command) > 0 {
		again := outcome.WithoutOut(run.Command)
		if beside.Explored == nil {
			again = outcome.WithSeed(again, run.Seed)
		}
		page.Facts = append(page.Facts, [2]string{"again", "lab " + format.ShellLine(again)})
	}
	var err error
	if page.Data, err = packed(index, cells); err != nil {
		return fmt.Errorf("report: page: %w", err)
	}
	return web.Write(w, page)
}

// RowOf is a run in the list of all, but for its link.
func RowOf(run *record.Run) web.Row {
	counts := outcome.Count(run.Cells)
	row := web.Row{
		ID: format.Clean(run.ID), Started: run.Started.Format("2 Jan 2006, 15:04:05"), World: format.Clean(run.World), Counts: counts.String(), Class: "safe", Status: "as expected",
	}
	if len(run.Command) > 0 {
		row.Command = format.Clean("lab " + format.ShellLine(outcome.WithoutOut(run.Command)))
	}
	for _, s := range []struct {
		n             int
		class, status string
	}{{counts.Unknown, "unknown", "unknown"}, {counts.Failed, "failed", "FAILED"}, {counts.Surprises, "surprise", "SURPRISE"}} {
		if s.n > 0 {
			row.Class, row.Status = s.class, s.status
		}
	}
	if !run.Finished {
		row.Class, row.Status = "unknown", "not finished"
	}
	return row
}

// expectedUnknown is how many cells were expected to conclude nothing: searches that are not complete.
func expectedUnknown(cells []record.Cell) (n int) {
	for _, c := range cells {
		if unknownAsExpected(c) {
			n++
		}
	}
	return n
}

func unknownAsExpected(c record.Cell) bool {
	return outcome.StatusOf(c) == outcome.Unknown && c.Expected.Verdict.Kind == checker.Undecided
}

// lead says what the findings are.
func lead(n outcome.Counts, open int) string {
	n.Unknown -= open
	switch {
	case n.Surprises+n.Failed+n.Unknown > 0:
		return fmt.Sprintf("%s, %d unknown, %d failed", format.Plural(n.Surprises, "surprise", "surprises"), n.Unknown, n.Failed)
	case n.Broken > 0:
		return fmt.Sprintf("No surprise: %s broke, %sas expected", format.Plural(n.Broken, "cell", "cells"), map[bool]string{true: "each "}[n.Broken > 1])
	}
	return "No surprise, and nothing broke"
}

// pageFindings are what a reader should see first: what was not expected or, if all was, one broken cell for each cause.
func pageFindings(m outcome.Matrix, index *pageIndex, cells []*pageCell) []web.Finding {
	var first []web.Finding
	rest := map[checker.Name]int{}
	for i, c := range index.cells {
		switch s := outcome.StatusOf(c); {
		case s >= outcome.Unknown && !unknownAsExpected(c):
			first = append(first, findingOf(index, i, cells[i]))
		case s == outcome.AsExpected && c.Verdict.Kind == checker.Broken && m.At(c.Lock, c.Scenario)[0].Round == c.Round:
			cause := cells[i].cause()
			if best, ok := rest[cause]; !ok || len(index.Cells[i]) > len(index.Cells[best]) { // more anomalies
				rest[cause] = i
			}
		}
	}
	slices.SortStableFunc(first, func(a, b web.Finding) int { return rankOf(b.Class) - rankOf(a.Class) })
	if len(first) > 0 {
		return first[:min(len(first), 4*mostFindings)]
	}
	chosen := slices.Sorted(maps.Values(rest))
	slices.SortStableFunc(chosen, func(a, b int) int { return len(index.Cells[b]) - len(index.Cells[a]) })
	for _, i := range chosen[:min(len(chosen), mostFindings)] {
		first = append(first, findingOf(index, i, cells[i]))
	}
	return first
}

// rankOf has surprises before failures, and these before what is unknown.
func rankOf(class string) int { return slices.Index([]string{"unknown", "failed", "surprise"}, class) }

func findingOf(index *pageIndex, i int, cell *pageCell) web.Finding {
	c := index.cells[i]
	f := web.Finding{
		Lock: format.Clean(c.Lock), Scenario: format.Clean(c.Scenario), Title: index.titleOf(c.Scenario), Class: cellClass(c), Status: outcome.StatusOf(c).String(),
		Sentence: cell.Finding, Outcome: cell.Outcome, Link: index.link(i),
	}
	for _, name := range c.Verdict.Names() {
		f.Names = append(f.Names, format.Clean(string(name)))
	}
	for n, s := range cell.Symptoms {
		if n == outcome.MaxWhys {
			f.More = len(cell.Symptoms) - n
			break
		}
		f.Symptoms = append(f.Symptoms, web.Symptom{Number: n + 1, Name: s.Name, Meaning: outcome.Meaning(checker.Name(s.Name)), Why: s.Why, At: format.Seconds(s.at), Follow: follow(s.Follows)})
	}
	return f
}

// follow says what a symptom follows from.
func follow(n int) string {
	if n < 0 {
		return ""
	}
	return fmt.Sprintf("follows from %d", n+1)
}

// cellClass is the class of a cell in the page's style sheet and filters.
func cellClass(c record.Cell) string {
	switch outcome.StatusOf(c) {
	case outcome.Failed:
		return "failed"
	case outcome.Surprise:
		return "surprise"
	case outcome.Unknown:
		return "unknown"
	case outcome.Skipped:
		return "na"
	}
	if c.Verdict.Kind == checker.NotApplicable { // a surprise that is known
		return "na"
	}
	return string(c.Verdict.Kind)
}
