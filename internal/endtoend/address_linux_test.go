package endtoend

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

var foreignKeys = flag.Int("foreign", 3000, "`N` keys of others are on the server of TestMonitorAtAnAddress")

// slow is what a command must not take on a server that others use. The test tells of slower ones and judges none: the host may be busy.
const slow = 10 * time.Millisecond

// TestMonitorAtAnAddress reads what MONITOR shows of a run and a storm at an address: only keys of a cell are named, beside what docs/safety.md
// lists as asked of the server. No command looks for keys, and none is left.
func TestMonitorAtAnAddress(t *testing.T) {
	needs.Long(t, "two runs and a storm beside many keys")
	skipRacing(t)
	n := startNeighbours(t)
	n.populate(t, *foreignKeys)
	before := n.redis.DBSize(t.Context()).Val()
	require.NoError(t, n.redis.ConfigSet(t.Context(), "slowlog-log-slower-than", fmt.Sprint(slow.Microseconds())).Err())
	require.NoError(t, n.redis.SlowLogReset(t.Context()).Err())
	require.NoError(t, n.redis.ConfigResetStat(t.Context()).Err())
	seen := n.monitor(t)
	for _, args := range [][]string{
		{"run", "take-turns", "pause-past-lease", "holder-crashes", "acquire-reply-lost", "server-clock-jumps",
			"--lock", "setpx-lua,watchdog,redisson,redisson-fair,fenced,setnx-watch", "--json"},
		{"run", "take-turns", "--like", "setpx-lua", "--client", `exec "$LOCKLAB_TEST_BINARY" worker`, "--json"},
		{"storm", "--lock", "setpx-lua", "--for", "1s", "--json"},
	} {
		lab := start(t, append(args, "--server", n.addr)...)
		code := lab.exitCode(t, 3*patience)
		assert.Contains(t, []int{0, 2}, code, lab.said(t))
	}
	lines := seen()
	require.NotEmpty(t, lines)
	slower, err := n.redis.SlowLogGet(t.Context(), 100).Result()
	require.NoError(t, err)
	t.Logf("%d commands beside %d keys of others; slower than %v: %v", len(lines), *foreignKeys, slow, slower)
	scripts := 0
	for _, line := range lines {
		command, lua := monitored(t, line)
		assert.Empty(t, strangeTo(command), line)
		if lua {
			scripts++
		}
	}
	assert.NotZero(t, scripts, "the locks' scripts are seen, too")
	// What MONITOR does not show, such as what a script calls undeclared, is counted.
	stats := n.redis.Info(t.Context(), "commandstats").Val()
	for _, command := range []string{"keys", "scan", "flushall", "flushdb", "config|set", "randomkey", "swapdb", "debug"} {
		assert.NotContains(t, stats, "cmdstat_"+command+":", "commandstats")
	}
	assert.Equal(t, before, n.redis.DBSize(t.Context()).Val())
	_, keys := n.traces(t)
	assert.Zero(t, keys)
}

// populate gives the server so many keys of others.
func (n *neighbours) populate(t *testing.T, count int) {
	t.Helper()
	const batch = 10_000
	for from := 0; from < count; from += batch {
		require.NoError(t, n.redis.Eval(t.Context(), `for i = ARGV[1], ARGV[2] do redis.call('SET', 'theirs:' .. i, 'x') end return 1`, nil,
			from, min(from+batch, count)-1).Err())
	}
}

// monitor records what MONITOR shows, until the returned function is called.
func (n *neighbours) monitor(t *testing.T) (seen func() []string) {
	t.Helper()
	const end = "the end of MONITOR"
	conn, err := net.Dial("tcp", n.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprint(conn, "MONITOR\r\n")
	require.NoError(t, err)
	shown := bufio.NewScanner(conn)
	shown.Buffer(nil, 1<<20)
	require.True(t, shown.Scan())
	require.Equal(t, "+OK", shown.Text())
	lines := make(chan []string, 1)
	go func() {
		var all []string
		for shown.Scan() && !strings.Contains(shown.Text(), end) {
			all = append(all, strings.TrimPrefix(shown.Text(), "+"))
		}
		lines <- all
	}()
	return func() []string {
		require.NoError(t, n.redis.Echo(t.Context(), end).Err())
		select {
		case all := <-lines:
			return all
		case <-time.After(patience):
			require.Fail(t, "MONITOR does not show the end")
			return nil
		}
	}
}

var monitorLine = regexp.MustCompile(`^\d+\.\d+ \[(\d+) (\S+)\] (".*")$`)

// monitored reads a line of MONITOR. lua: a script has called the command.
func monitored(t *testing.T, line string) (command []string, lua bool) {
	t.Helper()
	parts := monitorLine.FindStringSubmatch(line)
	require.NotNil(t, parts, line)
	assert.Equal(t, "0", parts[1], "the database")
	for rest := parts[3]; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		quoted, err := strconv.QuotedPrefix(rest)
		require.NoError(t, err, line)
		word, err := strconv.Unquote(quoted)
		require.NoError(t, err, line)
		command, rest = append(command, word), rest[len(quoted):]
	}
	return command, parts[2] == "lua"
}

