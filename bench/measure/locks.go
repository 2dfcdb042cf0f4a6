package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/bench"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/worker"
)

// LocksPlan says how to measure acquire and release.
type LocksPlan struct {
	Locks   []impls.Spec
	For     time.Duration // of each lock alone, and once more together, in each round
	Rounds  int
	Clients int    // that contend
	Wait    string // how they wait; empty: as each lock does
	Absent  []bench.Absent
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
		Card: impls.Card{Name: plainName, Leaseless: true, Needs: impls.OneServer},
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
	s.checks = append(s.checks, alone.checks...)
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
	rate := float64(len(w.times)) / w.took.Seconds()
	r.rates = append(r.rates, rate)
	share := 0.0
	if now := baseline.alone.rates; len(now) > 0 {
		share = bench.Ratio(rate, now[len(now)-1])
	}
	r.shares = append(r.shares, share)
	r.times = append(r.times, w.times...)
	r.commands += w.commands
	r.failed += w.failed
}

// window is what clients did with a lock for a while.
type window struct {
	times    []time.Duration // of acquire and release alone, of acquire together
	checks   []time.Duration
	took     time.Duration
	commands int64
	failed   int
}

// checkEvery: one in so many holds is checked, out of the measured time.
const checkEvery = 16

// window has n clients acquire and release a lock for a while.
func (p *Place) window(ctx context.Context, spec impls.Spec, n int, plan LocksPlan) (_ window, err error) {
	site, err := p.siteOf(ctx, spec, "lock")
	if err != nil {
		return window{}, err
	}
	clients, err := dial(ctx, n, site.addrs)
	defer func() { err = errors.Join(err, hangUp(clients)) }()
	if err != nil {
		return window{}, err
	}
	var counter counter
	users := make([]*user, n)
	for i, client := range clients {
		lock, err := client.Open(spec, impls.Options{Key: site.key, Lease: lease}, counter.wrap())
		if err != nil {
			return window{}, err
		}
		defer lock.Close()
		users[i] = &user{lock: lock, counter: &counter, number: i, alone: n == 1}
	}
	// The first acquire connects, and has the server learn the scripts.
	if err := users[0].use(ctx, time.Now(), ""); err != nil {
		return window{}, err
	}
	users[0].window, users[0].checked, users[0].checking = window{}, 0, 0
	counter.sent.Store(0)
	began := time.Now()
	errs := together(n, func(i int) error {
		over := began.Add(plan.For)
		for first := true; first || time.Now().Before(over); first = false {
			if err := users[i].use(ctx, over, plan.Wait); err != nil {
				return err
			}
		}
		return nil
	})
	out := window{took: time.Since(began), commands: counter.sent.Load()}
	for _, u := range users {
		out.times = append(out.times, u.times...)
		out.checks = append(out.checks, u.checks...)
		out.failed += u.failed
		out.took -= u.checked
		out.commands -= u.checking
	}
	return out, errors.Join(errs...)
}

// user uses a lock again and again. One goroutine uses it.
type user struct {
	lock     *worker.Lock
	counter  *counter // of all users
	number   int
	alone    bool
	holds    int
	checked  time.Duration // spent on checks
	checking int64         // commands of checks
	window
}

// use acquires the lock by the time that over is, and releases it.
func (u *user) use(ctx context.Context, over time.Time, wait string) error {
	if u.alone {
		wait = "" // nobody waits
	}
	way, err := wayOf(wait, u.lock.Lock, u.number)
	if err != nil {
		return err
	}
	began := time.Now()
	held, err := u.lock.Acquire(ctx, max(0, over.Sub(began)), way)
	waited := time.Since(began)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		u.failed++
		return nil
	}
	if !held {
		return nil // its time is up
	}
	u.check(ctx)
	releasing := time.Now()
	released, err := u.lock.Release(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || !released {
		u.failed++
	}
	if u.alone {
		waited += time.Since(releasing)
	}
	u.times = append(u.times, waited)
	return nil
}

// check asks now and then whether the lock is still held, if one client uses it alone.
func (u *user) check(ctx context.Context) {
	checker, ok := u.lock.Lock.(impls.Checker)
	if u.holds++; !ok || !u.alone || u.holds%checkEvery != 0 {
		return
	}
	sent, began := u.counter.sent.Load(), time.Now()
	held, err := checker.Held(ctx)
	took := time.Since(began)
	u.checked += took
	u.checking += u.counter.sent.Load() - sent // nobody else uses the counter meanwhile
	if err == nil && held {
		u.checks = append(u.checks, took)
	}
}

// rowsOf are the figures so far. A lock that has not had its turn has no row.
func rowsOf(all []*series) (plain bench.LockRow, rows []bench.LockRow) {
	for _, s := range all {
		if len(s.alone.rates) == 0 {
			continue
		}
		row := bench.LockRow{Lock: s.spec.Name, Servers: max(1, s.spec.Servers), Alone: s.alone.rate(), Together: s.together.rate(), Why: s.why}
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
