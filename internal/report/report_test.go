package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
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
)

type sinkFunc func(Event) error

func (f sinkFunc) Handle(e Event) error { return f(e) }

func TestTeeReachesEverySinkAndJoinsErrors(t *testing.T) {
	bad := errors.New("disk full")
	var got []Kind
	tee := Tee(sinkFunc(func(Event) error { return bad }), sinkFunc(func(e Event) error { got = append(got, e.Kind); return nil }))
	require.ErrorIs(t, tee.Handle(Event{Kind: RunStart}), bad)
	require.Equal(t, []Kind{RunStart}, got)
}

func TestTeeTakesEventsFromSeveralGoroutines(t *testing.T) {
	n := 0 // not guarded: the tee is
	tee := Tee(sinkFunc(func(Event) error { n++; return nil }))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { assert.NoError(t, tee.Handle(Event{Kind: CellEnd})) })
	}
	wg.Wait()
	require.Equal(t, 50, n)
}

func TestAtEndRendersOnce(t *testing.T) {
	n := 0
	require.NoError(t, feed(AtEnd(func(*record.Run) error { n++; return nil }), sampleRun()))
	require.Equal(t, 1, n)
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ünïcode ✓":  "plain, ünïcode ✓",
		"\x1b[31mred":       `\x1b[31mred`,
		"a\r\nb\tc":         `a\x0d\nb\tc`,
		"\u202eevil":        `\u202eevil`,
		"\x9b2J":            `\x9b2J`,
		"\u009b2J":          `\x9b2J`,
		"bad \xff utf-8":    `bad \xff utf-8`,
		"nul\x00":           `nul\x00`,
		"\U000e0041 hidden": `\ue0041 hidden`,
	} {
		require.Equal(t, want, clean(in))
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;title\x07")
	f.Fuzz(func(t *testing.T, s string) {
		got := clean(s)
		require.True(t, utf8.ValidString(got))
		for _, r := range got {
			require.True(t, unicode.IsPrint(r))
		}
		require.Equal(t, got, clean(got))
	})
}

func TestWrapKeepsTheWordsAndTheWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a-zü ]{0,80}`).Draw(t, "s")
		n := rapid.IntRange(1, 30).Draw(t, "n")
		lines := wrap(s, n)
		for _, line := range lines {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), n)
		}
		strip := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		assert.Equal(t, strip(s), strip(strings.Join(lines, "")))
	})
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"runs/latest": "runs/latest", "python3 mylock.py": "'python3 mylock.py'", "": "''", "it's": `'it'\''s'`, "a*": "'a*'",
	} {
		require.Equal(t, want, shellWord(in))
	}
}

// TestShrinkCommand: shrinking starts a client only by the user's word, so the command names it.
func TestShrinkCommand(t *testing.T) {
	run := &record.Run{Dir: "r", Command: []string{"storm", "--client=sh lock", "--server", "redis-server", "--like", "redlock"}}
	own, foreign := record.Cell{Lock: "setpx-lua", Scenario: "storm"}, record.Cell{Lock: "mine", Scenario: "storm", Client: []string{"/bin/sh", "-c", "sh lock"}}
	require.Equal(t, "shrink r setpx-lua/storm", ShellLine(shrinkCommand(run, own)))
	require.Equal(t, "shrink r mine/storm --client 'sh lock' --like redlock --server redis-server", ShellLine(shrinkCommand(run, foreign)))
	run.Command[3] = "127.0.0.1:6379"
	require.Equal(t, "shrink r mine/storm --client 'sh lock' --like redlock", ShellLine(shrinkCommand(run, foreign)), "no script is played at an address")
}

func TestWithSeedKeepsASeedThatIsNamed(t *testing.T) {
	require.Equal(t, []string{"run", "--seed", "7"}, withSeed([]string{"run"}, 7))
	require.Equal(t, []string{"run", "--seed", "9"}, withSeed([]string{"run", "--seed", "9"}, 7))
	require.Equal(t, []string{"run", "--seed=9"}, withSeed([]string{"run", "--seed=9"}, 7))
}

