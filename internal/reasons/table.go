package reasons

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// Cell is a lock in a scenario, and what came of it.
type Cell struct {
	Script  *scenarios.Script
	Lock    string
	Spec    impls.Spec
	Verdict checker.Verdict
	Shows   []checker.Name // the anomalies

	told   bool
	length int
	traits *play.Traits
}

// Source is where a table has its cells from.
type Source struct {
	Locks   func(scenario string) []string
	Verdict func(scenario, lock string) checker.Verdict
	// Told says whether an article tells of a cell; nil: none does.
	Told func(scenario, lock string) bool
}

// Table has cells by their scenarios and locks.
type Table struct {
	Scripts []*scenarios.Script
	Locks   []impls.Spec
	Cells   []*Cell // the shortest story first

	named  map[[2]string]*Cell
	byLock map[string][]*Cell
}

// NewTable reads the cells of the lab's own locks in the scenarios.
func NewTable(scripts []*scenarios.Script, from Source) *Table {
	x := &Table{Scripts: scripts, Locks: impls.Every(), named: map[[2]string]*Cell{}, byLock: map[string][]*Cell{}}
	rank := map[string]int{}
	specs := map[string]impls.Spec{}
	traits := map[string]*play.Traits{}
	for i, spec := range x.Locks {
		rank[spec.Name], specs[spec.Name] = i, spec
	}
	for _, script := range x.Scripts {
		base := measure(script)
		locks := slices.Clone(from.Locks(script.Name))
		slices.SortStableFunc(locks, func(a, b string) int { return rank[BaseOf(a)] - rank[BaseOf(b)] })
		for _, lock := range locks {
			spec, known := specs[lock]
			if !known {
				if spec, known = impls.Find(lock); !known {
					continue
				}
				specs[lock] = spec
			}
			if traits[lock] == nil {
				of := play.SubjectOf(spec).Traits
				traits[lock] = &of
			}
			key := [2]string{lock, script.Name}
			verdict := from.Verdict(script.Name, lock)
			c := &Cell{Script: script, Lock: lock, Spec: spec, Verdict: verdict, Shows: verdict.Names(), told: from.Told != nil && from.Told(script.Name, lock), traits: traits[lock]}
			c.length = base + c.measure(rank[BaseOf(lock)])
			x.Cells, x.named[key] = append(x.Cells, c), c
		}
	}
	slices.SortStableFunc(x.Cells, func(a, b *Cell) int { return a.length - b.length })
	for _, c := range x.Cells {
		x.byLock[c.Lock] = append(x.byLock[c.Lock], c)
	}
	return x
}

// InModel says whether the model has what the cell needs.
func (c *Cell) InModel() bool { return c.traits.LackInModel(c.Script) == "" }

// What a reader must tell apart, beside the steps of a script, to follow a story.
const perAnomaly, perFault, perClient, perServer = 4, 8, 3, 4

// measure is how long a script's stories are.
func measure(script *scenarios.Script) int {
	length := len(script.Steps) + perFault*len(script.Faults()) + perClient*(len(script.Clients)+len(script.Handles))
	if script.Workload != "" {
		length += perFault
	}
	return length
}

// measure is how much longer the cell's story is than others of its script. Locks later in the registry have more parts; a single bug of a lock and a ZooKeeper
// ask more of a reader, a cell that a trouble of the articles is about less. A lock without a server tells least.
func (c *Cell) measure(rank int) int {
	const told, apart, alone = 8, 8, 100
	length := rank/2 + perAnomaly*len(c.Shows) + perServer*max(c.Script.Servers, c.Spec.Servers)
	if c.told {
		length -= told
	}
	if BaseOf(c.Lock) != c.Lock || c.Spec.Needs == impls.OneZooKeeper {
		length += apart
	}
	if c.Spec.Needs == impls.NoServer {
		length += alone
	}
	return length
}

// Shortest is the first of the cells that fits, one that the model plays before others; nil: none fits. Cells of one length are in the order of the
// scenarios for readers, and of the registry.
func Shortest(cells []*Cell, fits func(*Cell) bool) (found *Cell) {
	for _, c := range cells {
		switch {
		case !fits(c):
		case c.InModel():
			return c
		case found == nil:
			found = c
		}
	}
	return found
}

// first is the first of the cells that fits; nil: none does.
func first(cells []*Cell, fits func(*Cell) bool) *Cell {
	i := slices.IndexFunc(cells, fits)
	if i < 0 {
		return nil
	}
	return cells[i]
}

// Clearest is the shortest broken cell that fits, else the shortest safe one, else one that is n/a.
func (x *Table) Clearest(fits func(*Cell) bool) *Cell {
	for _, kind := range []checker.Kind{checker.Broken, checker.Safe, checker.NotApplicable} {
		if c := Shortest(x.Cells, func(c *Cell) bool { return c.Verdict.Kind == kind && fits(c) }); c != nil {
			return c
		}
	}
	return nil
}

// At is a cell by the names of its lock and scenario; nil: there is none.
func (x *Table) At(lock, scenario string) *Cell { return x.named[[2]string{lock, scenario}] }

// Of are the cells of a lock, the shortest story first.
func (x *Table) Of(lock string) []*Cell { return x.byLock[lock] }

// Group is what a table is asked: in which scenarios, and what counts as broken there.
type Group struct {
	Scripts []*scenarios.Script
	Bad     func(*Cell) bool
}

