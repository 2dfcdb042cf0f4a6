package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/browser"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/scenarios"
)

// cells are cells of the model with what is rare: faults of all kinds, lost replies, late commands, several servers, sessions, handles, clients that end.
func cells(t *testing.T) (all []*Cell) {
	t.Helper()
	scripts, err := scenarios.Builtin("take-turns", "pause-past-lease", "holder-crashes", "acquire-reply-lost", "redis-restarts-empty", "stopped-between-check-and-delete", "one-clock-jumps-of-five")
	require.NoError(t, err)
	var locks []impls.Spec
	for _, name := range []string{"setpx-del", "watchdog", "redlock", "fenced", "redisson", "zookeeper"} {
		lock, ok := impls.Find(name)
		require.True(t, ok, name)
		locks = append(locks, lock)
	}
	dir := filepath.Join(t.TempDir(), "run")
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	run, err := lab.Run(t.Context(), lab.Plan{
		Cases:   lab.Cases(scripts, lab.Subjects(locks...), 1, lab.Expect(matrix)),
		Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Results: lab.Results{Dir: dir}},
	})
	require.NoError(t, err)
	for _, cell := range run.Cells {
		if cell.Verdict.Kind == checker.NotApplicable {
			continue
		}
		cell, file, err := lab.ReadCell(t.Context(), run, cell)
		require.NoError(t, err)
		all = append(all, &Cell{Cell: cell, Base: file.Header.Base, Lab: "test", Events: file.Events})
	}
	require.Greater(t, len(all), 20)
	return append(all, odd())
}

// odd is a cell whose names and texts are what nobody should use, and whose operations overlap or do not end.
func odd() *Cell {
	lock, client := "a lock\n\"}<script>", "C1.b/2 \u2028é\\"
	c := &Cell{Base: time.Unix(1e9, 5), Cell: record.Cell{Lock: lock, Scenario: "odd", Verdict: checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{
		{Name: checker.DoubleHolder, Lock: lock, Clients: []string{client}, At: time.Second, Why: "</script>", Events: []int{1, 2}},
	}}}}
	c.Events = []history.Event{
		{Kind: history.KindOpen, Client: client, Lock: lock, Detail: &history.Detail{Lease: time.Second}},
		{Kind: history.KindCall, Client: client, Lock: lock, Op: history.OpAcquire, ID: 1},
		{Kind: history.KindCall, Client: client, Lock: lock, Op: history.OpCheck, ID: 2},
		{At: 5, Kind: history.KindCommand, Client: client, Lock: lock, ID: 1, Detail: &history.Detail{Command: &history.Command{Server: "S 1", Args: []string{"SET\n", lock, "\xff\x00"}, Reply: "-ERR \"no\"", Sent: -3}}},
		{At: 5, Kind: history.KindReturn, Client: client, Lock: lock, Op: history.OpAcquire, ID: 1, Outcome: history.Unknown, Detail: &history.Detail{GaveUp: true, Error: "a\tb\u0000"}},
		{At: 5, Kind: history.KindFault, Detail: &history.Detail{Fault: &history.Fault{Name: "a (fault)", Target: "nobody", Phase: history.PhaseInject, What: "{"}}},
		{At: 9, Kind: history.KindReturn, Client: client, Lock: lock, Op: history.OpCheck, ID: 2, Outcome: history.No},
		{At: 9, Kind: history.KindCall, Client: client, Lock: lock, Op: history.OpRelease, ID: 3},
		{At: 20, Kind: history.KindExit, Client: client},
	}
	return c
}

// done is an operation as a format has it.
type done struct {
	client, op, outcome string
	from, to            time.Duration
}

func operationsOf(c *Cell) (all []string) {
	for _, o := range c.timeline().Operations {
		all = append(all, fmt.Sprint(done{o.Client, o.Op.String(), o.Outcome.String(), o.Began, c.until(o.Span)}))
	}
	return sorted(all)
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func commandsOf(c *Cell) (all []string) {
	for i := range c.Events {
		if command := c.Events[i].Command(); command != nil {
			all = append(all, c.Events[i].Client+" "+valid(strings.Join(command.Args, " ")))
		}
	}
	return sorted(all)
}

// valid is a text as JSON has it.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func written(t *testing.T, format string, c *Cell) []byte {
	t.Helper()
	i := slices.IndexFunc(Formats(), func(f Format) bool { return f.Name == format })
	var first, second bytes.Buffer
	require.NoError(t, Formats()[i].Write(&first, c))
	require.NoError(t, Formats()[i].Write(&second, c))
	require.Equal(t, first.String(), second.String())
	return first.Bytes()
}

