package tap

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/needs"
)

// bench is a tap before a server, and what it recorded.
type bench struct {
	testing.TB
	*Tap
	server string

	mu      sync.Mutex
	events  []history.Event
	more    chan struct{} // closed and replaced with each event
	current map[string]int64
}

type option func(*Config)

func withoutQuestions(c *Config) { c.StateProbes = false }

// setUp puts a tap before the server at addr. The keys "lock" and "lock2" are watched.
func setUp(t testing.TB, addr string, options ...option) *bench {
	t.Helper()
	b := &bench{TB: t, server: addr, more: make(chan struct{}), current: map[string]int64{}}
	start := time.Now()
	cfg := Config{
		Server:      "redis",
		Upstream:    addr,
		Watch:       func(key string) bool { return key == "lock" || key == "lock2" },
		StateProbes: true,
		Since:       func() time.Duration { return time.Since(start) },
		Record:      b.record,
		Current:     b.operation,
	}
	for _, o := range options {
		o(&cfg)
	}
	tapped, err := New(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { tapped.Close() })
	b.Tap = tapped
	return b
}

func (b *bench) record(e history.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	close(b.more)
	b.more = make(chan struct{})
}

func (b *bench) operation(client string) (history.Op, int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id := b.current[client]; id != 0 {
		return history.OpAcquire, id
	}
	return history.OpNone, 0
}

// during sets the operation that a client is in; 0: none.
func (b *bench) during(client string, id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current[client] = id
}

// recorded waits for n events and returns them; more than n are a failure.
func (b *bench) recorded(n int) []history.Event {
	b.Helper()
	deadline := time.After(bound)
	for {
		b.mu.Lock()
		events, more := slices.Clone(b.events), b.more
		b.mu.Unlock()
		if len(events) >= n {
			require.Len(b, events, n)
			return events
		}
		select {
		case <-more:
		case <-deadline:
			b.Fatalf("%d events recorded, waiting for %d", len(events), n)
		}
	}
}

// asWritten shows each event as "C1: SET lock a = OK".
func asWritten(events []history.Event) []string {
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = fmt.Sprintf("%s: %s = %s", e.Client, strings.Join(e.Detail.Command.Args, " "), e.Detail.Command.Reply)
	}
	return lines
}

// dial connects a client through the tap.
func (b *bench) dial(client string) *conn {
	b.Helper()
	addr, err := b.Listen(client)
	require.NoError(b, err)
	return dialRaw(b, addr)
}

// conn is a client that sees the bytes.
type conn struct {
	testing.TB
	net.Conn
	replies *resp.Reader
}

func dialRaw(t testing.TB, addr string) *conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(bound)))
	return &conn{TB: t, Conn: c, replies: resp.NewReader(c, resp.Limits{})}
}

func (c *conn) send(args ...string) {
	c.Helper()
	c.sendRaw(string(resp.AppendCommand(nil, args...)))
}

func (c *conn) sendRaw(text string) {
	c.Helper()
	_, err := c.Write([]byte(text))
	require.NoError(c, err)
}

// next is the next message of the server in one line.
func (c *conn) next() string {
	c.Helper()
	reply, err := c.replies.ReadReply()
	require.NoError(c, err)
	value, err := resp.Parse(reply.Raw, resp.Limits{})
	require.NoError(c, err)
	return value.String()
}

func (c *conn) do(args ...string) string {
	c.Helper()
	c.send(args...)
	return c.next()
}

// silent makes sure that nothing has been sent to the client by the time at which done is.
func (c *conn) silent() {
	c.Helper()
	require.NoError(c, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err := c.replies.ReadReply()
	require.ErrorIs(c, err, os.ErrDeadlineExceeded)
	require.NoError(c, c.SetReadDeadline(time.Now().Add(bound)))
}

func await(t testing.TB, what string, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(bound):
		t.Fatalf("in vain: %s", what)
	}
}

func pending(t testing.TB, what string, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
		t.Fatalf("too early: %s", what)
	default:
	}
}

// onServers runs a test before the embedded server and a real one.
func onServers(t *testing.T, test func(t *testing.T, addr string)) {
	t.Run("miniredis", func(t *testing.T) { test(t, startMini(t)) })
	t.Run("redis", func(t *testing.T) { test(t, startRedis(t)) })
}

func startMini(t testing.TB) string {
	t.Helper()
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	require.NoError(t, server.Start())
	t.Cleanup(server.Close)
	return server.Addr()
}

func startRedis(t testing.TB, options ...string) string {
	t.Helper()
	path := needs.Program(t, "redis", "redis-server")
	addr := freeAddr(t)
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	var log bytes.Buffer
	server := exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir()}, options...)...)
	server.Stdout, server.Stderr = &log, &log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		c.Close()
		return true
	}, bound, 5*time.Millisecond, "redis-server does not answer")
	return addr
}

func freeAddr(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
