package points

import (
	"context"
	"fmt"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Point is an entry of the table: so many faults lead a lock to an anomaly.
type Point struct {
	Faults    string // the column, several kinds joined by "+", or None
	ways      []way
	most      int
	anomalies []checker.Name
	twice     bool // it takes two rounds
}

// way is one of several ways to a point.
type way struct {
	what    search.Config                            // that may strike
	without func(struck []faults.Kind) search.Config // what must not lead there: see variant; nil: there is nothing of the kind
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
		points = append(points, Point{Faults: None, ways: make([]way, 1), anomalies: []checker.Name{anomaly}})
	}
	for _, column := range Columns() {
		cell := l.Cells[column]
		for i, b := range []Break{cell.Any, cell.Double} {
			if b.Faults == 0 || i > 0 && cell.Any.Faults > 0 && slices.Equal(cell.Any.Anomalies, b.Anomalies) {
				continue
			}
			points = append(points, column.point(b))
		}
	}
	if len(l.Mixture) > 0 {
		mixture := search.Config{Budget: search.Budget{}, MostFaults: len(l.Mixture)}
		for _, kind := range l.Mixture {
			mixture.Budget[kind] = 1
		}
		points = append(points, Point{Faults: joined(l.Mixture, "+"), ways: []way{{what: mixture}}, most: len(l.Mixture), anomalies: twoHolders()})
	}
	return points
}

// Find finds the counterexample of a point. limits bounds each search.
func (p Point) Find(ctx context.Context, lock impls.Spec, limits search.Config) (*trace.Trace, error) {
	find := func(by, what search.Config) (*trace.Trace, error) {
		config := bounded(by, what)
		config.Lock, config.Only = lock, p.anomalies
		config.States, config.Time, config.Memory = limits.States, limits.Time, limits.Memory
		result, err := search.Search(ctx, config)
		if err != nil {
			return nil, err
		}
		return result.Found, nil
	}
	for _, by := range p.bounds(lock) {
		for _, way := range p.ways {
			found, err := find(by, way.what)
			var alone *trace.Trace
			if found != nil && way.without != nil {
				alone, err = find(by, way.without(found.Faults))
			}
			if err != nil || found != nil && alone == nil {
				return found, err
			}
		}
	}
	return nil, fmt.Errorf("by the table of breaking points, %s; it was not found again", p)
}

// bounds are tried in this order: the fewer clients, the shorter the script. Three servers are the fewest of which a majority is not all.
func (p Point) bounds(lock impls.Spec) []search.Config {
	switch {
	case lock.Servers > 1:
		return bounds(lock)
	case p.twice:
		return []search.Config{{Clients: 2, Rounds: 2}}
	}
	return []search.Config{{Clients: 2, Rounds: 1}, {Clients: 3, Rounds: 1}, {Clients: 2, Rounds: 2}}
}
