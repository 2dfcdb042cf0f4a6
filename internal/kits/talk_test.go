package kits_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/kits"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// talk is a conversation with a client, whose servers are named by the test.
type talk struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Scanner
	asked   int
	process int
	answers map[int]map[string]any
	heard   []int            // the ids of answers, in their order
	notices []map[string]any // but for those of a busy host
}

// begins starts a client, which is ended with the test, and has it say hello.
func begins(t *testing.T, subject play.Subject, server, resource string) *talk {
	t.Helper()
	c := starts(t, subject)
	c.asks("ok", `"do":"init","version":2,"client":"C1","servers":["`+server+`"],"resource":"`+resource+`"`)
	return c
}

// starts starts a client, which is ended with the test.
func starts(t *testing.T, subject play.Subject) *talk {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	client := exec.CommandContext(ctx, subject.Argv[0], subject.Argv[1:]...)
	in, err := client.StdinPipe()
	require.NoError(t, err)
	out, err := client.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, client.Start())
	t.Cleanup(func() {
		stop()
		_ = client.Wait()
	})
	return &talk{t: t, in: in, out: bufio.NewScanner(out), answers: map[int]map[string]any{}, process: client.Process.Pid}
}

// says sends a request, whose id it returns.
func (c *talk) says(fields string) int {
	c.t.Helper()
	c.asked++
	id, err := json.Marshal(c.asked)
	require.NoError(c.t, err)
	_, err = io.WriteString(c.in, `{"id":`+string(id)+`,`+fields+"}\n")
	require.NoError(c.t, err)
	return c.asked
}

func (c *talk) answer(id int) map[string]any {
	c.t.Helper()
	for c.answers[id] == nil {
		require.True(c.t, c.out.Scan(), "the client has ended before request %d was answered", id)
		var line map[string]any
		require.NoError(c.t, json.Unmarshal(c.out.Bytes(), &line))
		if of, _ := line["id"].(float64); of > 0 {
			c.answers[int(of)] = line
			c.heard = append(c.heard, int(of))
		} else if line["late_ms"] == nil {
			c.notices = append(c.notices, line)
		}
	}
	return c.answers[id]
}

// asks sends a request and waits for its answer, which has the outcome.
func (c *talk) asks(outcome, fields string) map[string]any {
	c.t.Helper()
	answer := c.answer(c.says(fields))
	require.Equal(c.t, outcome, answer["outcome"], "%s: %v", fields, answer)
	return answer
}

// cancels cancels an operation at once, and returns its outcome.
func (c *talk) cancels(id int) any {
	c.t.Helper()
	op, err := json.Marshal(id)
	require.NoError(c.t, err)
	c.answer(c.says(`"do":"cancel","op":` + string(op)))
	return c.answer(id)["outcome"]
}

// silent is the address of a server that answers nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// TestCancelledOperationsEnd: at whatever moment an operation is cancelled, it is answered, and the next one has its connections.
func TestCancelledOperationsEnd(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"go", "java", "node", "python"} {
		kit, _ := kits.Find(name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, store := miniredis.RunT(t), miniredis.RunT(t)
			c := begins(t, written(t, kit), server.Addr(), store.Addr())
			c.asks("ok", `"do":"open","handle":"h1","key":"K","lease_ms":60000`)
			c.asks("ok", `"do":"open","handle":"waits","key":"K","lease_ms":60000`)
			c.asks("ok", `"do":"open","handle":"mute","key":"M","lease_ms":60000,"servers":["`+server.Addr()+`"],"resource":"`+silent(t)+`"`)
			c.asks("ok", `"do":"acquire","handle":"h1"`)
			for range 100 {
				c.asks("ok", `"do":"work","handle":"waits","key":"counter"`)
				require.NotEqual(t, "ok", c.cancels(c.says(`"do":"acquire","handle":"waits","within_ms":60000`)))
				require.Equal(t, "unknown", c.cancels(c.says(`"do":"work","handle":"mute","key":"counter"`)))
			}
		})
	}
}

