package checker

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/checker/internal/resource"
	"github.com/locklab/locklab/history"
)

// Tally says in one line what became of the data of a history: "stock 1, sold 2: oversold by 1". It counts, and judges nothing. For a
// counter it says what waiting cost. It is empty where there is nothing to say, and where the end was not read.
func Tally(events []history.Event) string {
	var t tally
	for i := range events {
		t.take(&events[i])
	}
	if t.begin == nil || t.end == nil {
		return wakeupsOf(events)
	}
	if t.begin.Workload == history.Ledger {
		return t.entries()
	}
	return t.sale()
}

// Skipped lists the steps of a history's script that were not carried out: "line 9: C2 work (C2 does not hold the lock)".
func Skipped(events []history.Event) (lines []string) {
	for i := range events {
		if d := events[i].Detail; events[i].Kind == history.KindStep && d != nil && d.Why != "" {
			lines = append(lines, fmt.Sprintf("line %d: %s (%s)", d.Line, strings.Join(strings.Fields(d.Text), " "), d.Why))
		}
	}
	return lines
}

type tally struct {
	begin, end *history.Work
	value      int64
	done       int64 // work that was acknowledged
	soldOut    int
	refused    int // acquires that would have waited, and were refused: too many people
}

func (t *tally) take(e *history.Event) {
	d := e.Detail
	if d == nil {
		d = &history.Detail{}
	}
	switch {
	case e.Kind == history.KindOpen && t.begin == nil:
		t.begin = d.Work
	case e.Kind == history.KindFinal:
		t.end, t.value = d.Work, d.Value
	case e.Kind != history.KindReturn:
	case e.Op == history.OpAcquire && e.Outcome == history.No:
		t.refused++
	case e.Op == history.OpWork && e.Outcome == history.OK:
		t.done++
	case e.Op == history.OpWork && e.Outcome == history.No && d.Error == history.SoldOut:
		t.soldOut++
	}
}

func (t *tally) sale() string {
	s := resource.SequenceOf(t.begin)
	text := fmt.Sprintf("stock %d, sold %d", s.Stock, t.done)
	if s.Falls() {
		text += fmt.Sprintf(", %d left", t.value)
	}
	if t.done > s.Stock {
		text += fmt.Sprintf(": oversold by %d", t.done-s.Stock)
	} else if missing := t.done - s.Turned(t.value); missing > 0 {
		text += fmt.Sprintf(": %d not accounted for", missing)
	}
	if t.soldOut > 0 {
		text += fmt.Sprintf("; told %q: %d", history.SoldOut, t.soldOut)
	}
	if t.refused > 0 {
		text += fmt.Sprintf("; too many people: %d", t.refused)
	}
	return text
}

func (t *tally) entries() string {
	text := fmt.Sprintf("%d entries, %d acknowledged", len(t.end.Find("entries")), t.done)
	if forkWords(t.end.Find("entries")) != "" {
		text += ": not one after the other"
	}
	return text
}
