package tap

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/needs"
)

func bewares(c *Config) {
	table := commands.NewTable()
	c.Refuse = table.Refusal
}

// TestEmptyRequests: a server ignores a request without a command, and miniredis panics at it. No server gets to see one.
func TestEmptyRequests(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr, bewares)
		c := b.dial("C1")
		c.sendRaw("*0\r\n*-1\r\n\r\n*-7\r\n  \n*1\r\n$4\r\nPING\r\n*0\r\n")
		assert.Equal(t, "PONG", c.next())
		assert.Equal(t, "OK", b.dial("C2").do("SET", "lock", "a"))
		assert.Equal(t, "a", c.do("GET", "lock"))
		require.NoError(t, b.Err())
	})
}

// TestRefusedCommands: the client is told, no server gets to see the command, the record is not trusted any more, and others go on.
func TestRefusedCommands(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr, bewares)
		other := b.dial("C2")
		require.Equal(t, "OK", other.do("SET", "lock", "a"))
		c := b.dial("C1")
		c.send("flushall")
		assert.Equal(t, "-ERR the lab refuses FLUSHALL: it removes keys that are not the client's", c.next())
		_, err := c.replies.ReadReply()
		require.Error(t, err, "the connection ends")
		await(t, "the error of the tap", b.Done())
		assert.EqualError(t, b.Err(), "tap: client C1 sent FLUSHALL to redis, which the lab refuses: it removes keys that are not the client's")
		assert.Equal(t, "a", other.do("GET", "lock"))

		within := b.dial("C3")
		within.do("MULTI")
		within.do("DEL", "lock")
		within.send("SCRIPT", "FLUSH")
		assert.Contains(t, within.next(), "the lab refuses SCRIPT FLUSH")
		_, err = within.replies.ReadReply()
		require.Error(t, err)
		assert.Equal(t, "a", other.do("GET", "lock"), "the transaction ends with its connection")
	})
}

// TestLargeRequests: memory is bounded by the limits, and the reason names client and size.
func TestLargeRequests(t *testing.T) {
	b := setUp(t, startMini(t), func(c *Config) { c.Limits = resp.Limits{Bulk: 1 << 20} })
	c := b.dial("C1")
	c.sendRaw("*3\r\n$3\r\nSET\r\n$4\r\nlock\r\n$419430400\r\n")
	await(t, "the error of the tap", b.Done())
	assert.EqualError(t, b.Err(), "tap: request of client C1 to redis: argument of announced length 419430400: more than 1048576")
	assert.Equal(t, "OK", b.dial("C2").do("SET", "lock", "a"))
}

// TestManyConnections: a client that opens connections without end loses its cell before the lab runs out of descriptors.
func TestManyConnections(t *testing.T) {
	b := setUp(t, startMini(t))
	addr, err := b.Listen("C1")
	require.NoError(t, err)
	for range maxConnections {
		require.Equal(t, "PONG", dialRaw(t, addr).do("PING"))
	}
	pending(t, "the error of the tap", b.Done())
	dialRaw(t, addr)
	await(t, "the error of the tap", b.Done())
	assert.EqualError(t, b.Err(), "tap: client C1 has more than 256 connections to redis")
	assert.Equal(t, "PONG", b.dial("C2").do("PING"))
}

// TestSubscriptionsAreBounded: the tap remembers the name of each.
func TestSubscriptionsAreBounded(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr)
		c := b.dial("C1")
		go c.Write([]byte(strings.Repeat("*2\r\n$10\r\nPSUBSCRIBE\r\n$1\r\nx\r\n", 2*maxSubscriptions)))
		for range 2 * maxSubscriptions {
			_, err := c.replies.ReadReply()
			require.NoError(t, err, "the same pattern again and again is one")
		}
		var all []string
		for i := range maxSubscriptions {
			all = append(all, fmt.Sprint(i))
		}
		go c.Write(resp.AppendCommand(nil, append([]string{"SUBSCRIBE"}, all...)...))
		await(t, "the error of the tap", b.Done())
		assert.EqualError(t, b.Err(), "tap: client C1 has more than 1000 subscriptions on one connection to redis")
		assert.Equal(t, "PONG", b.dial("C2").do("PING"))
	})
}

// TestWhatClientsHoldIsBounded: unfinished requests and unread replies of all connections together. What is done with, counts no more.
func TestWhatClientsHoldIsBounded(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		held := resp.NewBudget("bytes that the lab keeps", 24<<20)
		b := setUp(t, addr, func(c *Config) { c.Limits.Held = held })
		long := strings.Repeat("x", 6<<20)
		c := b.dial("C1")
		for range 5 {
			require.Equal(t, "OK", c.do("SET", "long", long))
			require.Equal(t, long, c.do("GET", "long"))
		}
		c.Close()
		require.NoError(t, b.Err())

		for range 4 {
			unread := b.dial("C2")
			unread.send("GET", "long")
			_, _ = unread.Conn.Read(make([]byte, 1))
		}
		await(t, "the error of the tap", b.Done())
		assert.EqualError(t, b.Err(), "tap: reply of redis to client C2: bytes that the lab keeps: more than 25165824")
	})
}