// TestClosedHandlesAreForgotten: what a client had for a handle, or for an operation, is freed when that is over. Of a handle there is nothing before init.
func TestClosedHandlesAreForgotten(t *testing.T) {
	t.Parallel()
	for name, counts := range map[string][]string{ // a cancel of operation 0 says how many operations the client has
		"go": {"locklab/client.go", `cancel, found := operations.Load(op.req.Op)`,
			`cancel, found := operations.Load(op.req.Op); all := 0; for range operations.Range { all++ }; op.Answer["error"] = all`},
		"java": {"Locklab.java", `            case "cancel" -> {`, `            case "cancel" -> {
                answer.put("error", locks.stream().mapToInt(one -> one.waiting.size()).sum());`},
		"node":   {"locklab.js", `if (!operation) return {outcome: 'no', error: 'not under way'}`, `if (!operation) return {outcome: 'no', error: this.operations.size}`},
		"python": {"locklab.py", `error="not under way"`, `error=len(self.operations)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := miniredis.RunT(t)
			c := starts(t, changed(t, name, counts[0], counts[1:]...))
			const open = `"do":"open","handle":"h","key":"K","lease_ms":60000`
			c.asks("no", open)
			c.asks("ok", `"do":"init","version":2,"client":"C1","servers":["`+server.Addr()+`"],"resource":"`+server.Addr()+`"`)
			const handles = 40
			before := 0
			for n := range 2 * handles {
				if n == handles { // its libraries are loaded
					before = c.files()
				}
				c.asks("ok", open)
				c.asks("no", `"do":"release","handle":"h"`)
				c.asks("ok", `"do":"close","handle":"h"`)
			}
			require.EqualValues(t, "0", fmt.Sprint(c.asks("no", `"do":"cancel","op":0`)["error"]), "operations that the client remembers")
			require.Less(t, c.files(), before+handles, "open files")
		})
	}
}

// files is how many files and sockets the client has open; 0 where the system does not say.
func (c *talk) files() int {
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.process))
	return len(open)
}

// TestNoticesFollowTheAnswer: what a lock learns before its acquire is answered comes behind the answer, in the order in which it was learned.
// For Go, worker/client has this test.
func TestNoticesFollowTheAnswer(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(*testing.T) play.Subject{
		"python": func(t *testing.T) play.Subject {
			return adapter(t, `
class Early(Lock):
    def acquire(self):
        self.valid(3600)
        self.lost("gone")
        time.sleep(0.05)
        return True

locklab.serve(Early, name="early", promises=PROMISES)
`)
		},
		"java": func(t *testing.T) play.Subject {
			return changed(t, "java", "Client.java", `        String drawn`, `        valid(java.time.Duration.ofHours(1));
        lost("gone", 0);
        Thread.sleep(50);
        if (token.isEmpty()) return Map.of();
        String drawn`)
		},
		"node": func(t *testing.T) play.Subject { // it has no notice of validity
			return beside(t, "node", "node", "early.js", `
import {serve} from './locklab.js';

class Lock {
  constructor(servers, key, lease, lost) { this.lost = lost; }
  async acquire() {
    this.lost('early');
    this.lost('gone');
    await new Promise((resolve) => setTimeout(resolve, 50));
    return true;
  }
  release() { return true; }
}

serve(Lock, {name: 'early'});
`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begins(t, client(t), "127.0.0.1:1", "127.0.0.1:1")
			c.asks("ok", `"do":"open","handle":"h1","key":"K","lease_ms":1000`)
			c.asks("ok", `"do":"acquire","handle":"h1"`)
			require.Empty(t, c.notices)
			c.asks("ok", `"do":"close","handle":"h1"`)
			require.Len(t, c.notices, 2)
			if left := c.notices[0]["valid_ms"]; name != "node" {
				require.LessOrEqual(t, left, 3.6e6-50)
			}
			require.Equal(t, "gone", c.notices[1]["why"])
		})
	}
}

// TestAHandleThatCouldNotBeOpened: a lock whose constructor throws is none, and others work.
func TestAHandleThatCouldNotBeOpened(t *testing.T) {
	t.Parallel()
	c := begins(t, beside(t, "node", "node", "throws.js", `
import {serve} from './locklab.js';

class Lock {
  constructor(servers, key) { if (key === 'broken') throw new Error('no provider'); }
  acquire() { return true; }
  release() { return true; }
  ping() {}
}

serve(Lock, {name: 'throws'});
`), "127.0.0.1:1", "127.0.0.1:1")
	require.Contains(t, c.asks("no", `"do":"open","handle":"h1","key":"broken","lease_ms":1000`)["error"], "no provider")
	c.asks("no", `"do":"acquire","handle":"h1"`)
	c.asks("ok", `"do":"open","handle":"h2","key":"K","lease_ms":1000`)
	c.asks("ok", `"do":"reconnect"`)
	c.asks("ok", `"do":"acquire","handle":"h2"`)
}

// TestWaitsInItsOwnWay: a lock in JavaScript that can wait is asked to, where the lab allows it time, and once.
func TestWaitsInItsOwnWay(t *testing.T) {
	t.Parallel()
	c := begins(t, beside(t, "node", "node", "waits.js", `
import {serve} from './locklab.js';

class Lock {
  waits = 0;
  acquire() { return true; }
  wait(ms) { return ++this.waits === 1 ? ms : false; }
  release() { return true; }
}

serve(Lock, {name: 'waits'});
`), "127.0.0.1:1", "127.0.0.1:1")
	c.asks("ok", `"do":"open","handle":"h1","key":"K","lease_ms":1000`)
	require.NotContains(t, c.asks("ok", `"do":"acquire","handle":"h1"`), "valid_ms", "one try is no wait")
	waited := c.asks("ok", `"do":"acquire","handle":"h1","within_ms":3600000`)
	require.InDelta(t, 3.6e6, waited["valid_ms"], 1.8e6)
	c.asks("no", `"do":"acquire","handle":"h1","within_ms":3600000`)
}

// TestCancelledWorkInJava: work is the kit's own, so a lock's cancel cannot end it, and is not waited for.
func TestCancelledWorkInJava(t *testing.T) {
	t.Parallel()
	client := changed(t, "java", "Client.java", `    @Override public void ping()`, `    @Override public boolean cancel() { lost("asked", 0); return true; }
    @Override public void ping()`)
	resource, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer resource.Close()
	c := begins(t, client, miniredis.RunT(t).Addr(), resource.Addr().String())
	c.asks("ok", `"do":"open","handle":"h1","key":"K","lease_ms":1000`)
	work := c.says(`"do":"work","handle":"h1","key":"counter"`)
	silent, err := resource.Accept() // the work is under way
	require.NoError(t, err)
	defer silent.Close()
	require.Equal(t, "unknown", c.cancels(work))
	require.Empty(t, c.notices)
}

// TestWhatLocksInJavaThrow: a request is answered whatever a lock throws, an Error, too. What a later version of the protocol adds is passed over.
func TestWhatLocksInJavaThrow(t *testing.T) {
	t.Parallel()
	client := changed(t, "java", "Client.java", `        String drawn`, `        switch (place.key()) {
            case "deep": return acquire();
            case "lacks": throw new NoClassDefFoundError("redis/clients/Jedis");
        }
        if (place.key().equals("cancel")) Thread.sleep(60_000);
        String drawn`, `    @Override public void ping()`, `    @Override public boolean cancel() { throw new IllegalStateException("no such operation"); }
    @Override public void ping()`, `        this.place = place;`, `        this.place = place;
        if (place.key().equals("broken")) throw new ExceptionInInitializerError("no provider");`, `"name", "mylock",`, `"name", "mylock", "need", "majority",`)
	server := miniredis.RunT(t)
	c := begins(t, client, server.Addr(), server.Addr())
	require.Contains(t, c.asks("no", `"do":"open","handle":"h0","key":"broken","lease_ms":1000`)["error"], "no provider")
	for handle, key := range map[string]string{"h1": "deep", "h2": "lacks"} {
		c.asks("ok", `"do":"open","handle":"`+handle+`","key":"`+key+`","lease_ms":1000`)
		require.Contains(t, c.asks("unknown", `"do":"acquire","handle":"`+handle+`"`)["error"], "Error")
		c.asks("no", `"do":"release","handle":"`+handle+`"`)
	}
	c.asks("ok", `"do":"open","handle":"h3","key":"cancel","lease_ms":1000`)
	require.Equal(t, "unknown", c.cancels(c.says(`"do":"acquire","handle":"h3"`)))
	opened := c.asks("ok", `"later":{"id":1,"do":"exit","list":[{"key":null}]},"handle":"h4","do":"open","servers":null,"key":"\u00e9\"\\\ud83d\ude00","lease_ms":1e3`)
	require.Equal(t, "majority", opened["need"])
	c.asks("ok", `"do":"acquire","handle":"h4"`)
	require.True(t, server.Exists("é\"\\😀"))
}

// TestALockInJavaThatIsCancelled: a lock may tell of its hold by what its cancel waits for.
func TestALockInJavaThatIsCancelled(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	c := begins(t, changed(t, "java", "Client.java", `        String drawn`, `        new Thread(this::renews).start();
        redis.command("SET", "begun", "1");
        Thread.sleep(60_000);
        String drawn`, `    @Override public void ping()`, `    private final java.util.concurrent.CountDownLatch locked = new java.util.concurrent.CountDownLatch(1);
    private final java.util.concurrent.CountDownLatch asked = new java.util.concurrent.CountDownLatch(1);
    private synchronized void renews() {
        locked.countDown();
        try { asked.await(); } catch (InterruptedException ended) { return; }
        valid(java.time.Duration.ofHours(1));
    }
    @Override public boolean cancel() {
        asked.countDown();
        try { locked.await(); } catch (InterruptedException ended) { return false; }
        synchronized (this) { return false; }
    }
    @Override public void ping()`), server.Addr(), server.Addr())
	c.asks("ok", `"do":"open","handle":"h1","key":"K","lease_ms":1000`)
	acquire := c.says(`"do":"acquire","handle":"h1"`)
	require.Eventually(t, func() bool { return server.Exists("begun") }, time.Minute, time.Millisecond)
	require.Equal(t, "unknown", c.cancels(acquire))
}

// TestACancelInJavaHoldsUpNoOtherLock: other locks of the process are answered while a lock's own cancel runs.
func TestACancelInJavaHoldsUpNoOtherLock(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	c := begins(t, changed(t, "java", "Client.java", `        String drawn`, `        if (place.key().equals("other")) {
            asked.await();
            return Map.of();
        }
        redis.command("SET", "begun", "1");
        Thread.sleep(60_000);
        String drawn`, `    @Override public boolean release() throws Exception {`, `    private static final java.util.concurrent.CountDownLatch asked = new java.util.concurrent.CountDownLatch(1);
    private static final java.util.concurrent.CountDownLatch released = new java.util.concurrent.CountDownLatch(1);
    @Override public boolean cancel() {
        asked.countDown();
        try { released.await(); } catch (InterruptedException ended) { return true; }
        return false;
    }
    @Override public boolean release() throws Exception {
        released.countDown();`), server.Addr(), server.Addr())
	c.asks("ok", `"do":"open","handle":"h1","key":"K","lease_ms":1000`)
	c.asks("ok", `"do":"open","handle":"h2","key":"other","lease_ms":1000`)
	acquire := c.says(`"do":"acquire","handle":"h1"`)
	require.Eventually(t, func() bool { return server.Exists("begun") }, time.Minute, time.Millisecond)
	op, err := json.Marshal(acquire)
	require.NoError(t, err)
	cancel := c.says(`"do":"cancel","op":` + string(op))
	c.asks("ok", `"do":"acquire","handle":"h2"`) // it waits until the cancel of the other is under way
	require.Nil(t, c.answers[cancel])
	c.asks("no", `"do":"release","handle":"h2"`)
	require.Equal(t, "ok", c.answer(cancel)["outcome"])
	require.Equal(t, "unknown", c.answer(acquire)["outcome"])
	require.Less(t, slices.Index(c.heard, cancel), slices.Index(c.heard, acquire), "the cancel is answered first")
}

// TestWhatEndsWithAHandleInJava: nothing is told of a handle that is closed, or of one before a reset, and no idle waits for it.
func TestWhatEndsWithAHandleInJava(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	c := begins(t, changed(t, "java", "Client.java", `        String drawn`, `        if (former != null) former.lost("late", 0);
        former = this;
        String drawn`, `    @Override public void ping()`, `    private static Client former; // the latest that has acquired
    @Override public boolean idle() throws Exception {
        redis.command("INCR", "idle");
        return false;
    }
    @Override public void ping()`, `List.of("check",`, `List.of("idle", "reset", "check",`), server.Addr(), server.Addr())
	const open = `"do":"open","handle":"h1","key":"K","lease_ms":1000`
	for _, end := range []string{`"do":"close","handle":"h1"`, `"do":"reset"`} {
		c.asks("ok", open)
		c.asks("ok", `"do":"acquire","handle":"h1"`)
		c.asks("ok", `"do":"release","handle":"h1"`)
		server.Del("idle")
		idle := c.says(`"do":"idle","handle":"h1"`)
		require.Eventually(t, func() bool { return server.Exists("idle") }, time.Minute, time.Millisecond)
		require.Nil(t, c.answers[idle])
		c.asks("ok", end)
		require.Equal(t, "no", c.answer(idle)["outcome"])
	}
	c.asks("ok", `"do":"init","version":2,"client":"C1","servers":["`+server.Addr()+`"],"resource":"`+server.Addr()+`"`)
	c.asks("ok", open)
	c.asks("ok", `"do":"acquire","handle":"h1"`)
	require.Empty(t, c.notices)
	c.asks("no", `"do":"acquire","handle":"h1"`)
	c.asks("ok", `"do":"close","handle":"h1"`)
	require.Len(t, c.notices, 1, "of the handle that was open")
}

// TestReconnectLeavesWorkAlone: the resource is no server of the lock.
func TestReconnectLeavesWorkAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"go", "java", "node", "python"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit, _ := kits.Find(name)
			subject := written(t, kit)
			resource, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { resource.Close() })
			server := miniredis.RunT(t)
			c := begins(t, subject, server.Addr(), resource.Addr().String())
			c.asks("ok", `"do":"open","handle":"h1","key":"K","lease_ms":1000`)
			work := c.says(`"do":"work","handle":"h1","key":"R"`)
			conn, err := resource.Accept()
			require.NoError(t, err)
			defer conn.Close()
			asked := make([]byte, 1000)
			_, err = conn.Read(asked) // GET
			require.NoError(t, err)
			c.asks("ok", `"do":"reconnect"`)
			_, err = io.WriteString(conn, "$-1\r\n")
			require.NoError(t, err)
			_, err = conn.Read(asked) // SET
			require.NoError(t, err)
			_, err = io.WriteString(conn, "+OK\r\n")
			require.NoError(t, err)
			require.Equal(t, "ok", c.answer(work)["outcome"])
		})
	}
}
