package endtoend

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/needs"
)

// TestKilledLabLeavesNothing kills the lab with SIGKILL at random moments. A second later nothing may be left.
func TestKilledLabLeavesNothing(t *testing.T) {
	skipRacing(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := needs.Count(t, "rounds", 2, 12)
	t.Run("rounds", func(t *testing.T) {
		for round := range rounds {
			moment := time.Duration(random.Int64N(int64(1500 * time.Millisecond)))
			args := []string{"run", "--all", "--json", "--seed", fmt.Sprint(1 + random.Int64N(1000)), "--server"}
			args = append(args, []string{"embedded", "redis-server"}[round%2])
			if round%4 >= 2 {
				args = append(args, "--client", deafChild, "--like", "setpx-lua", "--count", "5")
			}
			t.Run(fmt.Sprintf("%d at %v", round, moment), func(t *testing.T) {
				if round%2 == 1 {
					needs.Found(t, "redis", redis.Find)
				}
				t.Parallel()
				killAt(t, moment, args)
			})
		}
	})
}

// killAt runs the lab, kills it after a while, and asserts that soon nothing is left of it but what it has recorded.
func killAt(t *testing.T, moment time.Duration, args []string) {
	lab := start(t, args...)
	select {
	case <-time.After(moment):
	case <-lab.ended:
		require.FailNow(t, "the run ended before it was killed", lab.said(t))
	}
	sockets := listeners(t, lab.mark)
	require.NoError(t, lab.cmd.Process.Signal(syscall.SIGKILL))
	<-lab.ended
	took := lab.nothingLeft(t, time.Second)
	eventually(t, time.Second, func() error { // the lab's child closes its ports after its environment is gone
		still := listening(t)
		for socket := range sockets {
			if still[socket] {
				return errors.New("a port is still open")
			}
		}
		return nil
	})
	dir, begun := lab.results(t)
	t.Logf("%v: had %d ports open; nothing left after %v", args, len(sockets), took)
	if begun {
		code, _ := lab.check(t, dir)
		assert.Contains(t, []int{0, 2, 4}, code, "what was recorded must be judged: as expected, unknown, or nothing yet")
	}
}
