package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/live/ledger"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// cell is a run of one lock in one scenario, with real processes, sockets and servers.
type cell struct {
	run     *play.Cell
	stage   *stage
	world   *World
	subject play.Subject
	dir     string
	prefix  string         // of every key of this cell
	keys    *ledger.Keys   // on the lock server at an address; nil: the servers are the lab's own
	before  redis.Identity // of the server at an address
	storm   *stormRunner   // runs instead of the script's steps; nil: none
	clocks  bool           // of a greeting: the client will play scripts that set clocks
	store   *store
	own     *isolation // nil: the cell shares servers
	mortals []mortality
	taps    []*tap.Tap
	memory  *memory
	peers   map[string]*peer // by client

	resourceTap  *tap.Tap
	partResource func() error            // nil: the resource is not the cell's own
	spoil        context.CancelCauseFunc // ends the script: the record can no longer be trusted
}

// Play runs a script with a subject, and writes the history to dir below the world's directory. It returns when no process, link or tap of
// the cell is left. The error is a failure of the lab; ctx ends the cell early.
func (w *World) Play(ctx context.Context, subject play.Subject, script *scenarios.Script, dir string) (play.Played, error) {
	return w.record(ctx, subject, script, script.Clients, dir, nil)
}

// Storm runs a storm over a workload. When ctx ends, the storm ends in order and its history counts.
func (w *World) Storm(ctx context.Context, subject play.Subject, s Storm, dir string) (play.Played, error) {
	var clients []string
	for i := range s.Plan.Clients {
		clients = append(clients, s.Plan.Names(i)...)
	}
	runner := newStormRunner(s, ctx.Done())
	return w.record(context.WithoutCancel(ctx), subject, s.Script, clients, dir, runner)
}

// readBack reads the history that was written at path.
func readBack(path string) ([]history.Event, error) {
	file, err := history.ReadFile(context.Background(), path)
	if err != nil {
		return nil, fmt.Errorf("reading the history of the storm: %w", err)
	}
	return file.Events, nil
}

func (w *World) record(ctx context.Context, subject play.Subject, script *scenarios.Script, clients []string, dir string, runner *stormRunner) (out play.Played, err error) {
	full := filepath.Join(w.cfg.Dir, dir)
	if err := os.MkdirAll(full, 0o755); err != nil {
		return out, err
	}
	file, err := os.Create(filepath.Join(full, play.HistoryFile))
	if err != nil {
		return out, err
	}
	var failed error
	if subject.Argv != nil {
		w.serves(&subject.Traits)
	}
	subject.Traits.Library.Ensemble, subject.Traits.Library.Slots = w.kind.Members, w.kind.Slots
	lacks := w.lacks(script, subject.Traits)
	if lacks == "" {
		defer w.reserve(script)()
		failed = w.awaitTurn(ctx)
	}
	c := w.newCell(subject, script, clients, full)
	if c.storm = runner; runner != nil {
		c.run.Forsakes = true
		runner.cell = c
	}
	out.Header = history.Header{
		Run: filepath.Base(w.cfg.Dir), Cell: filepath.Base(full), Lock: subject.Name, Scenario: script.Name, Base: c.stage.base,
	}
	rec, err := play.NewFileRecorder(file, out.Header, c.stage.Now)
	if err != nil {
		if failed == nil && lacks == "" {
			w.passTurn()
		}
		return out, err
	}
	if runner != nil {
		rec.Spill(func() ([]history.Event, error) { return readBack(file.Name()) })
	}
	c.run.Record = rec
	if lacks != "" {
		failed = c.applicable()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit(), limitError(c.limit()))
	defer cancel()
	ctx, c.spoil = context.WithCancelCause(ctx)
	defer c.spoil(nil)

	if failed == nil {
		failed = c.play(ctx)
	}
	c.run.End()
	ours := labFailure(ctx, failed)
	c.stopClients()
	if failed == nil {
		failed = c.earlyEnd()
	}
	if failed == nil {
		failed = c.run.ReadData(ctx)
		ours = labFailure(ctx, failed)
	}
	end, failed := c.ending(ctx, failed, ours)
	rec.Add(end)
	out.Events, err = rec.Close()
	if end.Detail.Text == history.EndedFailed {
		err = errors.Join(failed, err)
	}
	return out, errors.Join(err, c.close())
}

