package diagram

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/timeline"
)

// ExplainVersion is the version of the schema that ExplainJSON writes. Fields may be added without a new one.
const ExplainVersion = 1

// Line is an event of a history in words.
type Line struct {
	Lane string // the client or server that it happened to; empty: neither
	Text string // in one line, safe to print
}

// Lines words every event of a history, as lab explain prints it.
func Lines(events []history.Event) []Line {
	t := Of(events)
	lines := make([]Line, len(events))
	for i, e := range events {
		lines[i] = Line{t.laneOf(e), t.describe(i)}
	}
	return lines
}

// ExplainJSON writes one cell as a JSON object: all that Explain says, of every event. docs/exports.md describes the fields.
func ExplainJSON(w io.Writer, cell record.Cell, events []history.Event) error {
	encoder := json.NewEncoder(format.Printable(w))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(newExplained(cell, events))
}

type cellRecord struct {
	Version    int                  `json:"v"`
	Cell       record.Cell          `json:"cell"`
	Status     string               `json:"status"`
	Outcome    string               `json:"outcome"`
	Clients    []string             `json:"clients"`
	Servers    []string             `json:"servers"`
	Events     []explainedEvent     `json:"events"`
	Moments    []explainedMoment    `json:"moments"`
	Operations []explainedOperation `json:"operations"`
	Holds      []explainedHold      `json:"holds"`
	Faults     []explainedFault     `json:"faults"`
	Keys       []explainedKey       `json:"keys"`
	Anomalies  []explainedAnomaly   `json:"anomalies"`
}

// explainedEvent is an event; Number is its line in the history's file, counted from 1 after the header.
type explainedEvent struct {
	Number int           `json:"number"`
	At     time.Duration `json:"at_ns"`
	Kind   string        `json:"kind"`
	Lane   string        `json:"lane,omitempty"`
	Server string        `json:"server,omitempty"` // of a command
	Text   string        `json:"text"`
	Effect string        `json:"effect,omitempty"` // of a command: what it did to keys
	Shows  []int         `json:"shows,omitempty"`  // numbers of the anomalies that it shows
}

// explainedMoment is something that happened without an event, before the one with the number.
type explainedMoment struct {
	Before int           `json:"before"`
	At     time.Duration `json:"at_ns"`
	Lane   string        `json:"lane"`
	Text   string        `json:"text"`
}

// explainedSpan is from when to when something was. An open one had not ended when the history did, and To is then its last time.
type explainedSpan struct {
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	Open bool          `json:"open,omitempty"`
}

type explainedOperation struct {
	explainedSpan
	ID       int64  `json:"id"`
	Client   string `json:"client"`
	Lock     string `json:"lock"`
	Op       string `json:"op"`
	Outcome  string `json:"outcome"`
	GaveUp   bool   `json:"gave_up,omitempty"`
	Commands []int  `json:"commands,omitempty"` // numbers of events
}

type explainedHold struct {
	explainedSpan
	Client string `json:"client"`
	Lock   string `json:"lock"`
	End    string `json:"end"` // see timeline.End.String
}

type explainedFault struct {
	explainedSpan
	Name   string `json:"name"`
	Target string `json:"target"`
	What   string `json:"what,omitempty"`
	Struck bool   `json:"struck"` // it was seen to take effect
}

type explainedKey struct {
	explainedSpan
	Server  string `json:"server"`
	Key     string `json:"key"`
	Value   string `json:"value"`
	Owner   string `json:"owner,omitempty"`
	Expired bool   `json:"expired,omitempty"`
}

type explainedAnomaly struct {
	Number int `json:"number"`
	checker.Anomaly
	Meaning string `json:"meaning"`
	Events  []int  `json:"events"` // numbers; hides the indexes
}

func newExplained(cell record.Cell, events []history.Event) *cellRecord {
	all, t := timeline.Of(events), Of(events)
	x := &cellRecord{
		Version: ExplainVersion, Cell: cell, Status: outcome.StatusOf(cell).String(), Outcome: outcome.Of(cell), Clients: someOf(t.clients), Servers: someOf(t.servers),
		Events: []explainedEvent{}, Moments: []explainedMoment{}, Operations: []explainedOperation{}, Holds: []explainedHold{},
		Faults: []explainedFault{}, Keys: []explainedKey{}, Anomalies: []explainedAnomaly{},
	}
	last := time.Duration(0)
	if len(events) > 0 {
		last = events[len(events)-1].At
	}
	x.events(t, cell)
	for _, o := range all.Operations {
		x.Operations = append(x.Operations, explainedOperation{
			spanOf(o.Span, last), o.ID, o.Client, o.Lock, o.Op.String(), o.Outcome.String(), o.GaveUp, numbers(o.Commands),
		})
	}
	for _, h := range all.Holds {
		x.Holds = append(x.Holds, explainedHold{spanOf(h.Span, last), h.Client, h.Lock, h.End.String()})
	}
	for _, f := range all.Faults {
		struck := f.Effective >= 0 || f.Injected < 0
		x.Faults = append(x.Faults, explainedFault{spanOf(f.Span, last), string(f.Kind), f.Target, f.What, struck})
	}
	for _, k := range all.Keys {
		x.Keys = append(x.Keys, explainedKey{spanOf(k.Span, last), k.Server, k.Key, k.Value, k.Owner, k.Expired})
	}
	for i, a := range cell.Verdict.Anomalies {
		x.Anomalies = append(x.Anomalies, explainedAnomaly{i + 1, a, outcome.Meaning(a.Name), numbers(a.Events)})
	}
	return x
}

// events lists the events, and what happened between them.
func (x *cellRecord) events(t *Chart, cell record.Cell) {
	shows := ShownBy(cell.Verdict.Anomalies)
	for i, e := range t.Events {
		event := explainedEvent{
			Number: i + 1, At: e.At, Kind: e.Kind.String(), Lane: t.laneOf(e), Text: t.describe(i), Effect: format.Clean(t.Notes[i]), Shows: shows[i],
		}
		if c := e.Command(); c != nil {
			event.Server = c.Server
		}
		x.Events = append(x.Events, event)
	}
	for _, m := range t.moments {
		x.Moments = append(x.Moments, explainedMoment{int(math.Ceil(m.Pos)) + 1, m.At, m.Lane, format.Clean(m.Text)})
	}
}

func spanOf(s timeline.Span, last time.Duration) explainedSpan {
	if s.Open {
		return explainedSpan{s.Began, max(last, s.Began), true}
	}
	return explainedSpan{From: s.Began, To: s.Ended}
}

// numbers are the numbers of events, from their indexes.
func numbers(indexes []int) []int {
	out := make([]int, len(indexes))
	for i, index := range indexes {
		out[i] = index + 1
	}
	return out
}

// someOf is a list that JSON writes as one also where it is empty.
func someOf(names []string) []string { return append([]string{}, names...) }
