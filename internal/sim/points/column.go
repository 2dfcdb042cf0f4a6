package points

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/search"
)

// Column is a column of the table: a kind of fault, or one of those that are about what faults do beside something else.
type Column string

// The columns that are no kind of fault. They show what the same faults do not show alone.
const (
	SlowClock    Column = "slow-clock"    // one client's clocks run at DriftRate, and one pause or long hold strikes
	FastClock    Column = "fast-clock"    // they run as many times too fast
	ReleaseAgain Column = "release-again" // replies are lost, or requests late, and a client releases again after a release of unknown outcome
)

// DriftRate is at which rate a slow clock runs: by less than a third of the right one, a renewal every third of a lease comes too late.
const DriftRate = .3

// wideStates is how many states a search for one of these columns may find in wider bounds, for what comes early: there are several for each entry.
const wideStates = ReviewedStates / 10

// Columns are those of the table, in its order.
func Columns() []Column {
	var list []Column
	for _, kind := range search.Faults() {
		list = append(list, Column(kind))
	}
	for _, v := range variants() {
		list = append(list, v.column)
	}
	return list
}

// columnsOf are those of a lock's service.
func columnsOf(lock impls.Spec) []Column {
	kinds := search.FaultsOf(lock)
	return slices.DeleteFunc(Columns(), func(c Column) bool {
		if _, ok := variantOf(c); ok {
			return lock.Needs == impls.OneZooKeeper
		}
		return !slices.Contains(kinds, faults.Kind(c))
	})
}

// variant is a column of faults beside something else.
type variant struct {
	column  Column
	beside  faults.Kind   // that strikes once; none: it is no fault
	strikes []faults.Kind // one kind of which strikes, up to most times
	most    int
	apply   func(*search.Config)
}

func variants() []variant {
	drifts := func(c *search.Config) { c.ClockRate = DriftRate }
	takeTime := []faults.Kind{faults.Pause, faults.LongHold} // a drift alone does nothing: it takes time
	return []variant{
		{SlowClock, faults.ClockBehind, takeTime, MostAlone - 1, drifts},
		{FastClock, faults.ClockAhead, takeTime, MostAlone - 1, drifts},
		{ReleaseAgain, "", []faults.Kind{faults.ReplyLost, faults.LateRequest}, MostAlone, func(c *search.Config) { c.ReleaseAgain = true }},
	}
}

// variantOf finds a variant by its column; ok: the column is one.
func variantOf(c Column) (v variant, ok bool) {
	for _, v := range variants() {
		if v.column == c {
			return v, true
		}
	}
	return v, false
}

// with is what may strike in the column if one kind of fault does, and without what has struck without what the column is about.
func (v variant) with(kind faults.Kind) search.Config {
	c := search.Config{Budget: search.Budget{kind: v.most}, MostFaults: MostAlone}
	if v.beside != "" {
		c.Budget[v.beside] = 1
		c.Excuses = func(_ checker.Name, struck []faults.Kind) bool { return !slices.Contains(struck, v.beside) } // the column is not about these
	}
	v.apply(&c)
	return c
}

func (v variant) without(kind faults.Kind, struck []faults.Kind) search.Config {
	others := slices.DeleteFunc(slices.Clone(struck), func(k faults.Kind) bool { return k == v.beside })
	return onlyKind(kind, len(others))
}

// point is an entry of a column.
func (c Column) point(b Break) Point {
	p := Point{Faults: string(c), most: b.Faults, anomalies: b.Anomalies, twice: b.Twice}
	v, ok := variantOf(c)
	if !ok {
		p.ways = []way{{what: onlyKind(faults.Kind(c), b.Faults)}}
		return p
	}
	for _, kind := range v.strikes {
		p.ways = append(p.ways, way{v.with(kind), func(struck []faults.Kind) search.Config { return v.without(kind, struck) }})
	}
	return p
}

