package lab_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/sim/search"
)

// counted is a lock on several servers that has a number of its own for a majority.
type counted struct {
	env   impls.Env
	opts  impls.Options
	need  int
	value string
}

func (l *counted) State() any { return l.value }

func (l *counted) TryAcquire(ctx context.Context) (bool, error) {
	votes := 0
	l.value = l.env.Token()
	for _, s := range l.env.Servers() {
		if reply, err := s.Do(ctx, "SET", l.opts.Key, l.value, "NX", "PX", l.opts.Lease.Milliseconds()); err == nil && reply == "OK" {
			votes++
		}
	}
	if votes >= l.need {
		return true, nil
	}
	_, err := l.Release(ctx)
	return false, err
}

func (l *counted) Release(ctx context.Context) (bool, error) {
	source := `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
	freed := 0
	for _, s := range l.env.Servers() {
		if n, err := s.Eval(ctx, &impls.Script{Source: source}, []string{l.opts.Key}, l.value); err == nil && n == int64(1) {
			freed++
		}
	}
	return freed >= l.need, nil
}

// A lock that counts a majority by itself is searched with all of its servers, too.
func TestExploreHasAllServersOfTheCard(t *testing.T) {
	for _, test := range []struct {
		servers, need, given int
		broken               bool
		fewer                string
	}{
		{servers: 5, need: 2, broken: true},
		{servers: 4, need: 2, broken: true},
		{servers: 5, need: 3, fewer: "the search has 3 servers, and the lock's card names 5: with 5 and 2 clients that acquire once, without a fault, nothing was wrong"},
		{servers: 5, need: 2, given: 3, fewer: "the search has 3 servers, and the lock's card names 5"},
		{servers: 3, need: 2},
	} {
		spec := impls.Spec{
			Card: impls.Card{Name: "counted", Promises: []impls.Promise{impls.MutualExclusion}, Needs: impls.MostServers, Servers: test.servers, EqualTokens: true},
			New: func(env impls.Env, opts impls.Options) impls.Lock {
				return &counted{env: env, opts: opts, need: test.need}
			},
		}
		explored, err := lab.Explore(t.Context(), lab.ExplorePlan{Lock: spec, Servers: test.given, Budget: search.Budget{}, Only: []checker.Name{checker.DoubleHolder}})
		require.NoError(t, err)
		assert.Equal(t, test.broken, explored.Found != nil, test)
		assert.Equal(t, test.fewer, explored.FewerServers)
	}
}
