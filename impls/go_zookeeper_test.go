package impls_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// A call that nobody waits for stays in the queue, and its caller unlocks when it is granted.
func TestGoZooKeeperCannotBeCancelled(t *testing.T) {
	mine, other := "_c_t1-lock-0000000007", "_c_u-lock-0000000005"
	env := newFake(t,
		exchange{want: "CREATE sequential k/_c_t1-lock-", reply: "k/" + mine},
		exchange{want: "CHILDREN k", reply: []string{mine, other}},
		exchange{want: "WATCH k/" + other, reply: true},
		exchange{want: "CHILDREN k", reply: []string{mine}},
		exchange{want: "DELETE k/" + mine},
	)
	l := lock(t, "go-zookeeper", env)
	assert.Equal(t, history.No, impls.Outcome(l.TryAcquire(t.Context())))
	assert.Len(t, env.exchanges, 2, "it deletes nothing")
	env.background()
	assert.Empty(t, env.exchanges)
}

// After the release of a node that has gone with its session, the lock still counts as locked.
func TestGoZooKeeperIsLockedForEver(t *testing.T) {
	env := newFake(t,
		exchange{reply: "k/_c_t1-lock-0000000007"}, exchange{reply: []string{"_c_t1-lock-0000000007"}},
		exchange{want: "DELETE k/_c_t1-lock-0000000007", err: impls.NoNode},
		exchange{want: "DELETE k/_c_t1-lock-0000000007", err: impls.NoNode},
	)
	l := lock(t, "go-zookeeper", env)
	require.Equal(t, history.OK, impls.Outcome(l.TryAcquire(t.Context())))
	for range 2 {
		assert.Equal(t, history.No, impls.Outcome(l.Release(t.Context())))
		assert.Equal(t, history.No, impls.Outcome(l.TryAcquire(t.Context())), "ErrDeadlock")
	}
	assert.Empty(t, env.exchanges)
}
