package impls_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// A thread that has the lock takes it again without a request, and deletes its node with the last release.
func TestCuratorMutexCountsInMemory(t *testing.T) {
	env := newFake(t,
		exchange{want: "CREATE sequential k/t1-lock-", reply: "k/t1-lock-0000000004"},
		exchange{want: "CHILDREN k", reply: []string{"t1-lock-0000000004"}},
		exchange{want: "DELETE k/t1-lock-0000000004"},
	)
	l := lock(t, "curator-mutex", env)
	assert.Equal(t, history.No, impls.Outcome(l.Release(t.Context())))
	for range 3 {
		assert.Equal(t, history.OK, impls.Outcome(l.TryAcquire(t.Context())))
	}
	for range 3 {
		assert.NotEmpty(t, env.exchanges)
		assert.Equal(t, history.OK, impls.Outcome(l.Release(t.Context())))
	}
	assert.Empty(t, env.exchanges)
	assert.Equal(t, history.No, impls.Outcome(l.Release(t.Context())))
	assert.Nil(t, env.task, "nothing follows the session")
}

// A delete whose reply is lost is tried again before the release returns. That there is no such node any more is no error then.
func TestCuratorMutexDeletesAgain(t *testing.T) {
	for _, second := range []error{nil, impls.NoNode} {
		env := newFake(t,
			exchange{reply: "k/n-0000000004"}, exchange{reply: []string{"n-0000000004"}},
			exchange{want: "DELETE k/n-0000000004", err: errLost}, exchange{want: "DELETE k/n-0000000004", err: second},
		)
		l := lock(t, "curator-mutex", env)
		require.Equal(t, history.OK, impls.Outcome(l.TryAcquire(t.Context())))
		assert.Equal(t, history.OK, impls.Outcome(l.Release(t.Context())))
		assert.Empty(t, env.exchanges)
		assert.Nil(t, env.task)
	}
}

// A release of which no try is answered is the last: the count is forgotten, and the delete goes on in the background.
func TestCuratorMutexDeletesInTheBackground(t *testing.T) {
	env := newFake(t,
		exchange{reply: "k/n-0000000004"}, exchange{reply: []string{"n-0000000004"}},
		exchange{want: "DELETE k/n-0000000004", err: errLost}, exchange{want: "DELETE k/n-0000000004", err: errLost},
		exchange{want: "DELETE k/n-0000000004", err: errLost}, exchange{want: "DELETE k/n-0000000004"},
	)
	l := lock(t, "curator-mutex", env)
	require.Equal(t, history.OK, impls.Outcome(l.TryAcquire(t.Context())))
	assert.Equal(t, history.Unknown, impls.Outcome(l.Release(t.Context())))
	assert.Equal(t, history.No, impls.Outcome(l.Release(t.Context())))
	env.background()
	assert.Empty(t, env.exchanges)
}

// The end of the time deletes the node; the bug leaves it.
func TestCuratorMutexWhoseTimeIsOver(t *testing.T) {
	for name, left := range map[string]bool{"curator-mutex": false, "curator-mutex/left-node": true} {
		for _, waits := range []bool{true, false} {
			exchanges := []exchange{{reply: "k/n-0000000004"}, {reply: []string{"n-0000000003", "n-0000000004"}}}
			if waits || left { // the listing watches before it looks at the time
				exchanges = append(exchanges, exchange{want: "WATCH k/n-0000000003", reply: true})
			}
			if !left {
				exchanges = append(exchanges, exchange{want: "DELETE k/n-0000000004"})
			}
			env := newFake(t, exchanges...)
			l := lock(t, name, env)
			patient := l.(impls.Patient)
			if waits {
				require.NoError(t, patient.Enter(t.Context()))
			}
			assert.Equal(t, history.No, impls.Outcome(l.TryAcquire(t.Context())), name)
			if waits {
				require.NoError(t, patient.Leave(t.Context(), false))
			}
			assert.Empty(t, env.exchanges, name)
		}
	}
}
