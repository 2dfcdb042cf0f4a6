package endtoend

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/faults/server/etcd"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/hostile"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/rundir"
)

// turn is a script in which one client, which is called as an attack, uses the lock once.
const turn = `# %[2]s.
lease    60s
clients  %[1]s

%[1]s  acquire => ok
%[1]s  work => ok
%[1]s  release => ok
`

// sound are scenarios in which no client is hostile. What is expected of setpx-lua there is in the reviewed table.
func sound() []string {
	return []string{"take-turns", "pause-past-lease", "redis-restarts-empty", "acquire-reply-lost", "late-acquire"}
}

// maxSpace limits the address space of the lab and of each process that it starts, in KiB. Go and the C library reserve 1.7 GB of it and use little.
const maxSpace = "3000000"

// besides begins the name of the cell of a sound client that is beside an attack.
const besides = "beside-"

// startHostile runs scenarios and attacks with a hostile client, each attack beside a sound one, in a limited address space where the server can.
func startHostile(t *testing.T, kind string, attacks []hostile.Attack, more ...string) *lab {
	t.Helper()
	if kind != "embedded" {
		needs.Found(t, "redis", redis.Find)
	}
	dir := t.TempDir()
	args := append([]string{"run", "--json", "--server", kind, "--like", "setpx-lua", "--client", "exec " + strings.Join(servertest.As("hostile"), " ")}, more...)
	for _, attack := range attacks {
		for name, client := range map[string]string{attack.Name: attack.Name, besides + attack.Name: "C1"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".lab"), fmt.Appendf(nil, turn, client, attack.Does), 0o600))
		}
		args = append(args, attack.Name+".lab", besides+attack.Name+".lab")
	}
	if kind == "etcd" || kind == "zookeeper" { // an etcd maps 10 GB, and Java reserves as it likes
		return startIn(t, dir, args...)
	}
	limited := []string{"-c", "ulimit -v " + maxSpace + ` && unset GOGC GOMEMLIMIT && exec "$0" "$@"`, os.Getenv(binary)}
	return startCommand(t, dir, "/bin/sh", append(limited, args...)...)
}

// verdictOn is a regular expression for the verdict on an attack, or on the sound client beside one; "": neither.
func verdictOn(scenario string) string {
	if strings.HasPrefix(scenario, besides) {
		return "^safe$"
	}
	attack, _ := hostile.Find(scenario)
	return attack.Verdict
}

// TestHostileClients: each attack costs the cell of its client, and nothing else, also where memory is short. An endless script has a test of its own.
func TestHostileClients(t *testing.T) {
	skipRacing(t)
	for _, server := range []string{"embedded", "redis-server"} {
		t.Run(server, func(t *testing.T) {
			attacks := slices.DeleteFunc(hostile.All(), func(a hostile.Attack) bool { return a.Name == "endless-script" })
			if server != "embedded" {
				needs.Long(t, "every attack on one more server")
			}
			t.Parallel()
			attacks = attacks[:needs.Count(t, "attacks", 3, len(attacks))]
			beside := sound()[:needs.Count(t, "scenarios of sound clients", 2, len(sound()))]
			lab := startHostile(t, server, attacks, beside...)
			assert.Equal(t, 2, lab.exitCode(t, 3*patience), lab.said(t))
			lab.nothingLeft(t, time.Second)
			lab.noneWithoutMark(t)
			assert.Empty(t, read(t, lab.err))
			cells := resultsOf(t, lab).Cells
			require.Len(t, cells, len(beside)+2*len(attacks))
			for _, cell := range cells {
				judged(t, cell, verdictOn(cell.Scenario))
			}
		})
	}
}

// TestHostileClientsOfReplicas: the attacks that are about replicas, or on the server that has them.
func TestHostileClientsOfReplicas(t *testing.T) {
	needs.Long(t, "hostile clients of a server with a replica")
	skipRacing(t)
	t.Parallel()
	attacks := attacksOf(t, "replicaof", "failover", "sync", "shutdown", "client-kill", "empty-requests")
	lab := startHostile(t, "replicated", attacks, "take-turns", "fail-over-before-replication")
	assert.Equal(t, 2, lab.exitCode(t, patience), lab.said(t))
	lab.nothingLeft(t, time.Second)
	lab.noneWithoutMark(t)
	for _, cell := range resultsOf(t, lab).Cells {
		judged(t, cell, verdictOn(cell.Scenario))
	}
}

// TestHostileClientsOfOtherServers: what passes to an etcd is not read, and what passes to a ZooKeeper is read otherwise. The client has no lock
// there but one in its memory: its cell is judged as that, or unknown. What it says to the lab passes no server: of those attacks one is made.
func TestHostileClientsOfOtherServers(t *testing.T) {
	needs.Long(t, "hostile clients of an etcd and of a ZooKeeper")
	skipRacing(t)
	attacks := attacksOf(t, "no-resp", "half-commands", "connections", "ignores-exit", "descendants", "late-child", "answers-twice")
	for kind, find := range map[string]func() (path, version string, err error){"etcd": etcd.Find, "zookeeper": zookeeper.Find} {
		t.Run(kind, func(t *testing.T) {
			needs.Found(t, kind, find)
			t.Parallel()
			lab := startHostile(t, kind, attacks, "--like", "local", "take-turns")
			assert.Equal(t, 2, lab.exitCode(t, 3*patience), lab.said(t))
			lab.nothingLeft(t, patience)
			lab.noneWithoutMark(t)
			cells := resultsOf(t, lab).Cells
			require.Len(t, cells, 1+2*len(attacks))
			for _, cell := range cells {
				assert.Empty(t, cell.Failure, cell.Scenario)
				if cell.Scenario == "answers-twice" {
					judged(t, cell, verdictOn(cell.Scenario))
				} else {
					assert.False(t, cell.Surprise(), "%s: expected %s, got %s", cell.Scenario, cell.Expected.Verdict, cell.Verdict)
				}
			}
		})
	}
}

