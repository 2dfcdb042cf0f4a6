package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var someHeader = Header{
	Version: Version, Run: "r1", Cell: "setnx-del/pause-past-lease", Lock: "setnx-del", Scenario: "pause-past-lease",
	Base: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
}

const headerLine = `{"locklab_history":1,"base":"2026-01-02T03:04:05Z"}` + "\n"

func written(t interface{ Fatalf(string, ...any) }, events ...Event) string {
	var buf bytes.Buffer
	w, err := NewWriter(&buf, someHeader)
	if err != nil {
		t.Fatalf("header: %v", err)
	}
	for _, e := range events {
		if err := w.Write(e); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	return buf.String()
}

func TestWriteIsReadable(t *testing.T) {
	text := written(t,
		Event{At: 1500, Kind: KindReturn, Client: "C1", Op: OpAcquire, ID: 7, Lock: "k", Outcome: OK, Valid: time.Second, Fence: 3},
		Event{At: 1600, Kind: KindFinal, Lock: "k", Detail: &Detail{}},
		Event{At: 1600, Kind: KindStep, Detail: &Detail{Line: 2, Text: "C1 acquire\x1f"}},
		Event{At: 1650, Kind: KindFinal, Lock: "k", Detail: &Detail{Work: &Work{Stock, []Datum{{"stock", []string{"1"}}, {Name: "none"}}}}},
		Event{At: 1700, Kind: KindCommand, Client: "C1", Detail: &Detail{Command: &Command{
			Server: "redis", Conn: 2, Args: []string{"SET", "k", "\xfftoken\n"}, Reply: "OK", Sent: 1650, Asked: 20,
			Changes: []Change{{Key: "k", After: State{Type: "string", Value: "v", TTL: 9}}},
		}}},
	)
	assert.Equal(t, `{"locklab_history":1,"run":"r1","cell":"setnx-del/pause-past-lease","lock":"setnx-del","scenario":"pause-past-lease","base":"2026-01-02T03:04:05.000000006Z"}
{"at":1500,"kind":"return","client":"C1","op":"acquire","id":7,"lock":"k","outcome":"ok","valid":1000000000,"fence":3}
{"at":1600,"kind":"final","lock":"k","detail":{}}
{"at":1600,"kind":"step","detail":{"line":2,"text":"C1 acquire\u001f"}}
{"at":1650,"kind":"final","lock":"k","detail":{"work":{"workload":"stock","data":[{"name":"stock","values":["1"]},{"name":"none"}]}}}
{"at":1700,"kind":"command","client":"C1","detail":{"command":{"server":"redis","conn":2,"args":["SET","k","\\xfftoken\u000a"],"reply":"OK","sent":1650,"asked":20,"changes":[{"key":"k","before":{},"after":{"type":"string","value":"v","ttl":9}}]}}}
`, text)
}

// readAny reads lines whether or not they make sense one after the other.
func readAny(text string) (*File, error) {
	return read(context.Background(), strings.NewReader(text), "h", 0, func(*Event) error { return nil })
}

func TestReadTakesAnyValidJSON(t *testing.T) {
	const text = headerLine + `
 { "lock" : "k\u0041" , "unknown": [1, {"a": -1.5e3}, null, "x\"", true], "outcome":"ok", "op":"acquire","detail": {"command":
` + "\t" + `null, "wrote":-9223372036854775808, "fault":{"phase":"effective","name":"pa\u00fcse"},"more":{}}, "\u0061t": 9223372036854775807,"kind":"return", "client": null}
`
	file, err := readAny(strings.ReplaceAll(text, "\n\t", "\t"))
	require.NoError(t, err)
	assert.Equal(t, []Event{{
		At: 1<<63 - 1, Kind: KindReturn, Op: OpAcquire, Outcome: OK, Lock: "kA",
		Detail: &Detail{Wrote: -1 << 63, Fault: &Fault{Name: "paüse", Phase: PhaseEffective}},
	}}, file.Events)
	assert.False(t, file.Truncated)
}

func TestReadNamesTheBadLine(t *testing.T) {
	const good = `{"at":1,"kind":"step"}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":         {"hello\n", "h:1: not the header of a history: "},
		"an event first":  {good, `h:1: not the header of a history: no "locklab_history"`},
		"a later version": {`{"locklab_history":2}` + "\n", "h:1: history of version 2; this lab reads version 1"},
		"cut, then more":  {headerLine + good + `{"at":1,"ki` + "\n" + good, `h:3: the line ends within a string`},
		"no kind":         {headerLine + "{}\n", `h:2: no "kind"`},
		"unknown kind":    {headerLine + `{"kind":"dance"}` + "\n", `h:2: no kind of event is called "dance"`},
		"unknown op":      {headerLine + `{"kind":"call","op":""}` + "\n", `h:2: no operation is called ""`},
		"a fraction":      {headerLine + `{"at":1.5}` + "\n", `h:2: column 7: not a whole number of 64 bits`},
		"a huge number":   {headerLine + `{"at":9223372036854775808}` + "\n", `h:2: column 7: not a whole number of 64 bits`},
		"octal":           {headerLine + `{"at":01}` + "\n", `h:2: column 7: not a whole number of 64 bits`},
		"garbage behind":  {headerLine + `{"kind":"step"}x` + "\n", `h:2: column 16: 'x' where the end of the line should be`},
		"not a boolean":   {headerLine + `{"kind":"step","detail":{"late":0,"gave_up":1}}` + "\n", `h:2: column 45: '1' where true or false should be`},
		"deep nesting":    {headerLine + `{"x":` + strings.Repeat("[", 1000) + "\n", `h:2: values nest more than 64 deep`},
		"blank lines":     {"\n\n" + headerLine + "\n\n" + "x\n", `h:6: column 1: 'x' where '{' should be`},
		"half a null":     {headerLine + `{"client":nul,"kind":"step"}` + "\n", `h:2: column 11: 'n' where null should be`},
		"a bad escape":    {headerLine + `{"client":"\q","kind":"step"}` + "\n", `h:2: column 11: bad string: `},
		"a zero byte":     {headerLine + `{"kind":"step"}` + "\x00\n", `h:2: column 16: '\x00' where the end of the line should be`},
		"an endless line": {headerLine + strings.Repeat(" x", maxLine), "h:2: line is longer than 8388608 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAny(c.text)
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), c.want), err.Error())
		})
	}
}

