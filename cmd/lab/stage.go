package main

import (
	"fmt"
	"io"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/report"
	"github.com/locklab/locklab/scenarios/replay"
)

// stage is where counterexamples are played, each several times. It tells how they come out: at once of a play that did not show what
// it should, and of each counterexample when it has been played so often.
type stage struct {
	out, err io.Writer
	server   string
	count    int
	names    []string
	byName   map[string]*playing
	plays    int
	meter    *report.Meter
	began    time.Time
	code     int
}

// playing is how often a counterexample has been played, and shown what it should.
type playing struct {
	replay.Race
	played, shown int
}

func (s *stage) add(name string, race replay.Race) {
	s.names = append(s.names, name)
	s.byName[name] = &playing{Race: race}
}

// Handle takes in the end of a play.
func (s *stage) Handle(e report.Event) error {
	if e.Kind != report.CellEnd {
		return nil
	}
	cell := *e.Cell
	p := s.byName[cell.Scenario]
	why, shown := p.Shown(cell)
	p.played++
	s.plays++
	if shown {
		p.shown++
	} else {
		s.meter.Clear()
		s.code = worse(s.code, s.failed(p, cell, why))
	}
	took := time.Since(s.began)
	s.meter.Show(took, fmt.Sprintf("played %d/%d, %v", s.plays, s.count*len(s.names), took.Round(time.Second)))
	return nil
}

// failed tells of a play that did not show what it should.
func (s *stage) failed(p *playing, cell checker.Cell, why string) (code int) {
	code = codeSurprise
	switch {
	case cell.Failure != "":
		code, why = codeFailed, cell.Failure
	case cell.Verdict.Kind == checker.Undecided:
		code = codeUnknown
	}
	fmt.Fprintf(s.err, "lab: %s after %s, play %d of %d: %s\n", p.Lock.Name, p.Faults, p.played, s.count, why)
	return code
}

// close sums up.
func (s *stage) close(interrupted bool) (code int) {
	always := 0
	for _, name := range s.names {
		p := s.byName[name]
		fmt.Fprintf(s.out, "%-24s %-14s %d/%d on %s show %v\n", p.Lock.Name, p.Faults, p.shown, p.played, s.server, p.Trace.Anomalies)
		if p.shown == s.count {
			always++
		}
	}
	what := "counterexamples"
	if len(s.names) == 1 {
		what = "counterexample"
	}
	fmt.Fprintf(s.out, "%d %s replayed, %d shown every time\n", len(s.names), what, always)
	if interrupted {
		fmt.Fprintf(s.err, "lab: not complete: %d of %d plays have ended\n", s.plays, s.count*len(s.names))
		return codeUnknown
	}
	return s.code
}
