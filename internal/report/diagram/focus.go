package diagram

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

// What is shown of a storm: some events before the anomaly and after it.
const (
	stormBefore = 24
	stormAfter  = 8
	stormRows   = 120
)

// rowsOf chooses what to show of a cell. Of a storm, which is far too long to be read, it is the one anomaly that a reader wants to
// understand, and the clients that took part in it.
func (t *Chart) rowsOf(cell record.Cell, limit int) []row {
	if cell.Storm == nil || len(cell.Verdict.Anomalies) == 0 {
		keep := t.keep(cell.Verdict.Anomalies, limit)
		t.dropRepeats(keep, cell.Verdict.Anomalies)
		return t.rows(keep)
	}
	keep := t.around(clearest(cell.Verdict.Anomalies), min(limit, stormRows))
	var shown []string
	for i, e := range t.Events {
		if keep[i] {
			shown = append(shown, t.laneOf(e))
		}
	}
	t.clients = slices.DeleteFunc(t.clients, func(client string) bool { return !slices.Contains(shown, client) })
	return t.rows(keep)
}

// Kept says which events of a cell are shown.
func (t *Chart) Kept(cell record.Cell, limit int) []bool {
	keep := make([]bool, len(t.Events))
	for _, r := range t.rowsOf(cell, limit) {
		if r.kind == rowEvent {
			keep[r.event] = true
		}
	}
	return keep
}

// fewRepeats is how many times in a row a client may try in vain before the tries between the first and the last are left out.
const fewRepeats = 5

// dropRepeats leaves out what a client that polls sends again and again: the same command, answered alike, with no effect and nothing else
// in between.
func (t *Chart) dropRepeats(keep []bool, anomalies []checker.Anomaly) {
	shows := ShownBy(anomalies)
	drop := func(first, last int) {
		if last-first+1 < fewRepeats {
			return
		}
		for i := first + 1; i < last; i++ {
			keep[i] = keep[i] && len(shows[i]) > 0
		}
	}
	first := 0
	var rooms [2]history.Room
	for i := range t.Events {
		if !t.repeats(i, &rooms) {
			drop(first, i-1)
			first = i
		}
	}
	drop(first, len(t.Events)-1)
}

// repeats says whether an event is a try as the one before it, and had no effect either.
func (t *Chart) repeats(i int, rooms *[2]history.Room) bool {
	if i == 0 || t.lapsed[i] {
		return false
	}
	before, e := t.Events[i-1], t.Events[i]
	if before.Kind != history.KindCommand || e.Kind != history.KindCommand || t.Notes[i-1] != "" || t.Notes[i] != "" || before.Client != e.Client || before.ID != e.ID {
		return false
	}
	one, two := before.CommandIn(&rooms[0]), e.CommandIn(&rooms[1])
	return one != nil && two != nil && one.Server == two.Server && one.Reply == two.Reply && one.Args[0] == two.Args[0]
}

// clearest is the anomaly of a storm to show: the first that breaks a promise, else the first.
func clearest(all []checker.Anomaly) checker.Anomaly {
	i := slices.IndexFunc(all, func(a checker.Anomaly) bool { return a.Beyond == "" })
	return all[max(0, i)]
}

// around keeps what shows an anomaly and, of what its clients did and suffered, what lies between, and just before and after.
func (t *Chart) around(a checker.Anomaly, limit int) []bool {
	kept := selection{make([]bool, len(t.Events)), limit}
	shown := slices.DeleteFunc(slices.Clone(a.Events), func(i int) bool { return i < 0 || i >= len(t.Events) }) // a run's file may say anything
	for _, event := range shown {
		kept.add(event)
	}
	if len(shown) == 0 {
		return kept.events
	}
	concerns := func(i int) bool {
		if t.Events[i].Kind == history.KindCommand {
			return t.Notes[i] != "" // what changed nothing is one of many tries
		}
		return slices.Contains(a.Clients, t.laneOf(t.Events[i]))
	}
	first, last := shown[0], shown[len(shown)-1]
	for i := last; i >= first; i-- {
		if concerns(i) {
			kept.add(i)
		}
	}
	for i, left := last+1, stormAfter; i < len(t.Events) && left > 0; i++ {
		if concerns(i) {
			kept.add(i)
			left--
		}
	}
	for i, left := first-1, stormBefore; i >= 0 && left > 0; i-- {
		if concerns(i) {
			kept.add(i)
			left--
		}
	}
	return kept.events
}
