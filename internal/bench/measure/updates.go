package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench"
)

// UpdatesPlan says how to measure lost updates. The record's fields of the same names explain these.
type UpdatesPlan struct {
	Locks   []impls.Spec
	Clients int
	Lease   time.Duration
	For     time.Duration
	Every   time.Duration
	Pause   time.Duration
	Think   time.Duration
	Rest    time.Duration
	Wait    string
	Seeds   []int64
	Absent  []bench.Absent
	// Programs are the commands of the programs that have the locks which are not the lab's, by lock. Processes of a program use its locks only.
	Programs map[string]string
}

// Updates has clients append to shared sets while one of them is paused now and then. All locks are measured at the same time, each with sets of
// its own: a client process has a part in each lock of its program, and those of other programs are paused at the same times. If ctx ends, record gets the figures until then.
func (p *Place) Updates(ctx context.Context, plan UpdatesPlan, record *bench.Updates) (err error) {
	*record = bench.Updates{
		Clients: plan.Clients, Lease: plan.Lease, For: plan.For, Every: plan.Every, Pause: plan.Pause, Think: plan.Think, Rest: plan.Rest,
		Wait: plan.Wait, Seeds: plan.Seeds, Absent: plan.Absent,
	}
	groups, err := p.startGroups(ctx, plan)
	defer func() {
		for _, g := range groups {
			err = errors.Join(err, g.close())
		}
	}()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d locks, %d seeds, %d clients each", len(plan.Locks), len(plan.Seeds), plan.Clients)
	return p.carryOut(ctx, []step{{what, plan.For, func(ctx context.Context) (err error) {
		errs := together(len(groups), func(i int) error { return groups[i].run(ctx) })
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if record.Rows, err = p.counted(ctx, plan.Locks, p.servers[0].Addr(), groups); err != nil {
			return err
		}
		return context.Cause(ctx)
	}}})
}