func TestReadToleratesACutEnd(t *testing.T) {
	whole := written(t, Event{At: 1, Kind: KindStep}, Event{At: 2, Kind: KindStep, Detail: &Detail{Text: "C1 acquire"}})
	lines := strings.SplitAfter(whole, "\n")
	secondAt := len(lines[0]) + len(lines[1])
	for cut := len(lines[0]); cut <= len(whole); cut++ {
		file, err := readAny(whole[:cut])
		require.NoError(t, err)
		withinALine := whole[cut-1] != '\n' && whole[cut-1:cut+1] != "}\n"
		assert.Equal(t, withinALine, file.Truncated, "cut at %d", cut)
		if cut == secondAt {
			assert.Len(t, file.Events, 1)
		}
	}
	file, err := readAny("")
	require.NoError(t, err)
	assert.True(t, file.Truncated)
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	_, err := ReadFile(t.Context(), path)
	assert.EqualError(t, err, path+": no such file or directory")

	require.NoError(t, os.WriteFile(path, []byte(written(t, Event{Kind: KindStep, Detail: &Detail{}})), 0o600))
	file, err := ReadFile(t.Context(), path)
	require.NoError(t, err)
	assert.Equal(t, &File{Header: someHeader, Events: []Event{{Kind: KindStep, Detail: &Detail{}}}}, file)
}

