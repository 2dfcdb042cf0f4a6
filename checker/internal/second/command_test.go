package second

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// Both take the same commands for counts.
func TestBothJudgesCount(t *testing.T) {
	var states []history.State
	for _, kind := range []string{"", "string", "list"} {
		for _, value := range []string{"1", "2", "0", "-1", "999999", "1000000", "a"} {
			for _, left := range []time.Duration{0, time.Second, 2 * time.Second} {
				states = append(states, history.State{Type: kind, Value: value, TTL: left})
			}
		}
	}
	commands := [][]string{
		nil, {"INCR", "k"}, {"incr", "k"}, {"DECR", "k"}, {"INCRBY", "k", "1"}, {"DECRBY", "k", "1"}, {"INCRBYFLOAT", "k", "1"}, {"EVAL", "x"}, {"EVALSHA", "x"}, {"FCALL", "f"}, {"exec"},
		{"SET", "k", "2"}, {"GETSET", "k", "2"}, {"APPEND", "k", "0"}, {"MSET", "k", "2"}, {"SETRANGE", "k", "0", "2"}, {"INC"}, {"BY"}, {"INCR INCRBY"},
	}
	seen := make(map[bool]int)
	for _, before := range states {
		for _, after := range states {
			change := history.Change{Key: "k", Before: before, After: after}
			for _, args := range commands {
				counts, longer := countsOn(&history.Command{Args: args}, &change)
				want, prolonged := change.CountedBy(args, 0)
				seen[counts]++
				if want != counts || (want && prolonged) != (counts && longer) {
					t.Fatalf("%v, %+v", args, change)
				}
			}
		}
	}
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
