package locktest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/findings"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/story"
)

// A page is as long as this, so that several findings fit on a screen.
const (
	storyWidth = 130
	storyLines = 14
	maxCauses  = 8
)

// page says what the failed cells of a test have in common: each finding in a line, and the story of the smallest scenario of the first. Each cell gets
// to know the causes of its own failure.
func (s *suite) page(t *testing.T, failed []*cell) string {
	found := group(failed)
	var b strings.Builder
	for i, f := range found {
		smallest := failed[f.Places[0].Cell]
		if i < maxCauses {
			fmt.Fprintf(&b, "%s, in %s; smallest: %s\n", f.Cause, scenariosWords(len(f.Places)), smallest.Scenario)
		}
		for _, place := range f.Places {
			failed[place.Cell].causes = append(failed[place.Cell].causes, f.Cause.String())
		}
	}
	if more := len(found) - maxCauses; more > 0 {
		fmt.Fprintf(&b, "and %d more, as the subtests say\n", more)
	}
	first := found[0].Places[0]
	smallest := failed[first.Cell]
	fmt.Fprintf(&b, "\n%s: %s\n", smallest.Scenario, smallest.script.Title)
	fmt.Fprintf(&b, "%s\n", story.Of(checker.Verdict{Kind: checker.Broken, Anomalies: smallest.against}, smallest.played.Events).Finding)
	steps(&b, smallest.played, first.Anomaly, smallest.against)
	if kind := smallest.Expected.Verdict.Kind; s.subject.spec == nil && (kind == checker.Safe || kind == checker.Broken) {
		fmt.Fprintf(&b, "%s, a correct lock with the promises of %s: %s.\n", s.model.Name, s.subject.Promises, smallest.Expected.Verdict)
	}
	fmt.Fprintf(&b, "rerun    go test -run '%s' .%s", pattern(t.Name()+"/"+smallest.Scenario), s.keep(t, failed))
	return b.String()
}

// group groups what counts against the lock in cells.
func group(cells []*cell) []findings.Finding {
	return findings.Group(cellsOf(cells), func(c record.Cell) []checker.Anomaly { return c.Verdict.Anomalies })
}

// cellsOf are cells with the anomalies that count.
func cellsOf(cells []*cell) []record.Cell {
	out := make([]record.Cell, len(cells))
	for i, c := range cells {
		out[i] = c.Cell
		out[i].Verdict.Anomalies = c.against
	}
	return out
}

func scenariosWords(n int) string {
	if n == 1 {
		return "1 scenario"
	}
	return fmt.Sprintf("%d scenarios", n)
}

// steps tells how an anomaly came about, and names what came with it.
func steps(b *strings.Builder, played play.Played, a checker.Anomaly, against []checker.Anomaly) {
	fmt.Fprintf(b, "%s\n", a.Why)
	if err := diagram.Steps(b, played.Events, a, storyLines, storyWidth); err != nil {
		fmt.Fprintf(b, "the story cannot be told: %v\n", err)
	}
	others := slices.DeleteFunc(slices.Clone(against), func(other checker.Anomaly) bool { return other.Name == a.Name })
	if len(others) > 0 {
		fmt.Fprintf(b, "With it came %s.\n", checker.Verdict{Kind: checker.Broken, Anomalies: others})
	}
}

// pattern is what go test -run takes for one test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// keep writes the histories of cells and a page with their steps to the test's artifacts, if these are kept, and says where they are.
func (s *suite) keep(t *testing.T, cells []*cell) string {
	if kept := flag.Lookup("test.artifacts"); kept == nil || kept.Value.String() != "true" {
		return "  (with -artifacts its picture is kept)"
	}
	dir := t.ArtifactDir()
	run := &record.Run{ID: filepath.Base(dir), World: "bubble", Cells: cellsOf(cells), Dir: dir, Finished: true}
	histories := inMemory{}
	for _, c := range cells {
		histories[c.Dir] = c.played.Events
		if err := writeHistory(filepath.Join(dir, c.Dir), c.played); err != nil {
			return fmt.Sprintf("\nno picture: %v", err)
		}
	}
	picture := filepath.Join(dir, rundir.PageFile)
	file, err := os.Create(picture)
	if err == nil {
		err = errors.Join(rundir.WriteRun(dir, run), page.HTML(file, run, histories, page.Beside{}), file.Close())
	}
	if err != nil {
		return fmt.Sprintf("\nno picture: %v", err)
	}
	return "\npicture  " + picture
}

func writeHistory(dir string, played play.Played) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, play.HistoryFile))
	if err != nil {
		return err
	}
	out, err := history.NewWriter(file, played.Header)
	for _, e := range played.Events {
		if err == nil {
			err = out.Write(e)
		}
	}
	return errors.Join(err, file.Close())
}

// inMemory are histories by the directory of their cell.
type inMemory map[string][]history.Event

func (h inMemory) Read(cell record.Cell) ([]history.Event, error) { return h[cell.Dir], nil }

func (h inMemory) Where(cell record.Cell) string {
	return filepath.ToSlash(filepath.Join(cell.Dir, play.HistoryFile))
}
