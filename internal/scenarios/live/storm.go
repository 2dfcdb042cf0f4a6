package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/scenarios/live/stalls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// PlanFile is the name of a storm's plan within the cell's directory.
const PlanFile = "plan.txt"

// maxOperations bounds a storm, whose history is judged in memory. A storm that reaches it ends early.
const maxOperations = 200_000

// The number of leases for which a client tries in the quiet phase, and the number added per client if clients queue, because the queue
// waits for dead ones.
const (
	quietLeases = 3
	queueLeases = 11
)

// Storm is the input of a storm.
type Storm struct {
	Plan   *storm.Plan
	Script *scenarios.Script // its clients, lease and workload; it has no steps
	Queues bool              // clients that wait for the lock queue up
	// Progress, if set, is called every second, also in the quiet phase.
	Progress func(lasted time.Duration, operations int64)
}

// stormRunner runs a storm in a cell. Each client has several goroutines: one for each handle, which uses the lock, and one for the client's
// faults.
type stormRunner struct {
	Storm
	cell     *cell
	cutShort <-chan struct{} // closed when the user interrupts the storm
	began    time.Duration
	over     chan struct{}                      // closed when the storm is over: faults and turns end
	asked    atomic.Int64                       // operations
	reported time.Duration                      // how long the storm had lasted at the latest call of Progress
	offers   map[storm.Moment]chan storm.Strike // for a client without a fault that reaches the moment

	mu    sync.Mutex
	alive []*peer // at the end, by number
}

func newStormRunner(s Storm, cutShort <-chan struct{}) *stormRunner {
	if s.Progress == nil {
		s.Progress = func(time.Duration, int64) {}
	}
	return &stormRunner{Storm: s, cutShort: cutShort, offers: map[storm.Moment]chan storm.Strike{
		storm.Holder: make(chan storm.Strike), storm.Taker: make(chan storm.Strike),
	}}
}

// cutPatience is how long whoever has cut a storm short waits at most for what clients are doing.
const cutPatience = 5 * time.Second

// run injects the plan's faults while clients use the lock. Then all faults end, and in a quiet phase every living client must acquire once
// more.
func (t *stormRunner) run(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(t.cell.dir, PlanFile), []byte(t.Plan.String()), 0o644); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go t.hurry(ctx, fail)
	t.began, t.over = t.cell.stage.Now(), make(chan struct{})
	t.alive = make([]*peer, t.Plan.Clients)
	t.note(fmt.Sprintf("the storm with seed %d begins", t.Plan.Seed))

	var wg sync.WaitGroup
	try := func(play func(context.Context) error) {
		wg.Go(func() {
			if err := play(ctx); err != nil {
				fail(err)
			}
		})
	}
	for i := range t.Plan.Clients {
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
		return t.interrupted()
	}
	return t.calm(ctx)
}

// interrupted ends a storm that was cut short.
func (t *stormRunner) interrupted() error {
	return play.Interrupted("interrupted after %v of %v", (t.cell.stage.Now() - t.began).Round(100*time.Millisecond), t.Plan.For)
}

// hurry ends the storm soon after it was cut short, whoever is still busy.
func (t *stormRunner) hurry(ctx context.Context, fail context.CancelCauseFunc) {
	select {
	case <-t.cutShort:
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(cutPatience):
		fail(t.interrupted())
	case <-ctx.Done():
	}
}

func (t *stormRunner) note(text string) {
	t.cell.run.Record.Add(history.Event{Kind: history.KindStep, Detail: &history.Detail{Text: text}})
}

