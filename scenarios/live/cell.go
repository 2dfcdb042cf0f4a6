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

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/tap"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/storm"
)

// cell is one lock in one scenario, being run. The script is played by one goroutine.
type cell struct {
	world   *World
	script  *scenarios.Script
	subject cells.Subject
	dir     string
	rec     *cells.Recorder
	storm   *tempest // instead of the script's steps; nil: there is none

	servers     []*lockServer
	traps       tap.Traps // of all lock servers
	resourceTap *tap.Tap
	prefix      string // of every key of this cell
	lockKey     string
	store       store
	otherStore  store         // of the work under locks on the other key
	laid        *history.Work // the data of the work in the beginning; nil for a counter

	spoil context.CancelCauseFunc // ends the script: the record can no longer be trusted

	otherKey string // of the lock that some are on instead; empty: none is

	clients map[string]*client // by name, the further handles too; complete from the start, and never changed: the taps read it
	hosts   []*client          // one for each process, those too that a storm starts later
	ids     atomic.Int64
	busy    time.Duration // spent in steps that do not wait
	over    atomic.Bool   // the script has ended: what the clients still do is no part of it

	traits cells.Traits
	lacks  string // what the script needs and the lock, its client or the server does not have
}

// Run runs one case and judges it. It returns when nothing of the cell is left running. ctx ends the cell early.
func (w *World) Run(ctx context.Context, cs cells.Case) checker.Cell {
	started := time.Now()
	out := cs.Planned()
	events, lacks, err := w.recordUnstalled(ctx, cs, &out)
	cs.Settle(&out, events, lacks, w.remote != nil || w.cfg.Wait != "", err)
	out.Took = time.Since(started)
	return out
}

// slowest is how many times slower than written a script is played at most.
const slowest = 4

// recordUnstalled records a case. If the machine stood still meanwhile, for so long that a lease may have ended which should not
// have, the record says nothing about the lock. The case is then begun anew, twice as slow: only a stall of twice the length
// could spoil it again. How slow the machine was decides that, and where a step missed its premise half that slowness is enough;
// what the judges would find never does. Each new beginning is noted in out.
func (w *World) recordUnstalled(ctx context.Context, cs cells.Case, out *checker.Cell) (events []history.Event, lacks string, err error) {
	dir := filepath.Join(w.cfg.Dir, out.Dir)
	script := cs.Script
	for slower := 1; ; slower *= 2 {
		cs.Script = script.Slower(slower)
		events, lacks, err = w.record(ctx, cs, dir)
		why, stalled := stalledBy(events)
		if !stalled || err != nil || slower == slowest || ctx.Err() != nil {
			return events, lacks, err
		}
		out.Stalls = append(out.Stalls, why)
		kept := fmt.Sprintf("stalled-%d.jsonl", len(out.Stalls))
		if err := os.Rename(filepath.Join(dir, cells.HistoryFile), filepath.Join(dir, kept)); err != nil {
			return events, lacks, err
		}
	}
}

// stalledBy says how the machine spoilt a record, if it did.
func stalledBy(events []history.Event) (why string, stalled bool) {
	if len(events) == 0 {
		return "", false
	}
	end := events[len(events)-1]
	if end.Kind != history.KindEnd || end.Detail.Text != history.EndedStalled {
		return "", false
	}
	return end.Detail.Why, true
}

// record runs one case and returns its history, and what the script needs but does not have here. The error is a failure of the
// lab around the script.
func (w *World) record(ctx context.Context, cs cells.Case, dir string) (events []history.Event, lacks string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", err
	}
	file, err := os.Create(filepath.Join(dir, cells.HistoryFile))
	if err != nil {
		return nil, "", err
	}
	rec, err := cells.NewRecorder(file, history.Header{
		Run: filepath.Base(w.cfg.Dir), Cell: filepath.Base(dir), Lock: cs.Subject.Name, Scenario: cs.Script.Name, Base: w.base,
	}, w.since)
	if err != nil {
		return nil, "", err
	}
	c := &cell{
		world: w, script: cs.Script, subject: cs.Subject, traits: cs.Subject.Traits, dir: dir, rec: rec,
		clients: map[string]*client{},
	}
	for _, name := range cs.Clients() {
		host := newClient(c, name, cs.Script.HandlesOf(name))
		c.hosts = append(c.hosts, host)
		for _, m := range host.members {
			c.clients[m.name] = m
		}
	}
	if cs.Storm != nil {
		c.storm = newTempest(c, cs, ctx.Done())
		ctx = context.WithoutCancel(ctx) // it is ended in an orderly way, and judged for what it showed
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
		failed = c.readStores(ctx)
	}
	end := endOf(ctx, failed)
	rec.Add(end)
	events, err = rec.Close()
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
	if c.storm != nil {
		return c.storm.rage(ctx)
	}
	return c.carryOut(ctx)
}

// carryOut plays the steps. A machine that stood still meanwhile may have ended a lease that should not have ended, and so have
// led the script astray.
func (c *cell) carryOut(ctx context.Context) (err error) {
	began := c.world.since()
	for i := range c.script.Steps {
		if err = c.step(ctx, &c.script.Steps[i]); err != nil {
			break
		}
	}
	if err != nil && !cells.Astray(err) {
		return err
	}
	if stall := c.world.pulse.longest(began); stall > c.script.Lease/4 {
		return cells.Stalled("the machine stood still for %v, more than a quarter of the lease", stall.Round(time.Millisecond))
	}
	return err
}

// earlyEnd is what a client did wrong that nobody had noticed by the end of the script.
func (c *cell) earlyEnd() error {
	for _, host := range c.hosts {
		if host.early != nil {
			return host.early
		}
	}
	return nil
}

