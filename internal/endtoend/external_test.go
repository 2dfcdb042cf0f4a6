//go:build linux || darwin

package endtoend

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/internal/report/rundir"
)

// neighbours are a Redis and a toxiproxy that are none of the lab's, and that others use as well: the wiring of docker-compose.yml.
type neighbours struct {
	redis redisclient.Client
	addr  string
	api   string
}

func startNeighbours(t *testing.T) *neighbours {
	t.Helper()
	needs.Found(t, "redis", redis.Find)
	guard := servertest.StartGuard(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	theirs, err := redis.Start(ctx, guard, redis.Options{})
	require.NoError(t, err)
	n := &neighbours{addr: theirs.Addr(), api: startToxiproxy(t, guard)}
	n.redis = redisclient.New(n.addr, redisclient.Settings{Timeout: patience})
	t.Cleanup(func() { require.NoError(t, n.redis.Close()) })
	n.settle(t)
	return n
}

// startToxiproxy starts one as a process and returns the URL of its API.
func startToxiproxy(t *testing.T, guard *process.Guard) string {
	t.Helper()
	argv := servertest.As("toxiproxy")
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = out.Close() })
	_, err = guard.Start(cmd)
	require.NoError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return "http://" + strings.TrimSpace(line)
}

// settle puts there what others have: keys of every kind, also below the lab's prefix, and a proxy with a toxic.
func (n *neighbours) settle(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, n.redis.Set(ctx, "lock", "theirs", time.Hour).Err())
	require.NoError(t, n.redis.Set(ctx, "counter", "7", 0).Err())
	require.NoError(t, n.redis.Set(ctx, "locklab:another-run:1:lock", "theirs", time.Hour).Err())
	require.NoError(t, n.redis.HSet(ctx, "hash", "field", "value").Err())
	require.NoError(t, n.redis.RPush(ctx, "list", "one", "two").Err())
	proxy, err := toxiproxy.NewClient(n.api).CreateProxy("theirs", "127.0.0.1:0", n.addr)
	require.NoError(t, err)
	_, err = proxy.AddToxic("slow", "latency", "downstream", 1, toxiproxy.Attributes{"latency": 5})
	require.NoError(t, err)
}

// belongings is all that the neighbours have: each key with its value, and whether it expires, and the proxies.
func (n *neighbours) belongings(t *testing.T) map[string]string {
	t.Helper()
	ctx := t.Context()
	found := map[string]string{}
	keys, err := n.redis.Keys(ctx, "*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		value, err := n.redis.Dump(ctx, key).Result()
		require.NoError(t, err)
		left, err := n.redis.TTL(ctx, key).Result()
		require.NoError(t, err)
		found[key] = value + " " + left.Round(time.Hour).String()
	}
	reply, err := http.Get(n.api + "/proxies")
	require.NoError(t, err)
	defer reply.Body.Close()
	proxies, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	found["proxies"] = string(proxies)
	return found
}

func (n *neighbours) args(more ...string) []string {
	return append([]string{"run", "--json", "--server", n.addr, "--toxiproxy", n.api}, more...)
}

// links is a script with every fault of a link in it. No lock fails in it.
const links = `# Every fault of a link, one after another.
lease    60s
clients  C1 C2

C1  acquire => ok
C1  cut off
C1  release in background
C2  acquire => no
C1  heal
C1  await => ok

C1  acquire => ok
C1  cut off requests
C1  release in background
C2  acquire => no
C1  heal
C1  await => ok

C1  acquire => ok
C1  cut off replies
C1  release in background
C2  acquire within 30s => ok
C1  heal
C1  await => ok
C2  release => ok

C1  acquire => ok
C1  lose replies
C1  release in background
C2  acquire within 30s => ok
C1  heal
C1  await => unknown
C2  release => ok

C1  delay 20ms
C1  acquire => ok
C1  heal
C2  refuse
C2  acquire => unknown
C2  heal
C2  acquire => no
C1  release => ok
`

// TestOutsideServers runs cells through a toxiproxy and against a Redis that run beside the lab.
func TestOutsideServers(t *testing.T) {
	needs.Long(t, "signals at servers of others")
	t.Parallel()
	n := startNeighbours(t)
	before := n.belongings(t)
	tests := map[string][]string{
		"on loopback":              {"--listen", "127.0.0.1"},
		"as in docker-compose.yml": {"--listen", "0.0.0.0", "--advertise", "auto"},
	}
	for name, wiring := range tests {
		t.Run(name, func(t *testing.T) {
			if name != "on loopback" {
				needs.Long(t, "one more wiring")
			}
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "links.lab"), []byte(links), 0o600))
			args := n.args("links.lab", "acquire-reply-lost", "late-acquire", "server-clock-jumps", "redis-restarts-empty",
				"--lock", "setpx-lua,watchdog")
			lab := startIn(t, dir, append(args, wiring...)...)
			code := lab.exitCode(t, 2*patience)
			lab.nothingLeft(t, time.Second)
			results, ok := lab.results(t)
			require.True(t, ok, lab.said(t))
			run, err := rundir.ReadRun(results)
			require.NoError(t, err)
			asExpected(t, code, run)
			assert.Contains(t, run.Toxiproxy, n.api)
			assert.Contains(t, run.Server, n.addr)
			assert.Equal(t, before, n.belongings(t))
		})
	}
}

// TestOutsideServersAfterAnInterrupt asserts that the lab takes what is its own with it when it is interrupted.
func TestOutsideServersAfterAnInterrupt(t *testing.T) {
	needs.Long(t, "interrupts a run at the servers of others")
	t.Parallel()
	n := startNeighbours(t)
	before := n.belongings(t)
	lab := start(t, n.args("--lock", "setpx-lua,setnx-del", "--count", "5")...)
	lab.awaitCells(t, enough)
	lab.signal(t, syscall.SIGINT)
	assert.Equal(t, 130, lab.exitCode(t, 5*time.Second), lab.said(t))
	lab.nothingLeft(t, time.Second)
	assert.Equal(t, before, n.belongings(t))
	partialResults(t, lab)
}

// asExpected asserts that a run came out as expected. The tests of other packages run at the same time: a cell may have been begun
// anew for that, but none may be undecided.
func asExpected(t *testing.T, code int, run *record.Run) {
	t.Helper()
	require.True(t, run.Finished)
	for _, cell := range run.Cells {
		name := cell.Lock + "/" + cell.Scenario
		assert.Empty(t, cell.Failure, name)
		assert.NotEqual(t, checker.Undecided, cell.Verdict.Kind, "%s: %s", name, cell.Verdict.Reason)
		assert.False(t, cell.Surprise(), "%s: expected %s, got %s", name, cell.Expected.Verdict, cell.Verdict)
	}
	assert.Equal(t, 0, code)
}
