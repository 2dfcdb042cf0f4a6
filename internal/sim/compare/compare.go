// Package compare holds the explorer and the slow reference search against each other: lock by lock, fault by fault, anomaly by anomaly, each
// within the same small bounds.
//
// It owns what counts as a difference. It must not know how either search goes about it, nor how a comparison is shown.
package compare

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/explore"
	"github.com/locklab/locklab/internal/sim/search"
)

// Bounds are those of both searches.
type Bounds struct {
	Clients, Rounds, Faults int
	// Tries, Grid and Horizon bound the reference search only; see search.Config.
	Tries         int
	Grid, Horizon time.Duration
	States        int // of each search
	ReleaseAgain  bool
	// Reenter is how often each holder acquires its lock again.
	Reenter int
	// Lag is how many writes a replica lacks at most; 0 is 1.
	Lag int
	// Queue has clients wait until they hold the lock, and compares nothing but whether they get it out of order.
	Queue bool
	// Skew is by how much a wrong clock is wrong; 0: the usual.
	Skew time.Duration
	// ClockRate is that of slow clocks; 0: wrong clocks are off.
	ClockRate float64
	// Beside are faults of other kinds, one of each, that may strike with those that a cell is about.
	Beside []faults.Kind
}

// Usual are small bounds: the reference search finds the states of most locks within seconds.
func Usual() Bounds {
	return Bounds{Clients: 2, Rounds: 1, Faults: 1, Tries: 1, Grid: explore.Lease / 4, Horizon: explore.Lease * 5 / 2, States: 150_000}
}

// Cell is what both searches say of a lock and a kind of fault; none: without a fault.
type Cell struct {
	Lock impls.Spec
	Kind faults.Kind
	// Names are the anomalies that were looked for.
	Names []checker.Name
	// Slow and Fast are the fewest faults that show an anomaly, by the reference search and by the explorer.
	Slow, Fast map[checker.Name]int
	// Limits say what stopped a search before it was complete; empty: nothing did.
	SlowLimit, FastLimit string
	SlowStates, Tries    int
	Result               *search.Result
	Disputed             []explore.Dispute
}

// Names are the anomalies that are compared: that of locks which promise order, whose clients queue, or all others.
func (b *Bounds) Names() []checker.Name {
	var names []checker.Name
	for _, name := range explore.Anomalies() {
		if (name == checker.Unfair) == b.Queue {
			names = append(names, name)
		}
	}
	return names
}

// Find has both search.
func Find(ctx context.Context, lock impls.Spec, kind faults.Kind, b Bounds) (Cell, error) {
	c := Cell{Lock: lock, Kind: kind, Names: b.Names(), Tries: b.Tries, Slow: map[checker.Name]int{}, Fast: map[checker.Name]int{}}
	config, fast := b.configs(lock, kind)
	if b.Queue {
		config.Only = c.Names
	}
	slow, err := search.Search(ctx, config)
	if err != nil {
		return c, err
	}
	c.Result, c.SlowLimit, c.SlowStates = slow, slow.Limit, slow.States
	for name, f := range slow.All {
		c.Slow[name] = len(f.Faults)
	}
	var rest []checker.Name
	for _, name := range c.Names {
		if _, found := c.Slow[name]; !found {
			rest = append(rest, name)
			continue
		}
		if _, err := c.explore(ctx, fast, []checker.Name{name}); err != nil {
			return c, err
		}
	}
	// All others at a time, until it finds no more of them.
	for more := true; more && err == nil; {
		rest = slices.DeleteFunc(rest, func(name checker.Name) bool { return fewest(c.Fast, name) >= 0 })
		more, err = c.explore(ctx, fast, rest)
	}
	return c, err
}

