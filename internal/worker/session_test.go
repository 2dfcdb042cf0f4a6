package worker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker"
	"github.com/locklab/locklab/internal/worker/protocol"
)

func TestGivingUp(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		gate := newGate(t, addr)
		c := opened(t, gate.addr, "setpx-lua", long)
		gate.requests.set(true)
		id, answer := c.send(protocol.Request{Do: protocol.Acquire, Handle: "h"})
		require.Eventually(t, gate.requests.waiting, patience, time.Millisecond)
		queued, second := c.send(protocol.Request{Do: protocol.Check, Handle: "h"})

		assert.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Cancel, Op: queued}).Outcome)
		assert.Equal(t, protocol.Unknown, c.wait(second).Outcome, "given up before its turn")
		assert.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Cancel, Op: id}).Outcome)
		assert.Equal(t, protocol.Unknown, c.wait(answer).Outcome)
		assert.Equal(t, protocol.No, c.ask(protocol.Request{Do: protocol.Cancel, Op: id}).Outcome, "it is over")

		rdb := direct(t, addr)
		assert.Zero(t, rdb.Exists(t.Context(), "lock").Val())
		gate.requests.set(false) // the request arrives after its client gave up
		assert.Eventually(t, func() bool { return rdb.Exists(t.Context(), "lock").Val() == 1 }, patience, time.Millisecond)
		assert.Equal(t, protocol.No, c.do(protocol.Acquire), "its own ghost")
	})
}

func TestReconnect(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		for _, lock := range []string{"setpx-lua", "setpx-lua-resend"} {
			gate := newGate(t, addr)
			c := opened(t, gate.addr, lock, long)
			for range 3 {
				require.Equal(t, protocol.OK, c.do(protocol.Acquire))
				gate.cut()
				answer := c.ask(protocol.Request{Do: protocol.Reconnect})
				require.Equal(t, protocol.OK, answer.Outcome, answer.Error)
				assert.Equal(t, protocol.OK, c.do(protocol.Release), lock)
			}
		}
	})
}

func TestReconnectEndsWhatWaitsOnABrokenLink(t *testing.T) {
	gate := newGate(t, startMini(t))
	c := opened(t, gate.addr, "setpx-lua", long)
	gate.replies.set(true)
	_, answer := c.send(protocol.Request{Do: protocol.Acquire, Handle: "h"})
	require.Eventually(t, gate.replies.waiting, patience, time.Millisecond)
	_, reconnected := c.send(protocol.Request{Do: protocol.Reconnect})
	assert.Equal(t, protocol.Unknown, c.wait(answer).Outcome)
	gate.replies.set(false)
	assert.Equal(t, protocol.OK, c.wait(reconnected).Outcome)
}

// The published watchdog waits for its replies for ever.
func TestIdleOnceTheReplyIsTakenIn(t *testing.T) {
	gate := newGate(t, startMini(t))
	c := ownProcess(t) // where reset can count goroutines
	c.begin(gate.addr)
	c.open("watchdog-published", 300*time.Millisecond)
	idle := protocol.Request{Do: protocol.Idle, Handle: "h"}
	assert.Equal(t, protocol.OK, c.ask(idle).Outcome, "nothing runs yet")
	require.Equal(t, protocol.OK, c.do(protocol.Acquire))
	gate.replies.set(true)
	require.Eventually(t, gate.replies.waiting, patience, time.Millisecond)
	_, answer := c.send(idle)
	assert.Equal(t, protocol.No, c.ask(protocol.Request{Do: protocol.Idle, Handle: "another"}).Outcome)
	select {
	case early := <-answer:
		assert.Fail(t, "the renewal still waits", "%+v", early)
	default:
	}
	gate.replies.set(false)
	assert.Equal(t, protocol.OK, c.wait(answer).Outcome)

	gate.replies.set(true)
	require.Eventually(t, gate.replies.waiting, patience, time.Millisecond)
	_, answer = c.send(idle)
	assert.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Reset}).Outcome)
	assert.Equal(t, protocol.OK, c.wait(answer).Outcome, "its tasks have ended")
}

func TestOperationsOfOneHandleRunInOrder(t *testing.T) {
	c := opened(t, startMini(t), "setpx-lua", long)
	verbs := []string{protocol.Acquire, protocol.Release}
	var answers []<-chan protocol.Message
	for i := range 100 {
		_, answer := c.send(protocol.Request{Do: verbs[i%2], Handle: "h"})
		answers = append(answers, answer)
	}
	for i, answer := range answers {
		assert.Equal(t, protocol.OK, c.wait(answer).Outcome, "operation %d", i)
	}
}

