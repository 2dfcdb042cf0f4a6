package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
)

// asked is a lock by SET NX PX, in a bubble.
type asked struct {
	sim.Access
	tries int
}

func (l *asked) token() string { return fmt.Sprint(l.Client, "-", l.tries) }

func (l *asked) TryAcquire(ctx context.Context) (bool, error) {
	l.tries++
	reply, err := l.Ask(ctx, l.Addrs[0], "SET", l.Name, l.token(), "NX", "PX", l.Lease.Milliseconds())
	return reply == "OK", err
}

func (l *asked) Release(ctx context.Context) (bool, error) {
	const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
	reply, err := l.Ask(ctx, l.Addrs[0], "EVAL", compareAndDelete, 1, l.Name, l.token())
	return reply == int64(1), err
}

// spread asks all servers at a time, each on a goroutine of its own, and tells of a loss when most of them do not renew it.
type spread struct {
	asked
	life context.Context
	stop func()
}

func (l *spread) each(ctx context.Context, words ...any) (most bool, err error) {
	var group sync.WaitGroup
	replies, errs := make([]any, len(l.Addrs)), make([]error, len(l.Addrs))
	for n, at := range l.Addrs {
		group.Go(func() { replies[n], errs[n] = l.Ask(ctx, at, words...) })
	}
	group.Wait()
	yes := 0
	for _, reply := range replies {
		if reply == "OK" || reply == int64(1) {
			yes++
		}
	}
	return yes > len(l.Addrs)/2, errors.Join(errs...)
}

func (l *spread) TryAcquire(ctx context.Context) (bool, error) {
	l.tries++
	if most, err := l.each(ctx, "SET", l.Name, l.token(), "NX", "PX", l.Lease.Milliseconds()); !most {
		return false, err
	}
	var hold context.Context
	hold, l.stop = context.WithCancel(l.life)
	go func() {
		for hold.Err() == nil {
			select {
			case <-hold.Done():
			case <-time.After(l.Lease / 3):
				if most, _ := l.each(hold, "PEXPIRE", l.Name, l.Lease.Milliseconds()); !most {
					l.Lost("most servers did not renew it")
					return
				}
			}
		}
	}()
	return true, nil
}

func (l *spread) Release(ctx context.Context) (bool, error) {
	defer l.stop()
	return l.each(ctx, "DEL", l.Name)
}

// schedule is the history of a random schedule of some locks.
func schedule(t *testing.T, seed uint64, servers int, open func(sim.Access) (impls.Lock, func(), error)) string {
	var text bytes.Buffer
	world := sim.OpenBubble(sim.Config{CellTimeout: time.Minute}, sim.Library{Name: "orders", Settle: synctest.Wait, Linger: time.Minute, Open: open})
	subject := play.Subject{Name: "asked", Traits: play.Traits{Known: true, Separate: true, Servers: servers, Majority: true}}
	search := sim.Search{Seed: seed, Clients: 2, Turns: 2, Depth: int(seed % 5), Faults: 8, Lease: 2 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		played, _, err := world.Explore(t.Context(), subject, search)
		require.NoError(t, err)
		out, err := history.NewWriter(&text, played.Header)
		for _, e := range played.Events {
			if assert.NoError(t, err) {
				err = out.Write(e)
			}
		}
		require.NoError(t, err)
	})
	return text.String()
}

// TestASeedReplaysItsHistory to the last event, however many schedules are played at once.
func TestASeedReplaysItsHistory(t *testing.T) {
	t.Run("one server", func(t *testing.T) {
		testReplays(t, 500, 1, func(access sim.Access) (impls.Lock, func(), error) { return &asked{Access: access}, func() {}, nil })
	})
	t.Run("three servers, asked at a time", func(t *testing.T) {
		testReplays(t, 250, 3, func(access sim.Access) (impls.Lock, func(), error) {
			life, end := context.WithCancel(context.Background())
			return &spread{asked: asked{Access: access}, life: life}, end, nil
		})
	})
}

func testReplays(t *testing.T, seeds, servers int, open func(sim.Access) (impls.Lock, func(), error)) {
	t.Helper()
	seeds = needs.Count(t, "seeds", seeds/5, seeds)
	const atOnce = 4
	var histories [atOnce][]string
	var workers sync.WaitGroup
	for n := range histories {
		workers.Go(func() {
			for seed := range seeds {
				histories[n] = append(histories[n], schedule(t, uint64(seed), servers, open))
			}
		})
	}
	workers.Wait()
	for seed, first := range histories[0] {
		for _, others := range histories[1:] {
			require.Equal(t, first, others[seed], "seed %d", seed)
		}
	}
	assert.NotEqual(t, histories[0][0], histories[0][1])
}
