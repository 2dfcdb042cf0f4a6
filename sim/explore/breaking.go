package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

// MostAlone is up to how many faults of one kind the table of breaking points goes.
const MostAlone = 2

// Break is how few faults of one kind it takes.
type Break struct {
	Faults    int            // 0: no number was found to be enough
	Anomalies []checker.Name // of the first counterexample
	Clear     int            // with so many faults it certainly holds; negative: not even without any
	Steps     int            // with one more it holds for so many steps, as far as was looked; 0: nobody looked
	Twice     bool           // it takes two rounds
	Within    string         // that nothing was found is so within these bounds, and not known within wider ones; empty: within all
}

// open says whether one fault is not known to break anything, nor to break nothing.
func (b Break) open() bool { return b.Faults == 0 && b.Clear < 1 }

// bound is how many clients go how often through it, as the table has it: "3x1".
func (c Config) bound() string { return fmt.Sprintf("%dx%d", c.Clients, c.Rounds) }

// Cell is what one kind of fault does to a lock.
type Cell struct {
	Any    Break // the first anomaly that the lock does not show without a fault
	Double Break // two clients in a hold at the same time
}

// Line is a line of the table of breaking points: what breaks one lock.
type Line struct {
	Lock     string
	Why      string         // it cannot be explored; empty: it can
	None     []checker.Name // what it shows without any fault
	Unsure   bool           // there may be more
	Cells    [faultKinds]Cell
	Mixture  []string // two kinds that together make two holders, where neither does alone
	Blend    Break    // how far such mixtures were looked at
	Disputed []Dispute
}

// Points says how to find breaking points.
type Points struct {
	Locks    []impls.Spec
	Kinds    []Fault // none: all
	States   int     // of one search; it depends on no machine
	Parallel int
	Done     func(Line) // is told each line as it comes, by one goroutine at a time; it may be nil
}

// Find finds the breaking points of all locks, in their order.
func (p Points) Find(ctx context.Context) ([]Line, error) {
	lines, errs := make([]Line, len(p.Locks)), make([]error, len(p.Locks))
	var group sync.WaitGroup
	var telling sync.Mutex
	next := make(chan int)
	for range max(p.Parallel, 1) {
		group.Go(func() {
			for i := range next {
				if lines[i], errs[i] = p.line(ctx, p.Locks[i]); errs[i] == nil && p.Done != nil {
					telling.Lock()
					p.Done(lines[i])
					telling.Unlock()
				}
			}
		})
	}
	// The locks that take longest come last in the list, so they are begun first.
	for i := range slices.Backward(p.Locks) {
		next <- i
	}
	close(next)
	group.Wait()
	return lines, errors.Join(errs...)
}

// bounds are how many clients and rounds are looked at, the second only where the first show nothing.
func bounds(lock impls.Spec) []Config {
	if lock.Servers > 1 {
		return []Config{{Clients: 2, Rounds: 1, Servers: 3}}
	}
	return []Config{{Clients: 3, Rounds: 1}, {Clients: 2, Rounds: 2}}
}

func (p Points) line(ctx context.Context, lock impls.Spec) (Line, error) {
	l := &liner{ctx: ctx, lock: lock, states: p.States, line: Line{Lock: lock.Name}}
	kinds := p.Kinds
	if len(kinds) == 0 {
		kinds = Faults()
	}
	err := l.find(kinds)
	if err != nil && ctx.Err() == nil {
		l.line.Why = err.Error()
		err = nil
	}
	return l.line, err
}

// liner finds one line.
type liner struct {
	ctx    context.Context
	lock   impls.Spec
	states int
	line   Line
}

func (l *liner) find(kinds []Fault) error {
	if err := l.without(); err != nil {
		return err
	}
	for _, f := range kinds {
		var err error
		if l.line.Cells[f], err = l.cell(f); err != nil {
			return err
		}
	}
	if len(kinds) < int(faultKinds) {
		return nil
	}
	return l.mixture()
}

// without finds all that the lock shows without a fault: each search looks for what the others have not found.
func (l *liner) without() error {
	for {
		b, _, err := l.probe(Budget{}, 0, l.others())
		if err != nil {
			return err
		}
		if len(b.Anomalies) == 0 {
			l.line.Unsure = b.Clear < 0
			return nil
		}
		l.line.None = append(l.line.None, b.Anomalies...)
	}
}

