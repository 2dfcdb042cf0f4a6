package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/reasons"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/scenarios"
)

// pageIndex is what the page knows of a run before a cell is opened.
type pageIndex struct {
	Locks     []pageLock     `json:"locks"`
	Scenarios []pageScenario `json:"scenarios"`
	Anomalies []pageAnomaly  `json:"anomalies"`
	Faults    []pageFault    `json:"faults,omitempty"` // of the scenarios
	// Cells are by scenario: [lock, scenario, round, class, sign, anomalies …], as the numbers of these.
	Cells [][]int `json:"cells"`
	// Explored: the cells are the explorer's. Entries are those of the table of breaking points, [letters, words] by scenario/lock, as numbers.
	Explored bool                `json:"explored,omitempty"`
	Entries  map[string][]string `json:"entries,omitempty"`
	Signs    [][2]string         `json:"signs,omitempty"` // of that table, each with its meaning
	// Sides are two runs: each cell has its rounds from them, the old one and the new one. Entries then say what became of it.
	Sides []string `json:"sides,omitempty"`

	cells   []record.Cell // in the same order
	sources *pageSources
}

// pageLock is a lock and what its card says.
type pageLock struct {
	Name   string `json:"name"`
	Idea   string `json:"idea,omitempty"`
	Bug    string `json:"bug,omitempty"`
	Source string `json:"source,omitempty"`
	Server string `json:"server,omitempty"`
	Place  int    `json:"place"` // in the registry; negative: none
	Apart  bool   `json:"apart,omitempty"`

	Code *pageCode `json:"code,omitempty"`
}

// pageScenario is a scenario and its script.
type pageScenario struct {
	Name   string     `json:"name"`
	Title  string     `json:"title,omitempty"`
	About  string     `json:"about,omitempty"`
	Source string     `json:"source,omitempty"`
	Faults []string   `json:"faults,omitempty"`
	Steps  []pageStep `json:"steps,omitempty"`
	// Stops and Seems are the locks of the run that stop what goes wrong there, and those that only seem to.
	Stops []string `json:"stops,omitempty"`
	Seems []string `json:"seems,omitempty"`
}

type pageStep struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

type pageAnomaly struct {
	Name    checker.Name `json:"name"`
	Letter  string       `json:"letter"`
	Meaning string       `json:"meaning"`
	Why     string       `json:"why,omitempty"` // of those that occur
}

// pageClasses are the classes of cells, by the numbers in an index.
func pageClasses() []string {
	return []string{"safe", "broken", "na", "unknown", "surprise", "failed"}
}

func newPageIndex(m outcome.Matrix, beside Beside, sources *pageSources) *pageIndex {
	x := &pageIndex{sources: sources, Explored: beside.Explored != nil, Sides: beside.sides}
	if beside.Explored != nil {
		x.Signs = beside.Explored.Signs
	}
	for _, d := range checker.Definitions() {
		x.Anomalies = append(x.Anomalies, pageAnomaly{Name: d.Name, Letter: outcome.Letter(d.Name), Meaning: d.Meaning})
	}
	for _, lock := range m.Locks {
		card := cardOf(lock, m.IsApart(lock))
		card.Code = sources.codeOf(lock)
		x.Locks = append(x.Locks, card)
	}
	scripts, _ := scenarios.Builtin() // without them the page lacks titles
	for _, name := range m.Scenarios {
		if beside.Explored != nil {
			x.Scenarios = append(x.Scenarios, pageScenario{Name: format.Clean(name), Title: beside.Explored.Titles[name]})
			continue
		}
		x.Scenarios = append(x.Scenarios, storyOf(scripts, name, m))
	}
	for _, g := range m.All() {
		entry := beside.Explored.entryOf(g[0].Lock, g[0].Scenario)
		if beside.sides != nil {
			entry = beside.entries[[2]string{g[0].Lock, g[0].Scenario}]
		}
		if entry != nil {
			if x.Entries == nil {
				x.Entries = map[string][]string{}
			}
			x.Entries[fmt.Sprintf("%d/%d", slices.Index(m.Scenarios, g[0].Scenario), slices.Index(m.Locks, g[0].Lock))] = entry
		}
		for _, c := range g {
			row := []int{slices.Index(m.Locks, c.Lock), slices.Index(m.Scenarios, c.Scenario), c.Round, slices.Index(pageClasses(), cellClass(c)), x.signOf(c, g)}
			for _, name := range namesOf(c) {
				if n := slices.IndexFunc(x.Anomalies, func(a pageAnomaly) bool { return a.Name == name }); n >= 0 {
					row = append(row, n)
				}
			}
			x.Cells, x.cells = append(x.Cells, row), append(x.cells, c)
		}
	}
	x.explain(scripts)
	return x
}

