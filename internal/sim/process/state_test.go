package process

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
)

// keeps is a lock that declares to keep a value.
type keeps struct{ value func() any }

func (keeps) TryAcquire(context.Context) (bool, error) { return true, nil }
func (keeps) Release(context.Context) (bool, error)    { return true, nil }
func (l keeps) State() any                             { return l.value() }

func stateOf(t *testing.T, value func() any) (string, error) {
	t.Helper()
	p := New(nil)
	p.Open("lock", impls.Spec{New: func(impls.Env, impls.Options) impls.Lock { return keeps{value} }}, impls.Options{}, 1)
	state, _, declared := p.StateFrom(0)
	require.True(t, declared || p.Err() != nil)
	return string(state), p.Err()
}

func TestStatesAreToldApart(t *testing.T) {
	t.Parallel()
	type pair struct {
		a, b any
	}
	then := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	seen := map[string]any{}
	for _, value := range []any{
		nil, "", "a", "ab", 0, 1, int64(1) << 40, true, then, then.Add(1), [2]string{"a", "b"}, [2]string{"ab", ""},
		pair{}, pair{"a", nil}, pair{nil, "a"}, pair{1, "a"}, pair{pair{"a", 1}, 2}, pair{int8(1), 1.5},
	} {
		state, err := stateOf(t, func() any { return value })
		require.NoError(t, err)
		assert.NotContains(t, seen, state, "%v and %v", value, seen[state])
		seen[state] = value
		again, _ := stateOf(t, func() any { return value })
		assert.Equal(t, state, again)
	}
}

func TestWhatIsNoState(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]func() any{
		"its State has a *int": func() any { return struct{ n *int }{new(int)} },
		"its State has a []int: it is made of numbers, strings and times, and of structs and arrays of these": func() any { return []int{1} },
		"it keeps a time of the real clock": func() any { return time.Now() },
		"the lock panicked: oh":             func() any { panic("oh") },
	} {
		_, err := stateOf(t, value)
		assert.ErrorContains(t, err, want)
	}
}
