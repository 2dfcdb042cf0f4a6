package impls_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// session is the fake as a session with a ZooKeeper. It expires when all exchanges are used up.
type session struct{ *fake }

func (s session) Create(ctx context.Context, path string, sequential bool) (string, error) {
	what := "CREATE"
	if sequential {
		what = "CREATE sequential"
	}
	reply, err := s.Do(ctx, what, path)
	if err != nil {
		return "", err
	}
	return reply.(string), nil
}

func (s session) Children(ctx context.Context, path string) ([]string, error) {
	reply, err := s.Do(ctx, "CHILDREN", path)
	if err != nil {
		return nil, err
	}
	return reply.([]string), nil
}

func (s session) Watch(ctx context.Context, path string) (bool, impls.Subscription, error) {
	reply, err := s.Do(ctx, "WATCH", path)
	if err != nil {
		return false, nil, err
	}
	return reply.(bool), nil, nil
}

func (s session) Delete(ctx context.Context, path string) error {
	_, err := s.Do(ctx, "DELETE", path)
	return err
}

func (s session) Present() impls.Lifetime { return s }

func (s session) Prolonged(ctx context.Context) error {
	if len(s.exchanges) == 0 {
		return impls.ErrExpired
	}
	_, err := s.Do(ctx, "PROLONGED")
	return err
}

func (s session) Valid() time.Duration { return 800 * time.Millisecond }

func TestWhatLocksOnZooKeeperSend(t *testing.T) {
	ok, no, unknown := history.OK, history.No, history.Unknown
	create := exchange{want: "CREATE sequential k/lock-", reply: "k/lock-0000000007"}
	list := func(names ...string) exchange { return exchange{want: "CHILDREN k", reply: names} }
	drop := func(node string) exchange { return exchange{want: "DELETE k/" + node} }
	library := exchange{want: "CREATE sequential k/_c_t1-lock-", reply: "k/_c_t1-lock-0000000007"}
	tests := []struct {
		name      string
		lock      string
		acquire   history.Outcome
		release   history.Outcome // of the release that follows; none: there is none
		exchanges []exchange
	}{
		{"turn", "zookeeper", ok, ok, []exchange{create, list("lock-0000000007", "lock-0000000008"), drop("lock-0000000007")}},
		{"taken", "zookeeper", no, 0, []exchange{create, list("lock-0000000007", "lock-0000000006"), drop("lock-0000000007")}},
		{"gone when released", "zookeeper", ok, no, []exchange{create, list("lock-0000000007"), {want: "DELETE k/lock-0000000007", err: impls.NoNode}}},
		{"release unknown", "zookeeper", ok, unknown, []exchange{create, list("lock-0000000007"), {want: "DELETE k/lock-0000000007", err: errLost}}},
		{"session ended between", "zookeeper", no, 0, []exchange{create, list("lock-0000000006")}},
		{"reply to the create lost", "zookeeper", unknown, no, []exchange{{want: create.want, err: errLost}}},
		{"reply to the list lost", "zookeeper", unknown, 0, []exchange{create, {want: "CHILDREN k", err: errLost}, drop("lock-0000000007")}},

		{"turn", "zookeeper-protected", ok, ok, []exchange{
			{want: "CREATE sequential k/t1-lock-", reply: "k/t1-lock-0000000007"}, list("t1-lock-0000000007"), drop("t1-lock-0000000007"),
		}},
		{"a smaller number has a greater name", "zookeeper-protected", no, 0, []exchange{
			{reply: "k/t1-lock-0000000007"}, list("t1-lock-0000000007", "u-lock-0000000006"), drop("t1-lock-0000000007"),
		}},
		{"reply lost, found", "zookeeper-protected", ok, 0, []exchange{
			{want: "CREATE sequential k/t1-lock-", err: errLost}, list("t1-lock-0000000003"), list("t1-lock-0000000003"),
		}},
		{"reply lost, not there", "zookeeper-protected", ok, 0, []exchange{
			{want: "CREATE sequential k/t1-lock-", err: errLost}, list(), {want: "CREATE sequential k/t1-lock-", reply: "k/t1-lock-0000000004"},
			list("t1-lock-0000000004"),
		}},
		{"all replies lost", "zookeeper-protected", unknown, 0, []exchange{{err: errLost}, list(), {err: errLost}, list(), {err: errLost}, list()}},
		{"refused", "zookeeper-protected", no, 0, []exchange{{err: impls.NoNode}}},

		{"turn", "go-zookeeper", ok, ok, []exchange{library, list("_c_t1-lock-0000000007"), drop("_c_t1-lock-0000000007")}},
		{"gone when released", "go-zookeeper", ok, no, []exchange{
			library, list("_c_t1-lock-0000000007"), {want: "DELETE k/_c_t1-lock-0000000007", err: impls.NoNode},
		}},
		{"own node not listed", "go-zookeeper", ok, 0, []exchange{library, list()}},
		{"reply lost, found", "go-zookeeper", ok, 0, []exchange{
			{want: library.want, err: errLost}, list("_c_t1-lock-0000000003"), list("_c_t1-lock-0000000003"),
		}},
		{"reply lost, and the list's", "go-zookeeper", unknown, 0, []exchange{{want: library.want, err: errLost}, {want: "CHILDREN k", err: errLost}}},
		{"reply to the list lost, the node stays", "go-zookeeper", unknown, no, []exchange{library, {want: "CHILDREN k", err: errLost}}},

		{"turn", "zookeeper-herd", ok, ok, []exchange{{want: "CREATE k/held", reply: "k/held"}, drop("held")}},
		{"taken", "zookeeper-herd", no, 0, []exchange{{want: "CREATE k/held", err: impls.NodeExists}}},
		{"reply lost", "zookeeper-herd", unknown, 0, []exchange{{err: errLost}}},
	}
	for _, test := range tests {
		t.Run(test.lock+" "+test.name, func(t *testing.T) {
			takesTurn(t, test.lock, test.acquire, test.release, test.exchanges)
		})
	}
}

