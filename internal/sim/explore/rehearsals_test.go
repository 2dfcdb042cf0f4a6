package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/needs"
)

// What is known of a client's situation is what a rehearsal would come to now.
func TestRehearsalsAreTheSameInTheSameSituation(t *testing.T) {
	onRedis := traits{reads: true, walls: true, lives: true, nominal: true}
	for _, test := range []struct {
		lock   string
		about  traits
		faults Budget
	}{
		{"getset-published", onRedis, spend(faults.Crash, faults.Pause)},
		{"setpx-lua-published", onRedis, spend(faults.LateRequest, faults.ReplyLost)},
		{"setnx-expire", onRedis, spend(faults.Restart, faults.ClockJump)},
		{"watchdog-published", onRedis, spend(faults.Pause, faults.FailOver)},
		{"redlock", onRedis, spend(faults.ReplyLost, faults.Restart)},
		{"zookeeper", traits{nominal: true}, spend(faults.Partition, faults.Crash)},
	} {
		t.Run(test.lock, func(t *testing.T) {
			if test.lock != "setpx-lua-published" && test.lock != "zookeeper" {
				needs.Long(t, "a long search")
			}
			t.Parallel()
			spec := lock(t, test.lock)
			x := newExplorer(Config{
				Lock: spec, Clients: 2, Rounds: 2, Servers: min(spec.Servers, 3), Budget: test.faults, MostFaults: 2, States: 8000,
				Only: []checker.Name{checker.Unfair}, // nothing is to end the search
			}, test.about)
			looked, late, changes, instants := 0, 0, 0, 0
			x.visited = func(f form) {
				if looked++; looked%5 != 0 {
					return
				}
				var s state
				x.unpack(&s, &f)
				for i := range x.clients {
					c, at := &s.clients[i], x.situation(&s, i)
					if known := x.rehearsed.late.Of(at); known != nil {
						require.Equal(t, x.findMayComeLate(&s, i), *known)
						late++
					}
					if known := x.rehearsed.changes.Of(at); known != nil {
						require.Equal(t, x.findWouldChange(&s, i), *known)
						changes++
					}
					if limit := min(x.deadlines(&s)); x.reads && c.phase != crashed {
						known := x.instantsOfClient(&s, i, limit)
						require.Equal(t, x.findInstantsOfClient(&s, i, limit), known)
						instants++
					}
				}
			}
			defer x.automaton.Close()
			require.NoError(t, x.search(t.Context()))
			assert.NotZero(t, late+changes)
			assert.True(t, !x.reads || instants > 0)
		})
	}
}
