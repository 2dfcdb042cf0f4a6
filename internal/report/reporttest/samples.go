// Package reporttest has what tests of reports share: a run and histories by hand, and comparison with golden files.
//
// It owns samples. It must not be used outside tests.
package reporttest

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares what was rendered with testdata/name.golden.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go test -update if this is meant")
}

// ReadBy is a Histories whose files lie in the cells' directories.
type ReadBy func(record.Cell) ([]history.Event, error)

func (read ReadBy) Read(c record.Cell) ([]history.Event, error) { return read(c) }

func (ReadBy) Where(c record.Cell) string { return path.Join(c.Dir, "history.jsonl") }

// SampleHistory knows the history of one cell only.
func SampleHistory(c record.Cell) ([]history.Event, error) {
	events, cell := PastLease()
	if c.Dir != cell.Dir {
		return nil, errors.New("history.jsonl:1: not a history")
	}
	return events, nil
}

// Ticking is a clock by which each look takes 700 ms.
func Ticking() func() time.Duration {
	var now time.Duration
	return func() time.Duration {
		now += 700 * time.Millisecond
		return now
	}
}

// Feed sends a sink the events of a finished run.
func Feed(sink report.Sink, run *record.Run) error {
	const total = 12
	start := *run
	start.Cells, start.Finished = nil, false
	errs := []error{sink.Handle(report.Event{Kind: report.RunStart, Run: &start, Total: total})}
	for i, c := range run.Cells {
		begun := record.Cell{Lock: c.Lock, Scenario: c.Scenario, Round: c.Round}
		errs = append(errs,
			sink.Handle(report.Event{Kind: report.CellStart, Run: &start, Cell: &begun, Done: i, Total: total}),
			sink.Handle(report.Event{Kind: report.CellEnd, Run: &start, Cell: &c, Done: i + 1, Total: total}))
	}
	errs = append(errs, sink.Handle(report.Event{Kind: report.RunEnd, Run: run, Done: len(run.Cells), Total: total}))
	return errors.Join(errs...)
}

// InPage are data of a page.
func InPage(t require.TestingT, page, id string) string {
	found := regexp.MustCompile(`<script type="text/plain" id="` + id + `">([^<]*)</script>`).FindStringSubmatch(page)
	require.Len(t, found, 2, id)
	packed, err := base64.StdEncoding.DecodeString(found[1])
	require.NoError(t, err)
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	require.NoError(t, err)
	return string(text)
}

// LongHistory repeats turns of two clients; the anomaly is shown by events far from the start.
func LongHistory(turns int) ([]history.Event, record.Cell) {
	s := NewSample()
	var last int
	for i := range turns {
		client := fmt.Sprintf("C%d", i%3+1)
		s.Acquire(client)
		s.Call(client, history.OpRelease)
		last = s.Command(client, "redis", "1", Change(SampleKey, Held(400*time.Millisecond), history.State{}), "DEL", SampleKey)
		s.Ret(client, history.OK, nil)
	}
	v := Broken(checker.WrongfulDelete)
	v.Anomalies[0].Events = []int{last - 5, last}
	for range 500 {
		v.Anomalies = append(v.Anomalies, v.Anomalies[0])
	}
	return s.Events, CellOf("l", "s", v, v)
}

// RunOfVariants has a lock with chosen bugs that only some scenarios are about, and one that all were run with.
func RunOfVariants() *record.Run {
	safe := checker.Verdict{Kind: checker.Safe}
	broken := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.StuckLock}}}
	return &record.Run{Finished: true, Cells: []record.Cell{
		{Lock: "getset", Scenario: "turns", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
		{Lock: "getset/always", Scenario: "turns", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
		{Lock: "getset", Scenario: "crash", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
		{Lock: "getset/always", Scenario: "crash", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
		{Lock: "getset/once", Scenario: "crash", Round: 1, Verdict: broken, Expected: record.Expectation{Verdict: safe}},
	}}
}
