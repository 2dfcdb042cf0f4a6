package endtoend

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults/server"
)

var signalsEach = flag.Int("signals", 1, "`N` signals at random moments for each subcommand and server")

// subcommand is a command line that is ended at a random moment.
type subcommand struct {
	name   string
	args   []string
	within time.Duration // the signal comes
	saves  bool          // it writes results
}

// subcommands are all that run or read anything. saved is the directory of a run.
func subcommands(n *neighbours, saved string) []subcommand {
	var all []subcommand
	add := func(name string, within time.Duration, saves bool, args ...string) {
		all = append(all, subcommand{name: name, args: args, within: within, saves: saves})
	}
	for _, server := range []string{"embedded", "redis-server"} {
		add("run "+server, 1500*time.Millisecond, true, "run", "--all", "--json", "--server", server)
		add("storm "+server, 1500*time.Millisecond, true, "storm", "--lock", "setpx-lua,redlock", "--json", "--for", "5s", "--server", server)
		add("explore --replay "+server, time.Second, false, "explore", "setpx-lua", "--clients", "2", "--pauses", "1", "--replay", "--count", "200",
			"--server", server)
		add("shrink "+server, time.Second, false, "shrink", saved, "--server", server)
	}
	for _, server := range newerServers() {
		add("run "+server, 2500*time.Millisecond, true, "run", "--all", "--json", "--lock", "setpx-lua,zookeeper", "--server", server)
	}
	add("storm replicated", 2500*time.Millisecond, true, "storm", "--lock", "setpx-lua", "--json", "--for", "5s", "--server", "replicated")
	add("bench locks", time.Second, false, "bench", "locks", "--lock", "setpx-lua,redlock")
	add("bench updates", time.Second, false, "bench", "updates", "--lock", "setpx-lua,fenced", "--seeds", "1")
	add("tour", time.Second, true, "run", "--json")
	add("run sim", time.Second, true, "run", "--all", "--json", "--world", "sim")
	add("foreign client", time.Second, true, "run", "--client", deafChild, "--like", "setpx-lua", "--count", "5", "--json")
	add("explore", 500*time.Millisecond, false, "explore", "redlock")
	add("check", 100*time.Millisecond, false, "check", saved)
	add("explain", 100*time.Millisecond, false, "explain", saved)
	add("doctor", 200*time.Millisecond, false, "doctor")
	add("run at an address", 1500*time.Millisecond, true, n.args("--lock", "setpx-lua,watchdog", "--count", "20")...)
	add("storm at an address", 1500*time.Millisecond, true, "storm", "--lock", "setpx-lua", "--json", "--for", "5s", "--faults", "pause,partition",
		"--server", n.addr, "--toxiproxy", n.api)
	return all
}

// newerServers are those of several processes, or of another kind than Redis, as far as this machine has them.
func newerServers() []string {
	if _, _, err := server.FindZooKeeper(); err != nil {
		return []string{"replicated"} // tests of cmd/lab say so
	}
	return []string{"replicated", "zookeeper"}
}

// TestSignalsAtRandomMoments ends every subcommand at random moments. No process, port, directory, key or proxy may be left, and what was
// written must be readable.
func TestSignalsAtRandomMoments(t *testing.T) {
	skipRacing(t)
	needRedis(t)
	n := startNeighbours(t)
	before := n.belongings(t)
	fixture := start(t, "run", "pause-past-lease", "--lock", "setpx-lua", "--world", "sim", "--json", "--out", "saved")
	require.Equal(t, 0, fixture.exitCode(t, patience), fixture.said(t))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM}
	t.Run("all", func(t *testing.T) {
		for round := range *signalsEach {
			for i, sub := range subcommands(n, filepath.Join(fixture.dir, "saved")) {
				signal := signals[(i+round)%len(signals)]
				moment := time.Duration(random.Int64N(int64(sub.within)))
				t.Run(fmt.Sprintf("%d %s %v at %v", round, sub.name, signal, moment), func(t *testing.T) {
					t.Parallel()
					sub.endAt(t, moment, signal)
				})
			}
		}
	})
	eventually(t, patience, func() error {
		if proxies, keys := n.traces(t); proxies > 0 || keys > 0 {
			return fmt.Errorf("%d proxies and %d keys are left", proxies, keys)
		}
		return nil
	})
	assert.Equal(t, before, n.belongings(t))
}

func (s subcommand) endAt(t *testing.T, moment time.Duration, signal syscall.Signal) {
	lab := start(t, s.args...)
	select {
	case <-time.After(moment):
	case <-lab.ended:
	}
	sockets := listeners(t, lab.mark)
	// One that has ended by itself meanwhile gets no signal any more.
	if err := lab.cmd.Process.Signal(signal); !errors.Is(err, os.ErrProcessDone) {
		require.NoError(t, err)
	}
	code := lab.exitCode(t, patience)
	assert.Contains(t, s.codes(signal), code, lab.said(t))
	lab.nothingLeft(t, patience)
	eventually(t, patience, func() error {
		still := listening(t)
		for socket := range sockets {
			if still[socket] {
				return errors.New("a port is still open")
			}
		}
		return nil
	})
	if dir, begun := lab.results(t); begun {
		require.True(t, s.saves)
		lab.check(t, dir)
	}
}

// codes are those that the lab may end with: that of the signal, or its own if it was faster.
func (s subcommand) codes(signal syscall.Signal) []int {
	own := []int{0, 1, 2, 4}
	if signal == syscall.SIGKILL {
		return append(own, -1)
	}
	// Before it can catch signals, it ends by them.
	return slices.Concat(own, []int{-1, 128 + int(signal)})
}