func TestStatus(t *testing.T) {
	safe, unknown := checker.Verdict{Kind: checker.Safe}, checker.Verdict{Kind: checker.Undecided}
	none := checker.Verdict{Kind: checker.NotApplicable, Reason: "why"}
	failed := cellOf("l", "s", safe, safe)
	failed.Failure = "x"
	atFault := unknown
	atFault.CheckerFault = true
	for want, c := range map[status]record.Cell{
		statusExpected: cellOf("l", "s", broken(checker.Overwrite), broken(checker.Overwrite)),
		statusSurprise: cellOf("l", "s", none, safe),
		statusSkipped:  cellOf("l", "s", none, none),
		statusUnknown:  cellOf("l", "s", unknown, safe),
		statusFailed:   failed,
	} {
		require.Equal(t, want, statusOf(c))
	}
	require.Equal(t, statusFailed, statusOf(cellOf("l", "s", atFault, safe)))
}

func TestEveryAnomalyHasAShortWord(t *testing.T) {
	seen := make(map[string]bool)
	for _, d := range checker.Definitions() {
		word := shortWord(d.Name)
		require.NotEqual(t, string(d.Name), word)
		require.LessOrEqual(t, len(word)+len("!!"), gridLeast)
		require.Len(t, letter(d.Name), 1)
		for _, s := range []string{word, letter(d.Name)} {
			require.False(t, seen[s], s)
			seen[s] = true
		}
	}
}

// gridOf makes a run of every lock in every scenario.
func gridOf(locks, scenarios int) []record.Cell {
	var cells []record.Cell
	for s := range scenarios {
		for l := range locks {
			v := broken(checker.DoubleHolder, checker.WrongfulDelete, checker.StaleWrite, checker.LostUpdate)
			cells = append(cells, cellOf(fmt.Sprintf("lock-number-%d", l), fmt.Sprintf("scenario-with-long-name-%d", s), v, v))
		}
	}
	return cells
}

func TestGridFitsTheTerminal(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 20}, {20, 3}, {20, 30}} {
		for _, width := range []int{60, 80, 120} {
			out := grid{m: newMatrix(gridOf(size[0], size[1])), width: width}.String()
			for line := range strings.Lines(out) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, "%v at %d: %s", size, width, line)
			}
			cells := regexp.MustCompile(`\bdbl\b|\bDXSL\b`).FindAllString(out, -1)
			legend := len(regexp.MustCompile(`(?m)^  dbl  +double-holder`).FindAllString(out, -1))
			require.Len(t, cells, size[0]*size[1]+legend, "%v at %d", size, width)
		}
	}
}

func TestGridIsTurnedWhereThatFits(t *testing.T) {
	out := grid{m: newMatrix(gridOf(20, 3)), width: 80}.String()
	require.Contains(t, out, "\nlock-number-19")
	require.NotContains(t, out, "\nscenario-with")
}

func TestProgressAsPlainLines(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, feed(NewTerminal(io.Discard, &b, TerminalOptions{Since: ticking()}), sampleRun()))
	require.NotContains(t, b.String(), "\x1b")
	require.NotContains(t, b.String(), "\r")
	require.Regexp(t, `^progress: \d/12 done, \d surprises?, \d unknown, \d failed, \d+s elapsed, about \d+s left`, b.String())
	require.Equal(t, 3, strings.Count(b.String(), "\n"), "one every ten seconds:\n%s", b.String())
}

// TestShortRunsShowNoProgress: nobody needs it of what is over at once.
func TestShortRunsShowNoProgress(t *testing.T) {
	var b bytes.Buffer
	for _, bar := range []bool{false, true} {
		opts := TerminalOptions{Bar: bar, Since: func() time.Duration { return time.Second }}
		require.NoError(t, feed(NewTerminal(io.Discard, &b, opts), sampleRun()))
	}
	require.Empty(t, b.String())
}

func TestProgressBarIsTakenAwayBeforeResultsAndAtTheEnd(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var b bytes.Buffer // one screen for both
		require.NoError(t, feed(NewTerminal(&b, &b, TerminalOptions{Bar: true, Width: 100, Since: ticking(), Verbose: verbose}), sampleRun()))
		rest := regexp.MustCompile(`(\r\[[^\r\n]*\x1b\[K)+\r\x1b\[K`).ReplaceAllString(b.String(), "")
		require.NotContains(t, rest, "\r")
		require.NotContains(t, rest, "\x1b")
		require.Regexp(t, `\[##########\.\.\.\.\.\.\.\.\.\.\] 6/12 done, 1 surprise, 0 unknown, 0 failed, \d+s elapsed, about \d+s left`, b.String())
	}
}

