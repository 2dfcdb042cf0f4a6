package tap

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOnlyWatchedKeysAreRecorded(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	for _, args := range [][]string{
		{"HELLO", "3"}, {"CLIENT", "SETINFO", "LIB-NAME", "lock"}, {"PING", "lock"}, {"SET", "other", "lock"}, {"SELECT", "0"},
		{"PUBLISH", "lock", "x"}, {"EVAL", "return 1", "0", "lock"},
	} {
		c.do(args...)
	}
	assert.Equal(t, "OK", c.do("set", "lock", "token", "PX", "30000"))
	assert.Equal(t, "2", c.do("DEL", "other", "lock"))
	c.do("CUSTOM", "x", "lock") // a command that the tap does not know
	events := b.recorded(3)
	assert.Equal(t, []string{
		"C1: set lock token PX 30000 = OK", "C1: DEL other lock = 2",
		"C1: CUSTOM x lock = -ERR unknown command `CUSTOM`, with args beginning with: `x`, `lock`, ",
	}, asWritten(events))
	for _, e := range events {
		assert.Equal(t, history.KindCommand, e.Kind)
		assert.Equal(t, "lock", e.Lock)
		assert.Equal(t, "redis", e.Detail.Command.Server)
		assert.Equal(t, int64(1), e.Detail.Command.Conn)
		assert.LessOrEqual(t, e.Detail.Command.Sent, e.At)
		assert.Positive(t, e.Detail.Command.Asked)
		assert.False(t, e.Detail.Command.Late)
	}
}

func TestNothingIsRecordedWithoutWatch(t *testing.T) {
	b := setUp(t, startMini(t), func(c *Config) { c.Watch = nil })
	assert.Equal(t, "OK", b.dial("C1").do("SET", "lock", "a"))
	b.recorded(0)
}

func TestOperationOfARequest(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	b.during("C1", 7)
	c.do("SET", "lock", "a")
	b.during("C1", 0)
	c.do("GET", "lock")
	events := b.recorded(2)
	assert.Equal(t, history.OpAcquire, events[0].Op)
	assert.Equal(t, int64(7), events[0].ID)
	assert.Equal(t, history.OpNone, events[1].Op)
	assert.Zero(t, events[1].ID)
}

func TestLongAndBinaryArguments(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	c.do("SET", "lock", strings.Repeat("a", 500))
	c.do("SET", "lock", strings.Repeat("a", 499)+"b")
	c.do("SET", "lock", "\x00\xff")
	events := b.recorded(3)
	assert.Equal(t, strings.Repeat("a", 200)+"…", events[0].Detail.Command.Args[2])
	assert.Equal(t, `"\x00\xff"`, events[2].Detail.Command.Args[2])
	replaced := events[1].Detail.Command
	assert.Equal(t, history.EffectReplaced, replaced.Changes[0].Effect(replaced.Asked), "long values that differ at their end")
	assert.Equal(t, `"\x00\xff"`, events[2].Detail.Command.Changes[0].After.Value)
}

func TestEffects(t *testing.T) {
	deleteIfMine := "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
	steps := []struct {
		args   []string
		effect history.Effect
		after  history.State // TTL: at most
	}{
		{[]string{"DEL", "lock"}, history.EffectNone, history.State{}},
		{[]string{"SET", "lock", "a", "NX", "PX", "60000"}, history.EffectCreated, history.State{Type: "string", Value: "a", TTL: time.Minute}},
		{[]string{"SET", "lock", "b", "NX", "PX", "60000"}, history.EffectNone, history.State{Type: "string", Value: "a", TTL: time.Minute}},
		{[]string{"GET", "lock"}, history.EffectNone, history.State{Type: "string", Value: "a", TTL: time.Minute}},
		{[]string{"PEXPIRE", "lock", "90000"}, history.EffectProlonged, history.State{Type: "string", Value: "a", TTL: 90 * time.Second}},
		{[]string{"PEXPIRE", "lock", "60000"}, history.EffectShortened, history.State{Type: "string", Value: "a", TTL: time.Minute}},
		{[]string{"EVAL", deleteIfMine, "1", "lock", "b"}, history.EffectNone, history.State{Type: "string", Value: "a", TTL: time.Minute}},
		{[]string{"GETSET", "lock", "b"}, history.EffectReplaced, history.State{Type: "string", Value: "b"}},
		{[]string{"EVAL", deleteIfMine, "1", "lock", "b"}, history.EffectRemoved, history.State{}},
		{[]string{"HSET", "lock", "z", "1", "a", "2"}, history.EffectCreated, history.State{Type: "hash", Value: "[a 2 z 1]"}},
		{[]string{"HINCRBY", "lock", "z", "1"}, history.EffectReplaced, history.State{Type: "hash", Value: "[a 2 z 2]"}},
		{[]string{"PEXPIRE", "lock", "60000"}, history.EffectShortened, history.State{Type: "hash", Value: "[a 2 z 2]", TTL: time.Minute}},
		{[]string{"DEL", "lock"}, history.EffectRemoved, history.State{}},
		{[]string{"ZADD", "lock", "2", "b", "1", "a"}, history.EffectCreated, history.State{Type: "zset", Value: "[a 1 b 2]"}},
		{[]string{"UNLINK", "lock"}, history.EffectRemoved, history.State{}},
		{[]string{"RPUSH", "lock", "b", "a"}, history.EffectCreated, history.State{Type: "list", Value: "[b a]"}},
		{[]string{"SET", "lock", "a"}, history.EffectReplaced, history.State{Type: "string", Value: "a"}},
		{[]string{"GETDEL", "lock"}, history.EffectRemoved, history.State{}},
		{[]string{"SADD", "lock", "c", "a", "b"}, history.EffectCreated, history.State{Type: "set", Value: "[a b c]"}},
		{[]string{"RENAME", "lock", "other"}, history.EffectRemoved, history.State{}},
	}
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr)
		c := b.dial("C1")
		for _, step := range steps {
			c.do(step.args...)
		}
		events := b.recorded(len(steps))
		for i, step := range steps {
			command := events[i].Detail.Command
			require.Len(t, command.Changes, 1, "%v", step.args)
			change := command.Changes[0]
			assert.Equal(t, step.effect, change.Effect(command.Asked), "%v: %+v", step.args, change)
			assert.Equal(t, step.after.TTL != 0, change.After.TTL != 0, "%v", step.args)
			assert.LessOrEqual(t, change.After.TTL, step.after.TTL, "%v", step.args)
			change.After.TTL = step.after.TTL
			assert.Equal(t, history.Change{Key: "lock", Before: change.Before, After: step.after}, change, "%v", step.args)
		}
	})
}

