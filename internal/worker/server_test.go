package worker

import (
	"errors"
	"math/big"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

func TestNormalise(t *testing.T) {
	tests := []struct{ reply, want any }{
		{nil, nil},
		{"text", "text"},
		{int64(7), int64(7)},
		{true, int64(1)},
		{false, int64(0)},
		{1.5, "1.5"},
		{big.NewInt(12), "12"},
		{[]any{"a", nil, true, []any{2.5}}, []any{"a", nil, int64(1), []any{"2.5"}}},
		{map[any]any{"b": int64(2), "a": true}, []any{"a", int64(1), "b", int64(2)}},
	}
	for _, test := range tests {
		got, err := normalise(test.reply)
		assert.NoError(t, err)
		assert.Equal(t, test.want, got)
	}
	for _, reply := range []any{3, []any{errors.New("ERR in a transaction")}, map[any]any{"a": 3}} {
		_, err := normalise(reply)
		assert.Error(t, err)
		assert.Equal(t, history.Unknown, impls.Classify(err))
	}
}

// refusal is an error reply as go-redis returns it.
type refusal string

func (e refusal) Error() string { return string(e) }
func (refusal) RedisError()     {}

func TestOutcomesOfErrors(t *testing.T) {
	once, again := &redisServer{}, &redisServer{resends: true}
	tests := []struct {
		server *redisServer
		err    error
		script bool
		want   history.Outcome
	}{
		{once, redis.Nil, false, history.OutcomeNone},
		{once, refusal("ERR syntax error"), false, history.No},
		{once, refusal("LOADING Redis is loading"), true, history.No},
		{once, refusal("WRONGTYPE in a script"), true, history.Unknown},
		{again, redis.Nil, false, history.OutcomeNone},
		{again, refusal("ERR syntax error"), false, history.Unknown}, // of the last try
		{once, errors.New("broken pipe"), false, history.Unknown},
	}
	for _, test := range tests {
		_, err := test.server.read(nil, test.err, test.script)
		assert.Equal(t, test.want, impls.Classify(err), "%v", test.err)
	}
}