type failingWriter struct{ after int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.after--; w.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriterPassesErrorsOn(t *testing.T) {
	_, err := NewWriter(&failingWriter{}, someHeader)
	assert.EqualError(t, err, "disk full")
	w, err := NewWriter(&failingWriter{after: 1}, someHeader)
	require.NoError(t, err)
	assert.EqualError(t, w.Write(Event{Kind: KindStep}), "disk full")
}

func genDetail(t *rapid.T) *Detail {
	if rapid.Bool().Draw(t, "no detail") {
		return nil
	}
	text := rapid.String()
	length := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64().Draw(t, "ns")) })
	number := rapid.Int64()
	state := rapid.Custom(func(t *rapid.T) State {
		return State{Type: text.Draw(t, "type"), Value: text.Draw(t, "value"), TTL: length.Draw(t, "ttl")}
	})
	d := &Detail{
		Lease: length.Draw(t, "lease"), Contract: rapid.Make[Contract]().Draw(t, "contract"), Session: rapid.Bool().Draw(t, "session"),
		Unseen: rapid.SampledFrom([]Unseen{0, Local, Opaque}).Draw(t, "unseen"), Servers: rapid.Int().Draw(t, "servers"), Need: rapid.Int().Draw(t, "need"),
		Bound:  length.Draw(t, "bound"),
		GaveUp: rapid.Bool().Draw(t, "gave up"), Error: text.Draw(t, "error"), Why: text.Draw(t, "why"),
		Read: number.Draw(t, "read"), Wrote: number.Draw(t, "wrote"), Value: number.Draw(t, "value"),
		Line: rapid.Int().Draw(t, "line"), Text: text.Draw(t, "text"),
	}
	if rapid.Bool().Draw(t, "command") {
		d.Command = &Command{
			Server: text.Draw(t, "server"), Conn: number.Draw(t, "conn"), Reply: text.Draw(t, "reply"),
			Sent: length.Draw(t, "sent"), Asked: length.Draw(t, "asked"), Late: rapid.Bool().Draw(t, "late"),
			Again: rapid.Bool().Draw(t, "again"), ReplyDropped: rapid.Bool().Draw(t, "dropped"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "args") {
			d.Command.Args = append(d.Command.Args, text.Draw(t, "arg"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			c := Change{Key: text.Draw(t, "key"), Before: state.Draw(t, "before"), After: state.Draw(t, "after")}
			d.Command.Changes = append(d.Command.Changes, c)
		}
	}
	if rapid.Bool().Draw(t, "fault") {
		d.Fault = &Fault{Name: text.Draw(t, "name"), Target: text.Draw(t, "target"),
			Phase: Phase(text.Draw(t, "phase")), What: text.Draw(t, "what")}
	}
	if rapid.Bool().Draw(t, "work") {
		d.Work = &Work{Workload: Workload(text.Draw(t, "workload"))}
		for range rapid.IntRange(0, 2).Draw(t, "data") {
			datum := Datum{Name: text.Draw(t, "name")}
			for range rapid.IntRange(0, 2).Draw(t, "values") {
				datum.Values = append(datum.Values, text.Draw(t, "value"))
			}
			d.Work.Data = append(d.Work.Data, datum)
		}
	}
	return d
}

var genEvent = rapid.Custom(func(t *rapid.T) Event {
	return Event{
		At: time.Duration(rapid.Int64().Draw(t, "at")), ID: rapid.Int64().Draw(t, "id"),
		Client: rapid.String().Draw(t, "client"), Lock: rapid.String().Draw(t, "lock"),
		Valid: time.Duration(rapid.Int64().Draw(t, "valid")), Fence: rapid.Int64().Draw(t, "fence"),
		Kind:    Kind(rapid.Uint8Range(1, uint8(KindEnd)).Draw(t, "kind")),
		Op:      Op(rapid.Uint8Range(0, uint8(OpWork)).Draw(t, "op")),
		Outcome: Outcome(rapid.Uint8Range(0, uint8(Unknown)).Draw(t, "outcome")),
		Detail:  genDetail(t),
	}
})

// What was written is read back the same, whatever order the fields come in and however the JSON is spelt.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(genEvent, 1, 4).Draw(t, "events")
		text := written(t, events...)
		file, err := readAny(text)
		require.NoError(t, err)
		require.Equal(t, events, file.Events)
		require.Equal(t, someHeader, file.Header)

		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i, line := range lines[1:] {
			lines[i+1] = respelt(t, line)
		}
		file, err = readAny(strings.Join(lines, "\n"))
		require.NoError(t, err)
		require.Equal(t, events, file.Events)
	})
}

// respelt writes a line the way encoding/json does: fields sorted, other escapes.
func respelt(t *rapid.T, line string) string {
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	var fields map[string]any
	require.NoError(t, dec.Decode(&fields))
	out, err := json.Marshal(extended(fields))
	require.NoError(t, err)
	return string(out)
}

// extended adds a field that this lab does not know to every object of a value.
func extended(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			v[key] = extended(field)
		}
		v["added_later"] = []any{1.5, map[string]any{"key": "x"}, nil}
	case []any:
		for i := range v {
			v[i] = extended(v[i])
		}
	}
	return value
}