// wait waits until the storm's time is over, or it is ended early.
func (t *stormRunner) wait(ctx context.Context) (cut bool) {
	end := time.NewTimer(t.Plan.For)
	defer end.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-end.C:
			t.report(t.Plan.For)
			return false
		case <-tick.C:
			t.report(t.cell.stage.Now() - t.began)
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

// report calls Progress once for every second, even after a host stall.
func (t *stormRunner) report(lasted time.Duration) {
	for ; t.reported+time.Second <= lasted; t.reported += time.Second {
		t.Progress(t.reported+time.Second, t.asked.Load())
	}
}

// keepReporting calls report every second until it is stopped.
func (t *stormRunner) keepReporting() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.report(t.cell.stage.Now() - t.began)
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// calm is the quiet phase: no fault is active, and every lease granted before ends. One client after another tries to acquire; the checker
// says whether one was blocked.
func (t *stormRunner) calm(ctx context.Context) error {
	t.note("the storm is over, and all faults have ended")
	defer t.keepReporting()()
	within := quietLeases * t.Plan.Lease
	if t.Queues {
		within += time.Duration(t.Plan.Clients*queueLeases) * t.Plan.Lease
	}
	for _, p := range t.alive {
		for _, h := range p.client.Handles {
			u := &user{storm: t, peer: p, handle: h, died: make(chan struct{})}
			got, err := againAfterStalls(t.stalled, func() (bool, error) {
				return u.turn(ctx, storm.Turn{Within: within, Patience: t.Plan.Lease, Works: 1})
			})
			if err != nil {
				return err
			}
			if !got { // the others would wait as long in vain
				return play.PremiseMissed("%s did not get the lock in the quiet phase", h.Name)
			}
		}
	}
	return nil
}

// quietTries bounds how often a client tries in the quiet phase on a host that stalls.
const quietTries = 20

// againAfterStalls tries once more where the host stalled during a try that got nothing: a lock whose requests have short time-outs may get no
// answer in time then.
func againAfterStalls(stalled func(since time.Time) bool, try func() (got bool, err error)) (got bool, err error) {
	for range quietTries {
		began := time.Now()
		if got, err = try(); got || err != nil || !stalled(began) {
			break
		}
	}
	return got, err
}

// stalled says whether the host has stalled since then.
func (t *stormRunner) stalled(since time.Time) bool { return len(t.stalls(since)) > 0 }

// stalls are the host stalls since then.
func (t *stormRunner) stalls(since time.Time) []stalls.Stall {
	return append(t.cell.world.pulse.Since(since, stalls.Short), t.cell.stage.late.Since(since, stalls.Short)...)
}

// noteStalls records the host stalls, which excuse anomalies that they may explain.
func (t *stormRunner) noteStalls() {
	for _, s := range t.stalls(t.cell.stage.base.Add(t.began)) {
		t.cell.run.Record.Add(history.Event{Kind: history.KindFault, Detail: &history.Detail{
			Value: int64(s.From.Sub(t.cell.stage.base)), Bound: s.Length(),
			Fault: &history.Fault{Name: string(faults.Stall), Target: "machine", Phase: history.PhaseRecover, What: s.Length().String()},
		}})
	}
}

func (t *stormRunner) isOver() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

// until waits for a time of the storm. It returns false if the storm ends first.
func (t *stormRunner) until(ctx context.Context, at time.Duration) bool {
	return t.pause(ctx, t.began+at-t.cell.stage.Now())
}

// pause waits for d. It returns false if the storm ends first.
func (t *stormRunner) pause(ctx context.Context, d time.Duration) bool {
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

// strikeServer carries out the plan's server faults.
func (t *stormRunner) strikeServer(ctx context.Context) error {
	for _, s := range t.Plan.Of("") {
		if !t.until(ctx, s.At) {
			return nil
		}
		if err := t.strikeOnce(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// strikeOnce hits one of the servers, which the strike's time determines, and so the seed.
func (t *stormRunner) strikeOnce(ctx context.Context, s storm.Strike) error {
	c := t.cell
	if c.run.Traits.Local {
		return nil // no state on a server
	}
	victim := c.stage.servers[int(s.At/time.Millisecond)%len(c.stage.servers)]
	if _, can := victim.Server.(server.Restarter); s.Kind == faults.Restart && !can {
		return nil
	}
	err := c.run.CauseAt(ctx, victim, play.ServerFault{Kind: s.Kind, By: cmp.Or(s.Ahead, s.Each)})
	if err != nil || s.Kind.Of().OneShot {
		return err
	}
	t.pause(ctx, s.For)
	return c.run.RecoverAt(ctx, victim, s.Kind)
}

// settled records the living process of the ith client.
func (t *stormRunner) settled(i int, p *peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alive[i] = p
}

// errDied ends a turn of a client that was killed.
var errDied = errors.New("the client was killed")

// lives runs the ith client: one process after another, each under a name of its own.
func (t *stormRunner) lives(ctx context.Context, i int) error {
	for n, name := range t.Plan.Names(i) {
		p := t.cell.peers[name]
		if n > 0 {
			if err := p.begin(ctx); err != nil {
				return err
			}
			t.cell.run.Opened(p.client)
		}
		crash, err := t.life(ctx, p)
		if err != nil {
			return err
		}
		if crash == nil { // the storm ended first
			t.settled(i, p)
			return nil
		}
		t.pause(ctx, crash.Down)
		if err := p.links.close(); err != nil { // otherwise a long storm runs out of sockets
			return err
		}
	}
	return nil
}

// life runs one process of a client until it crashes or the storm is over.
func (t *stormRunner) life(ctx context.Context, p *peer) (crash *storm.Strike, err error) {
	var all processUsers
	used := make(chan error, len(p.client.Handles))
	for _, h := range p.client.Handles {
		u := &user{storm: t, peer: p, handle: h, died: make(chan struct{}), turns: t.Plan.Turns(h.Name)}
		all = append(all, u)
		go func() { used <- u.use(ctx) }()
	}
	crash, err = t.fate(ctx, p, all)
	for range all {
		err = errors.Join(err, <-used)
	}
	return crash, err
}
