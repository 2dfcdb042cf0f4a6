package tap

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/commands"
)

// withExpiry has all keys expire.
func withExpiry(c *Config) {
	c.Expiry = Expiry{Own: func([]byte) bool { return true }, For: 2 * time.Hour, Least: time.Hour}
}

// expires says whether a key has an expiry of the tap's on the server itself.
func expires(t *testing.T, direct *conn, key string) bool {
	t.Helper()
	left, err := strconv.Atoi(direct.do("PTTL", key))
	require.NoError(t, err)
	return left > 3_600_000
}

func TestKeysExpireUnseen(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr, withExpiry)
		c, direct := b.dial("C1"), dialRaw(t, addr)

		require.Equal(t, "1", c.do("SETNX", "lock", "a"))
		require.True(t, expires(t, direct, "lock"))
		assert.Equal(t, "a", c.do("GET", "lock"))
		assert.Equal(t, "-1", c.do("TTL", "lock"))
		assert.Equal(t, "-1", c.do("EVAL", "return redis.call('PTTL', KEYS[1])", "1", "lock"))
		assert.Equal(t, "0", c.do("PERSIST", "lock"))
		require.True(t, expires(t, direct, "lock"), "again, after each of them")
		for _, event := range b.recorded(5) {
			for _, change := range event.Detail.Command.Changes {
				assert.Zero(t, change.Before.TTL)
				assert.Zero(t, change.After.TTL)
			}
		}
		state, err := b.State(t.Context(), "lock")
		require.NoError(t, err)
		assert.Zero(t, state.TTL)

		require.Equal(t, "1", c.do("PEXPIRE", "lock", "60000"))
		require.False(t, expires(t, direct, "lock"), "the client's own expiry counts")
		require.Equal(t, "1", c.do("PERSIST", "lock"))
		require.True(t, expires(t, direct, "lock"))
		require.Equal(t, "OK", c.do("SET", "lock", "b", "PX", "60000"))
		require.NotEqual(t, "-1", c.do("PTTL", "lock"))
		require.Equal(t, "OK", c.do("RENAME", "lock", "lock2"))
		require.False(t, expires(t, direct, "lock2"))
		require.Equal(t, "2", c.do("RPUSH", "queue", "a", "b"))
		require.Equal(t, "b", c.do("BRPOPLPUSH", "queue", "other", "1"))
		require.True(t, expires(t, direct, "queue"))
		require.True(t, expires(t, direct, "other"))
	})
}

// An expiry put on a watched key would abort the transaction.
func TestExpiriesAbortNoTransaction(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr, withExpiry)
		c, other, direct := b.dial("C1"), b.dial("C2"), dialRaw(t, addr)
		require.Equal(t, "1", c.do("SETNX", "lock", "a"))
		require.Equal(t, "OK", c.do("WATCH", "lock"))
		require.Equal(t, "-1", other.do("TTL", "lock"))
		require.Equal(t, "a", c.do("GET", "lock"))
		require.Equal(t, "OK", c.do("MULTI"))
		require.Equal(t, "QUEUED", c.do("SET", "lock", "b"))
		require.Equal(t, "QUEUED", c.do("SET", "counter", "1"))
		require.Equal(t, "[OK OK]", c.do("EXEC"))
		require.True(t, expires(t, direct, "lock"))
		require.True(t, expires(t, direct, "counter"))

		require.Equal(t, "OK", c.do("WATCH", "lock"))
		require.Equal(t, "OK", other.do("SET", "lock", "c"))
		require.Equal(t, "OK", c.do("MULTI"))
		require.Equal(t, "nil", c.do("EXEC"), "a client's write does abort it")
		require.True(t, expires(t, direct, "lock"))

		require.Equal(t, "OK", c.do("WATCH", "lock"))
		require.False(t, expires(t, direct, "lock"))
		require.NoError(t, c.Close())
		require.Eventually(t, func() bool { return expires(t, direct, "lock") }, bound, time.Millisecond)
	})
}

func TestAdoptedKeysExpire(t *testing.T) {
	addr := startMini(t)
	b := setUp(t, addr, withExpiry)
	direct := dialRaw(t, addr)
	require.Equal(t, "OK", direct.do("SET", "counter", "1"))
	require.NoError(t, b.Adopt([]string{"counter", "absent"}))
	require.True(t, expires(t, direct, "counter"))
	require.Equal(t, []string{"absent"}, b.Expiring([]string{"counter", "absent"}))
}

// Who is told of every change would see the tap's, too.
func TestNoExpiryWhereClientsAreTold(t *testing.T) {
	addr := startMini(t)
	b := setUp(t, addr, withExpiry)
	c, direct := b.dial("C1"), dialRaw(t, addr)
	b.dial("C2").do("PSUBSCRIBE", "__keyspace@0__:lock")
	require.Equal(t, "OK", c.do("SET", "lock", "a"))
	require.False(t, expires(t, direct, "lock"))
}

