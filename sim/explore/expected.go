package explore

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

// Expectation is what an exploration should come to.
type Expectation string

// The expectations.
const (
	MustBreak Expectation = "broken, by the reviewed table"
	MustHold  Expectation = "holds, by the reviewed table"
	MayBreak  Expectation = "not reviewed within these bounds; its card names a bug, so it may break"
	PerCard   Expectation = "not reviewed within these bounds; by its card, it keeps its promises"
)

// Expect says what the reviewed breaking points, or else the lock's card, make of an exploration.
func Expect(lines []Line, c Config) Expectation {
	i := slices.IndexFunc(lines, func(l Line) bool { return l.Lock == c.Lock.Name })
	if i >= 0 && lines[i].Why == "" && !c.unlikeTable() {
		switch {
		case lines[i].breaks(c):
			return MustBreak
		case lines[i].holds(c):
			return MustHold
		}
	}
	if c.Lock.Bug != "" {
		return MayBreak
	}
	return PerCard
}

// unlikeTable says whether a search differs from those of the table in what its faults or its clients are.
func (c Config) unlikeTable() bool { return c.Skew != 0 || c.Lag > 1 || c.Reenter > 0 || c.Queues() }

// wanted says whether one of the anomalies is looked for.
func (c Config) wanted(names []checker.Name) bool {
	return len(c.Only) == 0 || slices.ContainsFunc(names, func(n checker.Name) bool { return slices.Contains(c.Only, n) })
}

// breaks says whether something that breaks the lock fits into the bounds.
func (l Line) breaks(c Config) bool {
	least := bounds(c.Lock)
	fits := func(i int) bool {
		return c.Clients >= least[i].Clients && c.Rounds >= least[i].Rounds && c.servers() >= least[i].Servers
	}
	if fits(0) && len(l.None) > 0 && c.wanted(l.None) {
		return true
	}
	for f, cell := range l.Cells {
		for _, b := range []Break{cell.Any, cell.Double} {
			at := 0
			if b.Twice {
				at = 1
			}
			if b.Faults > 0 && b.Faults <= min(int(c.Budget[f]), c.MostFaults) && c.wanted(b.Anomalies) && fits(at) {
				return true
			}
		}
	}
	return len(l.Mixture) > 0 && c.MostFaults >= 2 && c.wanted([]checker.Name{checker.DoubleHolder}) && fits(len(least)-1) &&
		!slices.ContainsFunc(l.Mixture, func(name string) bool { f, _ := FaultByName(name); return c.Budget[f] == 0 })
}

// holds says whether all that fits into the bounds was looked at: one kind of fault, or one fault.
func (l Line) holds(c Config) bool {
	within := slices.ContainsFunc(bounds(c.Lock), func(b Config) bool {
		return c.Clients <= b.Clients && c.Rounds <= b.Rounds && (b.Servers == 0 || c.servers() == b.Servers)
	})
	if !within || l.Unsure || c.wanted(l.None) && len(l.None) > 0 {
		return false
	}
	kinds := 0
	for f, n := range c.Budget {
		if n == 0 {
			continue
		}
		kinds++
		if l.Cells[f].Any.Within != "" || l.Cells[f].Double.Within != "" {
			return false // of fewer clients or rounds than the table is about
		}
		if cell := l.Cells[f]; cell.Any.Faults > 0 && !(len(c.Only) == 1 && c.Only[0] == checker.DoubleHolder && cell.Double.Faults == 0) {
			if cell.Any.Faults <= min(int(n), c.MostFaults) {
				return false
			}
		}
		if clear := max(l.Cells[f].Any.Clear, l.doubleClear(c, f)); clear < min(int(n), c.MostFaults) {
			return false
		}
	}
	return kinds <= 1 || c.MostFaults <= 1
}

// doubleClear is up to how many faults of a kind there are certainly no two holders, if nothing else is looked for.
func (l Line) doubleClear(c Config, f int) int {
	if len(c.Only) == 1 && c.Only[0] == checker.DoubleHolder {
		return l.Cells[f].Double.Clear
	}
	return -1
}

// Meets says whether a result that is complete, or a counterexample, is what was expected.
func (r *Result) Meets(e Expectation, c Config) bool {
	switch e {
	case MustBreak:
		return r.Found != nil
	case MustHold:
		return r.Found == nil
	case MayBreak:
		return true
	}
	return r.Found == nil || r.Found.beyond(c.Lock.Card)
}

// beyond says whether none of the anomalies of a trace breaks what the lock's card promises.
func (t *Trace) beyond(card impls.Card) bool {
	return !slices.ContainsFunc(t.Anomalies, func(name checker.Name) bool { return t.breaksPromise(card, name) })
}

func (t *Trace) breaksPromise(card impls.Card, name checker.Name) bool {
	promises := func(p impls.Promise) bool { return slices.Contains(card.Promises, p) }
	switch name {
	case checker.DoubleHolder, checker.EarlyGrant:
		return promises(impls.MutualExclusion) && !t.excused(promises(impls.IgnoresClientTime), card.Renews)
	case checker.StaleWrite, checker.LostUpdate, checker.FenceRegression:
		return promises(impls.Fencing) && !t.excused(true, card.Renews)
	case checker.WrongfulDelete:
		return promises(impls.ReleaseByOwner)
	case checker.WrongfulRenew:
		return promises(impls.RenewByOwner)
	case checker.StuckLock:
		return promises(impls.CrashSafety)
	case checker.FalseAlarm:
		return promises(impls.KnowsLoss)
	case checker.Unfair:
		return promises(impls.Fairness)
	}
	return false
}

// excused says whether a fault struck that mutual exclusion by a lease does not survive: one that lasts longer than the lease, a
// server that forgets or whose clock jumps, and a client's wrong clock where that is trusted.
func (t *Trace) excused(ignoresClocks, renews bool) bool {
	return slices.ContainsFunc(t.Faults, func(name string) bool {
		f, _ := FaultByName(name)
		switch f {
		case Pause, ServerJump, Restart, FailOver:
			return true
		case Overwork:
			return !renews
		case ClockAhead, ClockBehind:
			return !ignoresClocks
		}
		return false
	})
}