func TestNobodyIsAccusedNearExpiry(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr)
		c := b.dial("C1")
		const rounds = 50
		for range rounds {
			c.do("SET", "lock", "a", "PX", "2")
			c.do("DEL", "lock")
		}
		events := b.recorded(2 * rounds)
		for i := 1; i < len(events); i += 2 {
			command := events[i].Detail.Command
			assert.NotEqual(t, history.EffectRemoved, command.Changes[0].Effect(command.Asked))
		}
	})
}

func TestRemainingTime(t *testing.T) {
	assert.Zero(t, probe.TTL(-1))
	assert.Equal(t, time.Microsecond, probe.TTL(0), "0 ms left is not the same as no expiry")
	assert.Equal(t, 1500*time.Millisecond, probe.TTL(1500))
}

// TestStateAndValues reads what each type of value comes to, as a state and piece by piece.
func TestStateAndValues(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	for key, test := range map[string]struct {
		make  []string
		state history.State
		parts []string
	}{
		"absent": {},
		"string": {[]string{"SET", "string", "some value"}, history.State{Type: "string", Value: "some value"}, []string{"some value"}},
		"empty":  {[]string{"SET", "empty", ""}, history.State{Type: "string"}, []string{""}},
		"hash":   {[]string{"HSET", "hash", "b", "2", "a", "1"}, history.State{Type: "hash", Value: "[a 1 b 2]"}, []string{"a", "1", "b", "2"}},
		"list":   {[]string{"RPUSH", "list", "y", "x"}, history.State{Type: "list", Value: "[y x]"}, []string{"y", "x"}},
		"set":    {[]string{"SADD", "set", "c", "a", "b"}, history.State{Type: "set", Value: "[a b c]"}, []string{"a", "b", "c"}},
		"zset":   {[]string{"ZADD", "zset", "2", "b", "1", "a"}, history.State{Type: "zset", Value: "[a 1 b 2]"}, []string{"a", "1", "b", "2"}},
	} {
		if test.make != nil {
			c.do(test.make...)
		}
		state, err := b.State(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, test.state, state, key)
		parts, err := b.Values(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, test.parts, parts, key)
	}
}

func TestSeveralKeysOfOneCommand(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	c.do("MSET", "lock", "a", "other", "b", "lock2", "lock")
	c.do("DEL", "lock", "lock", "lock2")
	events := b.recorded(2)
	for _, e := range events {
		require.Len(t, e.Detail.Command.Changes, 2)
		assert.Equal(t, "lock", e.Detail.Command.Changes[0].Key)
		assert.Equal(t, "lock2", e.Detail.Command.Changes[1].Key)
		assert.Equal(t, "lock", e.Lock)
	}
}

func TestQuestionsAreAskedInTheClientsDatabase(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr)
		first, second := b.dial("C1"), b.dial("C2")
		assert.Equal(t, "OK", second.do("SELECT", "1"))
		first.do("SET", "lock", "in 0")
		second.do("SET", "lock", "in 1")
		second.do("SELECT", "x") // refused
		second.do("GET", "lock")
		for _, args := range [][]string{{"MULTI"}, {"SELECT", "2"}, {"EXEC"}, {"SET", "lock", "in 2"}} {
			second.do(args...)
		}
		var after []string
		for _, e := range b.recorded(4) {
			after = append(after, e.Detail.Command.Changes[0].After.Value)
		}
		assert.Equal(t, []string{"in 0", "in 1", "in 1", "in 2"}, after)
	})
}

