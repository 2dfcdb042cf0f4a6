package play

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// Cell is a run of one lock in one scenario. A world makes it by NewCell, sets Stage, Store and each client's Process, has the clients open
// their locks, and calls Play and ReadData.
type Cell struct {
	Script  *scenarios.Script
	Traits  Traits
	Record  *Recorder
	Stage   Stage
	Store   Store
	Wait    string // how clients wait between the tries of an acquire; empty: each lock's own way
	Clients []*Client

	*LockKeys
	// Forsakes: the client treats an unknown outcome as a refusal.
	Forsakes bool

	data, otherData Data
	laid            *history.Work // the initial data; nil for a counter
	handles         map[string]*Handle
	ids             atomic.Int64
	pace            pace
	inEffect        effects
	servers         remembered
	over            atomic.Bool
}

// pace is how fast the host lets the script go on.
type pace struct {
	begun   time.Duration // when the step began, or its wait was over
	delayed time.Duration // by the host, up to then
	busy    spent         // in steps since the last that waits
}

// spent is how long steps took, and how much of that the host did not run the lab, or one of its clients.
type spent struct{ all, delayed time.Duration }

// remembered is what earlier steps have done to servers.
type remembered struct {
	saved  map[string]time.Duration // by server: when it kept a copy of its data
	chosen map[faults.Kind]string   // the server that a step on whichever server last chose for a fault
}

// NewCell is a cell with the named clients. Keys of its locks begin with prefix, keys of its data with dataKey.
func NewCell(script *scenarios.Script, traits Traits, clients []string, prefix, dataKey string) *Cell {
	c := &Cell{
		Script: script, Traits: traits, handles: make(map[string]*Handle),
		servers: remembered{saved: map[string]time.Duration{}, chosen: map[faults.Kind]string{}},
		data:    Data{Work: script.Work(), Stock: script.Stock, Key: dataKey},
	}
	c.otherData = c.data
	other := ""
	if len(script.OtherKey) > 0 {
		other, c.otherData = prefix+"other", c.data.Other()
	}
	c.LockKeys = NewLockKeys(prefix+"lock", other)
	for _, name := range clients {
		client := &Client{Name: name, cell: c}
		for _, handle := range append([]string{name}, script.HandlesOf(name)...) {
			h := &Handle{Name: handle, Client: client, Key: c.LockKey, Data: c.data, cell: c}
			if script.OnOtherKey(handle) {
				h.Key, h.Data = c.OtherKey, c.otherData
			}
			client.Handles = append(client.Handles, h)
			c.handles[handle] = h
		}
		c.Clients = append(c.Clients, client)
	}
	return c
}

// Handle is the named handle, or nil.
func (c *Cell) Handle(name string) *Handle { return c.handles[name] }

// IsLock says whether a key is a lock's.
func (c *Cell) IsLock(key string) bool { return c.LockKeys.Has(key) }

// IsData says whether a key belongs to the workload's data.
func (c *Cell) IsData(key string) bool {
	return c.data.Has(key) || c.OtherKey != "" && c.otherData.Has(key)
}

// NextID is a number for the next operation.
func (c *Cell) NextID() int64 { return c.ids.Add(1) }

// Witness records an event that a world observed, unless the script has ended. It is safe for concurrent use.
func (c *Cell) Witness(e history.Event) {
	if !c.over.Load() {
		c.Record.Add(e)
	}
}

// End ends the script: Witness ignores later events.
func (c *Cell) End() { c.over.Store(true) }

// Over says whether the script has ended.
func (c *Cell) Over() bool { return c.over.Load() }

// Opened records that a client has opened its locks.
func (c *Cell) Opened(client *Client) {
	servers := len(c.Stage.Servers())
	if servers < 2 || c.Traits.Library.Sharded {
		servers = 0
	}
	need := servers
	if c.Traits.Majority {
		need = 0
	}
	for _, h := range client.Handles {
		if h.Keys > 1 {
			servers, need = h.Keys, h.Need
		}
		c.Record.Add(history.Event{Kind: history.KindOpen, Client: h.Name, Lock: h.Key, Detail: &history.Detail{
			Lease: c.Script.Lease, Contract: c.Traits.Contract, Session: c.Traits.ZooKeeper, Unseen: c.Traits.unseen(), Work: c.laid, Servers: servers, Need: need,
		}})
	}
}