// strangeTo says what a command has to do with others, by rules of its own: those of the lab are what is tested.
func strangeTo(command []string) string {
	name := strings.ToUpper(command[0])
	words := command[1:]
	switch name {
	case "PING", "TIME", "HELLO", "MULTI", "EXEC", "DISCARD", "UNWATCH", "QUIT": // these name nothing
		return ""
	case "SELECT":
		return unless(words[0] == "0", command)
	case "INFO":
		return unless(len(words) == 1 && slices.Contains([]string{"server", "replication", "cluster"}, words[0]), command)
	case "CLIENT":
		return unless(strings.EqualFold(words[0], "SETINFO") || strings.EqualFold(words[0], "MAINT_NOTIFICATIONS"), command)
	case "SCRIPT":
		return unless(strings.EqualFold(words[0], "LOAD") || strings.EqualFold(words[0], "EXISTS"), command)
	case "EVAL", "EVALSHA":
		count, err := strconv.Atoi(words[1])
		if err != nil || count == 0 {
			return fmt.Sprintf("%q declares no key", command)
		}
		words = words[2 : 2+count]
	case "DEL", "UNLINK", "EXISTS", "WATCH", "SUBSCRIBE", "UNSUBSCRIBE":
	default:
		words = words[:min(1, len(words))]
	}
	if len(words) == 0 && name != "UNSUBSCRIBE" {
		return fmt.Sprintf("%q names no key", command)
	}
	for _, key := range words {
		if !strings.Contains(key, "locklab:") || key == "locklab:another-run:1:lock" {
			return fmt.Sprintf("%q names %q", command, key)
		}
	}
	return ""
}

func unless(allowed bool, command []string) string {
	if allowed {
		return ""
	}
	return fmt.Sprintf("%q", command)
}

// TestStrangeCommandsAreSeen: a judge that finds nothing strange would let TestMonitorAtAnAddress pass.
func TestStrangeCommandsAreSeen(t *testing.T) {
	for _, strange := range []string{
		"KEYS *", "SCAN 0", "GET theirs", "EVAL x 0", "EVALSHA x 2 locklab:a theirs", "UNLINK locklab:a theirs", "INFO all", "INFO", "CONFIG GET x",
		"CLIENT KILL x", "SCRIPT FLUSH", "DBSIZE", "FLUSHALL", "SELECT 1", "GET locklab:another-run:1:lock", "SUBSCRIBE x",
	} {
		assert.NotEmpty(t, strangeTo(strings.Fields(strange)), strange)
	}
}

// held is a script whose holders hold the lock for as long as the test needs.
const held = `# A holder holds on.
lease    60s
clients  C1

C1  acquire => ok
C1  work
wait for 600s
`

// TestKeysExpireWithoutLabAndGuard kills the lab and its guard together, so that nobody is left to delete keys. They expire.
func TestKeysExpireWithoutLabAndGuard(t *testing.T) {
	needs.Long(t, "keys that expire")
	theirs := miniredis.RunT(t)
	require.NoError(t, theirs.Set("theirs", "x"))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "held.lab"), []byte(held), 0o600))
	lab := startIn(t, dir, "run", "held.lab", "--lock", "setpx-lua,setnx-del", "--json", "--server", theirs.Addr())
	const each = 2 // the lock and the counter
	var left map[string]time.Duration
	eventually(t, patience, func() error {
		left = expiries(theirs)
		if len(left) < 2*each {
			return fmt.Errorf("only %v: %s", left, lab.said(t))
		}
		for key, expiry := range left {
			if expiry == 0 {
				return fmt.Errorf("%s has no expiry", key)
			}
		}
		return nil
	})

	guard := lab.process(t, "locklab-guard")
	require.NoError(t, syscall.Kill(guard, syscall.SIGSTOP)) // or it would be faster
	require.NoError(t, lab.cmd.Process.Kill())
	<-lab.ended
	require.NoError(t, syscall.Kill(guard, syscall.SIGKILL))
	eventually(t, patience, func() error {
		if running := processes(t, lab.mark); len(running) > 0 {
			return errors.New("still running: " + strings.Join(running, "; "))
		}
		return nil
	})
	after := expiries(theirs)
	assert.Len(t, after, 2*each, "nobody has deleted them")
	for key, expiry := range after {
		assert.Positive(t, expiry, key)
		assert.Less(t, expiry, 3*time.Hour, key)
	}
	theirs.FastForward(3 * time.Hour)
	assert.Equal(t, []string{"theirs"}, theirs.Keys())
}

// expiries are those of the lab's keys; zero: it does not expire.
func expiries(at *miniredis.Miniredis) map[string]time.Duration {
	found := map[string]time.Duration{}
	for _, key := range at.Keys() {
		if strings.HasPrefix(key, "locklab:") && !strings.HasSuffix(key, ":trial") {
			found[key] = at.TTL(key)
		}
	}
	return found
}

// TestTheNamedCommandDeletesTheKeys: where the lab may not delete its keys, it ends with 3 and names a command, which deletes them.
func TestTheNamedCommandDeletesTheKeys(t *testing.T) {
	needs.Long(t, "keys that are left")
	n := startNeighbours(t)
	before := n.belongings(t)
	require.NoError(t, n.redis.Do(t.Context(), "ACL", "SETUSER", "default", "-unlink", "(+unlink ~*:trial)").Err()) // what the lab tries first is allowed
	lab := start(t, "run", "take-turns", "--lock", "setpx-lua,redisson", "--json", "--server", n.addr)
	assert.Equal(t, 3, lab.exitCode(t, patience), lab.said(t))
	named := regexp.MustCompile(`(?m)^lab: to delete: (.+)$`).FindStringSubmatch(read(t, lab.err))
	require.NotNil(t, named, lab.said(t))
	_, left := n.traces(t)
	require.NotZero(t, left)
	require.NoError(t, n.redis.Do(t.Context(), "ACL", "SETUSER", "default", "clearselectors", "+unlink").Err())
	said, err := exec.Command("/bin/sh", "-c", named[1]).CombinedOutput()
	require.NoError(t, err, string(said))
	assert.Equal(t, before, n.belongings(t))
}
