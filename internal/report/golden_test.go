package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares what was rendered with testdata/name.golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go test -update if this is meant")
}

// TestGoldenScreensFit: what people read in a terminal has at most 80 columns, unless the terminal is known to be wider.
func TestGoldenScreensFit(t *testing.T) {
	elsewhere := []string{"annotations", "html", "json", "junit", "summary"} // read by programs, or by a browser
	paths, err := filepath.Glob(filepath.Join("testdata", "*.golden"))
	require.NoError(t, err)
	colour := regexp.MustCompile("\x1b\\[[0-9;]*m")
	seen := 0
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".golden")
		if slices.Contains(elsewhere, name) || strings.HasSuffix(name, "-html") {
			continue
		}
		seen++
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(colour.ReplaceAllString(string(text), "")) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), usualWidth, "%s:\n%s", path, line)
		}
	}
	require.Greater(t, seen, 15)
}

func TestExplainGolden(t *testing.T) {
	events, cell := pastLease()
	var b bytes.Buffer
	require.NoError(t, Explain(&b, cell, events, ExplainOptions{}))
	golden(t, "explain", b.Bytes())
}

// readBy is a Histories whose files lie in the cells' directories.
type readBy func(record.Cell) ([]history.Event, error)

func (read readBy) Read(c record.Cell) ([]history.Event, error) { return read(c) }
func (readBy) Where(c record.Cell) string                       { return path.Join(c.Dir, "history.jsonl") }

// sampleHistory knows the history of one cell only.
func sampleHistory(c record.Cell) ([]history.Event, error) {
	events, cell := pastLease()
	if c.Dir != cell.Dir {
		return nil, errors.New("history.jsonl:1: not a history")
	}
	return events, nil
}

func TestRunGoldens(t *testing.T) {
	renderers := map[string]func(io.Writer, *record.Run) error{
		"html":        pageText,
		"junit":       JUnit,
		"summary":     Summary,
		"annotations": Annotations,
		"json":        func(w io.Writer, run *record.Run) error { return feed(NewJSON(w), run) },
		"terminal": func(w io.Writer, run *record.Run) error {
			return feed(NewTerminal(w, io.Discard, TerminalOptions{Since: ticking()}), run)
		},
		"terminal-80-verbose": func(w io.Writer, run *record.Run) error {
			return feed(NewTerminal(w, io.Discard, TerminalOptions{Width: 80, Verbose: true, Prefix: "go run ./cmd/lab", Since: ticking()}), run)
		},
		"terminal-color": func(w io.Writer, run *record.Run) error {
			return feed(NewTerminal(w, io.Discard, TerminalOptions{Color: true, Since: ticking()}), run)
		},
		"terminal-interrupted": func(w io.Writer, run *record.Run) error {
			run.Finished = false
			run.Cells = run.Cells[:5]
			return feed(NewTerminal(w, io.Discard, TerminalOptions{Since: ticking()}), run)
		},
	}
	for name, render := range renderers {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, render(&b, sampleRun()))
			golden(t, name, b.Bytes())
		})
	}
}

// pageText is a page without what is the same in all: its markup up to the data, then the data.
func pageText(w io.Writer, run *record.Run) error {
	var page bytes.Buffer
	if err := HTML(&page, run, readBy(sampleHistory), Beside{}); err != nil {
		return err
	}
	text := page.String()
	_, body, _ := strings.Cut(text, "<body>")
	body, _, _ = strings.Cut(body, `<script type="text/plain"`)
	out := []string{body}
	for _, id := range []string{"index", "cells-0", "cells-1", "cells-2", "cells-3"} {
		var data any
		if err := json.Unmarshal([]byte(inPage(panicking{}, text, id)), &data); err != nil {
			return err
		}
		lines, err := json.MarshalIndent(data, "", " ")
		if err != nil {
			return err
		}
		out = append(out, id, string(lines))
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// panicking ends what has no test at hand.
type panicking struct{}

func (panicking) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panicking) FailNow()                          { panic("failed") }

// feed sends a sink the events of a finished run.
// ticking is a clock by which each look takes 700 ms.
func ticking() func() time.Duration {
	var now time.Duration
	return func() time.Duration {
		now += 700 * time.Millisecond
		return now
	}
}

func feed(sink Sink, run *record.Run) error {
	const total = 12
	start := *run
	start.Cells, start.Finished = nil, false
	errs := []error{sink.Handle(Event{Kind: RunStart, Run: &start, Total: total})}
	for i, c := range run.Cells {
		begun := record.Cell{Lock: c.Lock, Scenario: c.Scenario, Round: c.Round}
		errs = append(errs,
			sink.Handle(Event{Kind: CellStart, Run: &start, Cell: &begun, Done: i, Total: total}),
			sink.Handle(Event{Kind: CellEnd, Run: &start, Cell: &c, Done: i + 1, Total: total}))
	}
	errs = append(errs, sink.Handle(Event{Kind: RunEnd, Run: run, Done: len(run.Cells), Total: total}))
	return errors.Join(errs...)
}
