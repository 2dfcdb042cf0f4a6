package redis

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

func TestDescribe(t *testing.T) {
	require.Regexp(t, `^embedded miniredis`, startEmbedded(t).Describe())
	s := startRedis(t)
	require.Regexp(t, `^redis-server \d+\.\d+\.\d+ \(started by the lab\)$`, s.Describe())
	_, version, err := Find()
	require.NoError(t, err)
	require.Contains(t, s.Describe(), version)
	at, err := At(servertest.Bounded(t), Plain(s.Addr()))
	require.NoError(t, err)
	require.Equal(t, "redis "+version+" at "+s.Addr(), at.Describe())
	require.Equal(t, s.Addr(), at.Addr())
	require.NoError(t, at.Close())
	do(t, s, 0, "PING")
	_, restarts := server.Server(at).(server.Restarter)
	require.False(t, restarts, "what is not the lab's must not be restarted")
}

// What the locks rely on works on both servers.
func TestLockCommands(t *testing.T) {
	onEach(t, func(t *testing.T, s server.Server) {
		require.Equal(t, "OK", do(t, s, 0, "SET", "lock", "token", "NX", "PX", 60_000))
		require.Nil(t, do(t, s, 0, "SET", "lock", "other", "NX", "PX", 60_000))
		left := do(t, s, 0, "PTTL", "lock").(int64)
		require.True(t, left > 50_000 && left <= 60_000, left)
		const release = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
		sha := do(t, s, 0, "SCRIPT", "LOAD", release)
		require.Equal(t, int64(0), do(t, s, 0, "EVALSHA", sha, 1, "lock", "other"))
		require.Equal(t, int64(1), do(t, s, 0, "EVALSHA", sha, 1, "lock", "token"))
		require.Nil(t, do(t, s, 0, "GET", "lock"))

		do(t, s, 0, "SET", "short", "x", "PX", 30)
		require.Eventually(t, func() bool { return do(t, s, 0, "GET", "short") == nil }, time.Minute, 2*time.Millisecond,
			"a key expires by itself")
	})
}

func TestRestartEmpty(t *testing.T) {
	onEach(t, func(t *testing.T, s server.Server) {
		addr := s.Addr()
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
		do(t, s, 0, "SET", "key", "value")
		do(t, s, 3, "SET", "key", "value")
		sha := do(t, s, 0, "SCRIPT", "LOAD", "return 1")
		for range 3 {
			require.NoError(t, s.(server.Restarter).RestartEmpty(servertest.Bounded(t)))
			require.Equal(t, addr, s.Addr())
			require.Nil(t, do(t, s, 0, "GET", "key"))
			require.Nil(t, do(t, s, 3, "GET", "key"))
			require.Equal(t, []any{int64(0)}, do(t, s, 0, "SCRIPT", "EXISTS", sha))
			do(t, s, 0, "SET", "key", "value")
		}
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err)
		require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "connections break")

		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		require.ErrorContains(t, s.(server.Restarter).RestartEmpty(servertest.Bounded(t)), "it is closed")
		_, err = net.Dial("tcp", addr)
		require.Error(t, err, "nobody listens after Close")
	})
}

