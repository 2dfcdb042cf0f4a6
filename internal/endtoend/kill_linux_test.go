package endtoend

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKilledLabLeavesNothing kills the lab with SIGKILL at random moments. A second later nothing may be left. Where the tests of
// other packages keep the cores busy, one in ten may take longer; none may leave anything behind.
func TestKilledLabLeavesNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	var late atomic.Int32
	t.Run("rounds", func(t *testing.T) {
		for round := range rounds {
			moment := time.Duration(random.Int64N(int64(1500 * time.Millisecond)))
			args := []string{"run", "--json", "--seed", fmt.Sprint(1 + random.Int64N(1000)), "--server"}
			args = append(args, []string{"embedded", "redis-server"}[round%2])
			if round%4 >= 2 {
				args = append(args, "--client", deafChild, "--lock", "setpx-lua", "--count", "5")
			}
			t.Run(fmt.Sprintf("%d at %v", round, moment), func(t *testing.T) {
				if round%2 == 1 {
					needRedis(t)
				}
				t.Parallel()
				if killAt(t, moment, args) > time.Second {
					late.Add(1)
				}
			})
		}
	})
	assert.LessOrEqual(t, int(late.Load()), rounds/10)
}

// killAt runs the lab, kills it after a while, and returns how long it then took until nothing was left.
func killAt(t *testing.T, moment time.Duration, args []string) time.Duration {
	lab := start(t, args...)
	select {
	case <-time.After(moment):
	case <-lab.ended:
		require.FailNow(t, "the run ended before it was killed", lab.said(t))
	}
	sockets := listeners(t, lab.mark)
	require.NoError(t, lab.cmd.Process.Signal(syscall.SIGKILL))
	<-lab.ended
	took := lab.nothingLeft(t, 5*time.Second)
	still := listening(t)
	for socket := range sockets {
		assert.False(t, still[socket], "a port is still open")
	}
	dir, begun := lab.results(t)
	t.Logf("%v: had %d ports open; nothing left after %v", args, len(sockets), took)
	if begun {
		code, _ := lab.check(t, dir)
		assert.Contains(t, []int{0, 2, 4}, code, "what was recorded must be judged: as expected, unknown, or nothing yet")
	}
	return took
}