// startGroups starts the clients of all seeds, and waits until they are connected. They begin when their group runs.
func (p *Place) startGroups(ctx context.Context, plan UpdatesPlan) (groups []*group, err error) {
	for _, seed := range plan.Seeds {
		for program, locks := range plan.byProgram() {
			g := &group{plan: plan, program: program, seed: seed}
			if g.sets, err = p.sets(ctx, locks); err != nil {
				return groups, err
			}
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		if err := g.start(ctx, p, p.servers[0].Addr()); err != nil {
			return groups, err
		}
	}
	return groups, nil
}

// byProgram are the locks of each program; those of the lab are under "".
func (p UpdatesPlan) byProgram() map[string][]impls.Spec {
	locks := map[string][]impls.Spec{}
	for _, spec := range p.Locks {
		program := p.Programs[spec.Name]
		locks[program] = append(locks[program], spec)
	}
	return locks
}

// set is a shared set under a lock. Clients get it as JSON.
type set struct {
	Lock    string   `json:"lock"`
	Servers []string `json:"servers"` // of the lock
	LockKey string   `json:"lock_key"`
	Key     string   `json:"key"` // of the set
	Guarded bool     `json:"guarded"`
}

// sets are those of one seed: for each lock one without and one with the fence.
func (p *Place) sets(ctx context.Context, specs []impls.Spec) (all []set, _ error) {
	for _, spec := range specs {
		for _, guarded := range []bool{false, true} {
			site, err := p.siteOf(ctx, spec, "lock")
			if err != nil {
				return nil, err
			}
			all = append(all, set{spec.Name, site.addrs, site.key, p.newKey("set"), guarded})
		}
	}
	return all, nil
}

// group are the clients of one seed that run one program.
type group struct {
	plan    UpdatesPlan
	program string // empty: the lab's own client
	seed    int64
	sets    []set
	members []*member
	pauses  int
	results []clientResult
}

// start starts the client processes, and waits until all are connected.
func (g *group) start(ctx context.Context, p *Place, store string) error {
	for i := range g.plan.Clients {
		argv := p.cfg.Client
		if g.program != "" {
			argv = programArgv(g.program)
		}
		m, err := startMember(p.guard, argv)
		if err != nil {
			return err
		}
		g.members = append(g.members, m)
		job := clientJob{
			Client: i + 1, Seed: g.seed, Store: store, Sets: g.sets, Wait: g.plan.Wait,
			Lease: g.plan.Lease, Think: g.plan.Think, Rest: g.plan.Rest,
		}
		if err := m.send(job); err != nil {
			return err
		}
	}
	for _, m := range g.members {
		if err := m.hear(ctx, memberPatience, &struct{}{}); err != nil {
			return fmt.Errorf("a client did not connect: %w", err)
		}
	}
	return nil
}

// run lets the clients update, pauses one of them now and then, and gathers what they did. After an interruption that is what they did by then.
func (g *group) run(ctx context.Context) error {
	for _, m := range g.members {
		if err := m.send(struct{}{}); err != nil {
			return err
		}
	}
	err := g.pause(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	// Every wait of a client is bounded by its lease and the others' pauses, so this ends even if ctx has.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), memberPatience)
	defer cancel()
	for _, m := range g.members {
		m.stop()
	}
	for _, m := range g.members {
		var result clientResult
		if err := m.hear(ending, memberPatience, &result); err != nil {
			return fmt.Errorf("a client did not tell what it did: %w", err)
		}
		g.results = append(g.results, result)
	}
	return nil
}

// pause stops a client at random every now and then, by the seed.
func (g *group) pause(ctx context.Context) error {
	random := rand.New(rand.NewPCG(uint64(g.seed), 0))
	began := time.Now()
	for at := g.plan.Every; at+g.plan.Pause <= g.plan.For; at += g.plan.Every {
		if err := sleepUntil(ctx, began.Add(at)); err != nil {
			return err
		}
		victim := g.members[random.IntN(len(g.members))].process
		err := victim.Pause(ctx)
		if err == nil {
			g.pauses++
			err = sleepUntil(ctx, began.Add(at+g.plan.Pause))
		}
		// A pause that was interrupted may have stopped it all the same.
		if err := errors.Join(err, victim.Resume(context.WithoutCancel(ctx))); err != nil {
			return err
		}
	}
	return sleepUntil(ctx, began.Add(g.plan.For))
}

func sleepUntil(ctx context.Context, moment time.Time) error {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (g *group) close() error {
	var errs []error
	for _, m := range g.members {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}

// counted compares what clients were acknowledged with what is in the sets.
func (p *Place) counted(ctx context.Context, specs []impls.Spec, store string, groups []*group) (_ []bench.UpdatesRow, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), memberPatience)
	defer cancel()
	clients, err := dial(ctx, 1, []string{store})
	defer func() { err = errors.Join(err, hangUp(clients)) }()
	if err != nil {
		return nil, err
	}
	var rows []bench.UpdatesRow
	for _, spec := range specs {
		_, fencer := spec.New(nil, impls.Options{}).(impls.Fencer)
		row := bench.UpdatesRow{Lock: spec.Name, OwnFence: fencer}
		for _, g := range groups {
			for at, set := range g.sets {
				if set.Lock != spec.Name {
					continue
				}
				count, err := g.count(ctx, clients[0].Server(), at)
				if err != nil {
					return nil, err
				}
				if set.Guarded {
					row.Guarded = append(row.Guarded, count)
				} else {
					row.Unguarded = append(row.Unguarded, count)
				}
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// count is what became of the updates of a set.
func (g *group) count(ctx context.Context, store impls.Server, at int) (bench.UpdatesCount, error) {
	members, err := membersOf(store.Do(ctx, "GET", g.sets[at].Key))
	if err != nil {
		return bench.UpdatesCount{}, err
	}
	there := map[string]bool{}
	for _, m := range members {
		there[m] = true
	}
	count := bench.UpdatesCount{Seed: g.seed, Pauses: g.pauses}
	for _, result := range g.results {
		did := result.Sets[at]
		count.Acked += len(did.Acked)
		count.Refused += did.Refused
		count.Failed += did.Failed
		count.Lost += len(slices.DeleteFunc(slices.Clone(did.Acked), func(m string) bool { return there[m] }))
	}
	return count, nil
}
