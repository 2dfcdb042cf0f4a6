package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// The judges read the effect of a command by arithmetic of their own, and come to the same.
func TestBothJudgesReadTheSameEffects(t *testing.T) {
	seen := make(map[history.Effect]int)
	rapid.Check(t, func(t *rapid.T) {
		left := rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(1, 40).Draw(t, "tenths of milliseconds")) * 100 * time.Microsecond
		}))
		state := rapid.Custom(func(t *rapid.T) history.State {
			kind := rapid.SampledFrom([]string{"", "string", "string", "hash"}).Draw(t, "type")
			if kind == "" {
				return history.State{}
			}
			return history.State{Type: kind, Value: rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "value"), TTL: left.Draw(t, "left")}
		})
		c := history.Change{Key: storyLock, Before: state.Draw(t, "before"), After: state.Draw(t, "after")}
		asked := left.Draw(t, "asked")
		effect := effectOn(&c, asked)
		seen[effect]++
		require.Equal(t, c.Effect(asked), effect)
	})
	for _, effect := range []history.Effect{history.EffectNone, history.EffectCreated, history.EffectRemoved, history.EffectReplaced,
		history.EffectProlonged, history.EffectShortened, history.EffectUnclear} {
		require.NotZero(t, seen[effect], effect)
	}
}

// Both take the same commands for counts.
func TestBothJudgesCount(t *testing.T) {
	seen := make(map[bool]int)
	rapid.Check(t, func(t *rapid.T) {
		state := rapid.Custom(func(t *rapid.T) history.State {
			return history.State{
				Type:  rapid.SampledFrom([]string{"", "string", "string", "string", "list"}).Draw(t, "type"),
				Value: rapid.SampledFrom([]string{"1", "2", "0", "-1", "999999", "1000000", "a"}).Draw(t, "value"),
				TTL:   rapid.SampledFrom([]time.Duration{0, time.Second, time.Second, 2 * time.Second}).Draw(t, "left"),
			}
		})
		change := history.Change{Key: storyLock, Before: state.Draw(t, "before"), After: state.Draw(t, "after")}
		c := history.Command{Args: rapid.SampledFrom([][]string{
			nil, {"INCR", "k"}, {"incr", "k"}, {"DECR", "k"}, {"INCRBY", "k", "1"}, {"DECRBY", "k", "1"}, {"INCRBYFLOAT", "k", "1"}, {"EVAL", "x"}, {"EVALSHA", "x"}, {"FCALL", "f"}, {"exec"},
			{"SET", "k", "2"}, {"GETSET", "k", "2"}, {"APPEND", "k", "0"}, {"MSET", "k", "2"}, {"SETRANGE", "k", "0", "2"}, {"INC"}, {"BY"}, {"INCR INCRBY"},
		}).Draw(t, "args")}
		counts, longer := countsOn(&c, &change)
		want, prolonged := change.CountedBy(c.Args, 0)
		seen[counts]++
		require.Equal(t, [...]bool{want, want && prolonged}, [...]bool{counts, counts && longer})
	})
	require.NotZero(t, seen[true])
	require.NotZero(t, seen[false])
}

// Both know which commands to the resource are writes that it accepted.
func TestBothJudgesReadTheSameWrites(t *testing.T) {
	names := []string{
		"get", "GET", "MGET", "STRLEN", "EXISTS", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "TYPE", "OBJECT", "HGET", "HMGET", "HGETALL", "HEXISTS", "HLEN",
		"LRANGE", "LLEN", "LINDEX", "SISMEMBER", "SMEMBERS", "SCARD", "ZSCORE", "ZRANGE", "ZRANK", "ZCARD", "WATCH", "UNWATCH", "MULTI", "DISCARD",
		"EVAL_RO", "EVALSHA_RO", "FCALL_RO", "SET", "set", "INCR", "DEL", "EVAL", "EVALSHA", "FCALL", "EXEC", "exec", "RPUSH", "GETSET", "GETDEL", "GET TTL", "",
	}
	for _, name := range names {
		for _, reply := range []string{"", "OK", "1", "nil", "QUEUED", "-ERR", "-NOSCRIPT no"} {
			c := history.Command{Args: []string{name, "counter"}, Reply: reply}
			require.Equal(t, timeline.AcceptedWrite(&c), writes(&c), "%s %s", name, reply)
			if strings.EqualFold(name, "EXEC") {
				continue // it has no arguments
			}
			for _, args := range []string{"x 1 n:fence 7", "x 1 n:fence:i 7", "x 1 n:fences 7", "x 1 n 7", "x 2 n n:fence 7", "x 1 n:fence 7 8", "x 1 n:fence"} {
				c.Args = append([]string{name}, strings.Fields(args)...)
				require.Equal(t, timeline.AcceptedWrite(&c), writes(&c), "%s %s %s", name, args, reply)
			}
		}
	}
	require.False(t, writes(&history.Command{Reply: "OK"}))
}
