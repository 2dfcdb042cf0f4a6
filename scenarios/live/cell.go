package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/faults/tap"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// HistoryFile is the name of a cell's history within the cell's directory.
const HistoryFile = "history.jsonl"

// cell is one lock in one scenario, being run. The script is played by one goroutine.
type cell struct {
	world   *World
	script  *scenarios.Script
	subject Subject
	dir     string
	rec     *recorder

	server      server.Server
	lockTap     *tap.Tap
	resourceTap *tap.Tap
	prefix      string // of every key of this cell
	lockKey     string
	counterKey  string
	counterAddr string

	spoil context.CancelCauseFunc // ends the script: the record can no longer be trusted

	clients map[string]*client // complete from the start, and never changed: the taps read it
	ids     atomic.Int64
	busy    time.Duration // spent in steps that do not wait
	over    atomic.Bool   // the script has ended: what the clients still do is no part of it

	traits Traits
	lacks  string // what the script needs and the lock, its client or the server does not have
}

// Run runs one case and judges it. It returns when nothing of the cell is left running. ctx ends the cell early.
func (w *World) Run(ctx context.Context, cs Case) checker.Cell {
	started := time.Now()
	out := cs.Planned()
	events, lacks, err := w.record(ctx, cs, filepath.Join(w.cfg.Dir, out.Dir))
	out.Verdict = checker.Conclude(events, checker.Options{})
	if lacks != "" && !(cs.Subject.Traits.Known && cs.Expected.By == checker.ByMatrix && w.remote == nil) {
		out.Expected = checker.Expected{Verdict: checker.Verdict{Kind: checker.NotApplicable, Reason: lacks}, By: checker.ByNeeds}
	}
	if err != nil {
		out.Failure = err.Error()
		out.Verdict = checker.Verdict{Kind: checker.Undecided, Reason: out.Failure}
	}
	out.Took = time.Since(started)
	return out
}

// record runs one case and returns its history, and what the script needs but does not have here. The error is a failure of the
// lab around the script.
func (w *World) record(ctx context.Context, cs Case, dir string) (events []history.Event, lacks string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", err
	}
	rec, err := newRecorder(filepath.Join(dir, HistoryFile), history.Header{
		Run: filepath.Base(w.cfg.Dir), Cell: filepath.Base(dir), Lock: cs.Subject.Name, Scenario: cs.Script.Name, Base: w.base,
	}, w.since)
	if err != nil {
		return nil, "", err
	}
	c := &cell{
		world: w, script: cs.Script, subject: cs.Subject, traits: cs.Subject.Traits, dir: dir, rec: rec,
		clients: map[string]*client{},
	}
	for _, name := range cs.Script.Clients {
		c.clients[name] = newClient(c, name)
	}
	failed := c.applicable()
	if failed == nil {
		failed = c.awaitTurn(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.CellTimeout, fmt.Errorf("the cell took longer than %v", w.cfg.CellTimeout))
	defer cancel()
	ctx, c.spoil = context.WithCancelCause(ctx)
	defer c.spoil(nil)

	if failed == nil {
		failed = c.play(ctx)
	}
	c.over.Store(true)
	c.stopClients()
	if failed == nil {
		failed = c.earlyEnd()
	}
	if failed == nil {
		failed = c.readCounter(ctx)
	}
	end := endOf(ctx, failed)
	rec.add(end)
	events, err = rec.close()
	if end.Detail.Text == history.EndedFailed {
		err = errors.Join(failed, err)
	}
	return events, c.lacks, errors.Join(err, c.close())
}