func TestRestartSaved(t *testing.T) {
	onEach(t, func(t *testing.T, s server.Server) {
		saver := s.(server.Saver)
		require.ErrorContains(t, saver.RestartSaved(servertest.Bounded(t)), "nothing is saved")
		do(t, s, 0, "SET", "lock", "before", "PX", 60_000)
		do(t, s, 0, "HSET", "counts", "C1", 2)
		do(t, s, 0, "SET", "short", "x", "PX", 50)
		sha := do(t, s, 0, "SCRIPT", "LOAD", "return 1")
		require.NoError(t, saver.Save(servertest.Bounded(t)))
		do(t, s, 0, "SET", "lock", "after")
		do(t, s, 0, "SET", "other", "after")
		do(t, s, 0, "DEL", "counts")
		require.Eventually(t, func() bool { return do(t, s, 0, "GET", "short") == nil }, time.Minute, 2*time.Millisecond)

		require.NoError(t, saver.RestartSaved(servertest.Bounded(t)))
		require.Equal(t, "before", do(t, s, 0, "GET", "lock"))
		require.Equal(t, "2", do(t, s, 0, "HGET", "counts", "C1"))
		require.Nil(t, do(t, s, 0, "GET", "other"))
		require.Nil(t, do(t, s, 0, "GET", "short"), "time went on for what was saved")
		left := do(t, s, 0, "PTTL", "lock").(int64)
		require.True(t, left > 40_000 && left < 60_000, left)
		require.Equal(t, []any{int64(0)}, do(t, s, 0, "SCRIPT", "EXISTS", sha))

		require.ErrorContains(t, saver.RestartSaved(servertest.Bounded(t)), "nothing is saved")
		require.NoError(t, saver.Save(servertest.Bounded(t)))
		require.NoError(t, s.(server.Restarter).RestartEmpty(servertest.Bounded(t)))
		require.Nil(t, do(t, s, 0, "GET", "lock"))
		require.ErrorContains(t, saver.RestartSaved(servertest.Bounded(t)), "nothing is saved")
	})
}

func TestDownForAWhile(t *testing.T) {
	onEach(t, func(t *testing.T, s server.Server) {
		stopper := s.(server.Stopper)
		require.ErrorContains(t, stopper.StartAgain(servertest.Bounded(t)), "it is not down")
		for range 2 {
			do(t, s, 0, "SET", "lock", "token", "PX", 60_000)
			do(t, s, 0, "SET", "short", "x", "PX", 30)
			sha := do(t, s, 0, "SCRIPT", "LOAD", "return 1")
			require.NoError(t, stopper.Stop(servertest.Bounded(t)))
			_, err := ask(servertest.Bounded(t), Plain(s.Addr()))
			require.Error(t, err, "nobody answers")
			_, err = net.Listen("tcp", s.Addr())
			require.Error(t, err, "the port is kept")
			require.Error(t, stopper.Stop(servertest.Bounded(t)), "it is down")
			require.Error(t, s.(server.Restarter).RestartEmpty(servertest.Bounded(t)))
			if resetter, ok := s.(server.Resetter); ok {
				require.Error(t, resetter.Reset(servertest.Bounded(t)))
			}

			require.NoError(t, stopper.StartAgain(servertest.Bounded(t)))
			require.Equal(t, "token", do(t, s, 0, "GET", "lock"))
			require.Positive(t, do(t, s, 0, "PTTL", "lock"))
			require.Equal(t, []any{int64(0)}, do(t, s, 0, "SCRIPT", "EXISTS", sha))
			require.Eventually(t, func() bool { return do(t, s, 0, "GET", "short") == nil }, time.Minute, 2*time.Millisecond)
		}
		require.NoError(t, stopper.Stop(servertest.Bounded(t)))
		require.NoError(t, s.Close(), "a server that is down can be closed")
		require.Error(t, stopper.StartAgain(servertest.Bounded(t)))
	})
}