// others are the anomalies that the lock does not show without a fault.
func (l *liner) others() []checker.Name {
	var names []checker.Name
	for _, d := range checker.Definitions() {
		if !slices.Contains(l.line.None, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

func (l *liner) cell(f Fault) (Cell, error) {
	first, err := l.alone(f, l.others())
	if err != nil {
		return Cell{}, err
	}
	cell := Cell{Any: first, Double: first}
	if first.Faults == 0 || slices.Contains(first.Anomalies, checker.DoubleHolder) {
		return cell, nil
	}
	if slices.Contains(l.line.None, checker.DoubleHolder) {
		cell.Double = Break{Clear: -1}
		return cell, nil
	}
	cell.Double, err = l.alone(f, twoHolders())
	if b := cell.Double; err == nil && b.Faults == 0 && b.Clear == 1 && b.Within == "" {
		var two Budget
		two[f] = MostAlone
		wide, _, failed := l.within(bounds(l.lock), longer*l.states, two, MostAlone, twoHolders())
		if err = failed; wide.Faults > 0 || wide.Clear == MostAlone && wide.Within == "" {
			cell.Double = wide
		}
	}
	return cell, err
}

// longer is by how many times as many states a search may find where not even one fault could be looked at to the end, or where it is for
// two holders after two faults; wider, by how many the one search of a lock may that is for a mixture of faults.
const (
	longer = 2
	wider  = 4
)

// alone looks for the fewest faults of one kind. Where that takes too long, a single fault is looked at for longer, and then with fewer
// clients: it is better to know something of that than nothing.
func (l *liner) alone(f Fault, only []checker.Name) (Break, error) {
	var one, most Budget
	one[f], most[f] = 1, MostAlone
	all, _, err := l.probe(most, MostAlone, only)
	if err != nil || !all.open() && all.Within == "" {
		return all, err
	}
	single, _, err := l.within(bounds(l.lock), longer*l.states, one, 1, only)
	switch {
	case err != nil || !single.open() && single.Within == "":
		return single, err
	case all.Within != "":
		return all, nil
	case l.lock.Servers > 1:
		return single, nil
	}
	narrow := Config{Clients: 2, Rounds: 1}
	few, _, err := l.within([]Config{narrow}, longer*l.states, most, MostAlone, only)
	if err != nil || few.open() || few.Faults > 1 {
		return single, err
	}
	if few.Faults == 0 {
		few.Within = narrow.bound()
	}
	return few, nil
}

// twoHolders is what is looked for by itself.
func twoHolders() []checker.Name { return []checker.Name{checker.DoubleHolder} }

// mixture looks for two faults of different kinds that make two holders, where neither kind does so alone.
func (l *liner) mixture() error {
	l.line.Blend.Clear = MostAlone
	if slices.Contains(l.line.None, checker.DoubleHolder) {
		return nil // there is nothing to look for
	}
	var budget Budget
	for f, cell := range l.line.Cells {
		if cell.Double.Faults == 0 {
			budget[f] = 1
		}
	}
	b, faults, err := l.within(bounds(l.lock), wider*l.states, budget, MostAlone, twoHolders())
	l.line.Mixture, l.line.Blend = faults, b
	return err
}

// probe looks for the fewest faults within a budget that make one of the anomalies.
func (l *liner) probe(budget Budget, most int, only []checker.Name) (Break, []string, error) {
	return l.within(bounds(l.lock), l.states, budget, most, only)
}

// within is probe within other bounds, the later only where the earlier show nothing.
func (l *liner) within(bounds []Config, states int, budget Budget, most int, only []checker.Name) (Break, []string, error) {
	for i, c := range bounds {
		c.Lock, c.Budget, c.MostFaults, c.Only, c.States = l.lock, budget, most, only, states
		r, err := Explore(l.ctx, c)
		if err != nil {
			return Break{}, nil, err
		}
		l.line.Disputed = append(l.line.Disputed, r.Disputed...)
		if r.Found != nil {
			return Break{Faults: len(r.Found.Faults), Anomalies: r.Found.Anomalies, Clear: len(r.Found.Faults) - 1, Twice: i > 0}, r.Found.Faults, nil
		}
		switch {
		case !r.Complete():
			b := Break{Clear: r.Faults - 1, Steps: r.Steps}
			if i > 0 && most > 0 && b.open() {
				b = Break{Clear: most, Within: bounds[i-1].bound()}
			}
			return b, nil, nil
		case r.Vacuous():
			return Break{Clear: -1}, nil, nil
		}
	}
	return Break{Clear: most}, nil, nil
}

// String is the break as the reviewed table has it: "1 ghost-lock", "-", ">1", "?".
func (b Break) String() string {
	switch {
	case b.Faults > 0:
		var names string
		for i, name := range b.Anomalies {
			if i > 0 {
				names += ","
			}
			names += string(name)
		}
		text := fmt.Sprintf("%d %s", b.Faults, names)
		if b.Twice {
			text += " in 2x2"
		}
		return text
	case b.open():
		return b.asFarAs()
	}
	text := "-"
	if b.Clear < MostAlone {
		text = fmt.Sprintf(">%d", b.Clear)
	}
	if b.Within != "" {
		text += " in " + b.Within
	}
	return text
}

// asFarAs says how far an incomplete search has come: "? 1 to step 25".
func (b Break) asFarAs() string {
	if b.Steps == 0 {
		return "?"
	}
	return fmt.Sprintf("? %d to step %d", b.Clear+1, b.Steps)
}