// firstAnomaly is from where on the numbers of a cell are those of its anomalies.
const firstAnomaly = 5

// Signs of a cell beside its class: bits.
const (
	signKnown   = 1 << iota // a surprise that is no news
	signDiffers             // the rounds came to different verdicts
	signStorm               // it is a storm
)

// namesOf are the anomalies of a cell.
func namesOf(c record.Cell) []checker.Name {
	if c.Verdict.Kind != checker.Broken {
		return nil
	}
	return c.Verdict.Names()
}

func (x *pageIndex) signOf(c record.Cell, g outcome.Group) (sign int) {
	for bit, on := range map[int]bool{signKnown: outcome.StatusOf(c) == outcome.Known, signDiffers: g.Differs() && !x.Explored && x.Sides == nil, signStorm: c.Storm != nil} {
		if on {
			sign |= bit
		}
	}
	return sign
}

func cardOf(name string, apart bool) pageLock {
	l := pageLock{Name: format.Clean(name), Place: -1, Apart: apart}
	spec, known := impls.Find(name)
	if !known {
		return l
	}
	l.Idea, l.Bug, l.Source, l.Server = spec.Idea, spec.Bug, spec.Source, string(spec.Needs)
	l.Place = slices.IndexFunc(impls.Every(), func(s impls.Spec) bool { return s.Name == reasons.BaseOf(name) })
	return l
}

// storyOf is a built-in scenario, or the name of another one.
func storyOf(scripts []*scenarios.Script, name string, m outcome.Matrix) pageScenario {
	s := pageScenario{Name: format.Clean(name)}
	script, ok := scenarios.Find(scripts, name)
	storm := slices.ContainsFunc(m.Locks, func(lock string) bool { g := m.At(lock, name); return g != nil && g[0].Storm != nil })
	if storm {
		s.Title = "Clients use the lock in a loop while random faults strike"
	}
	if !ok || storm {
		return s
	}
	s.Title, s.About, s.Source = script.Title, strings.Join(script.About, " "), script.Source
	for _, step := range script.Steps {
		if n := len(s.Steps); n == 0 || s.Steps[n-1].Line < step.Line { // a repeated step is there once
			s.Steps = append(s.Steps, pageStep{step.Line, step.Text})
		}
		if f, begins := step.Fault(); begins && !slices.Contains(s.Faults, string(f.Kind)) {
			s.Faults = append(s.Faults, string(f.Kind))
		}
	}
	return s
}

func (x *pageIndex) titleOf(scenario string) string {
	for _, s := range x.Scenarios {
		if s.Name == format.Clean(scenario) {
			return s.Title
		}
	}
	return ""
}

// link is the place of a cell in the page.
func (x *pageIndex) link(i int) string {
	c := x.cells[i]
	round := ""
	if c.Round > 1 {
		round = fmt.Sprintf("?round=%d", c.Round)
	}
	return "#/" + url.PathEscape(cmp.Or(format.Clean(c.Scenario), "-")) + "/" + url.PathEscape(cmp.Or(format.Clean(c.Lock), "-")) + round
}
