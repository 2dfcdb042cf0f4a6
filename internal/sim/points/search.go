package points

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/search"
)

const (
	// ReviewedStates is how many states each search for the reviewed table may find; UsualStates is enough to find most of it again.
	ReviewedStates = 100_000
	UsualStates    = 20_000
	// LongestStates is how many states suffice to find whatever the reviewed table has.
	LongestStates = max(longer, wider) * ReviewedStates
)

// longer is by how many times as many states a search may find where not even one fault could be searched to the end, or where it is for
// two holders after two faults; wider, by how many the one search of a lock may that is for a mixture of faults.
const (
	longer = 2
	wider  = 4
)

// Search says how to find breaking points.
type Search struct {
	Locks    []impls.Spec
	Columns  []Column // none: all of the lock's service, and mixtures
	States   int      // of one search; it depends on no machine
	Parallel int
	Done     func(Line) // is told each line as it comes, by one goroutine at a time; it may be nil
}

// Find finds the breaking points of all locks, in their order.
func (p Search) Find(ctx context.Context) ([]Line, error) {
	lines, errs := make([]Line, len(p.Locks)), make([]error, len(p.Locks))
	var group sync.WaitGroup
	var reporting sync.Mutex
	running := make(chan struct{}, max(p.Parallel, 1))
	for i := range slices.Backward(p.Locks) { // those that take longest come last in the list, so they are begun first
		running <- struct{}{}
		group.Go(func() {
			defer func() { <-running }()
			if errs[i] = ctx.Err(); errs[i] != nil {
				return
			}
			if lines[i], errs[i] = p.line(ctx, p.Locks[i]); errs[i] == nil && p.Done != nil {
				reporting.Lock()
				defer reporting.Unlock()
				p.Done(lines[i])
			}
		})
	}
	group.Wait()
	return lines, errors.Join(errs...)
}

func (p Search) line(ctx context.Context, lock impls.Spec) (Line, error) {
	r := &rowSearch{ctx: ctx, lock: lock, states: p.States, line: Line{Lock: lock.Name, Cells: map[Column]Cell{}}}
	err := r.find(p.Columns)
	if err != nil && ctx.Err() == nil {
		r.line.Why = err.Error()
		err = nil
	}
	return r.line, err
}

// rowSearch finds one line.
type rowSearch struct {
	ctx    context.Context
	lock   impls.Spec
	states int
	line   Line
}

func (r *rowSearch) find(columns []Column) error {
	if err := r.without(); err != nil {
		return err
	}
	all := len(columns) == 0
	if all {
		columns = columnsOf(r.lock)
	}
	for _, column := range columns {
		cell, err := r.column(column)
		if err != nil {
			return err
		}
		r.line.Cells[column] = cell
	}
	if !all { // which faults break the lock alone is not known
		r.line.MixtureBound.Clear = -1
		return nil
	}
	return r.mixture()
}

// without finds all that the lock shows without a fault: each search looks for what the others have not found.
func (r *rowSearch) without() error {
	for {
		b, _, err := r.probe(search.Config{}, r.others())
		if err != nil {
			return err
		}
		if len(b.Anomalies) == 0 {
			r.line.Unsure = b.Clear < 0
			return nil
		}
		r.line.None, r.line.found = append(r.line.None, b.Anomalies...), append(r.line.found, b.found)
	}
}

// others are the anomalies that the lock does not show without a fault.
func (r *rowSearch) others() []checker.Name {
	var names []checker.Name
	for _, name := range search.Anomalies() {
		if !slices.Contains(r.line.None, name) {
			names = append(names, name)
		}
	}
	return names
}

func (r *rowSearch) column(c Column) (Cell, error) {
	if v, ok := variantOf(c); ok {
		return r.variant(v)
	}
	return r.cell(faults.Kind(c))
}

func (r *rowSearch) cell(kind faults.Kind) (Cell, error) {
	first, err := r.alone(kind, r.others())
	if err != nil {
		return Cell{}, err
	}
	cell := Cell{Any: first, Double: first}
	if first.Faults == 0 || slices.Contains(first.Anomalies, checker.DoubleHolder) {
		return cell, nil
	}
	if slices.Contains(r.line.None, checker.DoubleHolder) {
		cell.Double = Break{Clear: -1}
		return cell, nil
	}
	cell.Double, err = r.alone(kind, twoHolders())
	if b := cell.Double; err == nil && b.Faults == 0 && b.Clear == 1 && b.breadth() > 0 {
		wide, _, failed := r.within(bounds(r.lock), longer*r.states, onlyKind(kind, MostAlone), twoHolders())
		if err = failed; wide.Faults > 0 || wide.Clear == MostAlone && wide.Within == "" {
			cell.Double = wide
		}
	}
	return cell, err
}

