package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/scenarios/sim"
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

// schedule is the history of a random schedule.
func schedule(t *testing.T, seed uint64) string {
	var text bytes.Buffer
	world := sim.OpenBubble(sim.Config{CellTimeout: time.Minute}, sim.Library{
		Name: "orders", Settle: synctest.Wait, Linger: time.Minute,
		Open: func(access sim.Access) (impls.Lock, func(), error) { return &asked{Access: access}, func() {}, nil },
	})
	subject := play.Subject{Name: "asked", Traits: play.Traits{Known: true, Separate: true}}
	search := sim.Search{Seed: seed, Clients: 2, Turns: 2, Depth: int(seed % 5), Faults: 2, Lease: 2 * time.Second}
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
	const seeds, atOnce = 500, 4
	histories := make([][seeds]string, atOnce)
	var workers sync.WaitGroup
	for n := range histories {
		workers.Go(func() {
			for seed := range histories[n] {
				histories[n][seed] = schedule(t, uint64(seed))
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