// Play carries out the steps of the script. A host stall meanwhile may have ended a lease, and so made the script fail.
func (c *Cell) Play(ctx context.Context) error {
	began := c.Stage.Now()
	var err error
	for i := range c.Script.Steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err = c.step(ctx, &c.Script.Steps[i]); err != nil {
			break
		}
	}
	host, stalls := c.Stage.(Host)
	if !stalls || err != nil && !leftScript(err) {
		return err
	}
	if stall := host.LongestStall(began); stall > c.Script.Lease/4 {
		return Stalled("the host stalled for %v, more than a quarter of the lease", stall.Round(time.Millisecond))
	}
	if pass := c.Record.SlowestPass(); pass > c.Script.Lease/8 { // half of a quarter: it passes a proxy each way, too
		return Stalled("the host was slow: a command took %v, more than an eighth of the lease", pass.Round(time.Millisecond))
	}
	return err
}

// step carries out one line of the script and compares its result with the expected ones.
func (c *Cell) step(ctx context.Context, step *scenarios.Step) error {
	if strider, ok := c.Stage.(Strider); ok {
		if _, err := c.Stage.Until(ctx, strider.Stride(), never); err != nil {
			return err
		}
	}
	h := c.handles[step.Client] // nil if the lab acts
	if h != nil && h.Skips(step) {
		return c.skip(h, step)
	}
	c.note(step, "")
	c.begin()
	result, err := c.perform(ctx, h, step)
	var early unreached
	if err != nil && !errors.As(err, &early) {
		return err
	}
	if err := c.inTime(step, c.Stage.Now()-c.pace.begun); err != nil {
		return err
	}
	if early != "" {
		return c.missed(string(early))
	}
	if len(step.Want) == 0 || slices.Contains(step.Want, result) {
		if h != nil {
			h.Stated(step.Want)
		}
		return nil
	}
	missed := fmt.Sprintf("line %d: %q came to %s", step.Line, step.Text, result)
	if result == scenarios.ResultNo && c.otherWork(step.Op) && !c.slowed() {
		return c.unfit(missed)
	}
	return c.missed(missed)
}

// skip records that a step is not carried out. One that the script asks for ends it.
func (c *Cell) skip(h *Handle, step *scenarios.Step) error {
	why := h.Name + " " + h.Why(step)
	c.note(step, why)
	if !h.Asked(step) {
		return nil
	}
	return c.missed(fmt.Sprintf("line %d was skipped (%s): %q", step.Line, why, step.Text))
}

// missed ends a script because a precondition was not observed. On a slow host a lease or a time-out may have ended too early.
func (c *Cell) missed(what string) error {
	if c.slowed() {
		return Stalled("%s, on a slow host", what)
	}
	return PremiseMissed("%s", what)
}

func (c *Cell) slowed() bool {
	return c.pace.busy.all > c.Script.Lease/c.slices() && c.pace.busy.byHost()
}

// otherWork says whether an operation is work of another kind than the script was written for. Such work may send other commands, and have
// nothing to do.
func (c *Cell) otherWork(op history.Op) bool {
	return op == history.OpWork && c.Script.WorkloadOverridden
}

// unfit ends a script that the chosen workload has left.
func (c *Cell) unfit(why string) error {
	return Lacking("the script does not fit the workload %s: %s", c.Script.Work(), why)
}

// inRound says which round of a repeat a step is.
func inRound(step *scenarios.Step) string {
	round, of := step.Round()
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("  (round %d of %d)", round, of)
}

// note records that the script has reached a step, and why it is skipped; empty: it is carried out.
func (c *Cell) note(step *scenarios.Step, skipped string) {
	c.Record.Add(history.Event{Kind: history.KindStep, Client: step.Client, Detail: &history.Detail{
		Line: step.Line, Text: step.Text + inRound(step), Why: skipped,
	}})
}

// begin notes when the step begins.
func (c *Cell) begin() {
	c.pace.begun = c.Stage.Now()
	if host, stalls := c.Stage.(Host); stalls {
		c.pace.delayed = host.Delayed()
	}
}

