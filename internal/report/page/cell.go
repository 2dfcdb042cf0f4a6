package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/web"
	"github.com/locklab/locklab/internal/report/web/encode"
	finding "github.com/locklab/locklab/internal/story"
	"github.com/locklab/locklab/internal/timeline"
)

// maxEvents bounds what a page has of a history.
const maxEvents = 600

// pageCell is a cell as the viewer shows it.
type pageCell struct {
	Finding  string        `json:"finding"`
	Outcome  string        `json:"outcome,omitempty"` // where the finding is not all
	Breaks   string        `json:"breaks,omitempty"`
	Symptoms []pageSymptom `json:"symptoms,omitempty"`
	Data     string        `json:"data,omitempty"`
	Storm    string        `json:"storm,omitempty"`
	Stalls   []string      `json:"stalls,omitempty"`
	Skipped  []string      `json:"skipped,omitempty"`
	Trouble  string        `json:"trouble,omitempty"` // why there are no steps
	Where    string        `json:"where,omitempty"`   // the file of the history
	Timeline *pageStorm    `json:"timeline,omitempty"`
	Sites    []int         `json:"sites,omitempty"` // the lines of the lock that sent the commands, see pageCode

	history []byte
	pieces  []pagePiece // of a storm's history
}

type pageSymptom struct {
	Name    string   `json:"name"`
	At      float64  `json:"at"` // milliseconds
	Clients []string `json:"clients,omitempty"`
	Why     string   `json:"why"`
	Events  []int    `json:"events"`
	Follows int      `json:"follows"`
	Beyond  bool     `json:"beyond,omitempty"` // the lock does not promise to prevent it

	at time.Duration
}

// cause is the anomaly that the others follow from.
func (c *pageCell) cause() checker.Name {
	for _, s := range c.Symptoms {
		if s.Follows < 0 {
			return checker.Name(s.Name)
		}
	}
	return ""
}

// parallel calls do with each number below n, on all processors.
func parallel(n int, do func(int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

// played says whether a cell has a history that tells anything.
func played(c record.Cell) bool { return c.Verdict.Kind != checker.NotApplicable }

// newPageCell is a cell with its history, of which err says why there is none; room is how many events the page has of a storm.
func newPageCell(c record.Cell, events []history.Event, err error, sources *pageSources, room int) *pageCell {
	out := &pageCell{
		Data:    format.Clean(c.Data),
		Skipped: c.Skipped, Stalls: c.Stalls,
	}
	if c.Storm != nil {
		out.Storm = outcome.StormWords(c)
	}
	switch {
	case err != nil:
		out.Trouble = format.Clean(err.Error())
	case !played(c):
		events, out.Trouble = nil, "The scenario was not played."
	case len(events) == 0:
		out.Trouble = "The history is empty."
	}
	t := diagram.Of(events)
	out.tell(c, t)
	switch {
	case out.Trouble != "":
	case c.Storm != nil:
		if out.Timeline, out.pieces, err = newPageStorm(c, t, room); err != nil {
			out.Trouble = format.Clean(err.Error())
		}
	default:
		kept := t.Kept(c, maxEvents)
		// Without room to grow: it is kept until the run has ended.
		out.history, out.Sites = bytes.Clone(encode.AppendHistory(nil, t.All, kept)), sources.sites(c.Lock, t.All.Events, kept)
	}
	return out
}

// tell says what was found.
func (out *pageCell) tell(c record.Cell, t *diagram.Chart) {
	told := finding.About(c.Verdict, func() *timeline.Timeline { return t.All })
	out.Finding, out.Breaks = format.Clean(told.Finding), told.Breaks
	switch asExpected := outcome.StatusOf(c) <= outcome.AsExpected; {
	case !asExpected && c.Verdict.Kind != checker.Broken || c.Failure != "":
		out.Finding = outcome.Of(c)
	case !asExpected || c.Interrupted:
		out.Outcome = outcome.Of(c)
	}
	for _, s := range told.Symptoms {
		if len(out.Symptoms) == outcome.MaxListed && c.Storm == nil { // of which a storm's judge kept some of each sort
			break
		}
		a := s.Anomaly
		out.Symptoms = append(out.Symptoms, pageSymptom{
			Name: format.Clean(string(a.Name)), At: format.Milliseconds(a.At), Clients: a.Clients, Why: format.Clean(outcome.Reason(a)), Events: a.Events, Follows: s.Follows, Beyond: a.Beyond != "", at: a.At,
		})
	}
}

// packed are the data of a page: its index, and the cells of each scenario.
func packed(index *pageIndex, cells []*pageCell) ([]web.Data, error) {
	text, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	sources, err := index.sources.text()
	if err != nil {
		return nil, err
	}
	groups := make([][]*pageCell, len(index.Scenarios))
	var pieces []web.Data
	for i, row := range index.Cells {
		groups[row[1]] = append(groups[row[1]], cells[i])
		for _, p := range cells[i].pieces {
			pieces = append(pieces, web.Data{ID: fmt.Sprintf("piece-%d-%d", i, p.number), Text: p.text})
		}
	}
	data := []web.Data{{ID: "index"}, {ID: "sources"}}
	for i := range groups {
		data = append(data, web.Data{ID: fmt.Sprintf("cells-%d", i)})
	}
	errs := make([]error, len(data))
	parallel(len(data), func(i int) {
		text := [][]byte{text, sources, nil}[min(i, 2)]
		if i >= 2 {
			text, errs[i] = textOf(groups[i-2])
		}
		if errs[i] == nil {
			data[i].Text, errs[i] = web.Pack(text)
		}
	})
	return append(data, pieces...), errors.Join(errs...)
}

// textOf are the cells of a scenario.
func textOf(cells []*pageCell) ([]byte, error) {
	size := 0
	for _, cell := range cells {
		size += len(cell.history) + 1<<10
	}
	text := append(make([]byte, 0, size), '[')
	for i, cell := range cells {
		own, err := json.Marshal(cell)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, own[:len(own)-1]...)
		if cell.history != nil {
			text = append(append(text, `,"history":`...), cell.history...)
		}
		text = append(text, '}')
	}
	return append(text, ']'), nil
}
