package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// fate carries out a client's faults one after another, until it has crashed or the storm is over. Every fault has ended when it returns.
func (t *stormRunner) fate(ctx context.Context, p *peer, all processUsers) (crash *storm.Strike, err error) {
	for _, s := range t.Plan.Of(p.client.Name) {
		ready, err := t.await(ctx, p, s.At)
		if err != nil {
			return nil, err
		}
		if !ready {
			return nil, nil
		}
		if s.Kind == faults.Crash {
			return &s, t.crash(ctx, p, all, s)
		}
		if err := t.strike(ctx, p, s); err != nil {
			return nil, err
		}
	}
	_, err = t.await(ctx, p, t.Plan.For)
	return nil, err
}

// await waits for a time of the storm. Meanwhile the client may reach a moment, and get a strike for it. It returns false if the storm ends
// first.
func (t *stormRunner) await(ctx context.Context, p *peer, at time.Duration) (bool, error) {
	timer := time.NewTimer(t.began + at - t.cell.stage.Now())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true, nil
		case <-t.over:
			return false, nil
		case <-ctx.Done():
			return false, nil
		case moment := <-p.moments:
			if err := t.meet(ctx, p, moment); err != nil {
				return false, err
			}
		}
	}
}

// meet strikes a client that has reached a moment, if a strike is offered for it.
func (t *stormRunner) meet(ctx context.Context, p *peer, moment storm.Moment) error {
	for moment != "" {
		select {
		case s := <-t.offers[moment]:
			var reached bool
			if reached, moment = t.reaches(ctx, p, s); !reached {
				continue
			}
			calm := t.cell.stage.Now() - t.began + t.Plan.Lease*3/2
			t.pause(ctx, s.After)
			err := t.strike(ctx, p, s)
			t.until(ctx, calm) // a second strike within the lease, or before a late renewal, would make the cause of an anomaly ambiguous
			return err
		default:
			return nil
		}
	}
	return nil
}

// reaches waits, for a quarter of the lease, until the strike's number of servers have granted the lock to a taker, or the taker has reached
// another moment.
func (t *stormRunner) reaches(ctx context.Context, p *peer, s storm.Strike) (reached bool, other storm.Moment) {
	atOnce, cancel := context.WithTimeout(ctx, t.Plan.Lease/4)
	defer cancel()
	for range s.Nth - 1 {
		select {
		case m := <-p.moments:
			if m != storm.Taker {
				return false, m
			}
		case <-atOnce.Done():
			return false, ""
		}
	}
	return true, ""
}

// offer offers the strikes for a moment one after another to the clients that reach it. It skips those for more servers than there are.
func (t *stormRunner) offer(ctx context.Context, moment storm.Moment) error {
	for _, s := range t.Plan.Of(string(moment)) {
		if s.Nth > len(t.cell.stage.servers) {
			continue
		}
		if !t.until(ctx, s.At) {
			return nil
		}
		select {
		case t.offers[moment] <- s:
		case <-t.over:
		case <-ctx.Done():
		}
	}
	return nil
}

// strike injects a fault, waits, and ends it.
func (t *stormRunner) strike(ctx context.Context, p *peer, s storm.Strike) error {
	switch s.Kind {
	case faults.Pause:
		if err := p.client.Pause(ctx); err != nil {
			return err
		}
		t.pause(ctx, s.For)
		return p.client.Resume(ctx)
	case faults.Skew:
		return t.skew(ctx, p, s)
	case faults.HoldRequest, faults.Duplicate:
		return t.ambush(ctx, p, s)
	}
	fault, ok := linkStrike(s)
	if !ok {
		return fmt.Errorf("the live world has no %s", s)
	}
	letGo := func() {}
	if len(s.Breakpoints) > 0 {
		at := t.meetOne(ctx, p, s)
		if at == nil {
			return nil
		}
		letGo = func() { t.letGo(at) } // so that it meets the fault
	}
	servers := t.hit(s)
	err := p.client.Disturb(ctx, fault, servers)
	letGo()
	if err != nil {
		return spoilt(err)
	}
	t.pause(ctx, s.For)
	return spoilt(p.client.Heal(ctx, servers))
}

// hit names the servers whose links a strike disturbs; nil: all.
func (t *stormRunner) hit(s storm.Strike) (names []string) {
	servers := t.cell.stage.servers
	if len(servers) == 1 {
		return nil
	}
	for i, server := range servers {
		if s.Hits(i, len(servers)) {
			names = append(names, server.name)
		}
	}
	return names
}

// spoilt ends a storm after a failure to disturb or heal a link: another process may have taken its port. The history so far counts.
func spoilt(err error) error {
	var early *play.Ending
	if err == nil || errors.As(err, &early) {
		return err
	}
	return play.PremiseMissed("the storm ended before its time: %v", err)
}

func linkStrike(s storm.Strike) (faults.LinkFault, bool) {
	return faults.LinkFault{Kind: s.Kind, Direction: s.Direction, Each: s.Each}, s.Kind.Of().Target == faults.OnLink
}

func (t *stormRunner) skew(ctx context.Context, p *peer, s storm.Strike) error {
	if !t.cell.run.Traits.Can(protocol.Skew) {
		return nil
	}
	if err := p.client.SetClock(ctx, s.Ahead, s.Rate); err != nil {
		return err
	}
	t.pause(ctx, s.For)
	return p.client.SetClock(ctx, 0, 1)
}

