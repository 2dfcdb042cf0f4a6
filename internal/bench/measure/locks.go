package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench"
)

// LocksPlan says how to measure acquire and release.
type LocksPlan struct {
	Locks   []impls.Spec
	For     time.Duration // of each lock alone, and once more together, in each round
	Rounds  int
	Clients int    // that contend
	Wait    string // how they wait; empty: as each lock does
	Absent  []bench.Absent
	// Programs are the commands of the programs that have the locks which are not the lab's, by lock.
	Programs map[string]string
}

// Locks measures each lock in each round, next to plain SET and DEL: the machine may be faster in one round than in another.
func (p *Place) Locks(ctx context.Context, plan LocksPlan, record *bench.Locks) error {
	*record = bench.Locks{For: plan.For, Rounds: plan.Rounds, Clients: plan.Clients, Wait: plan.Wait, Absent: plan.Absent}
	series := newSeries(plan)
	var steps []step
	for round := range plan.Rounds {
		for _, s := range series {
			what := fmt.Sprintf("round %d, %s", round+1, s.spec.Name)
			steps = append(steps, step{what, s.windows() * plan.For, func(ctx context.Context) error {
				if err := p.round(ctx, plan, s, series[0]); err != nil {
					return err
				}
				record.Plain, record.Rows = rowsOf(series)
				return nil
			}})
		}
	}
	return p.carryOut(ctx, steps)
}

// series has the rounds of one lock. The first of all is plain SET and DEL.
type series struct {
	spec     impls.Spec
	plain    bool
	why      string // it is not measured together
	alone    rounds
	together rounds
	checks   []time.Duration
}

// rounds has the rounds of one lock under one load.
type rounds struct {
	rates, shares []float64
	times         []time.Duration
	commands      int64
	failed        int
}

// plainName is the name of plain SET and DEL.
const plainName = "SET, DEL"

func newSeries(plan LocksPlan) []*series {
	all := []*series{{spec: plain(), plain: true, why: "nobody waits"}}
	for _, spec := range plan.Locks {
		s := &series{spec: spec, why: CannotWait(spec, plan.Wait)}
		if spec.Needs == impls.NoServer {
			s.why = "each client has a lock of its own"
		}
		all = append(all, s)
	}
	return all
}

func (s *series) windows() time.Duration {
	if s.why != "" {
		return 1
	}
	return 2
}

// plain is no lock: it sets a key and deletes it.
func plain() impls.Spec {
	return impls.Spec{
		Card: impls.Card{Name: plainName, Contract: history.Contract{Leaseless: true}, Needs: impls.OneServer},
		New:  func(env impls.Env, opts impls.Options) impls.Lock { return &setAndDelete{env.Server(), opts.Key} },
	}
}

type setAndDelete struct {
	server impls.Server
	key    string
}

func (l *setAndDelete) TryAcquire(ctx context.Context) (bool, error) {
	_, err := l.server.Do(ctx, "SET", l.key, "1")
	return err == nil, err
}

func (l *setAndDelete) Release(ctx context.Context) (bool, error) {
	_, err := l.server.Do(ctx, "DEL", l.key)
	return err == nil, err
}

// round measures a lock alone and together.
func (p *Place) round(ctx context.Context, plan LocksPlan, s, baseline *series) error {
	alone, err := p.window(ctx, s.spec, 1, plan)
	if err != nil {
		return err
	}
	s.alone.add(alone, baseline)
	s.checks = append(s.checks, alone.Checks...)
	if s.plain {
		s.alone.shares[len(s.alone.shares)-1] = 1
	}
	if s.why != "" {
		return nil
	}
	together, err := p.window(ctx, s.spec, plan.Clients, plan)
	if err != nil {
		return err
	}
	s.together.add(together, baseline)
	return nil
}

func (r *rounds) add(w window, baseline *series) {
	rate := float64(len(w.Times)) / w.Took.Seconds()
	r.rates = append(r.rates, rate)
	share := 0.0
	if now := baseline.alone.rates; len(now) > 0 {
		share = bench.Ratio(rate, now[len(now)-1])
	}
	r.shares = append(r.shares, share)
	r.times = append(r.times, w.Times...)
	r.commands += w.Commands
	r.failed += w.Failed
}

// rowsOf are the figures so far. A lock that has not had its turn has no row.
func rowsOf(all []*series) (plain bench.LockRow, rows []bench.LockRow) {
	for _, s := range all {
		if len(s.alone.rates) == 0 {
			continue
		}
		row := bench.LockRow{Lock: s.spec.Name, Servers: max(1, s.spec.Servers), Alone: s.alone.rate(), Together: s.together.rate(), Why: s.why}
		row.Uncounted = s.spec.Needs == impls.OneEtcd || s.spec.Needs == impls.OnePostgres
		if s.spec.Needs == impls.NoServer {
			row.Servers = 0
		}
		if len(s.checks) > 0 {
			spread := bench.SpreadOf(s.checks)
			row.Check = &spread
		}
		if s.plain {
			plain = row
			continue
		}
		rows = append(rows, row)
	}
	return plain, slices.Clip(rows)
}

func (r *rounds) rate() *bench.LockRate {
	if len(r.rates) == 0 {
		return nil
	}
	return &bench.LockRate{
		PerSecond: bench.Median(r.rates), Share: bench.Median(r.shares), Time: bench.SpreadOf(r.times),
		Commands: bench.Ratio(float64(r.commands), float64(len(r.times))), Failed: r.failed,
	}
}