// A client that waits keeps its node from try to try, and deletes it when its time is over.
func TestWaitingOnZooKeeper(t *testing.T) {
	mine, other := "lock-0000000007", "lock-0000000005"
	env := newFake(t,
		exchange{want: "CREATE sequential k/lock-", reply: "k/" + mine},
		exchange{want: "CHILDREN k", reply: []string{"lock-0000000002", mine, other}},
		exchange{want: "WATCH k/" + other, reply: false}, // gone between the list and the watch
		exchange{want: "CHILDREN k", reply: []string{"lock-0000000002", mine}},
		exchange{want: "WATCH k/lock-0000000002", reply: true},
		exchange{want: "CHILDREN k", reply: []string{"lock-0000000002", mine}},
		exchange{want: "WATCH k/lock-0000000002", reply: true},
		exchange{want: "DELETE k/" + mine},
	)
	l := lock(t, "zookeeper", env)
	patient := l.(impls.Patient)
	require.NoError(t, patient.Enter(t.Context()))
	for range 2 {
		held, err := l.TryAcquire(t.Context())
		require.NoError(t, err)
		assert.False(t, held)
	}
	require.NoError(t, patient.Leave(t.Context(), false))
	assert.Empty(t, env.exchanges)
}

// A client that cannot delete its node does not answer no. The protected lock goes on trying.
func TestNodeThatStays(t *testing.T) {
	for name, task := range map[string]bool{"zookeeper": false, "zookeeper-protected": true} {
		env := newFake(t,
			exchange{reply: "k/n-0000000007"}, exchange{reply: []string{"n-0000000006", "n-0000000007"}}, exchange{reply: true},
			exchange{want: "DELETE k/n-0000000007", err: errLost},
			exchange{want: "DELETE k/n-0000000007", err: errLost}, exchange{want: "DELETE k/n-0000000007"},
		)
		l := lock(t, name, env)
		patient := l.(impls.Patient)
		require.NoError(t, patient.Enter(t.Context()))
		assert.Equal(t, history.No, impls.Outcome(l.TryAcquire(t.Context())))
		require.ErrorIs(t, patient.Leave(t.Context(), false), errLost, name)
		assert.Equal(t, task, env.task != nil, name)
		if task {
			env.background()
			assert.Empty(t, env.exchanges, name)
		}
	}
}

// A create that was given up is looked for in the background, until the server answers.
func TestCreateGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := newFake(t,
		exchange{want: "CREATE sequential k/t1-lock-", err: context.Canceled},
		exchange{want: "CHILDREN k", err: errLost},
		exchange{want: "CHILDREN k", reply: []string{"t1-lock-0000000001"}},
		exchange{want: "DELETE k/t1-lock-0000000001"},
	)
	l := lock(t, "zookeeper-protected", env)
	_, err := l.TryAcquire(ctx)
	require.ErrorIs(t, err, context.Canceled)
	env.background()
	assert.Empty(t, env.exchanges)

	env = newFake(t, // the look for it fails
		exchange{want: "CREATE sequential k/t1-lock-", err: errLost}, exchange{want: "CHILDREN k", err: errLost},
		exchange{want: "CHILDREN k", reply: []string{"t1-lock-0000000002"}}, exchange{want: "DELETE k/t1-lock-0000000002"},
	)
	_, err = lock(t, "zookeeper-protected", env).TryAcquire(t.Context())
	require.ErrorIs(t, err, errLost)
	env.background()
	assert.Empty(t, env.exchanges)
}

func TestSessionOfAHolder(t *testing.T) {
	for name, said := range map[string][]string{
		"zookeeper":           {"0s lost: the session has expired"},
		"zookeeper-protected": {"0s good for 800ms", "0s lost: the session has expired"},
	} {
		env := newFake(t, exchange{reply: "k/n-0000000007"}, exchange{reply: []string{"n-0000000007"}}, exchange{want: "PROLONGED"})
		l := lock(t, name, env)
		held, err := l.TryAcquire(t.Context())
		require.NoError(t, err)
		require.True(t, held)
		env.background()
		assert.Equal(t, said, env.said, name)
	}
}

// The number of its node is the fence of a lock, and the first is not zero.
func TestFenceOnZooKeeper(t *testing.T) {
	env := newFake(t, exchange{reply: "k/t1-lock-0000000000"}, exchange{reply: []string{"t1-lock-0000000000"}})
	l := lock(t, "zookeeper-fenced", env)
	held, err := l.TryAcquire(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	assert.EqualValues(t, 1, l.(impls.Fencer).Fence())
	assert.Equal(t, 800*time.Millisecond, l.(impls.Limited).Valid())
}