// TestProgressOfAStorm: the line follows it.
func TestProgressOfAStorm(t *testing.T) {
	var bar, lines bytes.Buffer
	var now time.Duration
	since := func() time.Duration { return now }
	drawn := NewTerminal(io.Discard, &bar, TerminalOptions{Bar: true, Width: 120, Since: since})
	plain := NewTerminal(io.Discard, &lines, TerminalOptions{Since: since})
	cell := record.Cell{Lock: "setpx-lua", Scenario: "storm", Round: 1, Storm: &record.Storm{}}
	for second := range 25 {
		now = time.Duration(second+1) * time.Second
		cell.Took, cell.Storm.Operations = now, 10*(second+1)
		for _, sink := range []Sink{drawn, plain} {
			require.NoError(t, sink.Handle(Event{Kind: StormGoesOn, Run: sampleRun(), Cell: &cell, Total: 2}))
		}
	}
	require.Contains(t, bar.String(), "] 0/2 done, 0 surprises, 0 unknown, 0 failed, 17s elapsed; setpx-lua/storm for 17s, 170 operations\x1b[K")
	require.Equal(t, "progress: 0/2 done, 0 surprises, 0 unknown, 0 failed, 10s elapsed; setpx-lua/storm for 10s, 100 operations\n"+
		"progress: 0/2 done, 0 surprises, 0 unknown, 0 failed, 20s elapsed; setpx-lua/storm for 20s, 200 operations\n", lines.String())
}

func TestDetectTerminal(t *testing.T) {
	file, err := os.Open(os.DevNull) // a character device, which is as much of a terminal as a test can have
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for name, c := range map[string]struct {
		env        func(string) string
		color, bar bool
	}{
		"terminal": {env("TERM", "xterm"), true, true},
		"dumb":     {env("TERM", "dumb"), false, false},
		"NO_COLOR": {env("NO_COLOR", "1"), false, true},
		"CI":       {env("CI", "true"), true, false},
	} {
		opts := DetectTerminal(file, file, c.env)
		require.Equal(t, c.color, opts.Color, name)
		require.Equal(t, c.bar, opts.Bar, name)
	}
}

func TestJSONIsOneEventALine(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, feed(NewJSON(&b), sampleRun()))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 2+2*12)
	for _, line := range lines {
		var e struct {
			V     int
			Event string
			Run   struct{ Cells any }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		require.Equal(t, JSONVersion, e.V)
		require.Nil(t, e.Run.Cells)
	}
}

func TestJUnitCounts(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, JUnit(&b, sampleRun()))
	var doc junitSuites
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
	events, _ := pastLease()
	run := sampleRun()
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
		"terminal": func(w io.Writer) error { return feed(NewTerminal(w, w, TerminalOptions{Verbose: true}), run) },
		"plain":    func(w io.Writer) error { return feed(NewTerminal(w, w, TerminalOptions{}), run) },
		"json":     func(w io.Writer) error { return feed(NewJSON(w), run) },
		"explain":  func(w io.Writer) error { return Explain(w, run.Cells[5], events, ExplainOptions{}) },
		"junit":    func(w io.Writer) error { return JUnit(w, run) },
		"html":     func(w io.Writer) error { return HTML(w, run, readBy(get), Beside{}) },
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
				require.NoError(t, xml.Unmarshal(b.Bytes(), new(junitSuites)))
			}
			if name == "html" {
				require.True(t, json.Valid([]byte(inPage(t, out, "cells-0"))))
			}
		})
	}
}

// inPage are data of a page.
func inPage(t require.TestingT, page, id string) string {
	found := regexp.MustCompile(`<script type="text/plain" id="` + id + `">([^<]*)</script>`).FindStringSubmatch(page)
	require.Len(t, found, 2, id)
	packed, err := base64.StdEncoding.DecodeString(found[1])
	require.NoError(t, err)
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	require.NoError(t, err)
	return string(text)
}

