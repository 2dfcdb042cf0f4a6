package sim_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
)

// careless releases whoever's lock it is, and certain takes its lease to begin with the reply.
type careless struct{ asked }

func (l *careless) Release(ctx context.Context) (bool, error) {
	reply, err := l.Ask(ctx, l.Addrs[0], "DEL", l.Name)
	return reply == int64(1), err
}

type certain struct {
	asked
	until time.Time
}

func (l *certain) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.asked.TryAcquire(ctx)
	l.until = time.Now().Add(l.Lease)
	return ok, err
}

func (l *certain) Valid() time.Duration { return time.Until(l.until) }

// everyLock are locks on one server, small enough to be searched without what makes a search smaller.
func everyLock(name string) func(sim.Access) (impls.Lock, func(), error) {
	return func(access sim.Access) (impls.Lock, func(), error) {
		a := asked{Access: access}
		switch name {
		case "careless":
			return &careless{a}, func() {}, nil
		case "certain":
			return &certain{asked: a}, func() {}, nil
		}
		return &a, func() {}, nil
	}
}

// searched is what came of a search of every schedule: how many there are, how many were played, and what they show.
type searched struct {
	total  float64
	played int
	shows  map[string]bool
}

func searchEvery(t *testing.T, lock string, turns int, every *sim.Every) searched {
	out := searched{shows: map[string]bool{}}
	world := sim.OpenBubble(sim.Config{CellTimeout: time.Minute}, sim.Library{Name: "orders", Settle: synctest.Wait, Linger: time.Minute, Open: everyLock(lock)})
	subject := play.Subject{Name: "asked", Traits: play.Traits{Known: true, Separate: true, Servers: 1}}
	for more := true; more; more = every.Next() {
		synctest.Test(t, func(t *testing.T) {
			played, _, err := world.Explore(t.Context(), subject, sim.Search{Clients: 2, Turns: turns, Lease: 2 * time.Second, Every: every})
			require.NoError(t, err)
			verdict := checker.Conclude(played.Events, checker.Options{ListedFirst: true})
			for _, a := range verdict.Anomalies {
				out.shows[fmt.Sprint(a.Name, a.Clients)] = true
			}
		})
		require.Empty(t, every.Diverged())
		out.played++
	}
	out.total = every.Total()
	return out
}

// TestEveryLayer: what makes the search smaller changes nothing that it shows.
func TestEveryLayer(t *testing.T) {
	for _, lock := range []string{"careful", "careless", "certain"} {
		t.Run(lock, func(t *testing.T) {
			for faults := range needs.Count(t, "numbers of faults", 1, 2) {
				whole := searchEvery(t, lock, 1, &sim.Every{Faults: faults})
				unmerged := searchEvery(t, lock, 1, &sim.Every{Faults: faults, Unmerged: true})
				unreduced := searchEvery(t, lock, 1, &sim.Every{Faults: faults, Unreduced: true})
				t.Log(faults, whole, unmerged, unreduced)
				assert.Equal(t, whole.shows, unmerged.shows)
				assert.Equal(t, whole.total, unmerged.total)
				assert.Equal(t, unmerged.total, float64(unmerged.played))
				assert.Equal(t, whole.shows, unreduced.shows)
				assert.LessOrEqual(t, whole.played, unreduced.played)
			}
		})
	}
}
