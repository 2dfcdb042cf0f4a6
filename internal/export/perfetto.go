package export

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// traceEvent is an event of the Trace Event Format, which Chromium and Perfetto read.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	At    micros         `json:"ts"`
	For   *micros        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    string         `json:"id,omitempty"`
	Scope string         `json:"s,omitempty"`
	Bind  string         `json:"bp,omitempty"` // of the end of an arrow: "e", the slice that encloses it
	Args  map[string]any `json:"args,omitempty"`
}

// micros is a time that JSON has in microseconds.
type micros time.Duration

func (m micros) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(m)/1e3, 'f', 3, 64), nil
}

// traceFile is the file. Processes are the script, clients and servers.
type traceFile struct {
	Events []traceEvent   `json:"traceEvents"`
	Unit   string         `json:"displayTimeUnit"`
	Other  map[string]any `json:"otherData"`
}

// The owners of lanes are the script, clients by their names, and servers by theirs behind a prefix.
const (
	scriptOwner = "script"
	ofServer    = "server "
	ofClient    = "client "
)

// tracer gathers the events of a trace.
type tracer struct {
	cell   *Cell
	events []traceEvent
	slices []slice
	pids   map[string]int // by owner
	tids   map[string]int // by name
	arrows int
}

func writePerfetto(w io.Writer, c *Cell) error {
	t := &tracer{cell: c, pids: map[string]int{}, tids: map[string]int{}}
	t.process(scriptOwner)
	for _, name := range c.timeline().Clients {
		t.process(ofClient + history.ProcessOf(name))
	}
	for _, name := range c.timeline().Servers {
		t.process(ofServer + name)
	}
	t.operations()
	t.commands()
	layOut(t.slices)
	t.place()
	t.spans()
	t.instants()
	t.anomalies()
	return json.NewEncoder(w).Encode(traceFile{t.events, "ms", map[string]any{
		"lock": c.Lock, "scenario": c.Scenario, "verdict": c.Verdict.String(), "base": c.Base.Format(time.RFC3339Nano), "lab": c.Lab,
	}})
}

// process makes a process known, once.
func (t *tracer) process(name string) {
	if t.pids[name] != 0 {
		return
	}
	pid := len(t.pids) + 1
	t.pids[name] = pid
	t.events = append(t.events,
		traceEvent{Name: "process_name", Phase: "M", PID: pid, Args: map[string]any{"name": name}},
		traceEvent{Name: "process_sort_index", Phase: "M", PID: pid, Args: map[string]any{"sort_index": pid}})
}

// owner is the lane's owner of that name; the script, if no client and no server is called so.
func (t *tracer) owner(name string) string {
	switch {
	case t.pids[ofServer+name] != 0:
		return ofServer + name
	case t.pids[ofClient+history.ProcessOf(name)] != 0:
		return ofClient + name
	}
	return scriptOwner
}

// pid is the process of a lane's owner. Handles and threads of a client share one.
func (t *tracer) pid(owner string) int {
	if client, is := strings.CutPrefix(owner, ofClient); is {
		owner = ofClient + history.ProcessOf(client)
	}
	return t.pids[owner]
}

// thread is the thread of a lane.
func (t *tracer) thread(owner string, lane int) int {
	name := owner
	if lane > 0 {
		name = fmt.Sprintf("%s, beside (%d)", owner, lane+1)
	}
	if t.tids[name] == 0 {
		t.tids[name] = len(t.tids) + 1
		t.events = append(t.events, traceEvent{Name: "thread_name", Phase: "M", PID: t.pid(owner), TID: t.tids[name], Args: map[string]any{"name": name}})
	}
	return t.tids[name]
}

func (t *tracer) operations() {
	for _, o := range t.cell.timeline().Operations {
		t.slices = append(t.slices, slice{owner: ofClient + o.Client, from: o.Began, to: t.cell.until(o.Span), event: traceEvent{
			Name: o.Op.String() + " " + o.Outcome.String(), Cat: "operation", Phase: "X",
			Args: map[string]any{"client": o.Client, "op": o.Op.String(), "id": o.ID, "lock": o.Lock, "outcome": o.Outcome.String(), "gave_up": o.GaveUp, "open": o.Open},
		}})
	}
}