// configs are those of the reference search and of the explorer, for the same question.
func (b *Bounds) configs(lock impls.Spec, kind faults.Kind) (search.Config, explore.Config) {
	servers, budget, most := 1, map[faults.Kind]int{}, 0
	if lock.Servers > 1 {
		servers = min(lock.Servers, 3)
	}
	if kind != "" {
		budget[kind], most = b.Faults, b.Faults
	}
	for _, beside := range b.Beside {
		budget[beside] = 1
		most++
	}
	return search.Config{
			Lock: lock, Clients: b.Clients, Rounds: b.Rounds, Reenter: b.Reenter, Servers: servers, Tries: b.Tries, ReleaseAgain: b.ReleaseAgain, ClockRate: b.ClockRate,
			Lag: b.Lag, Skew: b.Skew, Budget: budget, MostFaults: most, States: b.States, Settled: search.Settled{On: true, Grid: b.Grid, Horizon: b.Horizon},
		}, explore.Config{
			Lock: lock, Clients: b.Clients, Rounds: b.Rounds, Reenter: b.Reenter, Servers: servers, Lag: b.Lag, Skew: b.Skew, Budget: budget,
			MostFaults: most, States: b.States, ReleaseAgain: b.ReleaseAgain, ClockRate: b.ClockRate,
		}
}

// explore has the explorer look for some anomalies, and says whether it found one.
func (c *Cell) explore(ctx context.Context, config explore.Config, only []checker.Name) (bool, error) {
	config.Only = only
	r, err := explore.Explore(ctx, config)
	if err != nil {
		return false, err
	}
	c.Disputed = append(c.Disputed, r.Disputed...)
	if r.Found == nil {
		c.FastLimit = cmp.Or(c.FastLimit, r.Limit, r.Doubt)
		return false, nil
	}
	for _, name := range r.Found.Anomalies {
		if slices.Contains(only, name) && fewest(c.Fast, name) < 0 {
			c.Fast[name] = len(r.Found.Faults)
		}
	}
	return true, nil
}

// Difference is an anomaly of which the searches say different things.
type Difference struct {
	Name       checker.Name
	Slow, Fast int // the fewest faults; negative: it was not found
}

// Differences are those that no limit explains: a search that was not complete may have missed something.
func (c *Cell) Differences() (list []Difference) {
	for _, name := range c.Names {
		d := Difference{name, fewest(c.Slow, name), fewest(c.Fast, name)}
		if missed(d.Slow, d.Fast) && c.SlowLimit == "" || missed(d.Fast, d.Slow) && c.FastLimit == "" {
			list = append(list, d)
		}
	}
	return list
}

// missed says whether a search has found nothing, or only with more faults, where the other has found something.
func missed(one, other int) bool { return other >= 0 && (one < 0 || one > other) }

// FindPatiently finds a cell, and once more with more tries, up to a number, where something differs: the explorer bounds tries otherwise.
func FindPatiently(ctx context.Context, lock impls.Spec, kind faults.Kind, b Bounds, tries int) (Cell, error) {
	c, err := Find(ctx, lock, kind, b)
	for err == nil && len(c.Differences()) > 0 && b.Tries < tries {
		b.Tries++
		before := c.Slow
		if c, err = Find(ctx, lock, kind, b); err != nil {
			return c, err
		}
		for name, n := range before { // more tries show no less, but the search may have been stopped
			if missed(fewest(c.Slow, name), n) {
				c.Slow[name] = n
			}
		}
	}
	return c, err
}

func fewest(found map[checker.Name]int, name checker.Name) int {
	if n, there := found[name]; there {
		return n
	}
	return -1
}

// Faults are all kinds that a search can spend.
func Faults() []faults.Kind { return explore.Faults() }

// Kinds are the columns of the table that are compared for a lock: none, and each kind of fault.
func Kinds(lock impls.Spec) []faults.Kind {
	return append([]faults.Kind{""}, explore.FaultsOf(lock)...)
}

// For says whether a lock promises what the bounds are about.
func (b *Bounds) For(lock impls.Spec) bool {
	promises := func(p impls.Promise) bool { return slices.Contains(lock.Promises, p) }
	return (b.Reenter == 0 || promises(impls.Reentrance)) && (!b.Queue || promises(impls.Fairness))
}
