package redis

import (
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/require"
)

func TestJumpClock(t *testing.T) {
	onEach(t, func(t *testing.T, s server.Server) {
		set := func(key string, left int) { do(t, s, 0, "SET", key, "x", "PX", left) }
		left := func(key string) int64 { return do(t, s, 0, "PTTL", key).(int64) }
		within := func(low, high int64, key string) {
			t.Helper()
			got := left(key)
			require.Truef(t, low < got && got <= high, "%s has %d ms left", key, got)
		}
		set("cell:long", 100_000)
		set("cell:short", 40_000)
		set("other:long", 100_000)
		do(t, s, 0, "SET", "cell:eternal", "x")
		do(t, s, 0, "HSET", "cell:hash", "a", "1")
		do(t, s, 0, "PEXPIRE", "cell:hash", 100_000)

		cell := []string{"cell:long", "cell:short", "cell:hash", "cell:eternal", "cell:absent"}
		moved, evidence, err := JumpClockOf(servertest.Bounded(t), Plain(s.Addr()), cell, 50*time.Second)
		require.NoError(t, err)
		require.Equal(t, 3, moved)
		require.Contains(t, evidence, "cell:short: ")
		require.Contains(t, evidence, "removed")
		within(40_000, 50_000, "cell:long")
		within(40_000, 50_000, "cell:hash")
		within(90_000, 100_000, "other:long")
		require.Equal(t, int64(-2), left("cell:short"))
		require.Equal(t, int64(-1), left("cell:eternal"))

		moved, _, err = JumpClockOf(servertest.Bounded(t), Plain(s.Addr()), cell, -50*time.Second)
		require.NoError(t, err)
		require.Equal(t, 2, moved)
		within(90_000, 100_000, "cell:long")

		moved, _, err = JumpClock(servertest.Bounded(t), s.Addr(), 0, time.Second)
		require.NoError(t, err)
		require.Equal(t, 3, moved, "of every key")

		moved, evidence, err = JumpClock(servertest.Bounded(t), s.Addr(), 7, time.Second)
		require.NoError(t, err)
		require.Zero(t, moved)
		require.Equal(t, "no key has an expiry", evidence)
		moved, evidence, err = JumpClockOf(servertest.Bounded(t), Plain(s.Addr()), nil, time.Second)
		require.NoError(t, err)
		require.Zero(t, moved)
		require.Equal(t, "no key has an expiry", evidence)
	})
}

func TestJumpEvidence(t *testing.T) {
	for name, test := range map[string]struct {
		answer []string
		want   string
		err    bool
	}{
		"none":     {want: "no key has an expiry"},
		"moved":    {answer: []string{"a", "1500"}, want: "a: 1.5s → 500ms"},
		"removed":  {answer: []string{"a", "1000", "b", "1001"}, want: "a: 1s → removed, b: 1.001s → 1ms"},
		"nonsense": {answer: []string{"a", "x"}, err: true},
		"many": {
			answer: []string{"a", "2000", "b", "2000", "c", "2000", "d", "2000", "e", "2000", "f", "2000", "g", "2000"},
			want:   "a: 2s → 1s, b: 2s → 1s, c: 2s → 1s, d: 2s → 1s, e: 2s → 1s, and 2 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := jumpEvidence(test.answer, time.Second)
			require.Equal(t, test.err, err != nil)
			require.Equal(t, test.want, got)
		})
	}
}
