package locktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// storyWidth is the width of the story in the output of a test, and storyEvents how many events it shows at most.
const (
	storyWidth  = 120
	storyEvents = 60
)

// fail reports a cell that counts against the lock: what it shows, its story, where its picture is, and how to play it again.
func (s *suite) fail(t *testing.T, script *scenarios.Script, cell record.Cell, played play.Played, against []checker.Anomaly) {
	t.Helper()
	if expected, ok := s.matrix.Lookup(script.Name, s.model.Name); ok {
		cell.Expected = record.Expectation{Verdict: expected, By: record.ByMatrix}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s\n\n", script.Name, names(against), script.Title)
	if err := report.Explain(&b, cell, played.Events, report.ExplainOptions{Width: storyWidth, Limit: storyEvents}); err != nil {
		fmt.Fprintf(&b, "the story cannot be told: %v\n", err)
	}
	fmt.Fprintf(&b, "\n%s promises that no such thing happens: %s comes to %s here.\n", s.subject.Promises, s.model.Name, s.reviewed(script))
	s.close(&b, t, cell, played, "")
	t.Error(b.String())
}

// close ends a report: where the picture is, and how to play the cell again with what in the environment.
func (s *suite) close(b *strings.Builder, t *testing.T, cell record.Cell, played play.Played, env string) {
	page, err := keep(t, cell, played)
	if err != nil {
		fmt.Fprintf(b, "picture  none: %v\n", err)
	} else {
		fmt.Fprintf(b, "picture  %s\n", page)
	}
	fmt.Fprintf(b, "rerun    %sgo test -run '%s' .\n", env, pattern(t.Name()))
}

func names(anomalies []checker.Anomaly) string {
	return checker.Verdict{Kind: checker.Broken, Anomalies: anomalies}.String()
}

// reviewed is the verdict of the model in a scenario.
func (s *suite) reviewed(script *scenarios.Script) string {
	if expected, ok := s.matrix.Lookup(script.Name, s.model.Name); ok {
		return expected.String()
	}
	return "not reviewed"
}

// pattern is what go test -run takes for one test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// keep writes the history of a cell and a page with its picture to a directory that outlives the test, and returns the page.
func keep(t *testing.T, cell record.Cell, played play.Played) (page string, err error) {
	dir := os.Getenv("LOCKTEST_DIR")
	if dir == "" {
		if dir, err = os.MkdirTemp("", "locktest-"); err != nil {
			return "", err
		}
	}
	dir = filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", string(filepath.Separator)))
	run := &record.Run{ID: filepath.Base(dir), World: "bubble", Cells: []record.Cell{cell}, Dir: dir, Finished: true}
	if err := os.MkdirAll(filepath.Join(dir, cell.Dir), 0o755); err != nil {
		return "", err
	}
	if err := errors.Join(report.WriteRun(dir, run), writeHistory(filepath.Join(dir, cell.Dir, play.HistoryFile), played)); err != nil {
		return "", err
	}
	page = filepath.Join(dir, report.PageFile)
	file, err := os.Create(page)
	if err != nil {
		return "", err
	}
	return page, errors.Join(report.HTML(file, run, inMemory(played.Events)), file.Close())
}

func writeHistory(path string, played play.Played) error {
	file, err := os.Create(path)
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

// inMemory is the history of the only cell of a run.
type inMemory []history.Event

func (h inMemory) Read(record.Cell) ([]history.Event, error) { return h, nil }

func (h inMemory) Where(cell record.Cell) string {
	return filepath.ToSlash(filepath.Join(cell.Dir, play.HistoryFile))
}
