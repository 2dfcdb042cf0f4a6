package network

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain lets one goroutine of toxiproxy be left behind on a connection that has died, or from which a timeout toxic was removed,
// while a reply was coming in: it waits for ever to hand that reply on. Whatever else belongs to a connection must be gone.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe"),
		goleak.Cleanup(func(code int) {
			if asleep := asleep(); code == 0 && asleep != "" {
				fmt.Fprintln(os.Stderr, "a toxic still holds what was to be dropped:\n"+asleep)
				code = 1
			}
			os.Exit(code)
		}))
}

// asleep is a goroutine that still delays something: it is at no hand-over, which is all that may be left behind.
func asleep() string {
	stacks := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		state, _, _ := strings.Cut(stack, "\n")
		if strings.Contains(stack, "toxics.(*LatencyToxic).Pipe(") && strings.Contains(state, "[select") {
			return stack
		}
	}
	return ""
}

// awaitAtMost waits until no more goroutines than that are in a function.
func awaitAtMost(t *testing.T, most int, function string) {
	t.Helper()
	stacks := make([]byte, 8<<20)
	require.Eventually(t, func() bool {
		return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte(function)) <= most
	}, time.Minute, 5*time.Millisecond, "more than %d goroutines stay in %s", most, function)
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// upstreamServer stands for the tap and its Redis: it answers each line of requests, PINGs with their token and anything else
// with itself, and tells of every canary that arrives.
type upstreamServer struct {
	listener net.Listener
	tasks    sync.WaitGroup

	mu       sync.Mutex
	canaries map[string]chan struct{}
	conns    []net.Conn
	lines    []string
	grown    chan struct{} // replaced whenever lines has grown
}

func startUpstream(t *testing.T) *upstreamServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	u := &upstreamServer{listener: listener, canaries: map[string]chan struct{}{}, grown: make(chan struct{})}
	u.tasks.Go(u.accept)
	t.Cleanup(u.close)
	return u
}

func (u *upstreamServer) addr() string { return u.listener.Addr().String() }

func (u *upstreamServer) accept() {
	for {
		conn, err := u.listener.Accept()
		if err != nil {
			return
		}
		u.mu.Lock()
		u.conns = append(u.conns, conn)
		u.mu.Unlock()
		u.tasks.Go(func() { u.serve(conn) })
	}
}

func (u *upstreamServer) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "*") || strings.HasPrefix(line, "$") || line == "PING" {
			continue
		}
		u.arrived(line)
		if _, err := fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(line), line); err != nil {
			return
		}
	}
}

func (u *upstreamServer) arrived(line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if strings.HasPrefix(line, tokenPrefix) {
		close(u.canaryLocked(line))
		return
	}
	u.lines = append(u.lines, line)
	close(u.grown)
	u.grown = make(chan struct{})
}

// Canary implements Canary.
func (u *upstreamServer) Canary(token string) <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.canaryLocked(token)
}

func (u *upstreamServer) canaryLocked(token string) chan struct{} {
	c := u.canaries[token]
	if c == nil {
		c = make(chan struct{})
		u.canaries[token] = c
	}
	return c
}

// received returns the lines that have arrived on all connections, canaries left out.
func (u *upstreamServer) received() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string(nil), u.lines...)
}

// await waits until n lines have arrived.
func (u *upstreamServer) await(ctx context.Context, t *testing.T, n int) []string {
	t.Helper()
	for {
		u.mu.Lock()
		lines, grown := append([]string(nil), u.lines...), u.grown
		u.mu.Unlock()
		if len(lines) >= n {
			return lines
		}
		select {
		case <-grown:
		case <-ctx.Done():
			t.Fatalf("only %d of %d lines have arrived", len(lines), n)
		}
	}
}

func (u *upstreamServer) close() {
	_ = u.listener.Close()
	u.breakConnections()
	u.tasks.Wait()
}

// breakConnections breaks what is open, as a restart of a server does.
func (u *upstreamServer) breakConnections() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, conn := range u.conns {
		_ = conn.Close()
	}
}

// user is a client's connection through a link.
type user struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, addr string) *user {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &user{Conn: conn, lines: bufio.NewReader(conn)}
}

func (u *user) say(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(u, line+"\n")
	require.NoError(t, err)
}

// hear reads one reply.
func (u *user) hear(t *testing.T) string {
	t.Helper()
	require.NoError(t, u.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := u.lines.ReadString('\n')
	require.NoError(t, err)
	line, err := u.lines.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimRight(line, "\r\n")
}

// deaf asserts that nothing is heard for the moment.
func (u *user) deaf(t *testing.T) {
	t.Helper()
	require.NoError(t, u.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	_, err := u.lines.ReadByte()
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
}

// broken asserts that the connection ends.
func (u *user) broken(t *testing.T) {
	t.Helper()
	require.NoError(t, u.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := u.lines.ReadByte()
	require.Error(t, err)
	var timeout net.Error
	if errors.As(err, &timeout) {
		require.False(t, timeout.Timeout(), "the connection is still there")
	}
}