// attacksOf are the attacks of these names.
func attacksOf(t *testing.T, names ...string) (attacks []hostile.Attack) {
	t.Helper()
	for _, name := range names {
		attack, ok := hostile.Find(name)
		require.True(t, ok, name)
		attacks = append(attacks, attack)
	}
	return attacks
}

// TestAProcessWithDescendantsServesNoOtherCell: they keep its pipes, so that the lab would wait for a client that has closed its own.
func TestAProcessWithDescendantsServesNoOtherCell(t *testing.T) {
	needs.Long(t, "waits for clients that do not end")
	skipRacing(t)
	t.Parallel()
	attacks := attacksOf(t, "descendants", "closes-stdout", "late-child", "closes-stdin")
	lab := startHostile(t, "embedded", attacks, "--parallel", "1", "--timeout", "10s")
	assert.Equal(t, 2, lab.exitCode(t, patience), lab.said(t))
	lab.nothingLeft(t, time.Second)
	lab.noneWithoutMark(t)
	for _, cell := range resultsOf(t, lab).Cells {
		judged(t, cell, verdictOn(cell.Scenario))
	}
}

// judged asserts that a cell has the verdict, or the expected one if there is none.
func judged(t *testing.T, cell record.Cell, verdict string) {
	t.Helper()
	assert.Empty(t, cell.Failure, cell.Scenario)
	if verdict != "" {
		assert.Regexp(t, verdict, cell.Verdict.String(), cell.Scenario)
		return
	}
	assert.False(t, cell.Surprise(), "%s: expected %s, got %s", cell.Scenario, cell.Expected.Verdict, cell.Verdict)
	assert.NotEqual(t, checker.Undecided, cell.Verdict.Kind, "%s: %s", cell.Scenario, cell.Verdict)
}

func resultsOf(t *testing.T, lab *lab) *record.Run {
	t.Helper()
	dir, ok := lab.results(t)
	require.True(t, ok, lab.said(t))
	run, err := rundir.ReadRun(dir)
	require.NoError(t, err)
	return run
}

// TestEndlessScriptsEnd: a script that keeps its server busy for ever holds up neither --timeout nor a signal. That it does keep the server
// busy is seen.
func TestEndlessScriptsEnd(t *testing.T) {
	needs.Long(t, "keeps servers busy")
	skipRacing(t)
	tests := map[string]struct {
		args    []string
		signals []syscall.Signal
		codes   []int
	}{
		"timeout":     {args: []string{"--timeout", "3s"}, codes: []int{2}},
		"SIGTERM":     {signals: []syscall.Signal{syscall.SIGTERM}, codes: []int{143}},
		"two signals": {signals: []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, codes: []int{130, 143}},
	}
	endless, ok := hostile.Find("endless-script")
	require.True(t, ok)
	for name, test := range tests {
		for _, server := range []string{"embedded", "redis-server"} {
			t.Run(name+" "+server, func(t *testing.T) {
				t.Parallel()
				lab := startHostile(t, server, []hostile.Attack{endless}, test.args...)
				lab.awaitBusyServer(t)
				for _, signal := range test.signals {
					lab.signal(t, signal)
				}
				assert.Contains(t, test.codes, lab.exitCode(t, patience), lab.said(t))
				lab.nothingLeft(t, time.Second)
				lab.noneWithoutMark(t)
				if test.signals == nil {
					cells := resultsOf(t, lab).Cells
					judged(t, cells[0], verdictOn(cells[0].Scenario))
					judged(t, cells[1], verdictOn(cells[1].Scenario))
				}
			})
		}
	}
}

// awaitBusyServer waits until a server of the lab has worked for longer than any server does for one client.
func (l *lab) awaitBusyServer(t *testing.T) {
	t.Helper()
	const busy = 200 * time.Millisecond
	first := map[string]time.Duration{} // by process
	eventually(t, patience, func() error {
		for _, pid := range l.servers(t) {
			used := processorTime(pid)
			if _, seen := first[pid]; !seen {
				first[pid] = used
			}
			if used-first[pid] > busy {
				return nil
			}
		}
		return errors.New("no server is busy: " + l.said(t))
	})
}

// servers are the processes of redis-servers and of embedded servers. A redis-server writes over its environment, and with it the mark.
func (l *lab) servers(t *testing.T) (pids []string) {
	t.Helper()
	for _, process := range processes(t, l.mark) {
		if pid, command, _ := strings.Cut(process, " "); strings.Contains(command, "locklab-host") {
			pids = append(pids, pid)
		}
	}
	return append(pids, workingIn(t, l.tmp)...)
}

// noneWithoutMark asserts that no process is left that hides the mark.
func (l *lab) noneWithoutMark(t *testing.T) {
	t.Helper()
	assert.Empty(t, workingIn(t, l.dir))
	assert.Empty(t, workingIn(t, l.tmp))
}

// processorTime is how long a process has computed.
func processorTime(pid string) time.Duration {
	const tick = 10 * time.Millisecond // of Linux, wherever Go runs
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	_, behind, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(behind))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// workingIn lists the processes that work in a directory.
func workingIn(t *testing.T, dir string) (pids []string) {
	t.Helper()
	for _, process := range running(t) {
		if cwd, err := os.Readlink(process + "/cwd"); err == nil && strings.HasPrefix(cwd, dir) {
			pids = append(pids, filepath.Base(process))
		}
	}
	return pids
}
