package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/locklab/locklab/internal/record"
)

// JSONVersion is the version of the schema that NewJSON writes. Fields may be added without a new one.
const JSONVersion = 1

// NewJSON returns a sink that writes each event as one JSON object a line:
//
//	{"v":1,"event":"run-start","run":{…},"total":N}
//	{"v":1,"event":"cell-start","lock":"…","scenario":"…","round":1,"done":N,"total":N}
//	{"v":1,"event":"cell-end","lock":"…","scenario":"…","round":1,"done":N,"total":N,"status":"…","cell":{…}}
//	{"v":1,"event":"run-end","run":{…},"done":N,"total":N,"counts":{…},"differing":["lock/scenario", …]}
//
// "run" is a run as in run.json, with its directory as "dir" and without its cells; "finished" is false in the last event of a
// run that was interrupted. "cell" is a cell as in run.json. "status" is expected, n/a (as expected), SURPRISE, known (a
// surprise that is no news), unknown or FAILED. "counts" are the numbers of cells: cells, safe, broken, not_applicable, unknown, failed, surprises, known. "differing" names
// the cells whose rounds came to different verdicts. Durations end in _ns.
func NewJSON(w io.Writer) Sink {
	encoder := json.NewEncoder(printable{w})
	encoder.SetEscapeHTML(false)
	return jsonSink{encoder}
}

type jsonSink struct{ encoder *json.Encoder }

// printable writes JSON so that what terminals take for orders, or for a change of direction, is there as an escape. encoding/json escapes
// only what is below a blank.
type printable struct{ w io.Writer }

func (p printable) Write(text []byte) (int, error) {
	odd := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, odd) < 0 {
		return p.w.Write(text)
	}
	var out []byte
	for _, r := range string(text) {
		switch {
		case !odd(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	if _, err := p.w.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

type jsonEvent struct {
	Version   int          `json:"v"`
	Event     Kind         `json:"event"`
	Lock      string       `json:"lock,omitempty"`
	Scenario  string       `json:"scenario,omitempty"`
	Round     int          `json:"round,omitempty"`
	Done      int          `json:"done,omitempty"`
	Total     int          `json:"total"`
	Status    string       `json:"status,omitempty"`
	Cell      *record.Cell `json:"cell,omitempty"`
	Run       *jsonRun     `json:"run,omitempty"`
	Counts    *counts      `json:"counts,omitempty"`
	Differing []string     `json:"differing,omitempty"`
}

// jsonRun is a run without its cells, which have had lines of their own.
type jsonRun struct {
	record.Run
	Dir   string `json:"dir"`
	Cells *bool  `json:"cells,omitempty"` // hides the cells of the embedded run
}

func (s jsonSink) Handle(e Event) error {
	if e.Kind == StormGoesOn {
		return nil // progress, and no result
	}
	line := jsonEvent{Version: JSONVersion, Event: e.Kind, Done: e.Done, Total: e.Total}
	if e.Cell != nil {
		line.Lock, line.Scenario, line.Round = e.Cell.Lock, e.Cell.Scenario, e.Cell.Round
	}
	switch e.Kind {
	case RunStart:
		line.Run = &jsonRun{Run: *e.Run, Dir: e.Run.Dir}
	case CellEnd:
		line.Cell, line.Status = e.Cell, statusOf(*e.Cell).String()
	case RunEnd:
		line.Run = &jsonRun{Run: *e.Run, Dir: e.Run.Dir}
		n := countCells(e.Run.Cells)
		line.Counts = &n
		for _, g := range newMatrix(e.Run.Cells).differing() {
			line.Differing = append(line.Differing, g[0].Lock+"/"+g[0].Scenario)
		}
	}
	return s.encoder.Encode(line)
}
