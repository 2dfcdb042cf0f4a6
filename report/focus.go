package report

import (
	"slices"

	"github.com/locklab/locklab/checker"
)

// What is shown of a storm: some events before the anomaly and after it.
const (
	stormBefore = 24
	stormAfter  = 8
	stormRows   = 120
)

// rowsOf chooses what to show of a cell. Of a storm, which is far too long to be read, it is the one anomaly that a reader wants to
// understand, and the clients that took part in it.
func (t *chart) rowsOf(cell checker.Cell, limit int) []row {
	if cell.Storm == nil || len(cell.Verdict.Anomalies) == 0 {
		return t.rows(t.keep(cell.Verdict.Anomalies, limit))
	}
	keep := t.around(clearest(cell.Verdict.Anomalies), min(limit, stormRows))
	var shown []string
	for i, e := range t.events {
		if keep[i] {
			shown = append(shown, t.laneOf(e))
		}
	}
	t.clients = slices.DeleteFunc(t.clients, func(client string) bool { return !slices.Contains(shown, client) })
	return t.rows(keep)
}

// clearest is the anomaly of a storm to show: the first that breaks a promise, else the first.
func clearest(all []checker.Anomaly) checker.Anomaly {
	i := slices.IndexFunc(all, func(a checker.Anomaly) bool { return a.Beyond == "" })
	return all[max(0, i)]
}

// around keeps what shows an anomaly and, of what its clients did and suffered, what lies between, and just before and after.
func (t *chart) around(a checker.Anomaly, limit int) []bool {
	keep := make([]bool, len(t.events))
	room := limit
	mark := func(i int) {
		if i >= 0 && i < len(keep) && !keep[i] && room > 0 {
			keep[i] = true
			room--
		}
	}
	for _, event := range a.Events {
		mark(event)
	}
	if len(a.Events) == 0 {
		return keep
	}
	concerns := func(i int) bool {
		if t.events[i].Command() != nil {
			return t.notes[i] != "" // what changed nothing is one of many tries
		}
		return slices.Contains(a.Clients, t.laneOf(t.events[i]))
	}
	first, last := a.Events[0], a.Events[len(a.Events)-1]
	for i := last; i >= first; i-- {
		if concerns(i) {
			mark(i)
		}
	}
	for i, left := last+1, stormAfter; i < len(t.events) && left > 0; i++ {
		if concerns(i) {
			mark(i)
			left--
		}
	}
	for i, left := first-1, stormBefore; i >= 0 && left > 0; i-- {
		if concerns(i) {
			mark(i)
			left--
		}
	}
	return keep
}
