package endtoend

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/needs"
)

var (
	signalsEach = flag.Int("signals", 0, "`N` signals at random moments for each subcommand and server; 0: one each for some of them, as chance has it")
	killsOnly   = flag.Bool("kills", false, "all these signals are SIGKILL")
)

// fewSignals are enough for a test that runs often.
const fewSignals = 24

// subcommand is a command line that is ended at a random moment.
type subcommand struct {
	name   string
	args   []string
	within time.Duration // the signal comes
	saves  bool          // it writes a run
}

// fixtures are results that subcommands read.
type fixtures struct{ run, first, second string } // a run, and the parts of another one

// saveRuns plays what is read later.
func saveRuns(t *testing.T) fixtures {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	s := fixtures{in("run"), in("first"), in("second")}
	for _, more := range [][]string{{"setpx-del", "--out", s.run}, {"setpx-lua,setpx-del", "--out", s.first, "--shard", "1/2"}, {"setpx-lua,setpx-del", "--out", s.second, "--shard", "2/2"}} {
		lab := start(t, append([]string{"run", "pause-past-lease", "--world", "sim", "--json", "--lock"}, more...)...)
		require.Equal(t, 0, lab.exitCode(t, patience), lab.said(t))
	}
	return s
}

// subcommands are all that run, read or write anything. Adapters are built for them if all are wanted: that takes long.
func subcommands(t *testing.T, n *neighbours, saved fixtures, adapters bool) []subcommand {
	var all []subcommand
	add := func(name string, within time.Duration, saves bool, args ...string) {
		all = append(all, subcommand{name: name, args: args, within: within, saves: saves})
	}
	const soon, later = time.Second, 2500 * time.Millisecond
	for _, server := range []string{"embedded", "redis-server"} {
		add("run "+server, 1500*time.Millisecond, true, "run", "--all", "--json", "--server", server)
		add("storm "+server, 1500*time.Millisecond, true, "storm", "--lock", "setpx-lua,redlock", "--json", "--for", "5s", "--server", server)
		add("explore --replay "+server, soon, false, "explore", "setpx-lua", "--clients", "2", "--pauses", "1", "--replay", "--count", "200",
			"--server", server)
		add("shrink "+server, soon, false, "shrink", saved.run, "--server", server)
		add("foreign client "+server, soon, true, "run", "--client", deafChild, "--like", "setpx-lua", "--count", "5", "--json", "--server", server)
		add("doctor --client "+server, soon, false, "doctor", "--client", deafChild, "--like", "setpx-lua", "--server", server)
		add("bench locks "+server, soon, false, "bench", "locks", "--lock", "setpx-lua,redlock", "--server", server)
	}
	for _, server := range newerServers() {
		add("run "+server, later, true, "run", "--all", "--json", "--lock", "setpx-lua,zookeeper", "--server", server)
		if server == "replicated" || server == "zookeeper" {
			add("storm "+server, later, true, "storm", "--lock", "setpx-lua,zookeeper", "--json", "--for", "5s", "--server", server)
		}
	}
	if adapters {
		add("run etcd", later, true, "run", "--all", "--json", "--server", "etcd", "--client", adapter(t, "etcd"))
		add("run postgres", later, true, "run", "--all", "--json", "--server", "postgres", "--client", adapter(t, "postgres"))
		add("doctor --client etcd", later, false, "doctor", "--server", "etcd", "--client", adapter(t, "etcd"))
		add("bench updates --client", later, false, "bench", "updates", "--client", adapter(t, "etcd"))
	}
	add("bench updates", soon, false, "bench", "updates", "--lock", "setpx-lua,fenced", "--every", "500ms", "--pause", "200ms")
	add("bench market", soon, false, "bench", "market")
	add("bench waiting sale", soon, false, "bench", "waiting", "--only", "sale")
	add("bench waiting held", soon, false, "bench", "waiting", "--only", "held")
	add("tour", soon, true, "run", "--json")
	add("run sim", soon, true, "run", "--all", "--json", "--world", "sim")
	add("explore", 500*time.Millisecond, false, "explore", "redlock")
	add("explore --all", soon, false, "explore", "--all", "--out", "table")
	add("check", 100*time.Millisecond, false, "check", saved.run)
	add("explain", 100*time.Millisecond, false, "explain", saved.run)
	add("merge", 100*time.Millisecond, false, "merge", saved.first, saved.second, "--out", "whole")
	add("merge --wait", soon, false, "merge", saved.first, "not-there-yet", "--wait", "1h", "--out", "whole")
	add("new", 50*time.Millisecond, false, "new", "python", "adapter")
	add("worker", 200*time.Millisecond, false, "worker")
	add("doctor", 200*time.Millisecond, false, "doctor")
	add("run at an address", 1500*time.Millisecond, true, n.args("--lock", "setpx-lua,watchdog", "--count", "20")...)
	add("storm at an address", 1500*time.Millisecond, true, "storm", "--lock", "setpx-lua", "--json", "--for", "5s", "--faults", "pause,partition",
		"--server", n.addr, "--toxiproxy", n.api)
	add("foreign client at an address", 1500*time.Millisecond, true,
		n.args("--client", deafChild, "--like", "setpx-lua", "--count", "5")...)
	return all
}

// newerServers are those of several processes, or of another kind than Redis, as far as this machine has them.
func newerServers() []string {
	servers := []string{"replicated", "cluster"}
	if _, _, err := zookeeper.Find(); err == nil { // else tests of cmd/lab say so
		servers = append(servers, "zookeeper", "zookeeper-ensemble")
	}
	return servers
}

// adapter builds a client in a module of its own.
func adapter(t *testing.T, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".")
	build.Dir = filepath.Join("..", "..", "adapters", name)
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	return path
}

// TestSignalsAtRandomMoments ends every subcommand at random moments. No process, port, directory, key or proxy may be left, and what was
// written must be readable.
//
//	go test ./internal/endtoend -run TestSignalsAtRandomMoments -signals 50
func TestSignalsAtRandomMoments(t *testing.T) {
	needs.Long(t, "signals at random moments")
	skipRacing(t)
	needs.Found(t, "redis", redis.Find)
	n := startNeighbours(t)
	before := n.belongings(t)
	all := subcommands(t, n, saveRuns(t), *signalsEach > 0)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM}
	if *killsOnly {
		signals = signals[:1]
	}
	if *signalsEach == 0 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:fewSignals]
	}
	t.Run("all", func(t *testing.T) {
		for round := range max(1, *signalsEach) {
			for i, sub := range all {
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
	lab.wholeFiles(t)
}

// wholeFiles asserts that what was written as JSON can be read.
func (l *lab) wholeFiles(t *testing.T) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		assert.True(t, json.Valid([]byte(read(t, path))), path)
		return nil
	}))
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
