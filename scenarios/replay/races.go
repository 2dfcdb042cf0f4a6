package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/sim/explore"
)

// Race is a counterexample.
type Race struct {
	Lock   impls.Spec
	Faults string // what was allowed: the name of one kind, "none", or "all"
	Trace  *explore.Trace
}

// All and None as the faults of a race are all kinds together, and none.
const (
	All  = "all"
	None = "none"
)

// Name is the race in one word.
func (r Race) Name() string {
	return strings.Join([]string{strings.ReplaceAll(r.Lock.Name, "/", "-"), r.Faults, string(r.Trace.Anomalies[0])}, "-")
}

// Parsed is the script of the race, ready to be played.
func (r Race) Parsed() (*scenarios.Script, error) {
	text, err := Script(r.Lock, r.Trace)
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(r.Name()+".lab", []byte(text))
}

// Point is an entry of the table of breaking points: so many faults lead a lock to an anomaly.
type Point struct {
	faults    string
	budget    explore.Budget
	most      int
	anomalies []checker.Name
	twice     bool // it takes two rounds
}

// String is the point in words: "2 × pause: wrongful-renew".
func (p Point) String() string {
	if p.most == 0 {
		return fmt.Sprint(p.anomalies)
	}
	return fmt.Sprintf("%d × %s: %v", p.most, p.faults, p.anomalies)
}

// Points lists the entries of a line of the table: what the lock shows without a fault, and for each kind of fault what the fewest of
// them lead to first, and when two clients hold the lock at the same time.
func Points(line explore.Line) []Point {
	var points []Point
	for _, anomaly := range line.None {
		points = append(points, Point{faults: None, anomalies: []checker.Name{anomaly}})
	}
	for f, cell := range line.Cells {
		add := func(b explore.Break) {
			if b.Faults == 0 || slices.ContainsFunc(points, func(p Point) bool { return p.budget[f] > 0 && slices.Equal(p.anomalies, b.Anomalies) }) {
				return
			}
			p := Point{faults: explore.Fault(f).String(), most: b.Faults, anomalies: b.Anomalies, twice: b.Twice}
			p.budget[f] = uint8(b.Faults)
			points = append(points, p)
		}
		add(cell.Any)
		add(cell.Double)
	}
	if len(line.Mixture) > 0 {
		p := Point{faults: strings.Join(line.Mixture, "+"), most: len(line.Mixture), anomalies: []checker.Name{checker.DoubleHolder}}
		for _, name := range line.Mixture {
			if f, known := explore.FaultByName(name); known {
				p.budget[f] = 1
			}
		}
		points = append(points, p)
	}
	return points
}

// Find finds the race of a point. limit bounds each exploration.
func (p Point) Find(ctx context.Context, lock impls.Spec, limit explore.Config) (Race, error) {
	for _, config := range p.bounds(lock) {
		config.Lock, config.Budget, config.MostFaults, config.Only = lock, p.budget, p.most, p.anomalies
		config.States, config.Time, config.Memory = limit.States, limit.Time, limit.Memory
		result, err := explore.Explore(ctx, config)
		if err != nil {
			return Race{}, err
		}
		if result.Found != nil {
			return Race{Lock: lock, Faults: p.faults, Trace: result.Found}, nil
		}
	}
	return Race{}, fmt.Errorf("by the table of breaking points, %s; it was not found again", p)
}

// bounds are tried in this order: the fewer clients, the shorter the script. Three servers are the fewest of which a majority is not all.
func (p Point) bounds(lock impls.Spec) []explore.Config {
	switch {
	case lock.Servers > 1:
		return []explore.Config{{Clients: 2, Rounds: 1, Servers: 3}}
	case p.twice:
		return []explore.Config{{Clients: 2, Rounds: 2}}
	}
	return []explore.Config{{Clients: 2, Rounds: 1}, {Clients: 3, Rounds: 1}, {Clients: 2, Rounds: 2}}
}

// Shown says whether a cell that played the script of a race shows what the trace does; if not, why.
func (r Race) Shown(cell checker.Cell) (why string, shown bool) {
	seen := cell.Verdict.Names()
	for _, name := range r.Trace.Anomalies {
		if !slices.Contains(seen, name) {
			return cell.Verdict.String(), false
		}
	}
	return "", true
}
