// Package compare says which cells of two runs came out differently.
//
// It owns what counts as a difference. It must not know where runs are kept, nor how a difference is shown.
package compare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// Version is the version of the schema of a Difference in JSON. Fields may be added without a new one.
const Version = 1

// Difference is what is different in a second run. Its lists are empty, not null, where there is nothing.
type Difference struct {
	Version     int     `json:"v"`
	Old         Side    `json:"old"`
	New         Side    `json:"new"`
	Same        int     `json:"same"` // cells that both runs have, with the same result
	Changed     []Group `json:"changed"`
	Appeared    []Group `json:"appeared"`    // only the second run has them
	Disappeared []Group `json:"disappeared"` // only the first has them
}

// Side is one of the runs.
type Side struct {
	Dir      string `json:"dir"`
	ID       string `json:"id"`
	World    string `json:"world"`
	Server   string `json:"server"`
	Lab      string `json:"lab"`
	Cells    int    `json:"cells"` // rounds of a cell are one
	Finished bool   `json:"finished"`
}

// Group is cells with the same change.
type Group struct {
	Old    string         `json:"old,omitempty"` // the result: see resultOf
	New    string         `json:"new,omitempty"`
	Gained []checker.Name `json:"gained,omitempty"` // anomalies that only the second run has
	Lost   []checker.Name `json:"lost,omitempty"`   // anomalies that only the first one has
	Cells  []Cell         `json:"cells"`
}

// Cell names a cell.
type Cell struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	Workload string `json:"workload,omitempty"` // none: a counter
}

// Any says whether anything is different.
func (d *Difference) Any() bool { return len(d.Changed)+len(d.Appeared)+len(d.Disappeared) > 0 }

// result is how the rounds of a cell came out.
type result struct {
	text  string
	names []checker.Name // sorted
}

// Runs compares two runs, cell by cell. The reason of a verdict does not count, nor how often a result came out in several rounds.
func Runs(old, new *record.Run) *Difference {
	before, oldOrder := resultsOf(old)
	after, newOrder := resultsOf(new)
	d := &Difference{Version: Version, Old: sideOf(old, len(before)), New: sideOf(new, len(after)), Changed: []Group{}, Appeared: []Group{}, Disappeared: []Group{}}
	for _, cell := range oldOrder {
		was := before[cell]
		is, there := after[cell]
		switch {
		case !there:
			d.Disappeared = add(d.Disappeared, Group{Old: was.text}, cell)
		case was.text == is.text:
			d.Same++
		default:
			d.Changed = add(d.Changed, Group{Old: was.text, New: is.text, Gained: without(is.names, was.names), Lost: without(was.names, is.names)}, cell)
		}
	}
	for _, cell := range newOrder {
		if _, there := before[cell]; !there {
			d.Appeared = add(d.Appeared, Group{New: after[cell].text}, cell)
		}
	}
	for _, groups := range [][]Group{d.Changed, d.Appeared, d.Disappeared} {
		slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(len(b.Cells), len(a.Cells)) })
	}
	return d
}

func sideOf(run *record.Run, cells int) Side {
	return Side{Dir: run.Dir, ID: run.ID, World: run.World, Server: run.Server, Lab: run.Lab, Cells: cells, Finished: run.Finished}
}

// resultsOf are the results of a run's cells, and the cells in its order.
func resultsOf(run *record.Run) (results map[Cell]result, order []Cell) {
	rounds := map[Cell][]record.Cell{}
	for _, c := range run.Cells {
		cell := Cell{c.Lock, c.Scenario, c.Workload}
		if rounds[cell] == nil {
			order = append(order, cell)
		}
		rounds[cell] = append(rounds[cell], c)
	}
	results = map[Cell]result{}
	for cell, list := range rounds {
		results[cell] = resultOf(list)
	}
	return results, order
}

// resultOf is the result of a cell's rounds: "safe", "double-holder, lost-update", "unknown", "n/a", "failed", "not reached"; of rounds that differ,
// all of them, "safe or unknown".
func resultOf(rounds []record.Cell) (r result) {
	var texts []string
	for _, c := range rounds {
		text := string(c.Verdict.Kind)
		switch {
		case c.Failure != "" || c.Verdict.CheckerFault:
			text = "failed"
		case c.Verdict.Kind == checker.Broken:
			text = c.Verdict.String()
		case c.Verdict.Kind == "":
			text = "not reached"
		}
		texts = append(texts, text)
		r.names = append(r.names, c.Verdict.Names()...)
	}
	slices.Sort(texts)
	r.text = strings.Join(slices.Compact(texts), " or ")
	slices.Sort(r.names)
	r.names = slices.Compact(r.names)
	return r
}

func without(names, others []checker.Name) (left []checker.Name) {
	for _, name := range names {
		if !slices.Contains(others, name) {
			left = append(left, name)
		}
	}
	return left
}

// add adds a cell to the group with its change.
func add(groups []Group, change Group, cell Cell) []Group {
	i := slices.IndexFunc(groups, func(g Group) bool { return g.Old == change.Old && g.New == change.New })
	if i < 0 {
		i = len(groups)
		groups = append(groups, change)
	}
	groups[i].Cells = append(groups[i].Cells, cell)
	return groups
}