// Every format has every operation of every cell, and those that show commands have every command.
func TestRoundTrips(t *testing.T) {
	all := cells(t)
	for format, read := range map[string]func(*testing.T, *Cell, []byte) (operations, commands []string){
		"perfetto": readPerfetto, "edn": readEDN, "otlp": readOTLP, "shiviz": readShiViz, "csv": readCSV, "porcupine": readPorcupine,
	} {
		t.Run(format, func(t *testing.T) {
			for _, c := range all {
				operations, commands := read(t, c, written(t, format, c))
				want := operationsOf(c)
				if format == "porcupine" { // its times are made distinct
					want = untimed(c)
				}
				require.Equal(t, want, sorted(operations), c.name())
				if format != "edn" {
					require.Equal(t, commandsOf(c), sorted(commands), c.name())
				}
			}
		})
	}
	assert.Len(t, Formats(), 6, "each needs a reader")
}

func readPerfetto(t *testing.T, c *Cell, text []byte) (operations, commands []string) {
	var file struct {
		TraceEvents []struct {
			Name, Cat, Ph, ID string
			Ts, Dur           float64
			Pid, Tid          int
			Args              map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	nano := func(micros float64) time.Duration { return time.Duration(micros*1e3 + 0.5) }
	type lane struct{ pid, tid int }
	ends := map[lane][]float64{}
	starts, finishes := map[string]bool{}, map[string]bool{}
	for _, e := range file.TraceEvents {
		at := lane{e.Pid, e.Tid}
		switch {
		case e.Ph == "X":
			open := ends[at]
			for len(open) > 0 && open[len(open)-1] <= e.Ts {
				open = open[:len(open)-1]
			}
			if n := len(open); n > 0 {
				require.Less(t, e.Ts+e.Dur, open[n-1], "slices of a lane nest")
			}
			ends[at] = append(open, e.Ts+e.Dur)
			if e.Cat == "operation" {
				to := nano(e.Ts + e.Dur)
				if nano(e.Dur) == 1 {
					to = nano(e.Ts)
				}
				operations = append(operations, fmt.Sprint(done{e.Args["client"].(string), e.Args["op"].(string), e.Args["outcome"].(string), nano(e.Ts), to}))
			}
		case e.Ph == "s":
			starts[e.ID] = true
		case e.Ph == "f":
			finishes[e.ID] = true
		}
		if e.Ph == "X" && e.Cat == "command" && isServer(file.TraceEvents, e.Pid) {
			var words []string
			for _, word := range e.Args["command"].([]any) {
				words = append(words, word.(string))
			}
			commands = append(commands, e.Args["client"].(string)+" "+strings.Join(words, " "))
		}
	}
	require.Equal(t, starts, finishes, "each arrow has both ends")
	sent := 0
	for i := range c.Events {
		if command := c.Events[i].Command(); command != nil && byClient(&c.Events[i], command) {
			sent++
		}
	}
	require.Len(t, starts, sent, "each command has an arrow")
	return operations, commands
}

func isServer(events []struct {
	Name, Cat, Ph, ID string
	Ts, Dur           float64
	Pid, Tid          int
	Args              map[string]any
}, pid int) bool {
	for _, e := range events {
		if e.Ph == "M" && e.Name == "process_name" && e.Pid == pid {
			return strings.HasPrefix(e.Args["name"].(string), "server ")
		}
	}
	return false
}

func readOTLP(t *testing.T, c *Cell, text []byte) (operations, commands []string) {
	var request otlpRequest
	require.NoError(t, json.Unmarshal(text, &request))
	spans := map[string]bool{}
	var all []otlpSpan
	for _, r := range request.ResourceSpans {
		for _, s := range r.ScopeSpans[0].Spans {
			require.Regexp(t, `^[0-9a-f]{32}$`, s.TraceID)
			require.Regexp(t, `^[0-9a-f]{16}$`, s.SpanID)
			require.False(t, spans[s.SpanID], "IDs are distinct")
			spans[s.SpanID] = true
			all = append(all, s)
		}
	}
	roots := 0
	for _, s := range all {
		if s.ParentID == "" {
			roots++
		} else {
			require.True(t, spans[s.ParentID], "a parent is there")
		}
		is := map[string]string{}
		for _, a := range s.Attributes {
			if a.Value.String != nil {
				is[a.Key] = *a.Value.String
			}
		}
		from, to := since(t, c, s.Start), since(t, c, s.End)
		require.LessOrEqual(t, from, to)
		switch {
		case is["locklab.outcome"] != "":
			operations = append(operations, fmt.Sprint(done{is["locklab.client"], s.Name, is["locklab.outcome"], from, to}))
		case s.Kind == spanServer:
			commands = append(commands, is["locklab.client"]+" "+is["db.query.text"])
		}
	}
	require.Equal(t, 1, roots)
	return operations, commands
}

func since(t *testing.T, c *Cell, nanos string) time.Duration {
	n, err := strconv.ParseInt(nanos, 10, 64)
	require.NoError(t, err)
	return time.Duration(n - c.Base.UnixNano())
}

func readCSV(t *testing.T, c *Cell, text []byte) (operations, commands []string) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, len(c.Events)+1)
	calls := map[string]done{}
	for _, cells := range rows[1:] {
		row := map[string]string{}
		for i, name := range rows[0] {
			row[name] = cells[i]
		}
		nanos, err := strconv.ParseInt(row["at_ns"], 10, 64)
		require.NoError(t, err)
		at, key := time.Duration(nanos), row["client"]+" "+row["id"]
		switch row["kind"] {
		case "call":
			calls[key] = done{row["client"], row["op"], "unknown", at, c.end()}
		case "return":
			d := calls[key]
			d.outcome, d.to = row["outcome"], at
			operations = append(operations, fmt.Sprint(d))
			delete(calls, key)
		case "exit":
			for key, d := range calls {
				if d.client == row["client"] {
					d.to = at
					operations = append(operations, fmt.Sprint(d))
					delete(calls, key)
				}
			}
		case "command":
			var args []string
			require.NoError(t, json.Unmarshal([]byte(row["command"]), &args))
			commands = append(commands, row["client"]+" "+strings.Join(args, " "))
		}
	}
	for _, d := range calls {
		operations = append(operations, fmt.Sprint(d))
	}
	return operations, commands
}

