package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/tap"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/storm"
	"github.com/locklab/locklab/worker/protocol"
)

// fate carries out what befalls a client, one thing after the other, until it has crashed or the storm is over. Each fault has ended
// when it returns.
func (t *tempest) fate(ctx context.Context, cl *client, all household) (crash *storm.Strike, err error) {
	for _, s := range t.plan.Of(cl.name) {
		ready, err := t.await(ctx, cl, s.At)
		if err != nil {
			return nil, err
		}
		if !ready {
			return nil, nil
		}
		if s.Kind == storm.Crash {
			return &s, t.crash(ctx, cl, all, s)
		}
		if err := t.strike(ctx, cl, s); err != nil {
			return nil, err
		}
	}
	_, err = t.await(ctx, cl, t.plan.For)
	return nil, err
}

// await waits for a time of the storm. Meanwhile the client may take the lock, and with it what is meant for whoever does. It returns
// false if the storm is over before.
func (t *tempest) await(ctx context.Context, cl *client, at time.Duration) (bool, error) {
	timer := time.NewTimer(t.began + at - t.cell.world.since())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true, nil
		case <-t.over:
			return false, nil
		case <-ctx.Done():
			return false, nil
		case moment := <-cl.moments:
			if err := t.meet(ctx, cl, moment); err != nil {
				return false, err
			}
		}
	}
}

// meet strikes a client that has come to a moment, if something is meant for whoever does.
func (t *tempest) meet(ctx context.Context, cl *client, moment storm.Moment) error {
	for moment != "" {
		select {
		case s := <-t.offers[moment]:
			var reached bool
			if reached, moment = t.reaches(ctx, cl, s); !reached {
				continue
			}
			calm := t.cell.world.since() - t.began + t.plan.Lease
			t.pause(ctx, s.After)
			err := t.strike(ctx, cl, s)
			t.until(ctx, calm) // if more came before the lease is over, nobody could tell what did what
			return err
		default:
			return nil
		}
	}
	return nil
}

// reaches waits until as many servers have given a taker the lock as the strike is for. If they do not do so at once, it is to no avail;
// the taker may have come to another moment instead.
func (t *tempest) reaches(ctx context.Context, cl *client, s storm.Strike) (reached bool, other storm.Moment) {
	atOnce, cancel := context.WithTimeout(ctx, t.plan.Lease/4)
	defer cancel()
	for range s.Nth - 1 {
		select {
		case m := <-cl.moments:
			if m != storm.Taker {
				return false, m
			}
		case <-atOnce.Done():
			return false, ""
		}
	}
	return true, ""
}