// Broken says whether anything went wrong in a cell.
func Broken(c *Cell) bool { return c.Verdict.Kind == checker.Broken }

// Shows says whether an anomaly was seen in a cell.
func Shows(name checker.Name) func(*Cell) bool {
	return func(c *Cell) bool { return slices.Contains(c.Shows, name) }
}

// Applies says whether the scenario applies to the lock.
func (c *Cell) Applies() bool { return c != nil && (c.Verdict.Kind == checker.Safe || Broken(c)) }

// Where is the group of the scenarios of which a cell fits.
func (x *Table) Where(bad, fits func(*Cell) bool) Group {
	has := map[*scenarios.Script]bool{}
	for _, c := range x.Cells {
		if !has[c.Script] && fits(c) {
			has[c.Script] = true
		}
	}
	return Group{slices.DeleteFunc(slices.Clone(x.Scripts), func(s *scenarios.Script) bool { return !has[s] }), bad}
}

// How many locks an entry names at most: those that only seem to help, and those that help most where none helps always.
const (
	maxSeems = 4
	maxBest  = 3
)

// Repairs says which locks withstand a group of scenarios, and which only seem to. These withstand the story's cell, and break in another scenario of the
// group or by the bug on their card; or they show less than the story's lock there, and break all the same.
func (x *Table) Repairs(story *Cell, g Group) (r Repairs) {
	r.Scenarios = len(g.Scripts)
	var best []Stop
	var elsewhere, less []Seem
	breaks := map[string]int{}
	for _, spec := range x.Locks {
		if spec.Needs == impls.NoServer || spec.Name == story.Lock {
			continue
		}
		own := x.At(spec.Name, story.Script.Name)
		stop, worst := x.count(spec, g)
		breaks[spec.Name] = stop.Of - stop.Withstands
		switch {
		case stop.Withstands == stop.Of && spec.Bug == "" && own.Applies():
			r.Stops = append(r.Stops, stop)
			continue
		case stop.Withstands < stop.Of && spec.Bug == "":
			best = append(best, stop)
		}
		switch {
		case !own.Applies():
		case g.Bad(own):
			if len(own.Shows) < len(story.Shows) && subset(own.Shows, story.Shows) {
				less = append(less, Seem{spec.Name, story.Script.Name, own.Shows, true})
			}
		case worst != nil:
			elsewhere = append(elsewhere, Seem{spec.Name, worst.Script.Name, worst.Shows, false})
		}
	}
	slices.SortStableFunc(r.Stops, func(a, b Stop) int { return b.Of - a.Of })
	if len(r.Stops) == 0 {
		r.Best = mostOf(best)
	}
	slices.SortStableFunc(elsewhere, func(a, b Seem) int { return breaks[a.Lock] - breaks[b.Lock] })
	slices.SortStableFunc(less, func(a, b Seem) int { return len(a.Shows) - len(b.Shows) })
	elsewhere, less = unlike(elsewhere), unlike(less)
	room := max(maxSeems-len(less), maxSeems/2)
	r.Seems = append(elsewhere[:min(len(elsewhere), room)], less...)
	r.Seems = r.Seems[:min(len(r.Seems), maxSeems)]
	return r
}

// count says how many scenarios of a group a lock withstands, and in which cell it breaks with the fewest anomalies: of the group or, if it withstands all of
// that and its card has a bug, of all scenarios.
func (x *Table) count(spec impls.Spec, g Group) (stop Stop, worst *Cell) {
	stop.Lock = spec.Name
	for _, script := range g.Scripts {
		switch c := x.At(spec.Name, script.Name); {
		case !c.Applies():
		case g.Bad(c):
			stop.Of++
		default:
			stop.Of++
			stop.Withstands++
		}
	}
	if stop.Withstands < stop.Of {
		return stop, first(x.byLock[spec.Name], func(c *Cell) bool { return g.Bad(c) && slices.Contains(g.Scripts, c.Script) })
	}
	if spec.Bug != "" {
		worst = first(x.byLock[spec.Name], Broken)
	}
	return stop, worst
}

// mostOf are the locks that withstand the greatest share, of those to which half of the scenarios or more apply that apply to any.
func mostOf(all []Stop) []Stop {
	most := 0
	for _, s := range all {
		most = max(most, s.Of)
	}
	all = slices.DeleteFunc(all, func(s Stop) bool { return 2*s.Of < most || s.Withstands == 0 })
	slices.SortStableFunc(all, func(a, b Stop) int { return b.Withstands*a.Of - a.Withstands*b.Of })
	return all[:min(len(all), maxBest)]
}

// unlike leaves out what shows the same in the same scenario as one before.
func unlike(all []Seem) (kept []Seem) {
	for _, s := range all {
		if !slices.ContainsFunc(kept, func(k Seem) bool { return k.Scenario == s.Scenario && slices.Equal(k.Shows, s.Shows) }) {
			kept = append(kept, s)
		}
	}
	return kept
}

func subset(names, of []checker.Name) bool {
	return !slices.ContainsFunc(names, func(name checker.Name) bool { return !slices.Contains(of, name) })
}

// BaseOf is a lock without the names of its bugs.
func BaseOf(lock string) string {
	base, _, _ := strings.Cut(lock, "/")
	return base
}