// alone looks for the fewest faults of one kind. Where that takes too long, a single fault is searched for longer, and then with fewer
// clients: it is better to know something of that than nothing.
func (r *rowSearch) alone(kind faults.Kind, only []checker.Name) (Break, error) {
	all, _, err := r.probe(onlyKind(kind, MostAlone), only)
	if err != nil || !all.open() && all.Within == "" {
		return all, err
	}
	single, _, err := r.within(bounds(r.lock), longer*r.states, onlyKind(kind, 1), only)
	switch {
	case err != nil || !single.open() && single.Within == "":
		return single, err
	case all.Within != "":
		return all, nil
	case r.lock.Servers > 1:
		return single, nil
	}
	narrow := narrowest(r.lock)
	few, _, err := r.within(narrow, longer*r.states, onlyKind(kind, MostAlone), only)
	if err != nil || few.open() || few.Faults > 1 {
		return single, err
	}
	if few.Faults == 0 {
		few.Within = boundsText(narrow[0])
	}
	return few, nil
}

func twoHolders() []checker.Name { return []checker.Name{checker.DoubleHolder} }

// mixture looks for two faults of different kinds that make two holders, where neither kind does so alone.
func (r *rowSearch) mixture() error {
	r.line.MixtureBound.Clear = MostAlone
	if slices.Contains(r.line.None, checker.DoubleHolder) {
		return nil // there is nothing to look for
	}
	what := search.Config{Budget: search.Budget{}, MostFaults: MostAlone}
	for _, kind := range search.FaultsOf(r.lock) {
		if r.line.Cells[Column(kind)].Double.Faults == 0 {
			what.Budget[kind] = 1
		}
	}
	b, kinds, err := r.within(bounds(r.lock), wider*r.states, what, twoHolders())
	if len(kinds) == 1 { // it does so alone, which its own search was too small to find
		b, kinds = Break{}, nil
	}
	r.line.Mixture, r.line.MixtureBound = kinds, b
	return err
}

// bounds are how many clients and rounds are searched, the second only where the first show nothing.
func bounds(lock impls.Spec) []search.Config {
	if lock.Servers > 1 {
		return []search.Config{{Clients: 2, Rounds: 1, Servers: 3}}
	}
	return []search.Config{{Clients: 3, Rounds: 1}, {Clients: 2, Rounds: 2}}
}

// bounded is a search for what may strike, by so many clients, rounds and servers.
func bounded(by, what search.Config) search.Config {
	what.Budget = maps.Clone(what.Budget)
	what.Clients, what.Rounds, what.Servers = by.Clients, by.Rounds, by.Servers
	return what
}

// boundsText is how many clients go how often through it, as the table has it: "3x1".
func boundsText(c search.Config) string { return fmt.Sprintf("%dx%d", c.Clients, c.Rounds) }

// narrowest are the bounds of the fewest clients and rounds.
func narrowest(lock impls.Spec) []search.Config {
	if lock.Servers > 1 {
		return bounds(lock)
	}
	return []search.Config{{Clients: 2, Rounds: 1}}
}

// onlyKind is what strikes if up to so many faults of one kind do.
func onlyKind(kind faults.Kind, most int) search.Config {
	return search.Config{Budget: search.Budget{kind: most}, MostFaults: most}
}

// probe looks for the fewest faults of those that may strike which make one of the anomalies.
func (r *rowSearch) probe(what search.Config, only []checker.Name) (Break, []faults.Kind, error) {
	return r.within(bounds(r.lock), r.states, what, only)
}

// within is probe within bounds in this order, the later only where the earlier show nothing.
func (r *rowSearch) within(order []search.Config, states int, what search.Config, only []checker.Name) (Break, []faults.Kind, error) {
	most := what.MostFaults
	for i, b := range order {
		c := bounded(b, what)
		c.Lock, c.Only, c.States = r.lock, only, states
		result, err := search.Search(r.ctx, c)
		if err != nil {
			return Break{}, nil, err
		}
		if found := result.Found; found != nil {
			return Break{Faults: len(found.Faults), Anomalies: found.Anomalies, Clear: len(found.Faults) - 1, Twice: i > 0, found: found}, found.Faults, nil
		}
		switch {
		case !result.Complete():
			b := Break{Clear: result.Faults - 1, Steps: result.Steps}
			switch {
			case b.open() && i > 0 && most > 0:
				b = Break{Clear: most, Within: boundsText(order[i-1])}
			case !b.open() && i < len(order)-1:
				b.Within = boundsText(order[i])
			}
			return b, nil, nil
		case result.Vacuous():
			return Break{Clear: -1}, nil, nil
		}
	}
	return Break{Clear: most}, nil, nil
}

// Cost is about how long the searches for a lock take: on several servers up to 80 s on one core, with a task in the background or a queue some
// 15 s, else one or two.
func Cost(lock impls.Spec) time.Duration {
	switch {
	case lock.Servers > 1:
		return 40 * time.Second
	case lock.Renews, lock.Queues():
		return 15 * time.Second
	}
	return time.Second
}
