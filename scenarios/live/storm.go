package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/storm"
)

// PlanFile is the name of a storm's plan within the cell's directory.
const PlanFile = "plan.txt"

// maxOperations bounds a storm: its history is judged in memory. One that reaches it is over before its time.
const maxOperations = 200_000

// For how many leases a client tries in the quiet phase; and for how many more where clients queue, and those that have died are
// waited for.
const (
	quietLeases = 3
	queueLeases = 11
)

// tempest is a storm that rages in a cell. Each client has two goroutines: one that uses the lock, and one that is its fate.
type tempest struct {
	cell     *cell
	plan     *storm.Plan
	queues   bool            // the lock lets clients have it in the order of asking
	cutShort <-chan struct{} // closed when the user has had enough
	began    time.Duration
	over     chan struct{}                      // closed when the storm is over: faults end, and clients come to rest
	asked    atomic.Int64                       // operations
	offers   map[storm.Moment]chan storm.Strike // who comes to that moment, and suffers from nothing else, may take one
	goesOn   func(lasted time.Duration, operations int64)

	mu    sync.Mutex
	alive []*client // at the end, by number
}

func newTempest(c *cell, cs cells.Case, cutShort <-chan struct{}) *tempest {
	queues := slices.Contains(storm.CreedIn(cs.Expected).Promises, impls.Fairness)
	goesOn := cs.GoesOn
	if goesOn == nil {
		goesOn = func(time.Duration, int64) {}
	}
	return &tempest{cell: c, plan: cs.Storm, queues: queues, cutShort: cutShort, goesOn: goesOn, offers: map[storm.Moment]chan storm.Strike{
		storm.Holder: make(chan storm.Strike), storm.Taker: make(chan storm.Strike),
	}}
}

// rage lets the storm run its course: the faults of the plan over clients that use the lock, then the end of all faults, and a
// quiet phase in which each client that is left must get the lock.
func (t *tempest) rage(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(t.cell.dir, PlanFile), []byte(t.plan.String()), 0o644); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	t.began, t.over = t.cell.world.since(), make(chan struct{})
	t.alive = make([]*client, t.plan.Clients)
	t.cell.rec.Add(history.Event{Kind: history.KindStep, Detail: &history.Detail{Text: fmt.Sprintf("the storm with seed %d begins", t.plan.Seed)}})

	var wg sync.WaitGroup
	try := func(play func(context.Context) error) {
		wg.Go(func() {
			if err := play(ctx); err != nil {
				fail(err)
			}
		})
	}
	for i := range t.plan.Clients {
		try(func(ctx context.Context) error { return t.lives(ctx, i) })
	}
	try(t.strikeServer)
	for moment := range t.offers {
		try(func(ctx context.Context) error { return t.offer(ctx, moment) })
	}
	cut := t.wait(ctx)
	close(t.over)
	wg.Wait()
	defer t.noteStalls()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case cut:
		return cells.PremiseMissed("the storm was cut short after %v", (t.cell.world.since() - t.began).Round(time.Second))
	}
	return t.calm(ctx)
}

// wait waits until the storm has lasted, or is ended before its time.
func (t *tempest) wait(ctx context.Context) (cut bool) {
	end := time.NewTimer(t.plan.For)
	defer end.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var told time.Duration
	tell := func(lasted time.Duration) { // of every second, also of those for which the machine stood still
		for ; told+time.Second <= lasted; told += time.Second {
			t.goesOn(told+time.Second, t.asked.Load())
		}
	}
	for {
		select {
		case <-end.C:
			tell(t.plan.For)
			return false
		case <-tick.C:
			tell(t.cell.world.since() - t.began)
			if t.asked.Load() >= maxOperations {
				return false
			}
		case <-t.cutShort:
			return true
		case <-ctx.Done():
			return true
		}
	}
}

