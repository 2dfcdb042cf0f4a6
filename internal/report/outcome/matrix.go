package outcome

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// Group is the rounds of one lock in one scenario.
type Group []record.Cell

// Worst is the round that a report must show: the one with the greatest status, the earliest of equals.
func (g Group) Worst() record.Cell {
	return slices.MaxFunc(g, func(a, b record.Cell) int { return int(StatusOf(a) - StatusOf(b)) })
}

// Differs says whether the rounds did not all come to the same verdict.
func (g Group) Differs() bool {
	if g[0].Storm != nil { // each has a seed of its own
		return slices.ContainsFunc(g, func(c record.Cell) bool { return StatusOf(c) != StatusOf(g[0]) })
	}
	return slices.ContainsFunc(g, func(c record.Cell) bool { return !c.Verdict.Same(g[0].Verdict) })
}

// Matrix is the cells of a run by lock and scenario, each in the order of their first cell.
type Matrix struct {
	Locks, Scenarios []string
	Groups           map[[2]string]Group
}

func NewMatrix(cells []record.Cell) Matrix {
	m := Matrix{Groups: make(map[[2]string]Group)}
	for _, c := range cells {
		key := [2]string{c.Lock, c.Scenario}
		if !slices.Contains(m.Locks, c.Lock) {
			m.Locks = append(m.Locks, c.Lock)
		}
		if !slices.Contains(m.Scenarios, c.Scenario) {
			m.Scenarios = append(m.Scenarios, c.Scenario)
		}
		m.Groups[key] = append(m.Groups[key], c)
	}
	return m
}

// At is the group of a lock in a scenario; nil if that cell has not been run.
func (m Matrix) At(lock, scenario string) Group { return m.Groups[[2]string{lock, scenario}] }

// Columns are the locks that the table has a column for: all but the variants that only some scenarios are about.
func (m Matrix) Columns() []string {
	return slices.DeleteFunc(slices.Clone(m.Locks), m.IsApart)
}

// Apart are the groups of those variants, which are listed below the table.
func (m Matrix) Apart() []Group {
	return slices.DeleteFunc(m.All(), func(g Group) bool { return !m.IsApart(g[0].Lock) })
}

// IsApart says whether a lock is a variant (a published lock with chosen bugs) that not all scenarios were run with.
func (m Matrix) IsApart(lock string) bool {
	return strings.Contains(lock, "/") && slices.ContainsFunc(m.Scenarios, func(scenario string) bool { return m.At(lock, scenario) == nil })
}

// All are the groups, scenario by scenario.
func (m Matrix) All() []Group {
	var out []Group
	for _, scenario := range m.Scenarios {
		for _, lock := range m.Locks {
			if g := m.At(lock, scenario); g != nil {
				out = append(out, g)
			}
		}
	}
	return out
}

// Differing are the groups whose rounds came to different verdicts.
func (m Matrix) Differing() []Group {
	return slices.DeleteFunc(m.All(), func(g Group) bool { return !g.Differs() })
}

// WithStatus are the groups that show the given status.
func (m Matrix) WithStatus(s Status) []Group {
	return slices.DeleteFunc(m.All(), func(g Group) bool { return StatusOf(g.Worst()) != s })
}

// Seen lists the anomalies that occur in the groups, in the order of their definitions.
func (m Matrix) Seen() []checker.Definition {
	return slices.DeleteFunc(checker.Definitions(), func(d checker.Definition) bool {
		return !slices.ContainsFunc(m.All(), func(g Group) bool {
			return slices.Contains(g.Worst().Verdict.Names(), d.Name)
		})
	})
}