// TestEndlessCommand: a server that one command keeps busy is not waited for until the cell's end. The test makes the watchdog look only
// when the script runs.
func TestEndlessCommand(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	b := setUp(t, startRedis(t, "--logfile", log), func(c *Config) { c.Patience = time.Hour })
	c := b.dial("C1")
	c.send("EVAL", "redis.log(redis.LOG_WARNING, 'it begins') while true do end", "1", "lock")
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), "it begins")
	}, bound, time.Millisecond)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := b.State(ctx, "lock")
	require.ErrorContains(t, err, "deadline", "who asks the busy server is not kept waiting")

	looks := make(chan time.Time, checks+1)
	b.begin(func() { b.look(looks) })
	for range checks {
		looks <- time.Now()
	}
	pending(t, "the error of the tap", b.Done())
	looks <- time.Now() // the first one saw that the command is new
	await(t, "the error of the tap", b.Done())
	assert.EqualError(t, b.Err(), "tap: redis did not answer C1's EVAL within 1h0m0s")
	require.NoError(t, b.Close())
}

// TestFloods: a pipeline of many commands passes, one at a time, and memory does not grow with it.
func TestFloods(t *testing.T) {
	b := setUp(t, startMini(t), bewares)
	c := b.dial("C1")
	const many = 20_000
	go c.Write([]byte(strings.Repeat("*1\r\n$4\r\nPING\r\n*0\r\n", many)))
	for range many {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(bound))) // a busy machine takes longer for all of them
		require.Equal(t, "PONG", c.next())
	}
	require.NoError(t, b.Err())
}

// noFiles is a listener of a process that has no file descriptor left.
type noFiles struct{ net.Listener }

func (noFiles) Accept() (net.Conn, error) { return nil, syscall.EMFILE }
func (noFiles) Close() error              { return nil }

// TestNoConnectionCanBeAccepted: that is no client's doing.
func TestNoConnectionCanBeAccepted(t *testing.T) {
	b := setUp(t, startMini(t))
	b.accept("C1", "", noFiles{})
	<-b.Done()
	var host *HostError
	require.ErrorAs(t, b.Err(), &host)
	require.ErrorIs(t, host, syscall.EMFILE)
}

// TestWhatAConnectionMakesTheTapKeep: everything is charged to its client's budget, and given back with its connection at the latest. In each case
// the buffers alone fit.
func TestWhatAConnectionMakesTheTapKeep(t *testing.T) {
	needs.Long(t, "sends much over one connection")
	long := strings.Repeat("x", 100<<10)
	many := func(n int, message ...string) string {
		return strings.Repeat(string(resp.AppendCommand(nil, message...)), n)
	}
	names := func(verb string) string {
		var all strings.Builder
		for i := range 100 {
			all.Write(resp.AppendCommand(nil, verb, fmt.Sprint(i, long)))
		}
		return all.String()
	}
	points := func(n int, action faults.Action) (all []Breakpoint) {
		for i := range n {
			at := faults.Breakpoint{Action: action, Match: faults.Match{Kind: faults.MatchAny}, Nth: i + 1}
			all = append(all, Breakpoint{Breakpoint: at, Client: "C1"})
		}
		return all
	}
	large := strings.Repeat(long, 7) // in a buffer of 1 MiB
	tests := map[string]struct {
		sends       string
		connections int
		room        int
		arm         []Breakpoint
	}{
		"connections":                {"", 10, 10*connectionCost - 1, nil},
		"arguments":                  {"*10000\r\n" + strings.Repeat("$1\r\nx\r\n", 9_999), 10, 10 * (connectionCost + 256<<10), nil},
		"names of channels":          {names("SUBSCRIBE"), 1, 4 << 20, nil},
		"names of patterns":          {names("PSUBSCRIBE"), 1, 1 << 20, nil}, // which miniredis compiles, slowly: few of them
		"a transaction to be copied": {many(1, "MULTI") + many(100, "ECHO", long), 1, 4 << 20, points(1, faults.ActHoldCopy)},
		"a duplicated request":       {many(1, "SET", "lock", large), 1, connectionCost + 1<<20 + 512<<10, points(1, faults.ActDuplicate)},
		"copied requests":            {many(6, "SET", "lock", large), 1, connectionCost + 3<<20, points(6, faults.ActHoldCopy)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			held := resp.NewBudget("bytes", test.room)
			b := setUp(t, startMini(t), func(c *Config) { c.Limits.Held = held })
			var armed []*Armed
			for _, point := range test.arm {
				armed = append(armed, b.Arm(point))
			}
			var all []*conn
			for range test.connections {
				c := b.dial("C1")
				all = append(all, c)
				go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
				go func() { _, _ = io.WriteString(c.Conn, test.sends) }()
			}
			await(t, "the error of the tap", b.Done())
			assert.ErrorContains(t, b.Err(), fmt.Sprint("bytes: more than ", test.room))
			for _, c := range all {
				c.Close()
			}
			for _, point := range armed {
				point.Disarm() // until then, copies are held
			}
			require.Eventually(t, func() bool { return isEmpty(held, test.room) }, bound, time.Millisecond)
		})
	}
}

// TestWideReplies: a reply of many elements, also of nested ones, ends its client's cell, and takes no more memory than its bytes.
func TestWideReplies(t *testing.T) {
	for name, script := range map[string]string{
		"flat":   "local t = {} for i = 1, 200000 do t[i] = 1 end return t",
		"nested": "local t = {} for i = 1, 500 do t[i] = {} for j = 1, 500 do t[i][j] = 1 end end return t",
	} {
		t.Run(name, func(t *testing.T) {
			b := setUp(t, startMini(t))
			b.dial("C1").send("EVAL", script, "1", "lock")
			await(t, "the error of the tap", b.Done())
			assert.ErrorContains(t, b.Err(), "tap: reply of redis to client C1: ")
			assert.ErrorContains(t, b.Err(), ": more than 100000")
		})
	}
}