// variant finds a cell of a variant. A search for two holders alone has fewer states, so it may find them where the other is not complete.
func (r *rowSearch) variant(v variant) (cell Cell, err error) {
	if cell.Any, err = r.worse(v, r.others()); err != nil {
		return cell, err
	}
	cell.Double = cell.Any
	unknown := cell.Any.Faults == 0 && cell.Any.Clear < MostAlone
	switch {
	case cell.Any.Faults == 0 && !unknown || slices.Contains(cell.Any.Anomalies, checker.DoubleHolder):
	case slices.Contains(r.line.None, checker.DoubleHolder):
		cell.Double = Break{Clear: -1}
	default:
		if double, failed := r.worse(v, twoHolders()); failed != nil || !unknown || double.Faults > 0 {
			cell.Double, err = double, failed
		}
	}
	return cell, err
}

// worse is the fewest faults of a variant that lead to one of the anomalies where they do not without it.
func (r *rowSearch) worse(v variant, only []checker.Name) (Break, error) {
	var all []Break
	for _, kind := range v.strikes {
		b, err := r.worseBy(v, kind, only)
		if err != nil {
			return Break{}, err
		}
		all = append(all, b)
	}
	return either(all), nil
}

// either is the break of the fewest faults, by one of some kinds: the first, if there are several. What is not known of another kind, or of one that comes
// before it, makes it unknown.
func either(all []Break) Break {
	fewest := MostAlone + 1
	for _, b := range all {
		if b.Faults > 0 {
			fewest = min(fewest, b.Faults)
		}
	}
	for _, b := range all {
		if b.Faults == 0 && b.Clear < fewest-1 {
			return b
		}
	}
	for _, b := range all {
		if b.Faults == fewest || b.Faults == 0 && b.Clear < min(fewest, MostAlone) {
			return b
		}
	}
	i := slices.IndexFunc(all, func(b Break) bool { return b.Within != "" })
	return all[max(i, 0)]
}

// worseBy is worse for one kind of fault. Anomalies that it leads to without the variant, too, are not looked for any more.
func (r *rowSearch) worseBy(v variant, kind faults.Kind, only []checker.Name) (Break, error) {
	for only = slices.Clone(only); len(only) > 0; {
		b, struck, in, err := r.widening(v.with(kind), only)
		if err != nil || b.Faults == 0 {
			return b, err
		}
		var worse []checker.Name
		for _, name := range b.Anomalies {
			alone, _, err := r.within(in, r.states, v.without(kind, struck), []checker.Name{name})
			switch {
			case err != nil:
				return b, err
			case alone.Faults > 0:
				only = slices.DeleteFunc(only, func(n checker.Name) bool { return n == name })
			case alone.Clear < v.without(kind, struck).MostFaults:
				return Break{Clear: -1}, nil
			default:
				worse = append(worse, name)
			}
		}
		if len(worse) > 0 {
			b.Anomalies = worse
			return b, nil
		}
	}
	return Break{Clear: MostAlone}, nil
}

// widening searches two clients once, and, where that shows nothing, more. It returns the bounds, too.
func (r *rowSearch) widening(what search.Config, only []checker.Name) (Break, []faults.Kind, []search.Config, error) {
	narrow := narrowest(r.lock)
	b, struck, err := r.within(narrow, r.states, what, only)
	switch {
	case err != nil || b.Faults > 0 || r.lock.Servers > 1:
		return b, struck, narrow, err
	case b.Clear < MostAlone:
		b.Within = boundsText(narrow[0])
		return b, struck, narrow, nil
	}
	wide, struck, err := r.within(bounds(r.lock), min(r.states, wideStates), what, only)
	if wide.Faults == 0 && (wide.Clear < MostAlone || wide.Within != "") {
		wide = Break{Clear: MostAlone, Within: boundsText(narrow[0])}
	}
	return wide, struck, bounds(r.lock), err
}
