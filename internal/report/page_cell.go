package report

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
	pieces  []web.Data // of a storm's history
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

// pageCells are the cells of an index, with their histories.
func pageCells(index *pageIndex, histories Histories) []*pageCell {
	cells := make([]*pageCell, len(index.cells))
	room := stormEvents / max(1, index.storms())
	parallel(len(cells), func(i int) { cells[i] = newPageCell(i, index.cells[i], histories, index.sources, room) })
	return cells
}

// newPageCell is the cell of a number; room is how many events the page has of a storm.
func newPageCell(n int, c record.Cell, histories Histories, sources *pageSources, room int) *pageCell {
	out := &pageCell{
		Data:    clean(c.Data),
		Skipped: c.Skipped, Stalls: c.Stalls,
	}
	if c.Storm != nil {
		out.Storm = stormWords(c)
	}
	var events []history.Event
	switch {
	case histories == nil:
		out.Trouble = "The history was not kept."
	case c.Verdict.Kind == checker.NotApplicable:
		out.Trouble = "The scenario was not played."
	default:
		var err error
		if events, err = histories.Read(c); err != nil {
			out.Trouble = clean(err.Error())
		} else if len(events) == 0 {
			out.Trouble = "The history is empty."
		}
		out.Where = histories.Where(c)
	}
	t := newChart(events)
	out.tell(c, t)
	switch {
	case out.Trouble != "":
	case c.Storm != nil:
		var err error
		if out.Timeline, out.pieces, err = newPageStorm(n, c, t, room); err != nil {
			out.Trouble = clean(err.Error())
		}
	default:
		kept := t.kept(c, maxEvents)
		out.history, out.Sites = encode.AppendHistory(nil, t.all, kept), sources.sites(c.Lock, t.all.Events, kept)
	}
	return out
}

// tell says what was found.
func (out *pageCell) tell(c record.Cell, t *chart) {
	told := finding.About(c.Verdict, func() *timeline.Timeline { return t.all })
	out.Finding, out.Breaks = clean(told.Finding), told.Breaks
	switch asExpected := statusOf(c) <= statusExpected; {
	case !asExpected && c.Verdict.Kind != checker.Broken || c.Failure != "":
		out.Finding = outcome(c)
	case !asExpected || c.Interrupted:
		out.Outcome = outcome(c)
	}
	for _, s := range told.Symptoms {
		if len(out.Symptoms) == maxListed && c.Storm == nil { // of which a storm's judge kept some of each sort
			break
		}
		a := s.Anomaly
		out.Symptoms = append(out.Symptoms, pageSymptom{
			Name: clean(string(a.Name)), At: milliseconds(a.At), Clients: a.Clients, Why: clean(reason(a)), Events: a.Events, Follows: s.Follows, Beyond: a.Beyond != "", at: a.At,
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
	texts := [][]byte{text, sources}
	groups := make([]bytes.Buffer, len(index.Scenarios))
	for i, row := range index.Cells {
		if err := cells[i].write(&groups[row[1]]); err != nil {
			return nil, err
		}
	}
	ids := []string{"index", "sources"}
	for i := range groups {
		groups[i].WriteByte(']')
		texts, ids = append(texts, groups[i].Bytes()), append(ids, fmt.Sprintf("cells-%d", i))
	}
	data, errs := make([]web.Data, len(texts)), make([]error, len(texts))
	parallel(len(texts), func(i int) {
		data[i].ID = ids[i]
		data[i].Text, errs[i] = web.Pack(texts[i])
	})
	for _, cell := range cells {
		data = append(data, cell.pieces...)
	}
	return data, errors.Join(errs...)
}

// write appends a cell to those of its scenario.
func (out *pageCell) write(b *bytes.Buffer) error {
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	sep := byte(',')
	if b.Len() == 0 {
		sep = '['
	}
	b.WriteByte(sep)
	b.Write(text[:len(text)-1])
	if out.history != nil {
		b.WriteString(`,"history":`)
		b.Write(out.history)
	}
	return b.WriteByte('}')
}