func TestQuestionsCanBeSwitchedOff(t *testing.T) {
	b := setUp(t, startMini(t), withoutQuestions)
	b.dial("C1").do("SET", "lock", "a")
	command := b.recorded(1)[0].Detail.Command
	assert.Zero(t, command.Asked)
	assert.Empty(t, command.Changes)
}

func TestTransactions(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr)
		c := b.dial("C1")
		for _, args := range [][]string{
			{"SET", "lock", "a"}, {"WATCH", "lock"}, {"MULTI"}, {"DEL", "lock"}, {"SET", "lock2", "b"}, {"SET", "other", "c"}, {"EXEC"},
			{"MULTI"}, {"DEL", "lock2"}, {"DISCARD"}, {"EXEC"},
			{"MULTI"}, {"GET"}, {"DEL", "lock2"}, {"EXEC"},
		} {
			c.do(args...)
		}
		events := b.recorded(8)
		shown := asWritten(events)
		assert.Equal(t, []string{
			"C1: SET lock a = OK", "C1: WATCH lock = OK", "C1: DEL lock = QUEUED", "C1: SET lock2 b = QUEUED", "C1: EXEC = [1 OK OK]",
			"C1: DEL lock2 = QUEUED", "C1: DEL lock2 = QUEUED",
		}, shown[:7])
		assert.Contains(t, shown[7], "C1: EXEC = -EXECABORT")
		assert.Empty(t, events[2].Detail.Command.Changes, "what is only queued")
		exec := events[4].Detail.Command
		require.Len(t, exec.Changes, 2)
		assert.Equal(t, history.EffectRemoved, exec.Changes[0].Effect(exec.Asked))
		assert.Equal(t, history.EffectCreated, exec.Changes[1].Effect(exec.Asked))
		assert.Equal(t, events[7].Detail.Command.Changes[0].Before, events[7].Detail.Command.Changes[0].After)
	})
}

func TestTheRecordIsInTheTrueOrder(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		const clients, rounds = 4, 50
		b := setUp(t, addr)
		var all sync.WaitGroup
		for i := range clients {
			c := b.dial(fmt.Sprint("C", i))
			all.Go(func() {
				for range rounds {
					c.do("INCR", "lock")
				}
			})
		}
		all.Wait()
		events := b.recorded(clients * rounds)
		for i, e := range events {
			require.Equal(t, fmt.Sprint(i+1), e.Detail.Command.Reply)
			require.Equal(t, fmt.Sprint(i+1), e.Detail.Command.Changes[0].After.Value)
			require.True(t, i == 0 || events[i-1].At <= e.At)
		}
	})
}

func TestServerThatComesBack(t *testing.T) {
	server := miniredis.NewMiniRedis()
	require.NoError(t, server.Start())
	t.Cleanup(server.Close)
	b := setUp(t, server.Addr())
	addr, err := b.Listen("C1")
	require.NoError(t, err)
	before := dialRaw(t, addr)
	before.do("SET", "lock", "a")
	server.Close()
	_, err = before.replies.ReadReply()
	assert.Error(t, err, "the client must notice that the server is gone")
	down, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer down.Close()
	require.NoError(t, down.SetDeadline(time.Now().Add(bound)))
	_, err = down.Read(make([]byte, 1))
	assert.Error(t, err)
	require.NoError(t, server.Restart())
	server.FlushAll()
	dialRaw(t, addr).do("SET", "lock", "b")
	events := b.recorded(2)
	assert.Equal(t, "b", events[1].Detail.Command.Changes[0].After.Value)
	assert.NoError(t, b.Err())
}

func TestNewNeedsAServerThatAnswers(t *testing.T) {
	_, err := New(context.Background(), Config{Server: "redis", Upstream: freeAddr(t)})
	assert.ErrorContains(t, err, "tap of redis: dial tcp")

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = New(ctx, Config{Server: "redis", Upstream: silent.Addr().String()})
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	guarded := miniredis.NewMiniRedis()
	guarded.RequireAuth("secret")
	require.NoError(t, guarded.Start())
	defer guarded.Close()
	_, err = New(context.Background(), Config{Server: "redis", Upstream: guarded.Addr()})
	assert.ErrorContains(t, err, "NOAUTH")
}

// TestUnlisten: nobody gets in any more at that address; who is in goes on, and the tap is well.
func TestUnlisten(t *testing.T) {
	b := setUp(t, startMini(t))
	addr, err := b.Listen("C1")
	require.NoError(t, err)
	c := dialRaw(t, addr)
	assert.Equal(t, "OK", c.do("SET", "lock", "a"))
	for range 2 {
		b.Unlisten(addr)
	}
	_, err = net.Dial("tcp", addr)
	require.Error(t, err)
	assert.Equal(t, "a", c.do("GET", "lock"))
	b.recorded(2)
	require.NoError(t, b.Err())
}