// TestTakenPortIsKnown: a server without a log of its own also says why it has ended, so that another port is tried.
func TestTakenPortIsKnown(t *testing.T) {
	needs.Found(t, "redis", Find)
	guard := servertest.StartGuard(t)
	ctx := servertest.Bounded(t)
	first, err := Start(ctx, guard, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	second := newServer(guard, first.path, t.TempDir(), Options{})
	taken, err := second.StartAt(ctx, first.Addr())
	require.ErrorContains(t, err, "Address already in use")
	require.True(t, taken)
}

func TestManyAtOnce(t *testing.T) {
	needs.Found(t, "redis", Find)
	guard := servertest.StartGuard(t)
	ctx := servertest.Bounded(t)
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			s, err := Start(ctx, guard, Options{})
			if err == nil {
				err = s.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

func TestRedisLeavesItsLogAndNoDirectory(t *testing.T) {
	needs.Found(t, "redis", Find)
	log := filepath.Join(t.TempDir(), "redis.log")
	require.NoError(t, os.WriteFile(log, []byte("before\n"), 0o600))
	s, err := Start(servertest.Bounded(t), servertest.StartGuard(t), Options{Log: log})
	require.NoError(t, err)
	require.DirExists(t, s.Dir)
	require.NoError(t, s.Close())
	require.NoDirExists(t, s.Dir)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "before\n"))
	require.Contains(t, string(text), "Ready to accept connections")
}

func TestRedisThatCannotStart(t *testing.T) {
	needs.Found(t, "redis", Find)
	guard := servertest.StartGuard(t)
	_, err := Start(servertest.Bounded(t), guard, Options{Log: "/no/such/directory/log"})
	require.ErrorContains(t, err, "/no/such/directory/log")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	_, err = Start(ctx, guard, Options{})
	require.ErrorContains(t, err, "interrupted")

	// A program of that name that ends at once, with something to say.
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, binary), []byte("#!/bin/sh\necho out of luck\nexit 3\n"), 0o700))
	t.Setenv("PATH", bin)
	_, err = Start(servertest.Bounded(t), guard, Options{Log: filepath.Join(bin, "log")})
	require.ErrorContains(t, err, "it ended at once: exit status 3\nout of luck")
	_, _, err = Find()
	require.ErrorContains(t, err, "--version")

	t.Setenv("PATH", t.TempDir())
	_, err = Start(servertest.Bounded(t), guard, Options{})
	require.ErrorContains(t, err, "executable file not found")
	_, _, err = Find()
	require.ErrorContains(t, err, "executable file not found")
}

func TestTakenPort(t *testing.T) {
	needs.Found(t, "redis", Find)
	taken := startEmbedded(t)
	guard := servertest.StartGuard(t)
	r := newServer(guard, binary, t.TempDir(), Options{Log: filepath.Join(t.TempDir(), "log")})
	isTaken, err := r.StartAt(servertest.Bounded(t), taken.Addr())
	require.True(t, isTaken)
	require.ErrorContains(t, err, "Address already in use")
	e := &Embedded{addr: taken.Addr()}
	isTaken, err = e.listen(newMiniredis())
	require.True(t, isTaken)
	require.ErrorContains(t, err, "address already in use")
}

func TestAtErrors(t *testing.T) {
	for name, test := range map[string]struct {
		answer string // to anything; empty: nobody listens
		want   string
	}{
		"unreachable":  {"", "unreachable: dial tcp"},
		"web server":   {"HTTP/1.1 400 Bad Request\r\n\r\n", "does not answer like a Redis"},
		"password":     {"-NOAUTH Authentication required.\r\n", "asks for a password"},
		"error":        {"-LOADING Redis is loading the dataset in memory\r\n", "it is still loading its data; try again later: LOADING"},
		"hangs up":     {"hang up", "does not answer like a Redis"},
		"never speaks": {"silence", "does not answer like a Redis"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := servertest.Bounded(t)
			if test.answer == "silence" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			_, err := At(ctx, Plain(answering(t, test.answer)))
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "redis at 127.0.0.1:")
		})
	}
	for _, addr := range []string{"", "localhost", ":6379", "127.0.0.1:", "127.0.0.1:redis", "127.0.0.1:70000", "http://x"} {
		_, err := ParseEndpoint(addr, Credentials{})
		require.ErrorContains(t, err, "not an address like", addr)
	}
}

// answering listens and gives one answer to whatever is said.
func answering(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if answer == "" {
		require.NoError(t, listener.Close())
		return listener.Addr().String()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if answer == "hang up" {
			return
		}
		buffer := make([]byte, 1024)
		for {
			if _, err := conn.Read(buffer); err != nil {
				return
			}
			if answer != "silence" {
				_, _ = conn.Write([]byte(answer))
			}
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return listener.Addr().String()
}

func TestAtAServerThatDoesNotSayItsVersion(t *testing.T) {
	s := startEmbedded(t)
	at, err := At(servertest.Bounded(t), Plain(s.Addr()))
	require.NoError(t, err)
	require.Equal(t, "redis of unknown version at "+s.Addr(), at.Describe())
}

func BenchmarkStartEmbedded(b *testing.B) {
	for b.Loop() {
		s, err := StartEmbedded()
		require.NoError(b, err)
		require.NoError(b, s.Close())
	}
}