// readShiViz reads the log by its own regular expression, and checks the clocks: each host counts its events, and what a message brings had happened before.
func readShiViz(t *testing.T, c *Cell, text []byte) (operations, commands []string) {
	expression, rest, ok := strings.Cut(string(text), "\n\n")
	require.True(t, ok)
	log := regexp.MustCompile(strings.ReplaceAll(expression, "(?<", "(?P<"))
	matches := log.FindAllStringSubmatch(rest, -1)
	require.Equal(t, strings.Count(rest, "\n"), 2*len(matches), "nothing is left over")
	counts := map[string]int{}
	for _, m := range matches {
		var clock map[string]int
		require.NoError(t, json.Unmarshal([]byte(m[2]), &clock))
		counts[m[1]]++
		require.Equal(t, counts[m[1]], clock[m[1]])
		for host, n := range clock {
			require.LessOrEqual(t, n, counts[host], "what a clock has counted has happened")
		}
	}
	for i := range c.Events { // the words are those of lab explain: each event is there once
		line := fmt.Sprintf("%.3fs %s\n", c.Events[i].At.Seconds(), c.words(i).Text)
		require.Contains(t, rest, line)
	}
	events, messages := 0, 0
	for _, m := range momentsOf(c) {
		events++
		if m.sends || m.receives {
			messages++
		}
	}
	require.Len(t, matches, events)
	return operationsOf(c), commandsOf(c)
}

func readPorcupine(t *testing.T, c *Cell, text []byte) (operations, commands []string) {
	_, data, ok := strings.Cut(string(text), "const data = ")
	require.True(t, ok)
	var page struct {
		Partitions []struct {
			History []struct {
				ClientID              int `json:"ClientId"`
				Description, Metadata string
			}
		}
		Annotations []struct{ Tag, Description, Details string }
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(data)).Decode(&page))
	for _, p := range page.Partitions {
		for _, o := range p.History {
			if strings.HasPrefix(o.Metadata, "#") {
				operations = append(operations, fmt.Sprintf("%d %s", o.ClientID, o.Description))
			}
		}
	}
	tags := map[string]int{}
	for _, a := range page.Annotations {
		tags[a.Tag]++
	}
	for _, server := range c.timeline().Servers {
		require.NotZero(t, tags["server "+server])
	}
	for _, f := range c.timeline().Faults {
		require.NotZero(t, tags["faults of "+f.Target])
	}
	require.Equal(t, len(c.Verdict.Anomalies), tags["anomalies"])
	return operations, commandsOf(c)
}

func untimed(c *Cell) (all []string) {
	for _, o := range c.timeline().Operations {
		all = append(all, valid(fmt.Sprintf("%d %s %s: %s", slices.Index(c.timeline().Clients, o.Client), o.Client, o.Op, outcomeWords(o))))
	}
	return sorted(all)
}

