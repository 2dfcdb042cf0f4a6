package points

import (
	"context"
	"fmt"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/sim/explore"
	"github.com/locklab/locklab/sim/trace"
)

// Point is an entry of the table: so many faults lead a lock to an anomaly.
type Point struct {
	Faults    string // the kind, several joined by "+", or None
	budget    explore.Budget
	most      int
	anomalies []checker.Name
	twice     bool // it takes two rounds
}

// None is what a point has for its faults where none is needed.
const None = "none"

// String is the point in words: "2 × pause: wrongful-renew".
func (p Point) String() string {
	if p.most == 0 {
		return fmt.Sprint(p.anomalies)
	}
	return fmt.Sprintf("%d × %s: %v", p.most, p.Faults, p.anomalies)
}

// Points lists the entries of a line: what the lock shows without a fault, for each kind of fault what the fewest of them lead to first,
// and when two clients hold the lock at the same time.
func (l Line) Points() []Point {
	var points []Point
	for _, anomaly := range l.None {
		points = append(points, Point{Faults: None, anomalies: []checker.Name{anomaly}})
	}
	for _, kind := range explore.Faults() {
		cell := l.Cells[kind]
		for i, b := range []Break{cell.Any, cell.Double} {
			if b.Faults == 0 || i > 0 && cell.Any.Faults > 0 && slices.Equal(cell.Any.Anomalies, b.Anomalies) {
				continue
			}
			points = append(points, Point{
				Faults: string(kind), budget: explore.Budget{kind: b.Faults}, most: b.Faults, anomalies: b.Anomalies, twice: b.Twice,
			})
		}
	}
	if len(l.Mixture) > 0 {
		budget := explore.Budget{}
		for _, kind := range l.Mixture {
			budget[kind] = 1
		}
		points = append(points, Point{Faults: joined(l.Mixture, "+"), budget: budget, most: len(l.Mixture), anomalies: twoHolders()})
	}
	return points
}

// Find finds the counterexample of a point. limits bounds each search, and has the instants that they share.
func (p Point) Find(ctx context.Context, lock impls.Spec, limits explore.Config) (*trace.Trace, error) {
	for _, config := range p.bounds(lock) {
		config.Lock, config.Budget, config.MostFaults, config.Only = lock, p.budget, p.most, p.anomalies
		config.States, config.Time, config.Memory, config.Instants = limits.States, limits.Time, limits.Memory, limits.Instants
		result, err := explore.Explore(ctx, config)
		if err != nil {
			return nil, err
		}
		if result.Found != nil {
			return result.Found, nil
		}
	}
	return nil, fmt.Errorf("by the table of breaking points, %s; it was not found again", p)
}

// bounds are tried in this order: the fewer clients, the shorter the script. Three servers are the fewest of which a majority is not all.
func (p Point) bounds(lock impls.Spec) []explore.Config {
	switch {
	case lock.Servers > 1:
		return bounds(lock)
	case p.twice:
		return []explore.Config{{Clients: 2, Rounds: 2}}
	}
	return []explore.Config{{Clients: 2, Rounds: 1}, {Clients: 3, Rounds: 1}, {Clients: 2, Rounds: 2}}
}