// ambush arms the strike's breakpoints for the client's requests, and releases after a while what one holds.
func (t *stormRunner) ambush(ctx context.Context, p *peer, s storm.Strike) error {
	at := t.meetOne(ctx, p, s)
	if at == nil || at.action == faults.ActDuplicate {
		return nil
	}
	t.pause(ctx, s.For)
	t.letGo(at)
	return nil
}

// watched are the handles whose requests a strike waits for: at a moment the one that a server last gave the lock to; otherwise one, which the
// strike's time determines, and so the seed, or all.
func watched(p *peer, s storm.Strike) []*play.Handle {
	all := p.client.Handles
	switch taker := p.taker.Load(); {
	case s.Free:
		return all
	case s.Client != p.client.Name: // a moment
		if i := slices.IndexFunc(all, func(h *play.Handle) bool { return taker != nil && h.Name == *taker }); i >= 0 {
			return all[i : i+1]
		}
		return all // nobody has seen the grant
	}
	n := int(s.At/time.Millisecond) % len(all)
	return all[n : n+1]
}

// ambushed is a breakpoint that has been reached.
type ambushed struct {
	*tap.Armed
	handle *play.Handle
	server string // empty: any
	action faults.Action
	since  time.Duration // when it was armed
	others []*ambushed   // of the same handle at other servers, still armed
}

// abandon ends a hold of a client that is dead, without delivering a request: it would take up connections until the storm is over.
func (a *ambushed) abandon() {
	if a.action == faults.ActHoldRequest {
		a.Drop()
		return
	}
	a.Release() // of a reply, to nobody
}

// letGo ends a hold on the wire.
func (t *stormRunner) letGo(at *ambushed) {
	t.record(at, history.PhaseRecover)
	at.free()
}

// free lets what is held go on, there and at other servers.
func (a *ambushed) free() {
	a.Release()
	for _, other := range a.others {
		other.Disarm()
	}
}

func (t *stormRunner) record(at *ambushed, phase history.Phase) {
	t.cell.run.Fault(at.action.Kind(), at.handle.Name, phase, strings.Join(at.Args(), " "))
}

// meetOne arms the breakpoints of a strike and waits until one is reached that counts; nil if none is.
func (t *stormRunner) meetOne(ctx context.Context, p *peer, s storm.Strike) *ambushed {
	waiting, enough := context.WithTimeout(ctx, t.Plan.Patience())
	defer enough()
	for {
		met := t.meetAny(waiting, t.arm(p, s))
		if met == nil {
			return nil
		}
		if !s.Free || t.granted(ctx, met) {
			t.record(met, history.PhaseEffective)
			return met
		}
		met.free()
	}
}

// granted says whether a request that is held will be granted the lock if nobody else is before, or a reply that is held is to one that was.
func (t *stormRunner) granted(ctx context.Context, met *ambushed) bool {
	if met.action == faults.ActHoldReply {
		return time.Duration(t.cell.peers[met.handle.Client.Name].took.Load()) >= met.since
	}
	for _, s := range t.cell.stage.servers {
		if state, err := s.State(ctx, met.handle.Key); err == nil && !state.Exists() {
			return true
		}
	}
	return false
}

// arm sets the breakpoints of a strike for each handle that it may catch, one at each of several servers if it disturbs the links to them.
func (t *stormRunner) arm(p *peer, s storm.Strike) (all []*ambushed) {
	servers := []string{""}
	if _, links := linkStrike(s); links && len(t.cell.stage.servers) > 1 {
		servers = nil
		for _, server := range t.cell.stage.servers {
			servers = append(servers, server.name)
		}
	}
	for _, h := range watched(p, s) {
		for _, server := range servers {
			for _, want := range s.Breakpoints {
				want.Server = server
				since := t.cell.stage.Now()
				armed := t.cell.stage.breakpoints.Arm(tap.Breakpoint{Breakpoint: want, Client: h.Name})
				all = append(all, &ambushed{Armed: armed, handle: h, server: server, action: want.Action, since: since})
			}
		}
	}
	return all
}

// meetAny waits until one of several breakpoints is reached, and disarms the others but for those of the same handle at other servers.
func (t *stormRunner) meetAny(ctx context.Context, all []*ambushed) *ambushed {
	reached := make(chan *ambushed, len(all))
	waiting, enough := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, at := range all {
		wg.Go(func() {
			select {
			case <-at.Reached():
				reached <- at
				enough()
			case <-waiting.Done():
			case <-t.over:
			}
		})
	}
	wg.Wait()
	enough()
	var met *ambushed
	select {
	case met = <-reached:
	default:
	}
	for _, at := range all {
		switch {
		case at == met:
		case met != nil && at.handle == met.handle && at.server != met.server:
			met.others = append(met.others, at)
		default:
			at.Disarm()
		}
	}
	return met
}

// crash kills a client: at once, or when its request is held. That request arrives late, or never.
func (t *stormRunner) crash(ctx context.Context, p *peer, all processUsers, s storm.Strike) error {
	var at *ambushed
	if len(s.Breakpoints) > 0 {
		at = t.meetOne(ctx, p, s)
	}
	all.die()
	if err := p.client.Kill(ctx); err != nil || at == nil {
		return err
	}
	if !s.Late {
		at.abandon()
		return nil
	}
	t.pause(ctx, s.For)
	t.letGo(at)
	return nil
}
