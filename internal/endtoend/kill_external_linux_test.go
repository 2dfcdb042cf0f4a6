package endtoend

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

// TestKilledLabLeavesNothingAtOutsideServers kills the lab with SIGKILL while it uses a Redis and a toxiproxy that are not its own.
// A second later they must be as they were, but for one round in five, which may take longer where the cores are busy.
func TestKilledLabLeavesNothingAtOutsideServers(t *testing.T) {
	skipRacing(t)
	n := startNeighbours(t)
	before := n.belongings(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := needs.Count(t, "rounds", 1, 5)
	late := 0
	for round := range rounds {
		moment := time.Duration(random.Int64N(int64(500 * time.Millisecond)))
		t.Run(fmt.Sprintf("%d at %v", round, moment), func(t *testing.T) {
			if n.killAt(t, moment) > time.Second {
				late++
			}
			assert.Equal(t, before, n.belongings(t))
		})
	}
	assert.LessOrEqual(t, late, (rounds+4)/5)
}

// killAt runs the lab, kills it some time after it has come to the neighbours, and returns how long it then took until nothing was
// left of it, there and here.
func (n *neighbours) killAt(t *testing.T, moment time.Duration) time.Duration {
	lab := start(t, n.args("--lock", "setpx-lua,watchdog", "--count", "20")...)
	eventually(t, patience, func() error {
		if proxies, keys := n.traces(t); proxies == 0 || keys == 0 {
			return errors.New("the lab has not come: " + lab.said(t))
		}
		return nil
	})
	select {
	case <-time.After(moment):
	case <-lab.ended:
		require.FailNow(t, "the run ended before it was killed", lab.said(t))
	}
	proxies, keys := n.traces(t)
	require.NoError(t, lab.cmd.Process.Signal(syscall.SIGKILL))
	killed := time.Now()
	<-lab.ended
	lab.nothingLeft(t, 5*time.Second)
	eventually(t, 5*time.Second, func() error {
		if proxies, keys := n.traces(t); proxies > 0 || keys > 0 {
			return fmt.Errorf("%d proxies and %d keys are left", proxies, keys)
		}
		return nil
	})
	took := time.Since(killed)
	t.Logf("had %d proxies and %d keys; nothing left after %v", proxies, keys, took)
	return took
}

// traces counts the proxies and keys of labs at the neighbours.
func (n *neighbours) traces(t *testing.T) (proxies, keys int) {
	t.Helper()
	listed, err := toxiproxy.NewClient(n.api).Proxies()
	require.NoError(t, err)
	for name := range listed {
		if strings.HasPrefix(name, "locklab-") {
			proxies++
		}
	}
	found, err := n.redis.Keys(t.Context(), "locklab:*").Result()
	require.NoError(t, err)
	for _, key := range found {
		if key != "locklab:another-run:1:lock" {
			keys++
		}
	}
	return proxies, keys
}
