package report

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// group is the rounds of one lock in one scenario.
type group []record.Cell

// worst is the round that a report must show: the one with the greatest status, the earliest of equals.
func (g group) worst() record.Cell {
	return slices.MaxFunc(g, func(a, b record.Cell) int { return int(statusOf(a) - statusOf(b)) })
}

// differs says whether the rounds did not all come to the same verdict.
func (g group) differs() bool {
	if g[0].Storm != nil { // each has a seed of its own
		return slices.ContainsFunc(g, func(c record.Cell) bool { return statusOf(c) != statusOf(g[0]) })
	}
	return slices.ContainsFunc(g, func(c record.Cell) bool { return !c.Verdict.Same(g[0].Verdict) })
}

// matrix is the cells of a run by lock and scenario, each in the order of their first cell.
type matrix struct {
	locks, scenarios []string
	groups           map[[2]string]group
}

func newMatrix(cells []record.Cell) matrix {
	m := matrix{groups: make(map[[2]string]group)}
	for _, c := range cells {
		key := [2]string{c.Lock, c.Scenario}
		if !slices.Contains(m.locks, c.Lock) {
			m.locks = append(m.locks, c.Lock)
		}
		if !slices.Contains(m.scenarios, c.Scenario) {
			m.scenarios = append(m.scenarios, c.Scenario)
		}
		m.groups[key] = append(m.groups[key], c)
	}
	return m
}

// at is the group of a lock in a scenario; nil if that cell has not been run.
func (m matrix) at(lock, scenario string) group { return m.groups[[2]string{lock, scenario}] }

// columns are the locks that the table has a column for: all but the variants that only some scenarios are about.
func (m matrix) columns() []string {
	return slices.DeleteFunc(slices.Clone(m.locks), m.isApart)
}

// apart are the groups of those variants, which are listed below the table.
func (m matrix) apart() []group {
	return slices.DeleteFunc(m.all(), func(g group) bool { return !m.isApart(g[0].Lock) })
}

// isApart says whether a lock is a variant (a published lock with chosen bugs) that not all scenarios were run with.
func (m matrix) isApart(lock string) bool {
	return strings.Contains(lock, "/") && slices.ContainsFunc(m.scenarios, func(scenario string) bool { return m.at(lock, scenario) == nil })
}

// all are the groups, scenario by scenario.
func (m matrix) all() []group {
	var out []group
	for _, scenario := range m.scenarios {
		for _, lock := range m.locks {
			if g := m.at(lock, scenario); g != nil {
				out = append(out, g)
			}
		}
	}
	return out
}

// differing are the groups whose rounds came to different verdicts.
func (m matrix) differing() []group {
	return slices.DeleteFunc(m.all(), func(g group) bool { return !g.differs() })
}

// withStatus are the groups that show the given status.
func (m matrix) withStatus(s status) []group {
	return slices.DeleteFunc(m.all(), func(g group) bool { return statusOf(g.worst()) != s })
}

// seen lists the anomalies that occur in the groups, in the order of their definitions.
func (m matrix) seen() []checker.Definition {
	return slices.DeleteFunc(checker.Definitions(), func(d checker.Definition) bool {
		return !slices.ContainsFunc(m.all(), func(g group) bool {
			return slices.Contains(g.worst().Verdict.Names(), d.Name)
		})
	})
}
