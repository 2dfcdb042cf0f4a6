package kits_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/kits"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// simple is a lock in Python on one server, which speaks to it without a library.
const simple = `
import threading, time, uuid, locklab

class Lock:
    def __init__(self, servers, key, lease):
        self.servers, self.key, self.lease = [locklab.Resource(server) for server in servers], key, lease

    def server(self):
        return self.servers[0]

    def acquire(self):
        token = uuid.uuid4().hex
        if self.server().command("SET", self.key, token, "NX", "PX", int(self.lease * 1000)) != "OK":
            return False
        self.token = token
        return True

    def release(self):
        script = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'
        return self.server().command("EVAL", script, 1, self.key, self.token) == "1"

    def ping(self):
        for server in self.servers:
            server.command("PING")

PROMISES = ["exclusion", "release-by-owner", "crash-safe", "ignores-clocks"]
`

// adapter is the subject of a client that is a variation of that lock.
func adapter(t *testing.T, variation string) play.Subject {
	t.Helper()
	return beside(t, "python", "python3", "adapter.py", simple+variation)
}

// beside is the subject of a client in a file beside a kit, which the program runs.
func beside(t *testing.T, kit, program, file, source string) play.Subject {
	t.Helper()
	longUnlessPython(t, kit)
	needs.Program(t, kit, program)
	found, _ := kits.Find(kit)
	dir := t.TempDir()
	_, err := found.Write(dir, nil)
	require.NoError(t, err)
	path := filepath.Join(dir, file)
	require.NoError(t, os.WriteFile(path, []byte(source), 0o600))
	return play.Subject{Argv: []string{program, path}}
}

// plays has a client say hello, and plays a script with it.
func plays(t *testing.T, subject play.Subject, script string) (play.Subject, record.Cell) {
	t.Helper()
	parsed, err := scenarios.Parse("trait", []byte("# A scenario of a test.\n"+script))
	require.NoError(t, err)
	subject, err = lab.Meet(t.Context(), lab.Setting{}, subject, parsed)
	require.NoError(t, err)
	run, err := lab.Run(t.Context(), lab.Plan{Cases: lab.Cases([]*scenarios.Script{parsed}, []play.Subject{subject}, 1, lab.Expect(nil))})
	require.NoError(t, err)
	require.Len(t, run.Cells, 1)
	return subject, run.Cells[0]
}

const handOver = `
lease    1s
clients  C1 C2

C1  acquire => ok
C1  crash
C2  acquire => no
C2  acquire within 3 leases => ok
C2  work
C2  release => ok
`

const lateReply = `
lease    1s
clients  C1 C2

C1  acquire hold reply of first SET => held-up
    wait 2 leases
C1  continue => ok
C2  acquire => ok
C2  release => ok
`

// TestDeadGrants: a lock that does not look at its clock again answers ok with a validity below zero.
func TestDeadGrants(t *testing.T) {
	needs.Long(t, "a client that sleeps past its lease")
	t.Parallel()
	_, cell := plays(t, adapter(t, `
class Dead(Lock):
    def acquire(self):
        began = time.monotonic()
        return super().acquire() and self.lease - (time.monotonic() - began)

locklab.serve(Dead, name="dead", promises=PROMISES)
`), lateReply)
	assert.Equal(t, "dead-grant", cell.Verdict.String())
}

// TestNothingButDeadGrants: nobody ever held such a lock, and nothing was tested.
func TestNothingButDeadGrants(t *testing.T) {
	needs.Long(t, "one more dead grant")
	t.Parallel()
	_, cell := plays(t, adapter(t, `
class Void(Lock):
    def acquire(self):
        return super().acquire() and 0

locklab.serve(Void, name="void", promises=PROMISES)
`), handOver)
	assert.Equal(t, checker.Undecided, cell.Verdict.Kind)
	assert.Contains(t, cell.Verdict.Reason, "valid_ms of 0 or less")
}

