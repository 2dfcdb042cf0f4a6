package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/servertest"

	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/internal/needs"
)

func TestErrorsNameTheServer(t *testing.T) {
	s := startEmbedded(t)
	require.NoError(t, s.Close())
	_, limitErr := Limit(servertest.Bounded(t), Plain(s.Addr()), "key", time.Second)
	layErr := Lay(servertest.Bounded(t), Plain(s.Addr()), [][]any{{"SET", "key", "x"}})
	_, _, jumpErr := JumpClock(servertest.Bounded(t), s.Addr(), 0, time.Second)
	_, deleteErr := DeletePrefix(servertest.Bounded(t), s.Addr(), 0, "x")
	_, namedErr := DeleteKeys(servertest.Bounded(t), Plain(s.Addr()), []string{"x"})
	for _, err := range []error{limitErr, layErr, jumpErr, deleteErr, namedErr} {
		require.ErrorContains(t, err, "at "+s.Addr()+": unreachable")
	}
}

func TestDeletePrefix(t *testing.T) {
	onEach(t, func(t *testing.T, s server.Server) {
		// More keys than one step of a SCAN returns.
		for batch := range 5 {
			args := []any{"MSET"}
			for n := range 500 {
				args = append(args, fmt.Sprintf("mine:%d", 500*batch+n), "x")
			}
			do(t, s, 0, args...)
		}
		do(t, s, 0, "SET", "mine", "not below the prefix")
		do(t, s, 0, "SET", "min?:1", "somebody else's")
		do(t, s, 1, "SET", "mine:1", "another database's")
		require.Equal(t, int64(2500), deletePrefix(t, s, "mine:"))
		require.Zero(t, deletePrefix(t, s, "mine:"))
		require.ElementsMatch(t, []any{"mine", "min?:1"}, do(t, s, 0, "KEYS", "*"))
		require.Equal(t, []any{"mine:1"}, do(t, s, 1, "KEYS", "*"))
		require.Equal(t, int64(1), deletePrefix(t, s, "min?:"))
		require.Equal(t, []any{"mine"}, do(t, s, 0, "KEYS", "*"))
		_, err := DeletePrefix(servertest.Bounded(t), s.Addr(), 0, "")
		require.ErrorContains(t, err, "empty prefix")
	})
}

func TestDeleteKeys(t *testing.T) {
	onEach(t, func(t *testing.T, s server.Server) {
		var keys []string
		set := []any{"MSET"}
		for n := range 2*deleteBatch + 1 {
			keys = append(keys, fmt.Sprintf("mine %d\n\xff", n))
			set = append(set, keys[n], "x")
		}
		do(t, s, 0, set...)
		do(t, s, 0, "SET", "theirs", "x")
		for _, want := range []int64{2*deleteBatch + 1, 0} {
			deleted, err := DeleteKeys(servertest.Bounded(t), Plain(s.Addr()), keys)
			require.NoError(t, err)
			require.Equal(t, want, deleted)
		}
		require.Equal(t, []any{"theirs"}, do(t, s, 0, "KEYS", "*"))
	})
}

// TestDeleteKeysWithoutUnlink: some servers have no UNLINK, or another name for it.
func TestDeleteKeysWithoutUnlink(t *testing.T) {
	old, err := miniserver.NewServer("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(old.Close)
	require.NoError(t, old.Register("DEL", func(peer *miniserver.Peer, _ string, keys []string) { peer.WriteInt(len(keys)) }))
	deleted, err := DeleteKeys(servertest.Bounded(t), Plain(old.Addr().String()), []string{"one", "two"})
	require.NoError(t, err)
	require.Equal(t, int64(2), deleted)
}

func deletePrefix(t *testing.T, s server.Server, prefix string) int64 {
	t.Helper()
	deleted, err := DeletePrefix(servertest.Bounded(t), s.Addr(), 0, prefix)
	require.NoError(t, err)
	return deleted
}

// Prefixes are taken literally, whatever they are made of.
func TestPatternIsLiteral(t *testing.T) {
	onEach(t, func(t *testing.T, s server.Server) {
		if name := t.Name(); !strings.HasSuffix(name, "/embedded") && !strings.HasSuffix(name, "/redis-server") {
			needs.Long(t, "the same server, set up otherwise")
		}
		rapid.Check(t, func(rt *rapid.T) {
			text := rapid.StringOfN(rapid.SampledFrom([]rune(`a*?[]\^-:`)), 1, 6, -1)
			prefix, other := text.Draw(rt, "prefix"), text.Draw(rt, "other")
			do(t, s, 0, "FLUSHALL")
			do(t, s, 0, "SET", prefix+"key", "x")
			do(t, s, 0, "SET", other, "x")
			deletePrefix(t, s, prefix)
			want := []any{}
			if len(other) < len(prefix) || other[:len(prefix)] != prefix {
				want = append(want, other)
			}
			require.Equal(t, want, do(t, s, 0, "KEYS", "*"))
		})
	})
}

func TestLimit(t *testing.T) {
	onEach(t, func(t *testing.T, s server.Server) {
		limited, err := Limit(servertest.Bounded(t), Plain(s.Addr()), "lock", time.Minute)
		require.NoError(t, err)
		require.False(t, limited, "there is nothing to limit")
		do(t, s, 0, "SET", "lock", "a")
		limited, err = Limit(servertest.Bounded(t), Plain(s.Addr()), "lock", time.Minute)
		require.NoError(t, err)
		require.True(t, limited)
		left, ok := do(t, s, 0, "PTTL", "lock").(int64)
		require.True(t, ok && left > 50_000 && left <= 60_000, left)
		require.Equal(t, "a", do(t, s, 0, "GET", "lock"))
	})
}