// The page shows what the checker found: a history is linearizable if and only if nobody held beside another.
func TestPorcupineAgrees(t *testing.T) {
	for _, c := range cells(t) {
		_, data, _ := strings.Cut(string(written(t, "porcupine", c)), "const data = ")
		var page struct {
			Partitions []struct {
				History               []any
				PartialLinearizations [][]any
			}
		}
		require.NoError(t, json.NewDecoder(strings.NewReader(data)).Decode(&page))
		linearizable := true
		for _, p := range page.Partitions {
			longest := 0
			for _, l := range p.PartialLinearizations {
				longest = max(longest, len(l))
			}
			linearizable = linearizable && longest == len(p.History)
		}
		twice := slices.ContainsFunc(c.Verdict.Anomalies, func(a checker.Anomaly) bool {
			return a.Name == checker.DoubleHolder && !strings.Contains(a.Why, "was told") && !strings.Contains(a.Why, "was answered")
		})
		if c.Scenario != "odd" {
			assert.Equal(t, !twice, linearizable, c.name())
		}
	}
}

// porcupine's page opens in a browser without an error.
func TestPorcupineInBrowser(t *testing.T) {
	b := browser.Open(t)
	for _, c := range some(cells(t)) {
		path := filepath.Join(t.TempDir(), "page.html")
		require.NoError(t, os.WriteFile(path, written(t, "porcupine", c), 0o600))
		b.Visit("file://" + path)
		boxes := b.Eval(`(() => { const all = document.querySelectorAll("rect"); all.forEach(r => r.dispatchEvent(new MouseEvent("mousemove", {bubbles: true}))); return all.length })()`)
		assert.Greater(t, boxes, float64(len(c.timeline().Operations)), c.name())
		assert.Empty(t, b.Errors(), c.name())
	}
}

// traceViewer serves Chromium's own trace viewer, as it comes with Go for go tool trace.
func traceViewer(t *testing.T) (url string) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	dir := filepath.Join(strings.TrimSpace(string(root)), "src", "internal", "trace", "traceviewer", "static")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "trace_viewer_full.html"))
	}
	needs.Part(t, "chromium", err)
	mux := http.NewServeMux()
	mux.Handle("/static/", http.StripPrefix("/static/", http.FileServer(http.Dir(dir))))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><script src="/static/webcomponents.min.js"></script><link rel="import" href="/static/trace_viewer_full.html">
<script>window.viewer = new Promise(ready => document.addEventListener("HTMLImportsLoaded", () => ready(typeof tr)))</script>`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// Chromium's own trace viewer reads the trace without a warning, with all slices, and with arrows that are bound at both ends.
func TestPerfettoInTraceViewer(t *testing.T) {
	url := traceViewer(t)
	b := browser.Open(t)
	b.Visit(url)
	require.Equal(t, "object", b.Eval("window.viewer"))
	for _, c := range some(cells(t)) {
		trace := written(t, "perfetto", c)
		text, err := json.Marshal(string(trace))
		require.NoError(t, err)
		var model struct {
			Slices, Arrows, Unbound int
			Warnings                []string
		}
		got := b.Eval(`(async () => {
			const model = new tr.Model(), options = new tr.importer.ImportOptions()
			await new tr.importer.Import(model, options).importTraces([` + string(text) + `])
			let slices = 0
			for (const process of model.getAllProcesses()) for (const thread of Object.values(process.threads)) slices += thread.sliceGroup.slices.filter(s => s.category === "operation" || s.category === "command").length
			const unbound = model.flowEvents.filter(f => !f.startSlice || !f.endSlice).length
			return JSON.stringify({slices, arrows: model.flowEvents.length, unbound, warnings: model.importWarnings.map(w => w.message)})
		})()`)
		require.NoError(t, json.Unmarshal([]byte(got.(string)), &model))
		arrows := bytes.Count(trace, []byte(`"ph":"s"`))
		assert.Empty(t, model.Warnings, c.name())
		assert.Equal(t, arrows, model.Arrows, c.name())
		assert.Zero(t, model.Unbound, c.name())
		assert.Equal(t, bytes.Count(trace, []byte(`"ph":"X"`)), model.Slices, c.name())
	}
}

// some are a few cells, and the odd one.
func some(all []*Cell) (few []*Cell) {
	for i := 0; i < len(all); i += 6 {
		few = append(few, all[i])
	}
	return append(few, all[len(all)-1])
}
