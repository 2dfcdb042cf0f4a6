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

// spinning asks again and again.
type spinning struct{ asked }

func (l *spinning) TryAcquire(ctx context.Context) (bool, error) {
	for {
		if ok, err := l.asked.TryAcquire(ctx); ok || err != nil {
			return ok, err
		}
	}
}

// everyLock are locks on one server, small enough to be searched without what makes a search smaller.
func everyLock(name string) func(sim.Access) (impls.Lock, func(), error) {
	return func(access sim.Access) (impls.Lock, func(), error) {
		a := asked{Access: access}
		switch name {
		case "careless":
			return &careless{a}, func() {}, nil
		case "spinning":
			return &spinning{a}, func() {}, nil
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

func searchEvery(t *testing.T, lock string, every *sim.Every) searched {
	out := searched{shows: map[string]bool{}}
	for more := true; more; more = every.Next() {
		for _, a := range checker.Conclude(playEvery(t, lock, every).Events, checker.Options{}).Anomalies {
			out.shows[fmt.Sprint(a.Name, a.Clients)] = true
		}
		require.Empty(t, every.Diverged())
		out.played++
	}
	out.total = every.Total()
	return out
}

// playEvery plays the next schedule.
func playEvery(t *testing.T, lock string, every *sim.Every) (played play.Played) {
	world := sim.OpenBubble(sim.Config{CellTimeout: time.Minute}, sim.Library{Name: "orders", Settle: synctest.Wait, Linger: time.Minute, Open: everyLock(lock)})
	subject := play.Subject{Name: "asked", Traits: play.Traits{Known: true, Separate: true, Servers: 1}}
	synctest.Test(t, func(t *testing.T) {
		var err error
		played, _, err = world.Explore(t.Context(), subject, sim.Search{Clients: 2, Turns: 1, Lease: 2 * time.Second, Every: every})
		require.NoError(t, err)
	})
	return played
}

// TestEveryLayer: what makes the search smaller changes nothing that it shows.
func TestEveryLayer(t *testing.T) {
	for _, lock := range []string{"careless", "certain"} {
		for faults := range needs.Count(t, "numbers of faults", 1, 2) {
			t.Run(fmt.Sprint(lock, faults), func(t *testing.T) {
				whole := searchEvery(t, lock, &sim.Every{Faults: faults})
				unmerged := searchEvery(t, lock, &sim.Every{Faults: faults, Unmerged: true})
				assert.Equal(t, whole.shows, unmerged.shows)
				assert.InDelta(t, whole.total, unmerged.played, 0)
				assert.LessOrEqual(t, whole.played, unmerged.played)
				if lock == "certain" {
					assert.Equal(t, faults > 0, whole.shows["double-holder[C1 C2]"])
					return // the rest takes a while
				}
				assert.Equal(t, faults > 0, whole.shows["wrongful-delete[C1 C2]"])
				unreduced := searchEvery(t, lock, &sim.Every{Faults: faults, Unreduced: true})
				assert.Equal(t, whole.shows, unreduced.shows)
				assert.Less(t, whole.played, unreduced.played)
			})
		}
	}
}

// TestEveryReplays: a schedule that is played by its way has the history that it had among all.
func TestEveryReplays(t *testing.T) {
	every, n := &sim.Every{Faults: 1}, 0
	for more := true; more && n < 40; more = every.Next() {
		first := playEvery(t, "careless", every)
		if !every.Merged() {
			require.Equal(t, first.Events, playEvery(t, "careless", every.Replay(every.Way())).Events)
			n++
		}
	}
}

// TestEveryEnds: a lock that tries again without a pause has schedules without an end, which are counted.
func TestEveryEnds(t *testing.T) {
	every := &sim.Every{}
	for n, more := 0, true; more && n < 20; n, more = n+1, every.Next() {
		played := playEvery(t, "spinning", every)
		if every.Endless() > 0 {
			assert.Equal(t, checker.Undecided, checker.Conclude(played.Events, checker.Options{}).Kind)
			return
		}
	}
	assert.Fail(t, "no schedule without an end")
}
