package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/report/reporttest"
	"github.com/locklab/locklab/internal/report/screen"
	"github.com/locklab/locklab/internal/report/terminal"
)

type sinkFunc func(report.Event) error

func (f sinkFunc) Handle(e report.Event) error { return f(e) }

func TestTeeReachesEverySinkAndJoinsErrors(t *testing.T) {
	bad := errors.New("disk full")
	var got []report.Kind
	tee := report.Tee(sinkFunc(func(report.Event) error { return bad }), sinkFunc(func(e report.Event) error { got = append(got, e.Kind); return nil }))
	require.ErrorIs(t, tee.Handle(report.Event{Kind: report.RunStart}), bad)
	require.Equal(t, []report.Kind{report.RunStart}, got)
}

func TestTeeTakesEventsFromSeveralGoroutines(t *testing.T) {
	n := 0 // not guarded: the tee is
	tee := report.Tee(sinkFunc(func(report.Event) error { n++; return nil }))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { assert.NoError(t, tee.Handle(report.Event{Kind: report.CellEnd})) })
	}
	wg.Wait()
	require.Equal(t, 50, n)
}

func TestAtEndRendersOnce(t *testing.T) {
	n := 0
	require.NoError(t, reporttest.Feed(report.AtEnd(func(*record.Run) error { n++; return nil }), reporttest.SampleRun()))
	require.Equal(t, 1, n)
}

func TestJSONIsOneEventALine(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, reporttest.Feed(report.NewJSON(&b), reporttest.SampleRun()))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 2+2*12)
	for _, line := range lines {
		var e struct {
			V     int
			Event string
			Run   struct{ Cells any }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		require.Equal(t, report.JSONVersion, e.V)
		require.Nil(t, e.Run.Cells)
	}
}

func TestJUnitCounts(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report.JUnit(&b, reporttest.SampleRun()))
	var doc struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Suites   []struct {
			Cases []struct {
				Class   string    `xml:"classname,attr"`
				Name    string    `xml:"name,attr"`
				Skipped *struct{} `xml:"skipped"`
				Error   *struct{} `xml:"error"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(b.Bytes(), &doc))
	require.Equal(t, []int{12, 2, 2, 1}, []int{doc.Tests, doc.Failures, doc.Errors, doc.Skipped})
	cases, failures, errs, skipped := 0, 0, 0, 0
	names := make(map[string]bool)
	for _, suite := range doc.Suites {
		for _, c := range suite.Cases {
			cases++
			failures += count(c.Failure != nil)
			errs += count(c.Error != nil)
			skipped += count(c.Skipped != nil)
			require.False(t, names[c.Class+c.Name], "cases have names of their own")
			names[c.Class+c.Name] = true
		}
	}
	require.Equal(t, []int{12, 2, 2, 1}, []int{cases, failures, errs, skipped})
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hostile puts text behind every string of a run and of a history, whoever can reach it: both may be files of strangers. fields are those that
// keep their value, so that what depends on it is shown.
func hostile(text string, fields ...string) (*record.Run, []history.Event) {
	events, _ := reporttest.PastLease()
	run := reporttest.SampleRun()
	suffix(reflect.ValueOf(run), text, fields)
	suffix(reflect.ValueOf(events), text, fields)
	return run, events
}

func suffix(v reflect.Value, text string, but []string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + text)
	case reflect.Pointer:
		if !v.IsNil() {
			suffix(v.Elem(), text, but)
		}
	case reflect.Slice:
		for i := range v.Len() {
			suffix(v.Index(i), text, but)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !slices.Contains(but, field.Name) {
				suffix(v.Field(i), text, but)
			}
		}
	}
}

func TestHostileText(t *testing.T) {
	const text = "\x1b[2J\r\n\u202e\u009b2J\x7f</text><script>alert(1)</script>\"'&|`*\x00\xff]]>"
	t.Run("everywhere", func(t *testing.T) { rendersClean(t, text) })
	t.Run("but for what is known by name", func(t *testing.T) { rendersClean(t, text, "Kind", "Name", "Phase", "Type", "By", "World") })
}

// rendersClean has each renderer show text, and looks for what should not come through.
func rendersClean(t *testing.T, text string, but ...string) {
	run, events := hostile(text, but...)
	get := func(record.Cell) ([]history.Event, error) { return events, nil }
	for name, render := range map[string]func(io.Writer) error{
		"terminal": func(w io.Writer) error {
			return reporttest.Feed(screen.New(w, w, terminal.Options{Verbose: true}), run)
		},
		"plain":   func(w io.Writer) error { return reporttest.Feed(screen.New(w, w, terminal.Options{}), run) },
		"json":    func(w io.Writer) error { return reporttest.Feed(report.NewJSON(w), run) },
		"explain": func(w io.Writer) error { return diagram.Explain(w, run.Cells[5], events, diagram.ExplainOptions{}) },
		"junit":   func(w io.Writer) error { return report.JUnit(w, run) },
		"html":    func(w io.Writer) error { return page.HTML(w, run, reporttest.ReadBy(get), page.Beside{}) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, render(&b))
			out := b.String()
			require.True(t, utf8.ValidString(out))
			bad := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
			require.Negative(t, bad, "control characters pass: %q", out[max(0, bad-60):max(0, min(len(out), bad+20))])
			if name == "html" || name == "junit" {
				require.NotContains(t, out, "<script>alert")
				require.NotContains(t, out, "</text><script")
			}
			if name == "junit" {
				require.NoError(t, xml.Unmarshal(b.Bytes(), new(struct{})))
			}
			if name == "html" {
				require.True(t, json.Valid([]byte(reporttest.InPage(t, out, "cells-0"))))
			}
		})
	}
}