// calm is the quiet phase: nothing is wrong any more, and every lease that was given away ends. One client after the other tries
// for some leases; the checker says whether somebody was kept from it.
func (t *tempest) calm(ctx context.Context) error {
	t.cell.rec.Add(history.Event{Kind: history.KindStep, Detail: &history.Detail{Text: "the storm is over, and all faults are healed"}})
	within := quietLeases * t.plan.Lease
	if t.queues {
		within += time.Duration(t.plan.Clients*queueLeases) * t.plan.Lease
	}
	for _, cl := range t.alive {
		for _, m := range cl.members {
			u := &user{storm: t, cl: m, died: make(chan struct{})}
			got, err := u.turn(ctx, storm.Turn{Within: within, Patience: t.plan.Lease, Works: 1})
			if err != nil {
				return err
			}
			if !got { // the others would wait as long for as little
				return cells.PremiseMissed("%s did not get the lock in the quiet phase", m.name)
			}
		}
	}
	return nil
}

// noteStalls writes down when the machine stood still. Nobody is accused of what that may explain.
func (t *tempest) noteStalls() {
	for _, s := range t.cell.world.pulse.stallsSince(t.began, shortStall) {
		t.cell.rec.Add(history.Event{Kind: history.KindFault, Detail: &history.Detail{
			Value: int64(s.from), Bound: s.to - s.from,
			Fault: &history.Fault{Name: history.Stall, Target: "machine", Phase: history.PhaseRecover, What: (s.to - s.from).String()},
		}})
	}
}

// until waits for a time of the storm. It returns false if the storm is over before.
func (t *tempest) until(ctx context.Context, at time.Duration) bool {
	return t.pause(ctx, t.began+at-t.cell.world.since())
}

// pause waits for d. It returns false if the storm is over before.
func (t *tempest) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.over:
	case <-ctx.Done():
	}
	return false
}

// strikeServer carries out what befalls the server.
func (t *tempest) strikeServer(ctx context.Context) error {
	for _, s := range t.plan.Of("") {
		if !t.until(ctx, s.At) {
			return nil
		}
		if err := t.strikeOnce(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// strikeOnce hits one of the servers: which one, the moment decides, and so the seed.
func (t *tempest) strikeOnce(ctx context.Context, s storm.Strike) error {
	c := t.cell
	if c.traits.Local {
		return nil // nothing of it is there
	}
	victim := c.servers[int(s.At/time.Millisecond)%len(c.servers)]
	if s.Kind == storm.ServerJump {
		return c.jump(ctx, victim, s.Ahead)
	}
	if _, can := victim.Server.(server.Restarter); !can {
		return nil
	}
	return c.restartEmpty(ctx, victim)
}

// settled notes who is left of the ith client.
func (t *tempest) settled(i int, cl *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alive[i] = cl
}

// errDied ends a turn of a client that was killed.
var errDied = errors.New("the client was killed")

// lives plays the ith client, under one name after the other.
func (t *tempest) lives(ctx context.Context, i int) error {
	for n, name := range t.plan.Names(i) {
		cl := t.cell.clients[name]
		if n > 0 {
			if err := t.cell.join(ctx, cl); err != nil {
				return err
			}
		}
		crash, err := t.life(ctx, cl)
		if err != nil {
			return err
		}
		if crash == nil { // the storm was over before
			t.settled(i, cl)
			return nil
		}
		t.pause(ctx, crash.Down)
		if err := cl.closeLinks(); err != nil { // else a long storm runs out of sockets
			return err
		}
	}
	return nil
}

// life plays a client until it crashes, or the storm is over.
func (t *tempest) life(ctx context.Context, cl *client) (crash *storm.Strike, err error) {
	var all household
	used := make(chan error, len(cl.members))
	for _, m := range cl.members {
		u := &user{storm: t, cl: m, died: make(chan struct{}), turns: t.plan.Turns(m.name)}
		all = append(all, u)
		go func() { used <- u.use(ctx) }()
	}
	crash, err = t.fate(ctx, cl, all)
	for range all {
		err = errors.Join(err, <-used)
	}
	return crash, err
}

// join lets a client appear in the middle of a storm.
func (c *cell) join(ctx context.Context, cl *client) error {
	if err := cl.start(ctx); err != nil {
		return err
	}
	for _, m := range cl.members {
		c.opened(m.name)
	}
	return nil
}