// awaitTurn waits for the right to start processes. It is no part of the time that a cell has.
func (c *cell) awaitTurn(ctx context.Context) error {
	select {
	case c.world.starting <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// play sets the scene and carries out the script. The turn to start ends when the scene is set.
func (c *cell) play(ctx context.Context) error {
	err := c.setUp(ctx)
	<-c.world.starting
	if err != nil {
		return err
	}
	if err := c.applicable(); err != nil { // once more: a foreign client tells its traits only when it starts
		return err
	}
	return c.carryOut(ctx)
}

// carryOut plays the steps. A machine that stood still meanwhile may have ended a lease that should not have ended.
func (c *cell) carryOut(ctx context.Context) error {
	began := c.world.since()
	for i := range c.script.Steps {
		if err := c.step(ctx, &c.script.Steps[i]); err != nil {
			return err
		}
	}
	if stall := c.world.pulse.longest(began); stall > c.script.Lease/4 {
		return undecided("the machine stood still for %v, more than a quarter of the lease", stall.Round(time.Millisecond))
	}
	return nil
}

// earlyEnd is what a client did wrong that nobody had noticed by the end of the script.
func (c *cell) earlyEnd() error {
	for _, name := range c.script.Clients {
		if err := c.clients[name].early; err != nil {
			return err
		}
	}
	return nil
}

// applicable compares what the script needs with what is known of the lock and of the server.
func (c *cell) applicable() error {
	if c.lacks = c.world.lacks(c.script, c.traits); c.lacks != "" {
		return notApplicable("%s", c.lacks)
	}
	return nil
}

// witness records what a tap or a client has seen, as long as the script goes on.
func (c *cell) witness(e history.Event) {
	if !c.over.Load() {
		c.rec.add(e)
	}
}

// setUp starts the server, the taps and the clients, and lets every client open its lock.
func (c *cell) setUp(ctx context.Context) (err error) {
	if c.server, c.prefix, err = c.world.startServer(ctx, c.dir); err != nil {
		return err
	}
	c.lockKey = c.prefix + "lock"
	c.counterAddr, c.counterKey = c.world.counter(c.prefix)
	if c.lockTap, err = c.newTap(ctx, "redis", c.server.Addr(), c.lockKey, false); err != nil {
		return err
	}
	if c.resourceTap, err = c.newTap(ctx, "resource", c.counterAddr, c.counterKey, true); err != nil {
		return err
	}
	return c.startClients(ctx)
}

func (c *cell) newTap(ctx context.Context, name, upstream, key string, resource bool) (*tap.Tap, error) {
	t, err := tap.New(ctx, tap.Config{
		Server: name, Upstream: upstream, Host: c.world.cfg.Listen,
		Watch:     func(k string) bool { return k == key },
		Questions: !c.world.cfg.NoQuestions,
		Since:     c.world.since,
		Record:    c.witness,
		Current: func(name string) (history.Op, int64) {
			return c.clients[name].current(resource)
		},
	})
	if err != nil {
		return nil, err
	}
	go func() {
		select {
		case <-t.Done():
			c.spoil(t.Err())
		case <-ctx.Done():
		}
	}()
	return t, nil
}

// link is the way of one client to one server: a proxy, then the tap.
func (c *cell) link(ctx context.Context, t *tap.Tap, client, what string) (*network.Link, error) {
	addr, err := t.Listen(client)
	if err != nil {
		return nil, err
	}
	return c.world.network.Link(ctx, c.world.linkName(client, what), c.world.advertised(addr), t)
}

// startClients starts all clients of the script at once, so that no step pays for the start of a process.
func (c *cell) startClients(ctx context.Context) error {
	errs := make([]error, len(c.script.Clients))
	var wg sync.WaitGroup
	for i, name := range c.script.Clients {
		wg.Go(func() { errs[i] = c.clients[name].start(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return firstEnding(errs, err)
	}
	if !c.traits.Known {
		c.traits = traitsOf(c.clients[c.script.Clients[0]].hello)
	}
	for _, name := range c.script.Clients {
		c.rec.add(history.Event{
			Kind: history.KindOpen, Client: name, Lock: c.lockKey,
			Detail: &history.Detail{Lease: c.script.Lease, Leaseless: c.traits.Leaseless, Local: c.traits.Local},
		})
	}
	return nil
}

// stopClients ends every client.
func (c *cell) stopClients() {
	var wg sync.WaitGroup
	for _, cl := range c.clients {
		wg.Go(cl.stop)
	}
	wg.Wait()
}

// readCounter reads what the work under the lock has come to, from the resource itself.
func (c *cell) readCounter(ctx context.Context) error {
	value, err := server.Counter(ctx, c.counterAddr, c.counterKey)
	if err != nil {
		return fmt.Errorf("reading the counter: %w", err)
	}
	c.rec.add(history.Event{Kind: history.KindFinal, Lock: c.lockKey, Detail: &history.Detail{Value: value}})
	return nil
}

// close takes down what the cell has set up. The clients are gone by now.
func (c *cell) close() error {
	var errs []error
	for _, cl := range c.clients {
		errs = append(errs, cl.close())
	}
	if c.lockTap != nil {
		errs = append(errs, c.lockTap.Close())
	}
	if c.resourceTap != nil {
		errs = append(errs, c.resourceTap.Close())
	}
	if c.server != nil {
		errs = append(errs, c.world.stopServer(c.server, c.prefix))
	}
	return errors.Join(errs...)
}

func (c *cell) nextID() int64 { return c.ids.Add(1) }

// fault records a phase of a fault.
func (c *cell) fault(name, target string, phase history.Phase, what string) {
	c.rec.add(history.Event{Kind: history.KindFault, Client: target, Lock: c.lockKey, Detail: &history.Detail{
		Fault: &history.Fault{Name: name, Target: target, Phase: phase, What: what},
	}})
}
