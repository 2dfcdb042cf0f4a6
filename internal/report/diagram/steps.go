package diagram

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/report/format"
)

// Steps writes what led to an anomaly: a line of at most width columns for each event up to the last one that shows it, at most so many lines. Events
// that show it are marked, and kept before others.
func Steps(w io.Writer, events []history.Event, a checker.Anomaly, most, width int) error {
	t := Of(events)
	shown := ShownBy([]checker.Anomaly{a})
	rows := slices.DeleteFunc(t.rows(t.toldUntil(a)), func(r row) bool { return r.kind == rowGap })
	left := 0
	for i := 0; i < len(rows) && len(rows) > most-1; {
		if rows[i].kind == rowEvent && shown[rows[i].event] != nil {
			i++
			continue
		}
		rows = slices.Delete(rows, i, i+1)
		left++
	}
	lanes := 0
	for _, lane := range slices.Concat(t.clients, t.servers) {
		lanes = max(lanes, utf8.RuneCountInString(lane))
	}
	var b strings.Builder
	if left > 0 {
		fmt.Fprintf(&b, "  %*s  %s left out\n", stampWidth, "ms", format.Plural(left, "event is", "events are"))
	}
	for _, r := range rows {
		mark, lane, text := " ", "", ""
		if r.kind == rowMoment {
			m := t.moments[r.moment]
			lane, text = m.Lane, m.Text
		} else {
			lane, text = t.laneOf(t.Events[r.event]), t.describe(r.event)
			if shown[r.event] != nil {
				mark = "!"
			}
		}
		line := fmt.Sprintf("%s %*s  %s  %s", mark, stampWidth, stamp(r.at), format.Pad(format.Clean(lane), lanes), format.Clean(text))
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(format.Clip(line, width), " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// toldUntil are the events up to the last that shows an anomaly, without those that say what the script and its clients are.
func (t *Chart) toldUntil(a checker.Anomaly) []bool {
	keep := make([]bool, len(t.Events))
	for i, e := range t.Events {
		keep[i] = i <= slices.Max(append([]int{0}, a.Events...)) && e.Kind != history.KindOpen && e.Kind != history.KindStep
	}
	return keep
}
