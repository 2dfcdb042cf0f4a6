package export

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// searchTime bounds porcupine's search. What it has found by then is shown.
const searchTime = 5 * time.Second

// step is an operation as the model of a mutual exclusion lock sees it: whether it begins or ends a hold, by the timeline, so that the page shows what the checker has judged.
type step struct {
	client, lock string
	begins, ends bool
	permits      int
	text         string
}

// writePorcupine writes porcupine's page. What begins or ends a hold is linearized, lock by lock; everything else constrains nothing, and is a partition of its own. Commands are
// annotations of their servers, faults of what they hit.
func writePorcupine(w io.Writer, c *Cell) error {
	p := &page{cell: c, stamps: stampsOf(c.Events), numbers: map[string]int{}}
	for n, client := range c.timeline().Clients {
		p.numbers[client] = n
	}
	p.permits = permitsOf(c.Events)
	p.operations()
	p.endings()
	model := holdModel()
	_, info := porcupine.CheckOperationsVerbose(model, p.list, searchTime)
	p.annotate()
	info.AddAnnotations(p.notes)
	return porcupine.Visualize(model, info, w)
}

// page gathers what the page shows.
type page struct {
	cell    *Cell
	stamps  []int64 // by event
	numbers map[string]int
	permits map[string]int
	list    []porcupine.Operation
	notes   []porcupine.Annotation
}

// stampsOf are the times of events in nanoseconds, made distinct: for porcupine, what has the same time is concurrent, but the events of a history are in order.
func stampsOf(events []history.Event) []int64 {
	stamps := make([]int64, len(events))
	last := int64(-2)
	for i := range events {
		stamps[i] = max(int64(events[i].At), last+2)
		last = stamps[i]
	}
	return stamps
}

// stamp is the time of a position: between two events for what no event marks.
func (p *page) stamp(pos float64) int64 {
	i := int(math.Ceil(pos))
	switch {
	case i >= len(p.stamps):
		return p.stamps[len(p.stamps)-1] + 1
	case pos < float64(i):
		return p.stamps[i] - 1
	}
	return p.stamps[i]
}

func permitsOf(events []history.Event) map[string]int {
	permits := map[string]int{}
	for i := range events {
		if e := &events[i]; e.Kind == history.KindOpen && e.Detail != nil {
			permits[e.Lock] = max(1, e.Detail.Permits)
		}
	}
	return permits
}

// operations lists the operations of the clients.
func (p *page) operations() {
	for _, o := range p.cell.timeline().Operations {
		s := step{client: o.Client, lock: o.Lock, permits: p.permits[o.Lock], text: fmt.Sprintf("%s %s: %s", o.Client, o.Op, outcomeWords(o))}
		for _, h := range p.cell.timeline().Holds {
			same := h.Client == o.Client && h.Lock == o.Lock
			s.begins = s.begins || same && h.From == o.To && !o.Open
			s.ends = s.ends || same && h.End == timeline.Released && h.To == o.From
		}
		p.list = append(p.list, porcupine.Operation{
			ClientId: p.numbers[o.Client], Input: s, Call: p.stamp(o.From), Output: s, Return: p.stamp(o.To), Metadata: fmt.Sprintf("#%d of %s on %s", o.ID, o.Client, o.Lock),
		})
	}
}

func outcomeWords(o timeline.OperationSpan) string {
	switch {
	case o.Open:
		return "did not return"
	case o.GaveUp:
		return o.Outcome.String() + ", gave up"
	}
	return o.Outcome.String()
}

// endings lists what ends or begins a hold without an operation: its validity is over, its client is told or has ended, or declares it in the background.
func (p *page) endings() {
	for _, h := range p.cell.timeline().Holds {
		s := step{client: h.Client, lock: h.Lock, permits: p.permits[h.Lock]}
		if i := int(h.From); p.cell.Events[i].Kind != history.KindReturn {
			s.begins, s.text = true, h.Client+" holds again"
			p.instant(s, h.From)
		}
		if h.Open || h.End == timeline.Released {
			continue
		}
		s.begins, s.ends, s.text = false, true, fmt.Sprintf("%s's hold ends: %s", h.Client, h.End)
		p.instant(s, h.To)
	}
}

func (p *page) instant(s step, pos float64) {
	at := p.stamp(pos)
	p.list = append(p.list, porcupine.Operation{ClientId: p.numbers[s.client], Input: s, Call: at, Output: s, Return: at, Metadata: "no operation of " + s.client})
}

// holdModel is a lock with permits. Its state is the clients that hold it, in order, one a line.
func holdModel() porcupine.Model {
	return porcupine.Model{
		Partition: partitions,
		Init:      func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			s, holders := input.(step), strings.Fields(state.(string))
			if s.ends {
				holders = slices.DeleteFunc(holders, func(h string) bool { return h == hostOf(s.client) })
			}
			if s.begins {
				if len(holders) >= max(1, s.permits) {
					return false, state
				}
				holders = append(holders, hostOf(s.client))
				slices.Sort(holders)
			}
			return true, strings.Join(holders, " ")
		},
		DescribeOperation: func(input, _ any) string { return input.(step).text },
		DescribeState: func(state any) string {
			if state == "" {
				return "free"
			}
			return "held by " + html.EscapeString(state.(string)) // the page takes it for HTML
		},
		DescribeOperationMetadata: func(info any) string { return html.EscapeString(fmt.Sprint(info)) },
	}
}

// partitions are the holds of each lock, and what constrains nothing.
func partitions(all []porcupine.Operation) (parts [][]porcupine.Operation) {
	places := map[string]int{}
	for _, o := range all {
		s := o.Input.(step)
		key := "holds " + s.lock
		if !s.begins && !s.ends {
			key = "others"
		}
		n, known := places[key]
		if !known {
			n = len(parts)
			places[key] = n
			parts = append(parts, nil)
		}
		parts[n] = append(parts[n], o)
	}
	return parts
}

// The colours of annotations.
const (
	faultColour   = "#f7d6d0"
	anomalyColour = "#c0392b"
)

// annotate adds the cell, its commands, its faults and its anomalies.
func (p *page) annotate() {
	c := p.cell
	if len(c.Events) > 0 {
		p.note(porcupine.Annotation{Tag: "cell", Start: p.stamp(0), End: p.stamp(float64(len(c.Events))), Description: c.name(), Details: c.Verdict.String()})
	}
	var room history.Room
	for i := range c.Events {
		if command := c.Events[i].CommandIn(&room); command != nil {
			p.note(porcupine.Annotation{Tag: ofServer + command.Server, Start: p.stamp(float64(i)), Description: fmt.Sprintf("%s %s", c.Events[i].Client, command.Args[0]), Details: c.words(i).Text})
		}
	}
	for _, f := range c.timeline().Faults {
		p.note(porcupine.Annotation{Tag: "faults of " + f.Target, Start: p.stamp(f.From), End: p.stamp(f.To), Description: string(f.Kind), Details: f.What, BackgroundColor: faultColour})
	}
	for _, a := range c.Verdict.Anomalies {
		if n := len(a.Events); n > 0 {
			p.note(porcupine.Annotation{
				Tag: "anomalies", Start: p.stamp(float64(a.Events[0])), End: p.stamp(float64(a.Events[n-1])), Description: string(a.Name), Details: a.Why, BackgroundColor: anomalyColour, TextColor: "white",
			})
		}
	}
}

func (p *page) note(a porcupine.Annotation) { p.notes = append(p.notes, a) }
