package report

import (
	"encoding/json"
	"io"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
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
	encoder := json.NewEncoder(format.Printable(w))
	encoder.SetEscapeHTML(false)
	return jsonSink{encoder}
}

type jsonSink struct{ encoder *json.Encoder }

type jsonEvent struct {
	Version   int             `json:"v"`
	Event     Kind            `json:"event"`
	Lock      string          `json:"lock,omitempty"`
	Scenario  string          `json:"scenario,omitempty"`
	Round     int             `json:"round,omitempty"`
	Done      int             `json:"done,omitempty"`
	Total     int             `json:"total"`
	Status    string          `json:"status,omitempty"`
	Cell      *record.Cell    `json:"cell,omitempty"`
	Run       *jsonRun        `json:"run,omitempty"`
	Counts    *outcome.Counts `json:"counts,omitempty"`
	Differing []string        `json:"differing,omitempty"`
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
		line.Cell, line.Status = e.Cell, outcome.StatusOf(*e.Cell).String()
	case RunEnd:
		line.Run = &jsonRun{Run: *e.Run, Dir: e.Run.Dir}
		n := outcome.Count(e.Run.Cells)
		line.Counts = &n
		for _, g := range outcome.NewMatrix(e.Run.Cells).Differing() {
			line.Differing = append(line.Differing, g[0].Lock+"/"+g[0].Scenario)
		}
	}
	return s.encoder.Encode(line)
}
