package redis

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/racing"
)

// TestMemoryOfAHostIsBounded: a script that asks for gigabytes ends its own host.
func TestMemoryOfAHostIsBounded(t *testing.T) {
	s := startHosted(t, 512<<20)
	const script = "return #string.rep('x', 4300000000)"
	_, err := dial(t, s).Write([]byte("*3\r\n$4\r\nEVAL\r\n$35\r\n" + script + "\r\n$1\r\n0\r\n"))
	require.NoError(t, err)
	select {
	case <-s.Died():
	case <-time.After(time.Minute):
		t.Fatal("the host goes on")
	}
	says := "out of memory"
	if racing.Enabled {
		says = "failed to allocate" // the race detector is asked first
	}
	require.Contains(t, s.End(), says)
}

// TestRedisOutOfMemoryEnds: the report about it would need memory, too, and be written without end.
func TestRedisOutOfMemoryEnds(t *testing.T) {
	needs.Found(t, "redis", Find)
	log := filepath.Join(t.TempDir(), "redis.log")
	s, err := Start(servertest.Bounded(t), servertest.StartGuard(t), Options{Log: log, Memory: 128 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	const script = "local long = string.rep('x', 1000000) for i = 1, 1000 do redis.call('SET', 'key' .. i, long) end"
	_, err = dial(t, s).Write(resp.AppendCommand(nil, "EVAL", script, "0"))
	require.NoError(t, err)
	select {
	case <-s.Died():
	case <-time.After(time.Minute):
		t.Fatal("the server goes on")
	}
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Contains(t, string(text), "Out Of Memory")
	require.Less(t, len(text), 64<<10)
}