// TestLateNotices: a lock whose notice of loss comes late, in the next hold, and names the hold that it is about; and one that does not.
func TestLateNotices(t *testing.T) {
	needs.Long(t, "notices that come late")
	t.Parallel()
	const late = `
class Late(Lock):
    def acquire(self):
        got = super().acquire()
        if got:
            threading.Timer(self.lease * 1.3, self.tell, [self.hold]).start()
        return got

    def tell(self, hold):
        self.lost("the lease is over"%s)

locklab.serve(Late, name="late", promises=PROMISES + ["tells-loss"])
`
	const twice = `
lease    1s
clients  C1 C2

C1  acquire => ok
    wait until expired
C1  acquire => ok
C1  waits until lost
C1  release
C2  acquire => ok
C2  release
`
	for _, named := range []bool{true, false} {
		t.Run(fmt.Sprintf("named %t", named), func(t *testing.T) {
			t.Parallel()
			name, want := "", "false-alarm"
			if named {
				name, want = ", hold", "safe"
			}
			_, cell := plays(t, adapter(t, fmt.Sprintf(late, name)), twice)
			assert.Equal(t, want, cell.Verdict.String())
		})
	}
}

// TestShards: a lock on one of three servers, by a hash of its key. When that server is down, a sound one answers that it does not know,
// and one like go-redis's Ring takes the next.
func TestShards(t *testing.T) {
	needs.Long(t, "a lock that shards by key, sound or not")
	t.Parallel()
	const sharded = `
import zlib

class Sharded(Lock):
    def server(self):
        first = zlib.crc32(self.key.encode()) %% len(self.servers)
        for tried in range(len(self.servers) if %s else 1):
            server = self.servers[(first + tried) %% len(self.servers)]
            try:
                server.command("PING")
                return server
            except OSError:
                pass
        raise OSError("the server is down")

    def ping(self):
        for server in self.servers:
            try:
                server.command("PING")
            except OSError:
                pass

locklab.serve(Sharded, name="sharded", promises=PROMISES, servers="one")
`
	const down = `
lease    10s
clients  C1 C2
servers  3

C1  acquire => ok
C2  acquire => no
    on whichever server goes down
C2  acquire
C2  work
    on whichever server comes back
C1  release
C2  release
C2  acquire within 2 leases => ok
C2  release => ok
`
	for moves, want := range map[string]checker.Name{"False": "", "True": checker.DoubleHolder} {
		t.Run("moves "+moves, func(t *testing.T) {
			t.Parallel()
			subject, cell := plays(t, adapter(t, fmt.Sprintf(sharded, moves)), down)
			assert.True(t, subject.Traits.Library.Sharded)
			if want == "" {
				assert.Equal(t, "safe", cell.Verdict.String())
				return
			}
			assert.Contains(t, cell.Verdict.Names(), want, cell.Verdict)
		})
	}
}

// TestClientsThatCannotCancel: the lab breaks their connections instead.
func TestClientsThatCannotCancel(t *testing.T) {
	needs.Long(t, "clients that cannot cancel")
	t.Parallel()
	_, cell := plays(t, adapter(t, `
def refuse(operation):
    raise RuntimeError("the library knows no cancel")

locklab.Operation.cancel = refuse
locklab.serve(Lock, name="stubborn", promises=PROMISES, cannot_cancel=True)
`), `
lease    1s
clients  C1 C2

C1  acquire hold before first write => held-up
C1  give up => unknown
C1  continue
C2  acquire => no
C2  acquire within 3 leases => ok
C2  release => ok
`)
	assert.Equal(t, "ghost-lock", cell.Verdict.String())
}

