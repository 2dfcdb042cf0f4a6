package lab

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/listing/golang"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/exploration"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Explorer is the world of a page of what the explorer has found.
const Explorer = "the explorer's model"

// explored collects cells for a page.
type explored struct {
	run  *record.Run
	page *page.Explored
}

func newExplored(command []string) *explored {
	return &explored{
		run:  &record.Run{World: Explorer, Lab: Version(), Started: time.Now(), Finished: true, Command: command},
		page: &page.Explored{Titles: map[string]string{}, Entries: map[[2]string][]string{}, Events: map[string][]history.Event{}, Why: map[string]string{}},
	}
}

// add adds a cell: a counterexample or, without one, why there is none.
func (x *explored) add(c record.Cell, found *trace.Trace, why string) {
	c.Round = 1
	for _, other := range x.run.Cells {
		if other.Lock == c.Lock && other.Scenario == c.Scenario {
			c.Round++
		}
	}
	if found != nil {
		c.Verdict = found.Verdict
		x.page.Events[x.page.Key(c)] = found.Events
	}
	if c.Expected.Verdict.Kind == "" {
		c.Expected.Verdict = c.Verdict
	}
	x.page.Why[x.page.Key(c)] = why
	x.run.Cells = append(x.run.Cells, c)
}

func (x *explored) write(path string) error {
	sources, err := golang.Read()
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error {
		return page.HTML(w, x.run, x.page, page.Beside{Sources: sources, Explored: x.page})
	})
}

// ExplorationPage is a directory for the page of an exploration. It is claimed before the search, so that none is made in vain.
type ExplorationPage struct{ out *results }

// ClaimExploration makes the directory, which must not hold a page yet.
func ClaimExploration(dir string) (*ExplorationPage, error) {
	out, err := Results{Dir: dir}.claim(func(dir string) error {
		file, err := os.OpenFile(filepath.Join(dir, rundir.PageFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		return file.Close()
	})
	return &ExplorationPage{out}, err
}

// Discard gives the directory up.
func (p *ExplorationPage) Discard() error { return p.out.discard(rundir.PageFile) }

// Write writes the page of what an exploration came to, and returns its path. command is how the lab was called.
func (p *ExplorationPage) Write(e *Exploration, command []string) (path string, err error) {
	x := newExplored(command)
	found := e.Shown()
	c := record.Cell{Lock: e.Config.Lock.Name, Scenario: points.None, Expected: record.Expectation{By: record.ByMatrix}}
	switch {
	case found != nil:
	case e.Outcome() == Unknown:
		c.Verdict = checker.Verdict{Kind: checker.Undecided, Reason: "no counterexample, and the search was not complete, or saw too little to conclude anything"}
	default:
		c.Verdict = checker.Verdict{Kind: checker.Safe}
	}
	if e.Outcome() == Surprise {
		c.Expected.Verdict.Kind = checker.Safe
		if found == nil {
			c.Expected.Verdict.Kind = checker.Broken
		}
	}
	if found != nil && len(found.Faults) > 0 {
		c.Scenario = mixed(found)
	}
	x.page.Titles[c.Scenario] = titleOf(found)
	x.add(c, found, "There is no counterexample within the bounds of the search.")
	path = filepath.Join(p.out.Dir, rundir.PageFile)
	return path, x.write(path)
}

// mixed names the faults of a counterexample.
func mixed(t *trace.Trace) string {
	var names []string
	for _, kind := range t.Faults {
		names = append(names, string(kind))
	}
	return strings.Join(names, "+")
}

// titleOf says what the faults of a counterexample do.
func titleOf(t *trace.Trace) string {
	if t == nil || len(t.Faults) == 0 {
		return format.Sentence(points.Meaning(points.None))
	}
	var texts []string
	for _, s := range t.Steps {
		if s.Kind == trace.Fault {
			texts = append(texts, t.Meaning(s))
		}
	}
	return format.Sentence(strings.Join(texts, "; "))
}

// pointsPage is the page of a table of breaking points: its entries, each with its counterexample.
func pointsPage(lines, reviewed []points.Line, command []string) *explored {
	x := newExplored(command)
	x.page.Signs = exploration.Signs()
	for _, l := range lines {
		if l.Why != "" {
			x.page.Titles[points.None] = format.Sentence(points.Meaning(points.None))
			x.add(record.Cell{Lock: l.Lock, Scenario: points.None, Verdict: checker.Verdict{Kind: checker.NotApplicable, Reason: l.Why}}, nil, l.Why)
		}
		for _, e := range l.Entries() {
			x.entry(l.Lock, e, points.EntryOf(reviewed, l.Lock, e.Head))
		}
	}
	return x
}

// entry adds the cells of an entry of the table: one for each counterexample.
func (x *explored) entry(lock string, e, reviewed points.Entry) {
	x.page.Titles[e.Head], x.page.Entries[[2]string{lock, e.Head}] = format.Sentence(points.Meaning(e.Head)), []string{exploration.PointLetters(e.Text), e.Text}
	c := record.Cell{Lock: lock, Scenario: e.Head, Data: "in the table of breaking points: " + e.Text, Expected: record.Expectation{By: record.ByMatrix}}
	if e.Text != reviewed.Text && !e.Open { // what is open knows less
		c.Expected.Verdict = verdictOf(reviewed)
	}
	for _, found := range e.Found {
		x.add(c, found, "")
	}
	if len(e.Found) == 0 {
		c.Verdict = verdictOf(e)
		why := "The search found nothing within its bounds."
		switch {
		case e.Open:
			why = "The search found nothing, and was not complete."
		case len(e.Breaks) > 0:
			why = "The counterexample is not kept with the table: lab explore " + lock + " finds it again."
		}
		x.add(c, nil, why)
	}
}

// verdictOf is what an entry of the table comes to.
func verdictOf(e points.Entry) checker.Verdict {
	switch {
	case e.Open:
		return checker.Verdict{Kind: checker.Undecided, Reason: "the search was not complete"}
	case len(e.Breaks) > 0:
		v := checker.Verdict{Kind: checker.Broken}
		for _, name := range e.Breaks[0] {
			v.Anomalies = append(v.Anomalies, checker.Anomaly{Name: name})
		}
		return v
	}
	return checker.Verdict{Kind: checker.Safe}
}
