package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/history"
)

func TestState(t *testing.T) {
	onBoth(t, func(t *testing.T, s Server) {
		do(t, s, 0, "SET", "string", "some value")
		do(t, s, 0, "SET", "empty", "")
		do(t, s, 0, "HSET", "hash", "b", "2", "a", "1")
		do(t, s, 0, "RPUSH", "list", "y", "x")
		do(t, s, 0, "SADD", "set", "c", "a", "b")
		do(t, s, 0, "ZADD", "zset", 2, "b", 1, "a")
		for key, want := range map[string]history.State{
			"absent": {},
			"string": {Type: "string", Value: "some value"},
			"empty":  {Type: "string"},
			"hash":   {Type: "hash", Value: "a 1 b 2"},
			"list":   {Type: "list", Value: "y x"},
			"set":    {Type: "set", Value: "a b c"},
			"zset":   {Type: "zset", Value: "a 1 b 2"},
		} {
			got, err := State(bounded(t), s.Addr(), key)
			require.NoError(t, err)
			require.Equal(t, want, got, key)
		}
		do(t, s, 0, "PEXPIRE", "string", 60_000)
		got, err := State(bounded(t), s.Addr(), "string")
		require.NoError(t, err)
		require.True(t, got.TTL > 50*time.Second && got.TTL <= time.Minute, got.TTL)
	})
}

func TestReadState(t *testing.T) {
	for name, test := range map[string]struct {
		answer []string
		want   history.State
		err    string
	}{
		"absent":      {},
		"dying":       {answer: []string{"string", "0", "v"}, want: history.State{Type: "string", Value: "v", TTL: time.Millisecond}},
		"short":       {answer: []string{"string"}, err: "no state"},
		"no time":     {answer: []string{"string", "x", "v"}, err: "no remaining time"},
		"half a hash": {answer: []string{"hash", "-1", "a"}, want: history.State{Type: "hash"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readState(test.answer)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestCounter(t *testing.T) {
	onBoth(t, func(t *testing.T, s Server) {
		n, err := Counter(bounded(t), s.Addr(), "counter")
		require.NoError(t, err)
		require.Zero(t, n)
		do(t, s, 0, "SET", "counter", "-42")
		n, err = Counter(bounded(t), s.Addr(), "counter")
		require.NoError(t, err)
		require.Equal(t, int64(-42), n)
		do(t, s, 0, "SET", "counter", "many")
		_, err = Counter(bounded(t), s.Addr(), "counter")
		require.ErrorContains(t, err, "counter counter at")
	})
}

func TestErrorsNameTheServer(t *testing.T) {
	s := startEmbedded(t)
	require.NoError(t, s.Close())
	_, stateErr := State(bounded(t), s.Addr(), "key")
	_, counterErr := Counter(bounded(t), s.Addr(), "key")
	_, _, jumpErr := JumpClock(bounded(t), s.Addr(), 0, "", time.Second)
	_, deleteErr := DeletePrefix(bounded(t), s.Addr(), 0, "x")
	for _, err := range []error{stateErr, counterErr, jumpErr, deleteErr} {
		require.ErrorContains(t, err, "at "+s.Addr()+": unreachable")
	}
}

func TestDeletePrefix(t *testing.T) {
	onBoth(t, func(t *testing.T, s Server) {
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
		_, err := DeletePrefix(bounded(t), s.Addr(), 0, "")
		require.ErrorContains(t, err, "empty prefix")
	})
}

func deletePrefix(t *testing.T, s Server, prefix string) int64 {
	t.Helper()
	deleted, err := DeletePrefix(bounded(t), s.Addr(), 0, prefix)
	require.NoError(t, err)
	return deleted
}

// Prefixes are taken literally, whatever they are made of.
func TestPatternIsLiteral(t *testing.T) {
	onBoth(t, func(t *testing.T, s Server) {
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
	onBoth(t, func(t *testing.T, s Server) {
		limited, err := Limit(bounded(t), s.Addr(), "lock", time.Minute)
		require.NoError(t, err)
		require.False(t, limited, "there is nothing to limit")
		do(t, s, 0, "SET", "lock", "a")
		limited, err = Limit(bounded(t), s.Addr(), "lock", time.Minute)
		require.NoError(t, err)
		require.True(t, limited)
		got, err := State(bounded(t), s.Addr(), "lock")
		require.NoError(t, err)
		require.True(t, got.Value == "a" && got.TTL > 50*time.Second && got.TTL <= time.Minute, got)
	})
}