func TestRunWithoutCells(t *testing.T) {
	run := &record.Run{ID: "empty", Command: []string{"run"}}
	for name, render := range map[string]func(io.Writer) error{
		"terminal": func(w io.Writer) error { return reporttest.Feed(screen.New(w, w, terminal.Options{Bar: true}), run) },
		"json":     func(w io.Writer) error { return reporttest.Feed(report.NewJSON(w), run) },
		"junit":    func(w io.Writer) error { return report.JUnit(w, run) },
		"html":     func(w io.Writer) error { return page.HTML(w, run, nil, page.Beside{}) },
		"explain":  func(w io.Writer) error { return diagram.Explain(w, record.Cell{}, nil, diagram.ExplainOptions{}) },
	} {
		var b bytes.Buffer
		require.NoError(t, render(&b), name)
		require.NotZero(t, b.Len(), name)
	}
}

// TestAnyHistoryCanBeTold: no order of events, however odd, makes a renderer fail.
func TestAnyHistoryCanBeTold(t *testing.T) {
	names := rapid.SampledFrom([]string{"", "C1", "C2", "redis", "resource"})
	state := rapid.Custom(func(t *rapid.T) history.State {
		return history.State{Type: rapid.SampledFrom([]string{"", "string"}).Draw(t, "type"), Value: rapid.StringN(0, 4, -1).Draw(t, "value"),
			TTL: time.Duration(rapid.IntRange(0, 20).Draw(t, "ttl")) * time.Millisecond}
	})
	event := rapid.Custom(func(t *rapid.T) history.Event {
		e := history.Event{ID: rapid.Int64Range(0, 5).Draw(t, "id"), Client: names.Draw(t, "client"), Lock: rapid.SampledFrom([]string{"k", "l"}).Draw(t, "lock"),
			Valid: time.Duration(rapid.IntRange(0, 5).Draw(t, "valid")) * time.Millisecond, Kind: history.Kind(rapid.IntRange(0, 11).Draw(t, "kind")),
			Op: history.Op(rapid.IntRange(0, 6).Draw(t, "op")), Outcome: history.Outcome(rapid.IntRange(0, 4).Draw(t, "outcome"))}
		if rapid.Bool().Draw(t, "detail") {
			e.Detail = &history.Detail{Error: rapid.String().Draw(t, "error")}
		}
		if e.Detail != nil && rapid.Bool().Draw(t, "command") {
			e.Detail.Command = &history.Command{Server: names.Draw(t, "server"), Args: []string{rapid.String().Draw(t, "arg")}, Late: rapid.Bool().Draw(t, "late"),
				Changes: []history.Change{{Key: "k", Before: state.Draw(t, "before"), After: state.Draw(t, "after")}}}
		}
		if e.Detail != nil && rapid.Bool().Draw(t, "fault") {
			e.Detail.Fault = &history.Fault{Name: rapid.SampledFrom([]string{"pause", "hold", "restart", "clock-jump", "odd"}).Draw(t, "name"), Target: names.Draw(t, "target"),
				Phase: rapid.SampledFrom([]history.Phase{history.PhaseInject, history.PhaseEffective, history.PhaseRecover}).Draw(t, "phase")}
		}
		return e
	})
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(event, 0, 40).Draw(t, "events")
		at := time.Duration(0)
		for i := range events {
			at += time.Duration(rapid.IntRange(0, 4000).Draw(t, "gap")) * time.Microsecond
			events[i].At = at
		}
		v := reporttest.Broken(checker.DoubleHolder)
		v.Anomalies[0].Events = rapid.SliceOfN(rapid.IntRange(-2, 45), 0, 4).Draw(t, "shown")
		cell := reporttest.CellOf("l", "s", v, v)
		if rapid.Bool().Draw(t, "storm") {
			cell.Storm = &record.Storm{}
		}
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		if err := diagram.Explain(io.Discard, cell, events, diagram.ExplainOptions{Limit: limit}); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		run := &record.Run{Cells: []record.Cell{cell}}
		if err := page.HTML(&b, run, reporttest.ReadBy(func(record.Cell) ([]history.Event, error) { return events, nil }), page.Beside{}); err != nil {
			t.Fatal(err)
		}
		if text := reporttest.InPage(t, b.String(), "cells-0"); !json.Valid([]byte(text)) {
			t.Fatalf("not JSON: %s", text)
		}
	})
}