// applicable compares what the script needs with what is known of the lock and of the server.
func (c *cell) applicable() error {
	if c.lacks = c.world.lacks(c.script, c.traits); c.lacks != "" {
		return cells.NotApplicable("%s", c.lacks)
	}
	return nil
}

// witness records what a tap or a client has seen, as long as the script goes on.
func (c *cell) witness(e history.Event) {
	if c.over.Load() {
		return
	}
	c.rec.Add(e)
	if c.storm != nil && c.takes(e) {
		c.clients[e.Client].notice(storm.Taker)
	}
}

// takes says whether a command has made the lock another one.
func (c *cell) takes(e history.Event) bool {
	return e.Kind == history.KindCommand && slices.ContainsFunc(e.Detail.Command.Changes, func(ch history.Change) bool {
		return ch.Key == c.lockKey && ch.After.Type != "" && ch.After.Value != ch.Before.Value
	})
}

// setUp starts the servers, the taps and the clients, and lets every client open its lock.
func (c *cell) setUp(ctx context.Context) (err error) {
	c.prefix = c.world.newPrefix()
	c.lockKey = c.prefix + "lock"
	addr, key := c.world.counter(c.prefix)
	c.store = store{Data: cells.Data{Work: c.script.Work(), Stock: c.script.Stock, Clients: c.script.Clients, Key: key, Item: cells.ItemName(0)}, addr: addr}
	c.assignKeys()
	if c.laid, err = c.layStores(ctx); err != nil {
		return err
	}
	if err := c.startServers(ctx); err != nil {
		return err
	}
	isData := func(key string) bool { return c.store.Has(key) || c.otherKey != "" && c.otherStore.Has(key) }
	if c.resourceTap, err = c.newTap(ctx, "resource", c.store.addr, isData, true); err != nil {
		return err
	}
	return c.startClients(ctx)
}

// assignKeys says who is on which key.
func (c *cell) assignKeys() {
	if len(c.script.OtherKey) > 0 {
		c.otherKey = c.prefix + "other"
		c.otherStore = store{Data: c.store.Other(), addr: c.store.addr}
	}
	for _, cl := range c.clients {
		cl.lockKey, cl.store = c.lockKey, c.store
		if c.script.OnOtherKey(cl.name) {
			cl.lockKey, cl.store = c.otherKey, c.otherStore
		}
	}
}

// layStores lays the data out, which is alike for every key.
func (c *cell) layStores(ctx context.Context) (*history.Work, error) {
	if c.otherHasOwnData() {
		if _, err := c.otherStore.lay(ctx); err != nil {
			return nil, err
		}
	}
	return c.store.lay(ctx)
}

// otherHasOwnData says whether the work under locks on the other key is done to other data.
func (c *cell) otherHasOwnData() bool { return c.otherKey != "" && c.otherStore.Key != c.store.Key }

func (c *cell) newTap(ctx context.Context, name, upstream string, watch func(key string) bool, resource bool) (*tap.Tap, error) {
	traps := &c.traps
	if resource {
		traps = nil
	}
	t, err := tap.New(ctx, tap.Config{
		Traps: traps, Server: name, Upstream: upstream, Host: c.world.cfg.Listen,
		Watch:     watch,
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
type link struct {
	*network.Link
	tap  *tap.Tap
	addr string // at which the tap listens for it
}

func (c *cell) link(ctx context.Context, t *tap.Tap, client, what string) (*link, error) {
	addr, err := t.Listen(client)
	if err != nil {
		return nil, err
	}
	proxy, err := c.world.network.Link(ctx, c.world.linkName(client, what), c.world.advertised(addr), t)
	if err != nil {
		return nil, err
	}
	return &link{proxy, t, addr}, nil
}

func (l *link) close() error {
	l.tap.Unlisten(l.addr)
	return l.Link.Close()
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
		c.traits = cells.TraitsOf(c.clients[c.script.Clients[0]].hello, len(c.servers))
	}
	for _, name := range c.script.Actors() {
		c.opened(name)
	}
	return nil
}

// opened records that a client has opened its lock.
func (c *cell) opened(client string) {
	c.rec.Add(cells.Opened(client, c.clients[client].lockKey, c.script.Lease, c.traits, len(c.servers), c.laid))
}

// stopClients ends every client.
func (c *cell) stopClients() {
	var wg sync.WaitGroup
	for _, host := range c.hosts {
		wg.Go(host.stop)
	}
	wg.Wait()
}

// readStores reads what the work under the locks has come to, from the resource itself.
func (c *cell) readStores(ctx context.Context) error {
	if err := c.readStore(ctx, c.lockKey, c.store); err != nil || !c.otherHasOwnData() {
		return err
	}
	return c.readStore(ctx, c.otherKey, c.otherStore)
}

func (c *cell) readStore(ctx context.Context, lock string, s store) error {
	found, err := s.read(ctx)
	if err != nil {
		return fmt.Errorf("reading the %s: %w", s.Work, err)
	}
	c.rec.Add(history.Event{Kind: history.KindFinal, Lock: lock, Detail: found})
	return nil
}

// close takes down what the cell has set up. The clients are gone by now.
func (c *cell) close() error {
	var errs []error
	for _, host := range c.hosts {
		errs = append(errs, host.close())
	}
	if c.resourceTap != nil {
		errs = append(errs, c.resourceTap.Close())
	}
	return errors.Join(append(errs, c.stopServers())...)
}

func (c *cell) nextID() int64 { return c.ids.Add(1) }

// fault records a phase of a fault.
func (c *cell) fault(name, target string, phase history.Phase, what string) {
	c.rec.Add(history.Event{Kind: history.KindFault, Client: target, Lock: c.lockKey, Detail: &history.Detail{
		Fault: &history.Fault{Name: name, Target: target, Phase: phase, What: what},
	}})
}
