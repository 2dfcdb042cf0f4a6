package points

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/search"
)

// Expectation is what an exploration should come to.
type Expectation string

// The expectations.
const (
	MustBreak Expectation = "broken, by the reviewed table"
	MustHold  Expectation = "holds, by the reviewed table"
	MayBreak  Expectation = "not in the reviewed table; the card names a bug, so any result is expected"
	PerCard   Expectation = "not in the reviewed table; what the card promises must hold"
)

// Expect says what the reviewed breaking points, or else the lock's card, make of an exploration.
func Expect(lines []Line, c search.Config) Expectation {
	i := slices.IndexFunc(lines, func(l Line) bool { return l.Lock == c.Lock.Name })
	if i >= 0 && lines[i].Why == "" && !unlikeTable(c) {
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
func unlikeTable(c search.Config) bool {
	return c.Skew != 0 || c.ClockRate != 0 || c.Lag > 1 || c.Reenter > 0 || c.ReleaseAgain || c.Queues()
}

// wanted says whether one of the anomalies is looked for.
func wanted(c search.Config, names []checker.Name) bool {
	return len(c.Only) == 0 || slices.ContainsFunc(names, func(n checker.Name) bool { return slices.Contains(c.Only, n) })
}

// allowed is how many faults of a kind a search may spend.
func allowed(c search.Config, kind faults.Kind) int { return min(c.Budget[kind], c.MostFaults) }

// breaks says whether something that breaks the lock fits into the bounds.
func (l Line) breaks(c search.Config) bool {
	least := bounds(c.Lock)
	fits := func(b search.Config) bool {
		return c.Clients >= b.Clients && c.Rounds >= b.Rounds && c.ServerCount() >= b.Servers
	}
	if fits(least[0]) && len(l.None) > 0 && wanted(c, l.None) {
		return true
	}
	for _, kind := range search.Faults() {
		cell := l.Cells[Column(kind)]
		for _, b := range []Break{cell.Any, cell.Double} {
			within := least[0]
			if b.Twice {
				within = least[1]
			}
			if b.Faults > 0 && b.Faults <= allowed(c, kind) && wanted(c, b.Anomalies) && fits(within) {
				return true
			}
		}
	}
	missing := func(kind faults.Kind) bool { return c.Budget[kind] == 0 }
	return len(l.Mixture) > 0 && c.MostFaults >= len(l.Mixture) && wanted(c, twoHolders()) && fits(least[len(least)-1]) &&
		!slices.ContainsFunc(l.Mixture, missing)
}

// holds says whether all that fits into the bounds was searched: one kind of fault, or one fault.
func (l Line) holds(c search.Config) bool {
	within := slices.ContainsFunc(bounds(c.Lock), func(b search.Config) bool {
		return c.Clients <= b.Clients && c.Rounds <= b.Rounds && (b.Servers == 0 || c.ServerCount() == b.Servers)
	})
	if !within || l.Unsure || wanted(c, l.None) && len(l.None) > 0 {
		return false
	}
	kinds := 0
	for kind, n := range c.Budget {
		if n == 0 {
			continue
		}
		kinds++
		if !l.Cells[Column(kind)].holds(c, allowed(c, kind)) {
			return false
		}
	}
	return kinds <= 1 || c.MostFaults <= 1
}

// holds says whether so many faults are known to break nothing in a search, or to make no two holders if only they are looked for.
func (c Cell) holds(in search.Config, faults int) bool {
	return c.Any.clear(in, faults) || slices.Equal(in.Only, twoHolders()) && c.Double.clear(in, faults)
}

// clear says whether so many faults are known to come to nothing among the clients and rounds of a search.
func (b Break) clear(in search.Config, faults int) bool {
	clients, rounds := in.Clients, in.Rounds
	_, _ = fmt.Sscanf(b.Within, "%dx%d", &clients, &rounds) // empty: all of them
	return b.Clear >= faults && in.Clients <= clients && in.Rounds <= rounds
}

// Meets says whether a result that is complete, or a counterexample, is what was expected.
func (e Expectation) Meets(r *search.Result, lock impls.Card) bool {
	switch e {
	case MustBreak:
		return r.Found != nil
	case MustHold:
		return r.Found == nil
	case MayBreak:
		return true
	}
	return r.Found == nil || !slices.ContainsFunc(r.Found.Anomalies, func(name checker.Name) bool { return breaksPromise(name, r.Found.Faults, lock) })
}

// Excuses says of which anomalies, after which faults, a lock's card promises nothing.
func Excuses(card impls.Card) func(anomaly checker.Name, struck []faults.Kind) bool {
	return func(anomaly checker.Name, struck []faults.Kind) bool { return !breaksPromise(anomaly, struck, card) }
}

// breaksPromise says whether an anomaly after such faults breaks what the lock's card promises.
func breaksPromise(anomaly checker.Name, struck []faults.Kind, card impls.Card) bool {
	promises := func(p impls.Promise) bool { return slices.Contains(card.Promises, p) }
	switch anomaly {
	case checker.DoubleHolder, checker.EarlyGrant:
		return promises(impls.MutualExclusion) && !excused(struck, promises(impls.IgnoresClientTime), card.Renews)
	case checker.StaleWrite: // one that is late, or a late copy, comes before anybody has written with a larger fence: no resource can refuse it
		late := slices.Contains(struck, faults.LateRequest) || slices.Contains(struck, faults.Duplicate)
		return promises(impls.Fencing) && !excused(struck, true, card.Renews) && !late
	case checker.LostUpdate, checker.FenceRegression:
		return promises(impls.Fencing) && !excused(struck, true, card.Renews)
	case checker.WrongfulDelete:
		return promises(impls.ReleaseByOwner)
	case checker.WrongfulRenew:
		return promises(impls.RenewByOwner)
	case checker.StuckLock:
		return promises(impls.CrashSafety) && !slices.Contains(struck, faults.ClockBack) // by that clock the lease has not ended
	case checker.FalseAlarm:
		return promises(impls.KnowsLoss)
	case checker.Unfair:
		return promises(impls.Fairness)
	}
	return false
}

// excused says whether a fault struck that mutual exclusion by a lease does not survive: one that lasts longer than the lease, a
// server that forgets or whose clock jumps, and a client's wrong clock where that is trusted.
func excused(struck []faults.Kind, ignoresClocks, renews bool) bool {
	return slices.ContainsFunc(struck, func(kind faults.Kind) bool {
		switch kind {
		case faults.Pause, faults.ClockJump, faults.Restart, faults.FailOver:
			return true
		case faults.LongHold:
			return !renews
		case faults.ClockAhead, faults.ClockBehind, faults.StepAhead, faults.StepBack:
			return !ignoresClocks
		}
		return false
	})
}
