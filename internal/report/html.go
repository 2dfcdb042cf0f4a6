package report

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

//go:embed page.html
var pageSource string

// Bounds of a page: events in a picture, and bytes of pictures, beyond which no further one is drawn.
const (
	maxPicture = 240
	maxDrawn   = 500_000
)

// Histories are the histories of a run's cells.
type Histories interface {
	Read(record.Cell) ([]history.Event, error)
	// Where is the file in the run's directory that has the history of a cell; empty if it was not kept.
	Where(record.Cell) string
}

// HTML writes the run as one page that needs nothing else: the matrix, and for each cell with anomalies, or with another outcome
// than expected, a picture of its history. If a history cannot be read, the page says so in the picture's place. Without histories there
// are no pictures. A cell with several rounds shows the worst. Long histories are cut, and the page says how much is missing.
func HTML(w io.Writer, run *record.Run, histories Histories) error {
	tmpl, err := template.New("page").Parse(pageSource)
	if err != nil {
		return fmt.Errorf("report: page template: %w", err)
	}
	return tmpl.Execute(w, newPage(run, histories))
}

type page struct {
	Lab       string // its version
	Run       *record.Run
	Facts     []fact
	Counts    counts
	Locks     []string
	Rows      []pageRow
	Legend    []checker.Definition
	Apart     []pageRow // variants that only some scenarios are about
	Differing []pageTally
	Cells     []*pageCell
	Statuses  []string // classes of cells that occur, for the filter

	histories Histories
	drawn     int // bytes of pictures
}

type pageRow struct {
	Scenario string
	Fields   []pageField
}

// pageField is a field of the matrix.
type pageField struct {
	Class   string
	Link    string // to the cell's section or, if it has none, to its history; empty if that was not kept
	Sign    string
	Words   []string
	Tip     string
	Differs bool
}

type pageTally struct{ Name, Tally string }

// pageCell is the section about one cell.
type pageCell struct {
	ID, Name, Class, Status, Outcome string
	Expected, By                     string
	Took                             string
	Data                             string
	Rounds                           int
	Round                            int
	Open                             bool
	Anomalies                        []pageAnomaly
	More                             int // anomalies that are not listed
	Picture                          template.HTML
	Missing                          int
	Trouble                          string // why there is no picture
	History, HistoryFile             string // relative link, and the name of the file
}

type pageAnomaly struct {
	Number             int
	Name, Meaning, Why string
	At                 string
}

// Name and Value give the template access to a fact.
func (f fact) Name() string  { return f.name }
func (f fact) Value() string { return f.value }

func newPage(run *record.Run, histories Histories) *page {
	m := newMatrix(run.Cells)
	p := &page{Lab: clean(run.Lab), Run: run, Facts: facts(run), Counts: countCells(run.Cells), Legend: m.seen(), histories: histories}
	for _, lock := range m.columns() {
		p.Locks = append(p.Locks, clean(lock))
	}
	sections := make(map[[2]string]string) // links
	groups := m.all()
	slices.SortStableFunc(groups, func(a, b group) int { return int(statusOf(b.worst()) - statusOf(a.worst())) })
	for _, g := range groups {
		c := g.worst()
		if !worthSection(c) {
			continue
		}
		id := fmt.Sprintf("cell-%d", len(p.Cells)+1)
		sections[[2]string{c.Lock, c.Scenario}] = "#" + id
		p.Cells = append(p.Cells, p.cell(id, g))
	}
	if len(p.Cells) > 0 {
		p.Cells[0].Open = true
	}
	for _, scenario := range m.scenarios {
		r := pageRow{Scenario: clean(scenario)}
		for _, lock := range m.columns() {
			r.Fields = append(r.Fields, p.field(m.at(lock, scenario), sections[[2]string{lock, scenario}]))
		}
		p.Rows = append(p.Rows, r)
	}
	for _, g := range m.apart() {
		c := g[0]
		p.Apart = append(p.Apart, pageRow{
			Scenario: cellName(c), Fields: []pageField{p.field(g, sections[[2]string{c.Lock, c.Scenario}])},
		})
	}
	for _, g := range m.differing() {
		p.Differing = append(p.Differing, pageTally{cellName(g[0]), clean(tally(g))})
	}
	return p
}

// worthSection says whether there is something to see in a cell.
func worthSection(c record.Cell) bool {
	return statusOf(c) > statusExpected || c.Verdict.Kind == checker.Broken
}

func (p *page) field(g group, section string) pageField {
	if g == nil {
		return pageField{Class: "none", Words: []string{"not run"}}
	}
	c := g.worst()
	f := pageField{Class: cellClass(c), Link: section, Tip: cellName(c) + ": " + outcome(c), Differs: g.differs()}
	if section == "" && p.histories != nil && c.Verdict.Kind != checker.NotApplicable {
		f.Link = p.histories.Where(c)
	}
	switch statusOf(c) {
	case statusSurprise:
		f.Sign = "SURPRISE"
	case statusKnown:
		f.Sign = "known"
	case statusFailed:
		f.Words = []string{"FAILED"}
		return f
	}
	switch c.Verdict.Kind {
	case checker.Safe:
		f.Words = []string{"✓ safe"}
	case checker.Undecided:
		f.Words = []string{"? unknown"}
	case checker.NotApplicable:
		f.Words = []string{"– n/a"}
	default:
		for _, name := range c.Verdict.Names() {
			f.Words = append(f.Words, "✗ "+clean(string(name)))
		}
	}
	return f
}

// cellClass is the class of a cell in the page's style sheet and filter.
func cellClass(c record.Cell) string {
	switch statusOf(c) {
	case statusFailed:
		return "failed"
	case statusSurprise:
		return "surprise"
	case statusUnknown:
		return "unknown"
	case statusSkipped:
		return "skipped"
	}
	return string(c.Verdict.Kind)
}

func (p *page) cell(id string, g group) *pageCell {
	c := g.worst()
	out := &pageCell{
		ID: id, Name: cellName(c), Class: cellClass(c), Status: statusOf(c).String(), Outcome: outcome(c),
		Expected: clean(expectation(c.Expected)), By: clean(author(c.Expected)), Took: duration(c.Took), Data: clean(c.Data),
		Rounds: len(g), Round: c.Round, Open: statusOf(c) > statusUnknown,
	}
	if !slices.Contains(p.Statuses, out.Class) {
		p.Statuses = append(p.Statuses, out.Class)
	}
	if p.histories != nil {
		out.History = p.histories.Where(c)
		out.HistoryFile = clean(path.Base(out.History))
	}
	for i, a := range c.Verdict.Anomalies {
		if i == maxListed {
			out.More = len(c.Verdict.Anomalies) - i
			break
		}
		out.Anomalies = append(out.Anomalies, pageAnomaly{i + 1, clean(string(a.Name)), meaning(a.Name), clean(reason(a)), inSeconds(a.At)})
	}
	if err := p.draw(out, c); err != nil {
		out.Trouble = clean(err.Error())
	}
	return out
}

var errNoRoom = errors.New("left out, to keep this page small; lab explain shows this cell")

func (p *page) draw(out *pageCell, c record.Cell) error {
	if p.drawn >= maxDrawn {
		return errNoRoom
	}
	if p.histories == nil {
		return errors.New("the history was not kept")
	}
	events, err := p.histories.Read(c)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return errors.New("the history is empty")
	}
	svg, missing := drawing(out.ID+"-p", c, events, maxPicture)
	p.drawn += len(svg)
	out.Picture, out.Missing = template.HTML(svg), missing // every text in it has been escaped
	return nil
}