// TestConnectionsThatTheLabEnds: it does so for a client that cannot, when an operation is cancelled and before a reconnect.
func TestConnectionsThatTheLabEnds(t *testing.T) {
	needs.Long(t, "connections that the lab ends")
	const helpless = `
locklab.Proxy.cut = lambda proxy, shut: None
locklab.serve(Lock, name="helpless", promises=PROMISES, lab_cuts=True)
`
	for name, script := range map[string]string{
		"silent": `
C1  acquire hold before first write => held-up
C1  give up => unknown
C2  acquire => ok
C2  release => ok
C1  acquire => ok
C1  release => ok
`,
		"cut off": `
C1  acquire => ok
C1  cut off
C1  release in background
C1  give up => unknown
C2  acquire => no
C1  heal
C1  release => ok | no
C2  acquire => ok
C2  release => ok
`,
		"refused": `
C1  acquire => ok
C1  refuse
C1  heal
C2  acquire => no
C1  release => ok
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, cell := plays(t, adapter(t, helpless), "\nlease    30s\nclients  C1 C2\n"+script)
			assert.Equal(t, "safe", cell.Verdict.String(), cell.Verdict.Reason)
		})
	}
	t.Run("interrupted", func(t *testing.T) { // its wait ends, and its connection lives on
		t.Parallel()
		_, cell := plays(t, changed(t, "java", "Client.java", `redis.command("SET"`, `later("SET"`, `    @Override public boolean release()`, `
    private final java.util.concurrent.ExecutorService one = java.util.concurrent.Executors.newSingleThreadExecutor();

    private String later(Object... words) throws Exception { return one.submit(() -> redis.command(words)).get(); }

    @Override public boolean release()`, `redis.command("PING")`, `later("PING")`), `
lease    30s
clients  C1 C2

C1  acquire hold before first write => held-up
C1  give up => unknown
C1  acquire => ok
C1  release => ok
C2  acquire => ok
C2  release => ok
`)
		assert.Equal(t, "safe", cell.Verdict.String(), cell.Verdict.Reason)
	})
	t.Run("storm", func(t *testing.T) {
		needs.Long(t, "a storm of six seconds")
		t.Parallel()
		run, err := storms(t.Context(), t, adapter(t, helpless), 7)
		require.NoError(t, err)
		assert.False(t, run.Cells[0].Surprise(), "%v", run.Cells[0].Verdict)
		assert.NotEqual(t, checker.Undecided, run.Cells[0].Verdict.Kind, "%v", run.Cells[0].Verdict)
	})
	t.Run("past the lab", func(t *testing.T) {
		t.Parallel()
		_, err := lab.Meet(t.Context(), lab.Setting{}, adapter(t, `
locklab.serve(Lock, name="past", promises=PROMISES, lab_cuts=True, separate=False)
`))
		require.ErrorContains(t, err, "lab_cuts in hello needs separate")
	})
}

// TestALibraryThatGivesUp: an operation that its library ends has the connections that it needs to clean up. One that does not end loses them.
func TestALibraryThatGivesUp(t *testing.T) {
	needs.Long(t, "a library that gives up")
	const adapts = `
class Withdraws(Lock):
    stopped = threading.Event()

    def wait(self, within):
        while not self.stopped.wait(0.02):
            if self.acquire():
                return True
        self.server().command("PING")
        return False

    def cancel(self):
        self.stopped.set()
        return True

locklab.serve(Withdraws, name="withdraws", promises=PROMISES)
`
	for name, script := range map[string]string{
		"ends": `
C1  acquire => ok
C2  acquire within 20s in background
C2  waits
C2  give up => no
C1  release => ok
C2  acquire => ok
C2  release => ok
`,
		"waits for a reply": `
C1  acquire hold before first write => held-up
C1  give up => unknown
C2  acquire => ok
C1  acquire => no
C2  release => ok
C1  acquire => ok
C1  release => ok
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, cell := plays(t, adapter(t, adapts), "\nlease    30s\nclients  C1 C2\n"+script)
			assert.Equal(t, "safe", cell.Verdict.String(), cell.Verdict.Reason)
		})
	}
}

