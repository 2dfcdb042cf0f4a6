package diagram

import (
	"cmp"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
)

// row is one line of lab explain, or an event of the page.
type row struct {
	kind rowKind
	pos  float64 // of the event or the moment; of a gap: of the first event left out
	at   time.Duration
	// event is the index of the event; moment is that of the moment; left is the number of events that a gap leaves out.
	event, moment, left int
}

type rowKind uint8

const (
	rowEvent rowKind = iota
	rowMoment
	rowGap
)

// aroundAnomaly is how many events before and after one that shows an anomaly are kept when a history is too long.
const aroundAnomaly = 8

// rows are the events to be shown, and what happens between them. What is left out leaves a gap that says how much.
func (t *Chart) rows(keep []bool) []row {
	var rows []row
	moments := t.moments
	for i, e := range t.Events {
		for n := len(t.moments) - len(moments); len(moments) > 0 && moments[0].Pos < float64(i); n++ {
			if keep[i] || (i > 0 && keep[i-1]) {
				rows = append(rows, row{kind: rowMoment, pos: moments[0].Pos, at: moments[0].At, moment: n})
			}
			moments = moments[1:]
		}
		switch {
		case keep[i]:
			rows = append(rows, row{kind: rowEvent, pos: float64(i), at: e.At, event: i})
		case len(rows) > 0 && rows[len(rows)-1].kind == rowGap:
			rows[len(rows)-1].left++
		default:
			rows = append(rows, row{kind: rowGap, pos: float64(i), at: e.At, event: i, left: 1})
		}
	}
	return rows
}

// keep chooses what to show of a history: everything if it has at most limit events, else what surrounds the anomalies, and then
// the beginning.
func (t *Chart) keep(anomalies []checker.Anomaly, limit int) []bool {
	kept := selection{make([]bool, len(t.Events)), limit}
	if len(t.Events) > limit {
		for _, distance := range []int{0, aroundAnomaly} {
			for _, a := range anomalies {
				for _, event := range a.Events {
					for i := event - distance; i <= event+distance; i++ {
						kept.add(i)
					}
				}
			}
		}
	}
	for i := 0; i < len(t.Events) && kept.room > 0; i++ {
		kept.add(i)
	}
	return kept.events
}

// selection is which events are shown, and for how many more there is room.
type selection struct {
	events []bool
	room   int
}

// add adds an event, if there is such and room for it.
func (s *selection) add(i int) {
	if i >= 0 && i < len(s.events) && !s.events[i] && s.room > 0 {
		s.events[i] = true
		s.room--
	}
}

// visible are the spans that touch a row; the others lie within a gap.
func visible(spans []span, rows []row) []span {
	var out []span
	for _, s := range spans {
		i, _ := slices.BinarySearchFunc(rows, s.From, func(r row, pos float64) int { return cmp.Compare(r.pos, pos) })
		for i < len(rows) && rows[i].kind == rowGap {
			i++
		}
		if i < len(rows) && rows[i].pos <= s.To {
			out = append(out, s)
		}
	}
	return out
}

// leftOut is the number of events that rows do not show.
func leftOut(rows []row) int {
	n := 0
	for _, r := range rows {
		n += r.left
	}
	return n
}

// ShownBy lists, for each event, the numbers (from 1) of the anomalies that it shows.
func ShownBy(anomalies []checker.Anomaly) map[int][]int {
	shows := make(map[int][]int)
	for n, a := range anomalies {
		for _, event := range a.Events {
			if !slices.Contains(shows[event], n+1) {
				shows[event] = append(shows[event], n+1)
			}
		}
	}
	return shows
}