func (w *World) newCell(subject play.Subject, script *scenarios.Script, clients []string, dir string) *cell {
	c := &cell{world: w, subject: subject, dir: dir, prefix: w.newPrefix(), stage: newStage(w), peers: make(map[string]*peer)}
	c.memory = w.newMemory()
	c.own = w.isolate(subject)
	c.keys, c.store = w.ledger.NewKeys(c.prefix), w.newStore(c.prefix, c.own != nil)
	c.run = play.NewCell(script, subject.Traits, clients, c.prefix, c.store.prefix+"counter")
	c.run.Stage, c.run.Store, c.run.Wait = c.stage, c.store, w.cfg.Wait
	for _, client := range c.run.Clients {
		p := newPeer(c, client)
		client.Process, client.Links, c.peers[client.Name] = p, &p.links, p
	}
	return c
}

// limit is what the cell may take.
func (c *cell) limit() time.Duration { return c.world.cfg.CellTimeout + c.run.Script.Waits() }

// awaitTurn waits for the right to start processes. The wait does not count as time of the cell.
func (w *World) awaitTurn(ctx context.Context) error {
	select {
	case w.starting <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *World) passTurn() { <-w.starting }

// play sets up the cell, gives back the right to start processes, and carries out the script.
func (c *cell) play(ctx context.Context) error {
	err := c.setUp(ctx)
	c.world.passTurn()
	if err != nil {
		return err
	}
	if err := c.applicable(); err != nil { // again: a foreign client declares its traits when it starts
		return err
	}
	if c.storm != nil {
		return c.storm.run(ctx)
	}
	return c.run.Play(ctx)
}

// earlyEnd is a client's failure that stopClients has found.
func (c *cell) earlyEnd() error {
	for _, client := range c.run.Clients {
		if p := c.peers[client.Name]; p.early != nil {
			return p.early
		}
	}
	return nil
}

// applicable ends a script whose needs the lock or the server does not meet.
func (c *cell) applicable() error {
	if lacks := c.world.lacks(c.run.Script, c.run.Traits); lacks != "" {
		return play.Lacking("%s", lacks)
	}
	return nil
}

// seen records a tap's event, unless the script has ended or the history is full.
func (c *cell) seen(e history.Event) {
	if e.Kind == history.KindCommand && !c.admit(c.peers[history.ProcessOf(e.Client)]) {
		return
	}
	c.run.Witness(e)
	if c.storm != nil && !c.run.Over() && c.takes(e) {
		p := c.peers[history.ProcessOf(e.Client)]
		p.took.Store(int64(e.At))
		p.taker.Store(&e.Client)
		p.notice(storm.Taker)
	}
}

// takes says whether a command has set the lock to another value.
func (c *cell) takes(e history.Event) bool {
	return e.Kind == history.KindCommand && slices.ContainsFunc(e.Command().Changes, func(ch history.Change) bool {
		return ch.Key == c.run.LockKey && ch.After.Type != "" && ch.After.Value != ch.Before.Value
	})
}

// setUp starts servers, taps and clients, and has every client open its locks.
func (c *cell) setUp(ctx context.Context) error {
	if err := c.startStage(ctx); err != nil {
		return err
	}
	return c.startClients(ctx)
}

// startStage starts servers and taps.
func (c *cell) startStage(ctx context.Context) (err error) {
	if err := c.meetServer(ctx); err != nil {
		return err
	}
	if err := c.startResource(ctx); err != nil {
		return err
	}
	if err := c.run.Lay(ctx); err != nil {
		return err
	}
	if err := c.startServers(ctx); err != nil {
		return err
	}
	if c.resourceTap, err = c.newTap(ctx, "resource", c.store.at.Addr, c.run.IsData, c.store.keys, true); err != nil {
		return err
	}
	if c.store.keys != nil {
		if err := c.resourceTap.Adopt(c.store.keys.All()); err != nil {
			return err
		}
	}
	c.stage.resource, c.store.tap = c.resourceTap, c.resourceTap
	return nil
}

func (c *cell) newTap(ctx context.Context, name, upstream string, watch func(key string) bool, keys *ledger.Keys, resource bool) (*tap.Tap, error) {
	breakpoints := &c.stage.breakpoints
	if resource {
		breakpoints = nil
	}
	cfg := tap.Config{
		Breakpoints: breakpoints, Server: name, Upstream: upstream, Host: c.world.cfg.Listen,
		Watch:       watch,
		Refuse:      c.world.commands.Refusal,
		Limits:      resp.Limits{Bulk: maxArgument, Message: 2 * maxArgument, Held: c.memory.held},
		Queue:       maxQueue,
		StateProbes: !c.world.cfg.NoStateProbes,
		Since:       c.stage.Now,
		Record:      c.seen,
		Current:     func(name string) (history.Op, int64) { return c.run.Handle(name).Current(resource) },
	}
	if !resource {
		record := cfg.Record
		cfg.Record = func(e history.Event) { c.run.LockKeys.Rename(e, record) }
	}
	if s := c.serverCalled(name); s != nil && s.tag != "" {
		s.retag(&cfg)
	}
	cfg.Asking = c.world.kind.Slots && !resource
	if ensemble, is := c.ensemble(); is && !resource {
		cfg.Members = ensemble.Serving
	}
	if !resource {
		cfg.Locks, cfg.Opaque = c.lockNodes(), c.world.kind.Unread()
	}
	if keys != nil {
		keys.Confine(&cfg, c.limit())
	}
	t, err := tap.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c.taps = append(c.taps, t)
	go func() {
		select {
		case <-t.Done():
			c.spoil(trouble(t.Err()))
		case <-ctx.Done():
		}
	}()
	return t, nil
}

// link connects one handle to one server: a proxy, then the tap.
type link struct {
	*network.Link
	tap  *tap.Tap
	addr string // at which the tap listens for it
}

func (c *cell) link(ctx context.Context, t *tap.Tap, handle, what string) (*link, error) {
	addr, err := t.Listen(handle)
	return c.linkTo(ctx, t, addr, err, handle, what)
}

// linkTo is link to an address at which the tap listens for the client, or did not come to.
func (c *cell) linkTo(ctx context.Context, t *tap.Tap, addr string, err error, handle, what string) (*link, error) {
	if err != nil {
		return nil, err
	}
	proxy, err := c.world.network.Link(ctx, c.world.linkName(handle, what), c.world.advertised(addr), t)
	if err != nil {
		return nil, err
	}
	return &link{proxy, t, addr}, nil
}

func (l *link) close() error {
	l.tap.Unlisten(l.addr)
	return l.Link.Close()
}

// startClients starts all clients of the script concurrently.
func (c *cell) startClients(ctx context.Context) error {
	names := c.run.Script.Clients
	errs := atOnce(len(names), func(i int) error { return c.peers[names[i]].begin(ctx) })
	if err := errors.Join(errs...); err != nil {
		return firstEnding(errs, err)
	}
	if !c.run.Traits.Known {
		c.run.Traits = play.TraitsOf(c.peers[names[0]].hello, nil)
		c.world.serves(&c.run.Traits)
		c.run.Traits.NoClock = c.peers[names[0]].noClock
	}
	for _, client := range c.run.Clients {
		if slices.Contains(names, client.Name) {
			c.run.Opened(client)
		}
	}
	return nil
}

// atOnce calls do for every i below n concurrently, and returns the errors in order.
func atOnce(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errs
}

// stopClients ends every client.
func (c *cell) stopClients() {
	var wg sync.WaitGroup
	for _, p := range c.peers {
		wg.Go(p.stop)
	}
	wg.Wait()
}

// close removes what setUp made. The clients are gone by now.
func (c *cell) close() error {
	var errs []error
	for _, p := range c.peers {
		errs = append(errs, p.close())
	}
	if c.resourceTap != nil {
		errs = append(errs, c.resourceTap.Close())
	}
	if c.own == nil {
		errs = append(errs, c.store.clear())
	}
	errs = append(errs, c.stopServers(), c.own.close())
	c.keys.Delete()
	c.memory.free()
	return errors.Join(errs...)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