// TestOneThreadUsesALock: whatever the lab asks for meanwhile, the methods of a lock are called one after another.
func TestOneThreadUsesALock(t *testing.T) {
	needs.Long(t, "a slow lock")
	t.Parallel()
	_, cell := plays(t, adapter(t, `
class OneAtATime(Lock):
    inside = False

    def acquire(self):
        self.inside = True
        try:
            return super().acquire()
        except OSError:
            return False
        finally:
            time.sleep(0.3)
            self.inside = False

    def ping(self):
        if self.inside:
            os._exit(1)
        super().ping()

import os
locklab.serve(OneAtATime, name="one-at-a-time", promises=PROMISES)
`), `
lease    30s
clients  C1 C2

C1  acquire => ok
C2  acquire within 20s in background
C2  waits
C2  refuse
C2  heal
C1  release => ok
C2  await => ok
C2  release => ok
`)
	assert.Equal(t, "safe", cell.Verdict.String(), cell.Verdict.Reason)
}

// stormsEnough: a storm of six seconds misses this lock once in some fifty times.
const stormsEnough = 5

// TestStormsOfClients: a storm finds what is wrong with a lock of one's own, and nothing in a sound one, on one server and on three.
func TestStormsOfClients(t *testing.T) {
	needs.Long(t, "storms of six seconds")
	t.Parallel()
	const blind = `
class Blind(Lock):
    def release(self):
        return self.server().command("DEL", self.key) == "1"

locklab.serve(Blind, name="blind", promises=PROMISES)
`
	const sharded = `
import zlib

class Sharded(Lock):
    def server(self):
        return self.servers[zlib.crc32(self.key.encode()) % len(self.servers)]

locklab.serve(Sharded, name="sharded", promises=PROMISES, servers="one")
`
	stormOf := func(source string, seed int64) record.Cell {
		run, err := storms(t.Context(), t, adapter(t, source), seed)
		require.NoError(t, err)
		return run.Cells[0]
	}
	sound := stormOf(sharded, 7)
	assert.False(t, sound.Surprise(), "%v", sound.Verdict.Anomalies)
	for seed := int64(1); ; seed++ {
		broken := stormOf(blind, seed)
		if slices.Contains(broken.Verdict.Names(), checker.WrongfulDelete) {
			break
		}
		require.Less(t, seed, int64(stormsEnough), broken.Verdict)
	}
}

// TestAStormThatIsCutShortEnds: also beside a client that answers nothing any more.
func TestAStormThatIsCutShortEnds(t *testing.T) {
	needs.Long(t, "a storm")
	t.Parallel()
	hangs := filepath.Join(t.TempDir(), "hangs")
	subject := adapter(t, fmt.Sprintf(`
class Hanging(Lock):
    def release(self):
        while True:
            time.sleep(60)

def hang(operation):
    open(%q, "w").close()
    while True:
        time.sleep(60)

locklab.Operation.cancel = hang
locklab.serve(Hanging, name="hanging", promises=PROMISES)
`, hangs))
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	var cutAt time.Time
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(hangs); err == nil {
				cutAt = time.Now()
				cut()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err := storms(ctx, t, subject, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.WithinDuration(t, time.Now(), cutAt, time.Minute)
}

// storms plays a storm of six seconds.
func storms(ctx context.Context, t *testing.T, subject play.Subject, seed int64) (*record.Run, error) {
	t.Helper()
	subject, err := lab.Meet(ctx, lab.Setting{}, subject)
	require.NoError(t, err)
	return lab.Storm(ctx, lab.StormPlan{
		Subjects: []play.Subject{subject}, Options: lab.Options{Setting: lab.Setting{Timeout: 5 * time.Minute}},
		Params: storm.Params{Seed: seed, Clients: 3, Handles: 1, Lease: 500 * time.Millisecond, For: 6 * time.Second, Faults: storm.Defaults()},
	})
}