// inTime ends a script on a host so slow that a lease may have expired: one step took more than a quarter of it, or all since the last wait
// together more than half. A step that took so long on a host that ran is the lock's or the client's affair, and so is what a library waits by itself.
func (c *Cell) inTime(step *scenarios.Step, took time.Duration) error {
	host, stalls := c.Stage.(Host)
	if !stalls {
		return nil
	}
	if step.Waits() {
		c.pace.busy = spent{}
		return nil
	}
	if step.Op == history.OpAcquire {
		took = max(0, took-c.Traits.MinTry)
	}
	this := spent{took, host.Delayed() - c.pace.delayed}
	c.pace.busy.all, c.pace.busy.delayed = c.pace.busy.all+this.all, c.pace.busy.delayed+this.delayed
	ours := true // the lab's own work, as the restart of a server is
	switch step.Verb {
	case scenarios.VerbOp, scenarios.VerbContinue, scenarios.VerbGiveUp, scenarios.VerbArrives:
		ours = false
	}
	switch lease := c.Script.Lease; {
	case took > lease/4 && (ours || this.byHost()):
		return Stalled("the host stalled: line %d took %v, more than a quarter of the lease; of that the host was late by %v", step.Line,
			took.Round(time.Millisecond), this.delayed.Round(time.Millisecond))
	case c.pace.busy.all > lease/2 && c.pace.busy.byHost():
		return Stalled("the host was slow: up to line %d the steps took %v, more than half the lease; of that the host was late by %v", step.Line,
			c.pace.busy.all.Round(time.Millisecond), c.pace.busy.delayed.Round(time.Millisecond))
	}
	return nil
}

// byHost says whether it is the host that steps took long: it was late for an eighth of the time, as far as was measured. Processes wait for each
// other, so a delay of one is a delay of several.
func (s spent) byHost() bool { return s.delayed > s.all/8 }

// slices is the lease divided by the shortest time-out of a lock: with several servers it waits a tenth of the lease for each.
func (c *Cell) slices() time.Duration {
	if len(c.Stage.Servers()) > 1 {
		return 10
	}
	return 4
}

// Fault records a phase of a fault.
func (c *Cell) Fault(kind faults.Kind, target string, phase history.Phase, what string) {
	c.inEffect.note(kind, target, phase)
	c.Record.Add(history.Event{Kind: history.KindFault, Client: target, Lock: c.LockKey, Detail: &history.Detail{
		Fault: &history.Fault{Name: string(kind), Target: target, Phase: phase, What: what},
	}})
}

// silent ends a script in which a client did not answer in time.
func silent(who, what string, err error) error {
	var early *Ending
	if errors.As(err, &early) {
		return Undecided("%s did not answer %s: %s", who, what, early.Why)
	}
	return Undecided("%s did not answer %s: %v", who, what, err)
}

func never() bool { return false }

// Lay writes the initial data, before any client runs.
func (c *Cell) Lay(ctx context.Context) error {
	for _, data := range c.stores() {
		commands, work := data.Beginning()
		c.laid = work
		if len(commands) == 0 {
			continue
		}
		if err := c.Store.Do(ctx, commands); err != nil {
			return err
		}
	}
	return nil
}

// stores are the data sets: one, if both locks protect the same.
func (c *Cell) stores() []Data {
	if c.otherData.Key == c.data.Key {
		return []Data{c.data}
	}
	return []Data{c.otherData, c.data}
}

// ReadData records the data after the script.
func (c *Cell) ReadData(ctx context.Context) error {
	keys := []string{c.LockKey}
	data := []Data{c.data}
	if c.OtherKey != "" && c.otherData.Key != c.data.Key {
		keys, data = append(keys, c.OtherKey), append(data, c.otherData)
	}
	for i, lock := range keys {
		found, err := data[i].Found(func(key string) ([]string, error) { return c.Store.Values(ctx, key) })
		if err != nil {
			return fmt.Errorf("reading the %s: %w", data[i].Work, err)
		}
		c.Record.Add(history.Event{Kind: history.KindFinal, Lock: lock, Detail: found})
	}
	return nil
}