// commands draws each command at its client and at its server, and an arrow from one to the other.
func (t *tracer) commands() {
	var room history.Room
	for i := range t.cell.Events {
		e := &t.cell.Events[i]
		c := e.CommandIn(&room)
		if c == nil {
			continue
		}
		event := traceEvent{Name: c.Args[0], Cat: "command", Phase: "X", Args: map[string]any{
			"event": i + 1, "command": slices.Clone(c.Args), "reply": c.Reply, "what": t.cell.words(i).Text, "server": c.Server, "client": e.Client,
			"late": c.Late, "again": c.Again, "reply_dropped": c.ReplyDropped,
		}}
		from := sent(e, c)
		at := slice{owner: ofServer + c.Server, order: 1, from: from, to: e.At, event: event}
		if byClient(e, c) {
			t.arrows++
			at.arrow = -t.arrows
			t.slices = append(t.slices, slice{owner: ofClient + e.Client, order: 1, from: from, to: e.At, event: event, arrow: t.arrows})
		}
		t.slices = append(t.slices, at)
	}
}

// place writes the slices that have been laid out, with their arrows.
func (t *tracer) place() {
	for _, s := range t.slices {
		e := s.event
		length := micros(s.to - s.from)
		e.At, e.For, e.PID, e.TID = micros(s.from), &length, t.pid(s.owner), t.thread(s.owner, s.lane)
		t.events = append(t.events, e)
		if s.arrow == 0 {
			continue
		}
		arrow := traceEvent{Name: "request", Cat: "wire", Phase: "s", At: e.At, PID: e.PID, TID: e.TID, ID: strconv.Itoa(max(s.arrow, -s.arrow))}
		if s.arrow < 0 {
			arrow.Phase, arrow.Bind = "f", "e"
		}
		t.events = append(t.events, arrow)
	}
}

// spans writes what may overlap: holds, faults, and the lives of keys.
func (t *tracer) spans() {
	line := t.cell.timeline()
	for n, h := range line.Holds {
		t.span("hold", fmt.Sprintf("hold-%d", n), "holds "+h.Lock, ofClient+h.Client, h.Began, t.cell.until(h.Span), map[string]any{"client": h.Client, "lock": h.Lock, "end": h.End.String()})
	}
	for n, f := range line.Faults {
		t.span("fault", fmt.Sprintf("fault-%d", n), string(f.Kind), t.owner(f.Target), f.Began, t.cell.until(f.Span), map[string]any{"target": f.Target, "what": f.What, "struck": f.Effective >= 0})
	}
	for n, k := range line.Keys {
		name := k.Key
		if k.Owner != "" {
			name += " is " + k.Owner + "'s"
		}
		t.span("key", fmt.Sprintf("key-%d", n), name, ofServer+k.Server, k.Began, t.cell.until(k.Span), map[string]any{"value": k.Value, "owner": k.Owner, "expired": k.Expired})
	}
}

func (t *tracer) span(cat, id, name, owner string, from, to time.Duration, args map[string]any) {
	e := traceEvent{Name: name, Cat: cat, Phase: "b", At: micros(from), PID: t.pid(owner), TID: t.thread(owner, 0), ID: id, Args: args}
	t.events = append(t.events, e)
	e.Phase, e.At, e.Args = "e", micros(max(to, from+1)), nil
	t.events = append(t.events, e)
}

// instants writes the events that neither last nor belong to what lasts.
func (t *tracer) instants() {
	for i := range t.cell.Events {
		e := &t.cell.Events[i]
		switch e.Kind {
		case history.KindCall, history.KindReturn, history.KindCommand:
			continue
		}
		words := t.cell.words(i)
		owner, scope := t.owner(words.Lane), "t"
		if owner == scriptOwner {
			scope = "p"
		}
		t.events = append(t.events, traceEvent{
			Name: words.Text, Cat: e.Kind.String(), Phase: "i", At: micros(e.At), PID: t.pid(owner), TID: t.thread(owner, 0), Scope: scope, Args: map[string]any{"event": i + 1},
		})
	}
}

func (t *tracer) anomalies() {
	for _, a := range t.cell.Verdict.Anomalies {
		events := make([]int, len(a.Events))
		for i, event := range a.Events {
			events[i] = event + 1
		}
		t.events = append(t.events, traceEvent{
			Name: string(a.Name), Cat: "anomaly", Phase: "i", At: micros(a.At), PID: t.pid(scriptOwner), TID: t.thread(scriptOwner, 0), Scope: "g", Args: map[string]any{"why": a.Why, "events": events},
		})
	}
}