// A late copy of a request leaves no key for ever, either.
func TestKeysOfLateCopiesExpire(t *testing.T) {
	addr := startMini(t)
	b := setUp(t, addr, withExpiry)
	c, direct := b.dial("C1"), dialRaw(t, addr)
	copied := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchWrite}, Nth: 1, Action: faults.ActHoldCopy}})
	require.Equal(t, "OK", c.do("SET", "lock", "a"))
	await(t, "the copy", copied.Reached())
	require.Equal(t, "1", c.do("DEL", "lock"))
	copied.Release()
	await(t, "the late copy", copied.Delivered())
	require.Eventually(t, func() bool { return expires(t, direct, "lock") }, bound, time.Millisecond)
}

func TestCommandsBeyondAClientsOwnAreRefused(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		scope := commands.NewTable().NewScope(func(name []byte) bool { return string(name) == "lock" })
		b := setUp(t, addr, func(c *Config) { c.Refuse, c.Unseen = scope.Refusal, scope.Unseen })
		direct, other := dialRaw(t, addr), b.dial("C2")
		require.Equal(t, "OK", direct.do("SET", "theirs", "x"))
		require.Equal(t, "OK", other.do("SET", "lock", "a"))
		c := b.dial("C1")
		require.Equal(t, "OK", c.do("MULTI"))
		require.Equal(t, "QUEUED", c.do("DEL", "lock"))
		assert.Contains(t, c.do("FLUSHALL"), "-ERR the lab refuses FLUSHALL: it removes keys that are not the client's")
		await(t, "an error of the tap", b.Done())
		assert.ErrorContains(t, b.Err(), "client C1 sent FLUSHALL to redis, which the lab refuses: ")
		assert.Equal(t, "a", other.do("GET", "lock"), "others go on, and nothing of the transaction has happened")
		assert.Equal(t, "x", direct.do("GET", "theirs"))
		c = b.dial("C1")
		assert.Contains(t, c.do("DEL", "lock", "theirs"), "the key theirs is not this cell's")
		assert.Equal(t, "x", direct.do("GET", "theirs"))
	})
}

// A connection on which a transaction subscribes cannot be read on. Its commands would pass as they are.
func TestTransactionsStayReadable(t *testing.T) {
	for _, odd := range [][]string{{"SUBSCRIBE", "lock"}, {"CLIENT", "REPLY", "OFF"}} {
		onServers(t, func(t *testing.T, addr string) {
			scope := commands.NewTable().NewScope(func(name []byte) bool { return string(name) == "lock" })
			b := setUp(t, addr, func(c *Config) { c.Refuse, c.Unseen = scope.Refusal, scope.Unseen })
			direct, c := dialRaw(t, addr), b.dial("C1")
			require.Equal(t, "OK", direct.do("SET", "theirs", "x"))
			require.Equal(t, "OK", c.do("MULTI"))
			assert.Contains(t, c.do(odd...), "-ERR the lab refuses "+odd[0])
			await(t, "an error of the tap", b.Done())
			assert.Equal(t, "x", direct.do("GET", "theirs"))
		})
	}
}

// What is at the server already does not run by its hash: to the client, the server lacks it. Once its text has passed, it runs. A breakpoint counts
// the text alone.
func TestScriptsThatTheTapHasNotSeen(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		scope := commands.NewTable().NewScope(func(name []byte) bool { return string(name) == "lock" })
		b := setUp(t, addr, func(c *Config) { c.Refuse, c.Unseen = scope.Refusal, scope.Unseen })
		direct, c := dialRaw(t, addr), b.dial("C1")
		const source = "return redis.call('GET', KEYS[1])"
		wipe, read := direct.do("SCRIPT", "LOAD", "return redis.call('FLUSHALL')"), direct.do("SCRIPT", "LOAD", source)
		require.Equal(t, "OK", direct.do("SET", "lock", "a"))
		armed := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{
			Match: faults.Match{Kind: faults.MatchCommand, Command: "EVAL"}, Nth: 1, Action: faults.ActDropReply,
		}})
		assert.Contains(t, c.do("EVALSHA", wipe, "1", "lock"), "NOSCRIPT")
		assert.Contains(t, c.do("EVALSHA", read, "1", "lock"), "NOSCRIPT")
		assert.Equal(t, "a", direct.do("GET", "lock"))
		events := b.recorded(2)
		assert.Equal(t, []string{"EVALSHA", read, "1", "lock"}, events[1].Detail.Command.Args, "as the client sent it")
		select {
		case <-armed.Reached():
			assert.Fail(t, "a breakpoint has counted a script that did not run")
		default:
		}
		armed.Disarm()
		assert.Equal(t, "a", c.do("EVAL", source, "1", "lock"))
		assert.Equal(t, "a", c.do("EVALSHA", read, "1", "lock"))
	})
}

// The server splits an inline command as the tap does, whatever blanks it knows.
func TestInlineCommandsAreSplitOnce(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		scope := commands.NewTable().NewScope(func(name []byte) bool { return bytes.HasPrefix(name, []byte("lock")) })
		b := setUp(t, addr, func(c *Config) { c.Refuse = scope.Refusal })
		direct, c := dialRaw(t, addr), b.dial("C1")
		c.sendRaw("SET lock\va\r\n")
		require.Eventually(t, func() bool { return direct.do("GET", "lock") == "a" }, bound, time.Millisecond)
		assert.Equal(t, "0", direct.do("EXISTS", "lock\va"))
	})
}