func TestHandlesDoNotWaitForEachOther(t *testing.T) {
	c := opened(t, startMini(t), "setpx-lua", long)
	require.Equal(t, protocol.OK, c.do(protocol.Acquire))
	other := protocol.Request{Do: protocol.Open, Handle: "other", Lock: "setnx-del", Key: "lock"}
	require.Equal(t, protocol.OK, c.ask(other).Outcome)
	_, waits := c.send(protocol.Request{Do: protocol.Acquire, Handle: "other", WithinMS: 60_000})
	assert.Equal(t, protocol.OK, c.do(protocol.Release), "overtakes")
	assert.Equal(t, protocol.OK, c.wait(waits).Outcome)
}

func TestWorkTellsWhatItDid(t *testing.T) {
	addr := startMini(t)
	c := opened(t, addr, "setpx-lua", long)
	rdb := direct(t, addr)
	for want := range int64(3) {
		answer := c.ask(protocol.Request{Do: protocol.Work, Handle: "h", Key: "counter"})
		require.Equal(t, protocol.OK, answer.Outcome)
		assert.Equal(t, want, *answer.Read)
		assert.Equal(t, want+1, *answer.Wrote)
	}
	require.NoError(t, rdb.Set(t.Context(), "counter", "many", 0).Err())
	answer := c.ask(protocol.Request{Do: protocol.Work, Handle: "h", Key: "counter"})
	assert.Equal(t, protocol.Unknown, answer.Outcome)
	assert.Contains(t, answer.Error, "no number")
}

func TestErrorRepliesMeanNo(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		rdb := direct(t, addr)
		require.NoError(t, rdb.LPush(t.Context(), "lock", "a list").Err())
		tests := []struct{ lock, verb, want string }{
			{"setpx-getdel", protocol.Release, protocol.No},
			{"setpx-lua", protocol.Check, protocol.No},
			{"setpx-lua", protocol.Release, protocol.Unknown}, // a script that may have run in part
		}
		for _, test := range tests {
			answer := opened(t, addr, test.lock, long).ask(protocol.Request{Do: test.verb, Handle: "h"})
			assert.Equal(t, test.want, answer.Outcome, "%+v", test)
			assert.Contains(t, answer.Error, "WRONGTYPE")
		}
	})
}

func TestRefusals(t *testing.T) {
	addr := startMini(t)
	begin := protocol.Request{Do: protocol.Init, Version: protocol.Version, Servers: []string{addr}}
	open := protocol.Request{Do: protocol.Open, Handle: "h", Lock: "setpx-lua", Key: "lock", LeaseMS: 1000}
	tests := []struct {
		name        string
		before      []protocol.Request
		ask         protocol.Request
		why         string
		unsupported bool
	}{
		{"before init", nil, open, "init comes first", false},
		{"wrong version", nil, protocol.Request{Do: protocol.Init, Version: 7}, "speaks versions 1 to 2 of the protocol, not 7", false},
		{"no server", nil, protocol.Request{Do: protocol.Init, Version: protocol.Version}, "names no server", false},
		{"unreachable server", nil, protocol.Request{
			Do: protocol.Init, Version: protocol.Version, Servers: []string{"127.0.0.1:1"},
		}, "connection refused", false},
		{"init again", []protocol.Request{begin}, begin, "asked before", false},
		{"unknown lock", []protocol.Request{begin}, protocol.Request{Do: protocol.Open, Handle: "h", Lock: "x", Key: "k"}, `unknown lock "x"`, false},
		{"no key", []protocol.Request{begin}, protocol.Request{Do: protocol.Open, Handle: "h", Lock: "setpx-lua"}, "a handle and a key", false},
		{"no lease", []protocol.Request{begin}, protocol.Request{Do: protocol.Open, Handle: "h", Lock: "setpx-lua", Key: "k"}, "needs a lease", false},
		{"a lock of another service", []protocol.Request{{Do: protocol.Init, Version: protocol.Version, Servers: []string{"zookeeper://" + addr}}}, open,
			"lock setpx-lua needs one Redis server, and zookeeper://" + addr + " is another service", false},
		{"handle in use", []protocol.Request{begin, open}, open, "in use", false},
		{"handle not open", []protocol.Request{begin}, protocol.Request{Do: protocol.Acquire, Handle: "h"}, "not open", false},
		{"work without a lock", []protocol.Request{begin}, protocol.Request{Do: protocol.Work, Key: "counter"}, "not open", false},
		{"work without a resource", []protocol.Request{begin, open}, protocol.Request{Do: protocol.Work, Handle: "h", Key: "counter"}, "no resource", false},
		{"not renewable", []protocol.Request{begin, open}, protocol.Request{Do: protocol.Renew, Handle: "h"}, "cannot be renewed", true},
		{"unknown verb", []protocol.Request{begin}, protocol.Request{Do: "dance"}, `unknown verb "dance"`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := inProcess(t)
			for _, req := range test.before {
				require.Equal(t, protocol.OK, c.ask(req).Outcome)
			}
			answer := c.ask(test.ask)
			assert.Equal(t, protocol.No, answer.Outcome)
			assert.Equal(t, test.unsupported, answer.Unsupported)
			assert.Contains(t, answer.Error, test.why)
		})
	}
}