func TestHTMLNeedsNothingElse(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, HTML(&b, sampleRun(), readBy(sampleHistory), Beside{}))
	page := b.String()
	require.Equal(t, []string{"http://www.w3.org/2000/svg"}, regexp.MustCompile(`https?://[^"\s]+`).FindAllString(strings.ReplaceAll(page, "';", `"`), -1), "an SVG's name space")
	require.NotRegexp(t, `\ssrc=|@import|url\([^#]`, page)
	for _, link := range regexp.MustCompile(`href="#/([^/"?]+)/([^"?]+)`).FindAllStringSubmatch(page, -1) {
		require.Contains(t, inPage(t, page, "index"), `"name":"`+link[1]+`"`)
		require.Contains(t, inPage(t, page, "index"), `"name":"`+link[2]+`"`)
	}
	ids := make(map[string]bool)
	for _, id := range regexp.MustCompile(`\sid="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.False(t, ids[id[1]], "id %s twice", id[1])
		ids[id[1]] = true
	}
	require.Contains(t, inPage(t, page, "cells-0"), "history.jsonl:1: not a history")
}

func TestHTMLWithoutHistories(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, HTML(&b, sampleRun(), nil, Beside{}))
	require.Contains(t, inPage(t, b.String(), "cells-0"), "The history was not kept.")
}

func TestRunWithoutCells(t *testing.T) {
	run := &record.Run{ID: "empty", Command: []string{"run"}}
	for name, render := range map[string]func(io.Writer) error{
		"terminal": func(w io.Writer) error { return feed(NewTerminal(w, w, TerminalOptions{Bar: true}), run) },
		"json":     func(w io.Writer) error { return feed(NewJSON(w), run) },
		"junit":    func(w io.Writer) error { return JUnit(w, run) },
		"html":     func(w io.Writer) error { return HTML(w, run, nil, Beside{}) },
		"explain":  func(w io.Writer) error { return Explain(w, record.Cell{}, nil, ExplainOptions{}) },
	} {
		var b bytes.Buffer
		require.NoError(t, render(&b), name)
		require.NotZero(t, b.Len(), name)
	}
}

// longHistory repeats turns of two clients; the anomaly is shown by events far from the start.
func longHistory(turns int) ([]history.Event, record.Cell) {
	s := newSample()
	var last int
	for i := range turns {
		client := fmt.Sprintf("C%d", i%3+1)
		s.acquire(client)
		s.call(client, history.OpRelease)
		last = s.command(client, "redis", "1", change(sampleKey, held(400*time.Millisecond), history.State{}), "DEL", sampleKey)
		s.ret(client, history.OK, nil)
	}
	v := broken(checker.WrongfulDelete)
	v.Anomalies[0].Events = []int{last - 5, last}
	for range 500 {
		v.Anomalies = append(v.Anomalies, v.Anomalies[0])
	}
	return s.events, cellOf("l", "s", v, v)
}

func TestLongHistoriesStayReadable(t *testing.T) {
	events, cell := longHistory(20_000)
	last := cell.Verdict.Anomalies[0].Events[1]

	var story bytes.Buffer
	require.NoError(t, Explain(&story, cell, events, ExplainOptions{}))
	require.Less(t, strings.Count(story.String(), "\n"), 1500)
	require.Contains(t, story.String(), "events are left out")
	require.Regexp(t, fmt.Sprintf(`(?m)^!1\S*\s+%d `, last+1), story.String(), "what shows the anomaly is kept")

	var page bytes.Buffer
	run := &record.Run{Cells: []record.Cell{cell}}
	require.NoError(t, HTML(&page, run, readBy(func(record.Cell) ([]history.Event, error) { return events, nil }), Beside{}))
	require.Less(t, page.Len(), 200_000)
	kept := newChart(events).kept(cell, maxEvents)
	shown := slices.DeleteFunc(slices.Clone(kept), func(kept bool) bool { return !kept })
	require.Len(t, shown, maxEvents)
	require.True(t, kept[last], "what shows the anomaly is kept")
	require.Contains(t, inPage(t, page.String(), "cells-0"), `"DEL"`)
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
		v := broken(checker.DoubleHolder)
		v.Anomalies[0].Events = rapid.SliceOfN(rapid.IntRange(-2, 45), 0, 4).Draw(t, "shown")
		cell := cellOf("l", "s", v, v)
		if rapid.Bool().Draw(t, "storm") {
			cell.Storm = &record.Storm{}
		}
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		if err := Explain(io.Discard, cell, events, ExplainOptions{Limit: limit}); err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		run := &record.Run{Cells: []record.Cell{cell}}
		if err := HTML(&page, run, readBy(func(record.Cell) ([]history.Event, error) { return events, nil }), Beside{}); err != nil {
			t.Fatal(err)
		}
		if text := inPage(t, page.String(), "cells-0"); !json.Valid([]byte(text)) {
			t.Fatalf("not JSON: %s", text)
		}
	})
}

func TestCommandsAreShortened(t *testing.T) {
	sha := strings.Repeat("0123456789", 4)
	require.Equal(t, "EVALSHA 01234567… 1 k", commandWords(&history.Command{Args: []string{"EVALSHA", sha, "1", "k"}}))
	require.Equal(t, "SET k "+strings.Repeat("v", 39)+"… (late)", commandWords(&history.Command{Args: []string{"SET", "k", strings.Repeat("v", 99)}, Late: true}))
}