// offer offers the strikes for a moment, one after the other, to whoever comes to it. Those for more servers than there are are left out.
func (t *tempest) offer(ctx context.Context, moment storm.Moment) error {
	for _, s := range t.plan.Of(string(moment)) {
		if s.Nth > len(t.cell.servers) {
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

// strike lets a fault begin, last and end.
func (t *tempest) strike(ctx context.Context, cl *client, s storm.Strike) error {
	switch s.Kind {
	case storm.Pause:
		if err := cl.pause(ctx); err != nil {
			return err
		}
		t.pause(ctx, s.For)
		return cl.resume(ctx)
	case storm.Clock:
		return t.skew(ctx, cl, s)
	case storm.Hold, storm.Duplicate:
		return t.ambush(ctx, cl, s)
	}
	fault, ok := linkStrike(s)
	if !ok {
		return fmt.Errorf("the live world has no %s", s)
	}
	servers := t.hit(s)
	if err := cl.disturb(ctx, fault, servers); err != nil {
		return spoilt(err)
	}
	t.pause(ctx, s.For)
	broken, err := cl.mend(ctx, servers)
	if err != nil {
		return spoilt(err)
	}
	return spoilt(cl.reconnect(ctx, broken))
}

// hit names the servers whose links a strike disturbs; nil: all there are.
func (t *tempest) hit(s storm.Strike) (names []string) {
	servers := t.cell.servers
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

// spoilt ends a storm of which a link could not be disturbed, or not be healed: somebody else on this machine may have taken its port.
// What the storm had shown before counts.
func spoilt(err error) error {
	var early *cells.Ending
	if err == nil || errors.As(err, &early) {
		return err
	}
	return cells.PremiseMissed("the storm ended before its time: %v", err)
}

func linkStrike(s storm.Strike) (network.Fault, bool) {
	switch s.Kind {
	case storm.Partition:
		return network.Partition(sides[s.Side]), true
	case storm.Refuse:
		return network.Refuse(), true
	case storm.Delay:
		return network.Delay(s.Each), true
	case storm.ReplyLost:
		return network.LoseReplies(), true
	}
	return nil, false
}

func (t *tempest) skew(ctx context.Context, cl *client, s storm.Strike) error {
	if !t.cell.traits.Can(protocol.Skew) {
		return nil
	}
	if err := cl.setClock(ctx, s.Ahead, s.Rate); err != nil {
		return err
	}
	t.pause(ctx, s.For)
	return cl.setClock(ctx, 0, 1)
}

// ambush waits on the wire for a request of the client, and does to it what the strike says. Where none comes, nothing happens.
func (t *tempest) ambush(ctx context.Context, cl *client, s storm.Strike) error {
	cl = caught(cl, s)
	trap := t.spring(ctx, cl, s)
	if trap == nil || trap.want.Do == scenarios.Duplicate {
		return nil
	}
	t.pause(ctx, s.For)
	t.letGo(cl, trap)
	return nil
}

// caught is the client, or the further handle in its process, for whose requests a strike waits: the moment decides, and so the seed.
func caught(cl *client, s storm.Strike) *client {
	return cl.members[int(s.At/time.Millisecond)%len(cl.members)]
}

// letGo ends a hold on the wire.
func (t *tempest) letGo(cl *client, trap *armed) {
	t.cell.fault(cells.TrapFault(trap.want.Do), cl.name, history.PhaseRecover, strings.Join(trap.Args(), " "))
	trap.Release()
}

// spring arms the breakpoints of a strike and waits until one is reached; nil if none is. The others are taken away.
func (t *tempest) spring(ctx context.Context, cl *client, s storm.Strike) *armed {
	reached := make(chan *armed, len(s.Traps))
	waiting, enough := context.WithTimeout(ctx, t.plan.Patience())
	var wg sync.WaitGroup
	var all []*armed
	for _, want := range s.Traps {
		trap := &armed{want: want, Trap: t.cell.traps.Arm(tap.Breakpoint{
			Client: cl.name, Nth: want.Nth, Match: cells.MatchOf(want.What), Action: actions[want.Do],
		})}
		all = append(all, trap)
		wg.Go(func() {
			select {
			case <-trap.Reached():
				reached <- trap
				enough()
			case <-waiting.Done():
			case <-t.over:
			}
		})
	}
	wg.Wait()
	enough()
	var sprung *armed
	select {
	case sprung = <-reached:
		t.cell.fault(cells.TrapFault(sprung.want.Do), cl.name, history.PhaseEffective, strings.Join(sprung.Args(), " "))
	default:
	}
	for _, trap := range all {
		if trap != sprung {
			trap.Disarm()
		}
	}
	return sprung
}

// crash kills a client: at once, or when something of it is on the wire. That arrives late, or is never heard of again.
func (t *tempest) crash(ctx context.Context, cl *client, all household, s storm.Strike) error {
	var trap *armed
	if len(s.Traps) > 0 {
		trap = t.spring(ctx, caught(cl, s), s)
	}
	all.die()
	if err := cl.kill(ctx); err != nil || trap == nil || !s.Late {
		return err
	}
	t.pause(ctx, s.For)
	t.letGo(caught(cl, s), trap)
	return nil
}