// program is the mode of a program with a lock of its own.
const program = "program"

func programSpec() impls.Spec {
	spec, _ := impls.Find("setpx-lua")
	spec.Name, spec.MinLease = "mine", 1500*time.Millisecond
	return spec
}

// A program that is given another service than its lock needs says so before anything is tested.
func TestProgramsAndTheirServices(t *testing.T) {
	for _, scheme := range []string{protocol.ZooKeeperScheme, protocol.EtcdScheme, protocol.PostgresScheme} {
		answer := processAs(t, program).ask(protocol.Request{Do: protocol.Init, Version: protocol.Version, Servers: []string{scheme + "127.0.0.1:1"}})
		assert.Equal(t, protocol.No, answer.Outcome)
		assert.Equal(t, "lock mine needs one Redis server, and "+scheme+"127.0.0.1:1 is another service", answer.Error)
	}
	answer := processAs(t, program).ask(protocol.Request{Do: protocol.Init, Version: protocol.Version, Servers: []string{startMini(t)}})
	require.Equal(t, protocol.OK, answer.Outcome, answer.Error)
	assert.Equal(t, "mine", answer.Hello.Name)
	assert.Equal(t, 1500.0, answer.Hello.MinLeaseMS)
}

func TestReset(t *testing.T) {
	addr := startMini(t)
	c := ownProcess(t)
	c.begin(addr)
	c.open("watchdog", long)
	require.Equal(t, protocol.OK, c.do(protocol.Acquire))
	require.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Skew, Clock: protocol.Clock{OffsetMS: protocol.MS(time.Hour)}}).Outcome)
	reset := c.ask(protocol.Request{Do: protocol.Reset})
	require.Equal(t, protocol.OK, reset.Outcome, reset.Error)
	assert.EqualValues(t, 1, direct(t, addr).Exists(t.Context(), "lock").Val(), "a reset releases nothing")

	answer := c.ask(protocol.Request{Do: protocol.Acquire, Handle: "h"})
	assert.Contains(t, answer.Error, "init comes first", "the handle is forgotten")
	assert.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Reset}).Outcome, "also before init")
	c.begin(addr)
	c.open("watchdog", long)
	assert.Equal(t, protocol.No, c.do(protocol.Acquire), "the lock is still the client's before the reset")
}

// leaking makes TestMain's client use leakingSpec.
const leaking = "leaking"

// leakingSpec is a lock that leaves a goroutine behind.
func leakingSpec() impls.Spec {
	spec, _ := impls.Find("setpx-lua")
	newLock := spec.New
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
		if env != nil { // else it is only asked for its methods
			go func() { select {} }()
		}
		return newLock(env, opts)
	}
	return spec
}

// TestResetIsChecked: a lock that leaves a goroutine behind could disturb the next cell. The client runs in a process of
// its own, where no goroutine of another test is counted.
func TestResetIsChecked(t *testing.T) {
	c := processAs(t, leaking)
	c.begin(startMini(t))
	c.open("setpx-lua", long)
	answer := c.ask(protocol.Request{Do: protocol.Reset})
	assert.Equal(t, protocol.No, answer.Outcome)
	assert.Contains(t, answer.Error, "1 more than before")
}

func TestExitAnswersEverything(t *testing.T) {
	gate := newGate(t, startMini(t))
	c := opened(t, gate.addr, "setpx-lua", long)
	gate.requests.set(true)
	_, pending := c.send(protocol.Request{Do: protocol.Acquire, Handle: "h"})
	require.Eventually(t, gate.requests.waiting, patience, time.Millisecond)
	assert.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Exit}).Outcome)
	assert.Equal(t, protocol.Unknown, c.wait(pending).Outcome)
	<-c.conn.Done()
	require.ErrorIs(t, c.conn.Err(), protocol.ErrGone)
}

func TestBadRequestsEndTheWorker(t *testing.T) {
	tests := []struct{ input, want string }{
		{"", ""},
		{"hello\n", "line 1 of the requests: not a JSON object"},
		{`{"id":1,"do":"init"}` + "\n" + `{"do":"exit"}` + "\n", "line 2 of the requests: id is 0"},
		{`{"id":1,"do":"` + strings.Repeat("x", protocol.MaxLine) + `"}`, "token too long"},
	}
	for _, test := range tests {
		var out strings.Builder
		err := worker.Run(t.Context(), strings.NewReader(test.input), &out, impls.All())
		if test.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, test.want)
	}
}