func TestBytesThatAreNotUTF8StayDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := string(rapid.SliceOf(rapid.Byte()).Draw(t, "value"))
		file, err := readAny(written(t, Event{Kind: KindStep, Lock: value}))
		require.NoError(t, err)
		want := strings.Builder{}
		for i, r := range value {
			if r == '\uFFFD' && !strings.HasPrefix(value[i:], "\uFFFD") {
				fmt.Fprintf(&want, `\x%02x`, value[i])
				continue
			}
			want.WriteRune(r)
		}
		require.Equal(t, want.String(), file.Events[0].Lock)
	})
}

func TestNames(t *testing.T) {
	for k := KindOpen; k <= KindEnd; k++ {
		got, ok := ParseKind(k.String())
		assert.True(t, ok)
		assert.Equal(t, k, got)
	}
	for o := OpAcquire; o <= OpWork; o++ {
		got, ok := ParseOp(o.String())
		assert.True(t, ok)
		assert.Equal(t, o, got)
	}
	for o := OK; o <= Unknown; o++ {
		got, ok := ParseOutcome(o.String())
		assert.True(t, ok)
		assert.Equal(t, o, got)
	}
	assert.Equal(t, "kind(200)", Kind(200).String())
	_, ok := ParseOutcome("none")
	assert.False(t, ok)
}

func FuzzRead(f *testing.F) {
	f.Add(headerLine + `{"at":1,"kind":"step"}` + "\n")
	f.Add(headerLine + `{"kind":"command","detail":{"command":{"args":["a"],"changes":[{"key":"k","before":{},"after":{"ttl":1}}]}}}`)
	f.Add(headerLine + `{"kind":"fault","x":[1e5,{"y":"\ud800"}],"detail":{"fault":{"phase":"inject"}}}` + "\n")
	f.Add(headerLine + `{"kind":"final","detail":{"work":{"workload":"stock","data":[{"name":"stock","values":["1",""]},{}]}}}` + "\n")
	f.Add("\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := readAny(text)
		if err != nil {
			assert.Nil(t, file)
			return
		}
		again, err := readAny(written(t, file.Events...))
		require.NoError(t, err)
		require.Equal(t, len(file.Events), len(again.Events))
		for i := range file.Events {
			require.Equal(t, normal(file.Events[i]), normal(again.Events[i]))
		}
	})
}

// normal makes nil of empty lists, which are written alike.
func normal(e Event) Event {
	if e.Detail != nil && e.Detail.Command != nil {
		if len(e.Detail.Command.Args) == 0 {
			e.Detail.Command.Args = nil
		}
		if len(e.Detail.Command.Changes) == 0 {
			e.Detail.Command.Changes = nil
		}
	}
	if e.Detail != nil && e.Detail.Work != nil {
		if len(e.Detail.Work.Data) == 0 {
			e.Detail.Work.Data = nil
		}
		for i := range e.Detail.Work.Data {
			if d := &e.Detail.Work.Data[i]; len(d.Values) == 0 {
				d.Values = nil
			}
		}
	}
	return e
}

// turns is a history of operations by ten clients in turn: acquire, work, release.
func turns(operations int) []Event {
	events := make([]Event, 0, 2*operations)
	at := time.Duration(0)
	for id := range int64(operations) {
		client := fmt.Sprintf("C%d", id/3%10+1)
		op := []Op{OpAcquire, OpWork, OpRelease}[id%3]
		call := Event{At: at, ID: id + 1, Client: client, Lock: "locklab:1", Kind: KindCall, Op: op}
		ret := call
		ret.At, ret.Kind, ret.Outcome = at+100*time.Microsecond, KindReturn, OK
		if op == OpWork {
			ret.Detail = &Detail{Read: id / 3, Wrote: id/3 + 1}
		}
		events = append(events, call, ret)
		at += 200 * time.Microsecond
	}
	return events
}

// One million operations are to be read in at most six seconds.
func BenchmarkReadMillionOperations(b *testing.B) {
	path := filepath.Join(b.TempDir(), "history.jsonl")
	require.NoError(b, os.WriteFile(path, []byte(written(b, turns(1_000_000)...)), 0o600))
	b.ReportAllocs()
	for b.Loop() {
		file, err := ReadFile(b.Context(), path)
		require.NoError(b, err)
		require.Len(b, file.Events, 2_000_000)
	}
}

func BenchmarkWrite(b *testing.B) {
	events := turns(3000)
	w, err := NewWriter(&failingWriter{after: 1 << 60}, someHeader)
	require.NoError(b, err)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := w.Write(events[i%len(events)]); err != nil {
			b.Fatal(err)
		}
	}
}
