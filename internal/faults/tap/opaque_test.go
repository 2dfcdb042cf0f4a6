package tap

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// An opaque tap passes on every byte in both directions, answers the lab's canaries itself, and records nothing.
func TestOpaque(t *testing.T) {
	b := setUp(t, echo(t), func(c *Config) { c.Opaque = true })
	addr, err := b.Listen("C1")
	require.NoError(t, err)

	sent := make([]byte, 1<<20)
	_, _ = rand.Read(sent)
	sent[0] = 'P'
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	go func() { _, _ = conn.Write(sent) }()
	got := make([]byte, len(sent))
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	assert.Equal(t, sent, got)

	canary, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer canary.Close()
	token := CanaryPrefix + "one"
	arrived := b.Canary(token)
	fmt.Fprintf(canary, "*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", len(token), token)
	<-arrived
	line, err := bufio.NewReader(canary).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("$%d\r\n", len(token)), line)

	require.NoError(t, b.Tap.Close())
	_, err = conn.Read(got)
	require.Error(t, err, "the tap has ended the connection")
	assert.Empty(t, b.events)
	require.NoError(t, b.Err())
}

// echo starts a server that sends back what it gets.
func echo(t *testing.T) (addr string) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return server.Addr().String()
}

// TestOpaqueBreakpoints: a request that is not read is held, its reply is held, or lost.
func TestOpaqueBreakpoints(t *testing.T) {
	removal := faults.Match{Kind: faults.MatchRemoval}
	open := func(t *testing.T, action faults.Action) (*bench, net.Conn, *Armed) {
		b := setUp(t, echo(t), func(c *Config) {
			c.Opaque, c.Current = true, func(string) (history.Op, int64) { return history.OpRelease, 7 }
		})
		addr, err := b.Listen("C1")
		require.NoError(t, err)
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		say(t, conn, "before") // in an operation for which nothing is armed
		hear(t, conn, "before")
		armed := b.Arm(Breakpoint{Breakpoint: faults.Breakpoint{Action: action, Match: removal}, Client: "C1", ID: 7})
		say(t, conn, "release")
		<-armed.Reached()
		assert.Equal(t, []string{"request of release"}, armed.Args())
		return b, conn, armed
	}
	t.Run("a held request", func(t *testing.T) {
		_, conn, armed := open(t, faults.ActHoldRequest)
		assert.False(t, closed(armed.Delivered()))
		armed.Release()
		hear(t, conn, "release")
		<-armed.Delivered()
	})
	t.Run("a held request whose client is gone", func(t *testing.T) {
		_, conn, armed := open(t, faults.ActHoldRequest)
		require.NoError(t, conn.Close())
		armed.Release()
		<-armed.Delivered()
	})
	t.Run("a held request that is dropped", func(t *testing.T) {
		_, conn, armed := open(t, faults.ActHoldRequest)
		armed.Drop()
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
		assert.False(t, closed(armed.Delivered()))
	})
	t.Run("a held reply", func(t *testing.T) {
		_, conn, armed := open(t, faults.ActHoldReply)
		<-armed.Delivered()
		say(t, conn, "more") // waits behind the reply
		armed.Release()
		hear(t, conn, "releasemore")
	})
	t.Run("a held reply when the server breaks its connections", func(t *testing.T) {
		b, conn, _ := open(t, faults.ActHoldReply)
		b.Break()
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
	})
	t.Run("a lost reply", func(t *testing.T) {
		b, conn, armed := open(t, faults.ActDropReply)
		<-armed.Delivered()
		say(t, conn, "more")
		require.NoError(t, b.Tap.Close())
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err, "nothing came before the end")
	})
}

func say(t *testing.T, conn net.Conn, what string) {
	t.Helper()
	_, err := conn.Write([]byte(what))
	require.NoError(t, err)
}

func hear(t *testing.T, conn net.Conn, what string) {
	t.Helper()
	got := make([]byte, len(what))
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	assert.Equal(t, what, string(got))
}

// TestCanUnread: what is not read cannot be told apart by its command or its number, and is not sent twice.
func TestCanUnread(t *testing.T) {
	removal, write := faults.Match{Kind: faults.MatchRemoval}, faults.Match{Kind: faults.MatchWrite}
	assert.True(t, CanUnread(faults.Breakpoint{Action: faults.ActHoldReply, Nth: 1, Match: removal}, history.OpRelease))
	assert.True(t, CanUnread(faults.Breakpoint{Action: faults.ActDropReply, Nth: 1, Match: write}, history.OpAcquire))
	assert.False(t, CanUnread(faults.Breakpoint{Action: faults.ActHoldReply, Nth: 1, Match: removal}, history.OpAcquire))
	assert.False(t, CanUnread(faults.Breakpoint{Action: faults.ActHoldReply, Nth: 2, Match: removal}, history.OpRelease))
	assert.False(t, CanUnread(faults.Breakpoint{Action: faults.ActDuplicate, Nth: 1, Match: removal}, history.OpRelease))
	assert.False(t, CanUnread(faults.Breakpoint{Action: faults.ActHoldReply, Nth: 1, Match: faults.Match{Kind: faults.MatchCommand, Command: "DEL"}}, history.OpRelease))
}

// To the client of a server that is down, the connection ends.
func TestOpaqueServerDown(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	b := setUp(t, gone.Addr().String(), func(c *Config) { c.Opaque = true })
	addr, err := b.Listen("C1")
	require.NoError(t, err)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("PRI"))
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}
