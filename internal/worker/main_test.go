package worker_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/internal/worker"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// patience bounds every wait of these tests; none is expected to take nearly as long.
const patience = time.Minute

// asWorker makes the test binary a client process.
const asWorker = "LOCKLAB_TEST_AS_WORKER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(asWorker); mode != "" {
		serve := func() error { return worker.Run(context.Background(), os.Stdin, os.Stdout, impls.All()) }
		switch mode {
		case leaking:
			serve = func() error {
				return worker.Run(context.Background(), os.Stdin, os.Stdout, []impls.Spec{leakingSpec()})
			}
		case program:
			serve = func() error { return worker.Program(context.Background(), programSpec()) }
		}
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Tests that run beside others wait for leases; they need no core each.
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// eachServer runs the test on the embedded server and on a real one. Time passes in both.
func eachServer(t *testing.T, test func(t *testing.T, addr string)) {
	t.Run("miniredis", func(t *testing.T) { test(t, startMini(t)) })
	t.Run("redis-server", func(t *testing.T) { test(t, startRedis(t)) })
}

func startMini(t *testing.T) string {
	t.Helper()
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	require.NoError(t, server.Start())
	t.Cleanup(server.Close)
	return server.Addr()
}

func startRedis(t *testing.T) string {
	t.Helper()
	path := needs.Program(t, "redis", "redis-server")
	port := freePort(t)
	addr := net.JoinHostPort("127.0.0.1", port)
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, patience, 5*time.Millisecond)
	return addr
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}

// direct is a client of the test's own, to look at the server and to meddle with it.
func direct(t *testing.T, addr string) redisclient.Client {
	t.Helper()
	rdb := redisclient.New(addr, redisclient.Settings{})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// client is a client process, or one played by this process, as the lab sees it.
type client struct {
	t       *testing.T
	conn    *protocol.Conn
	process *os.Process // nil where this process plays it
	ended   chan error  // what Run, or the process, ended with

	mu      sync.Mutex
	nextID  int64
	notices chan protocol.Message // but of lateness
	lates   chan protocol.Message
}

// inProcess starts a worker within this process.
func inProcess(t *testing.T) *client {
	t.Helper()
	requests, stdin := io.Pipe()
	stdout, answers := io.Pipe()
	c := &client{t: t, ended: make(chan error, 1), notices: make(chan protocol.Message, 1000), lates: make(chan protocol.Message, 1000)}
	go func() {
		err := worker.Run(context.Background(), requests, answers, impls.All())
		_ = answers.Close()
		c.ended <- err
	}()
	c.conn = protocol.NewConn(stdin, stdout, c.keep)
	t.Cleanup(c.close)
	return c
}

// ownProcess starts a worker as a process of its own, or the command if there is one.
func ownProcess(t *testing.T, command ...string) *client {
	t.Helper()
	return processAs(t, "1", command...)
}

// processAs is ownProcess with a mode that TestMain understands.
func processAs(t *testing.T, mode string, command ...string) *client {
	t.Helper()
	if len(command) == 0 {
		command = []string{os.Args[0]}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), asWorker+"="+mode)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &client{t: t, ended: make(chan error, 1), notices: make(chan protocol.Message, 1000), lates: make(chan protocol.Message, 1000), process: cmd.Process}
	c.conn = protocol.NewConn(stdin, stdout, c.keep)
	go func() {
		<-c.conn.Done() // Wait must not close the pipe before all is read
		c.ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended long ago
		c.close()
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("stderr of the client:\n%s", stderr.String())
		}
	})
	return c
}

func (c *client) keep(m protocol.Message) {
	switch {
	case m.LateMS > 0:
		c.lates <- m
	case m.ID == 0:
		c.notices <- m
	}
}

func (c *client) close() {
	_ = c.conn.Close()
	<-c.conn.Done()
	select {
	case err := <-c.ended:
		c.ended <- err
	case <-time.After(patience):
		c.t.Error("the client does not end")
	}
}

// send asks without waiting; it returns the id, too.
func (c *client) send(req protocol.Request) (int64, <-chan protocol.Message) {
	c.t.Helper()
	c.mu.Lock()
	c.nextID++
	req.ID = c.nextID
	c.mu.Unlock()
	answer, err := c.conn.Send(req)
	require.NoError(c.t, err)
	return req.ID, answer
}

// ask asks and waits for the answer.
func (c *client) ask(req protocol.Request) protocol.Message {
	c.t.Helper()
	_, answer := c.send(req)
	return c.wait(answer)
}

func (c *client) wait(answer <-chan protocol.Message) protocol.Message {
	c.t.Helper()
	select {
	case m, ok := <-answer:
		require.True(c.t, ok, "the client has gone: %v", c.conn.Err())
		return m
	case <-time.After(patience):
		require.Fail(c.t, "no answer")
	}
	return protocol.Message{}
}

// notice waits for the next notice, other than that the host did not run the client, which may come at any time.
func (c *client) notice() protocol.Message {
	c.t.Helper()
	return c.wait(c.notices)
}

// lost waits for the next notice of a loss.
func (c *client) lost() protocol.Message {
	c.t.Helper()
	for {
		if m := c.notice(); m.Lost != "" {
			return m
		}
	}
}

// begin introduces the client to the server, which is its resource, too.
func (c *client) begin(addr string) protocol.Message {
	c.t.Helper()
	hello := c.ask(protocol.Request{
		Do: protocol.Init, Version: protocol.Version, Client: "C1", Servers: []string{addr}, Resource: addr, TimeoutMS: 20_000,
	})
	require.Equal(c.t, protocol.OK, hello.Outcome, hello.Error)
	require.NotNil(c.t, hello.Hello)
	return hello
}

// open opens the lock under the handle "h" on the key "lock".
func (c *client) open(lock string, lease time.Duration) {
	c.t.Helper()
	answer := c.ask(protocol.Request{
		Do: protocol.Open, Handle: "h", Lock: lock, Key: "lock", LeaseMS: protocol.MS(lease),
	})
	require.Equal(c.t, protocol.OK, answer.Outcome, answer.Error)
}

// do performs a verb on the lock and returns the outcome.
func (c *client) do(verb string) string {
	c.t.Helper()
	return c.ask(protocol.Request{Do: verb, Handle: "h", Key: "counter"}).Outcome
}

// opened is a client with the lock open on the server.
func opened(t *testing.T, addr, lock string, lease time.Duration) *client {
	t.Helper()
	c := inProcess(t)
	c.begin(addr)
	c.open(lock, lease)
	return c
}

// testdata is a path in the repository, from its root.
func repositoryFile(path string) string { return filepath.Join("..", "..", filepath.FromSlash(path)) }
