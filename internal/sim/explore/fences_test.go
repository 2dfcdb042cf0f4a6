package explore

import (
	"context"
	"testing"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// exchanges are so many requests that are served, each of whose replies is taken, after a call.
func exchanges(client uint8, requests int) []move {
	steps := []move{{kind: moveCall, client: client}}
	for range requests {
		steps = append(steps, move{kind: moveServe, client: client}, move{kind: moveTake, client: client})
	}
	return steps
}

// To show the resource a fence is no write: fences are not the data, and one that comes late only has older ones refused. A copy of a write is
// one where another client has had its turn. Explorer and checker see the same.
func TestALateFenceIsNoWrite(t *testing.T) {
	acquire, release := exchanges(0, 1), exchanges(0, 1)
	fenceLate := []move{{kind: moveCall}, {kind: moveLate}}
	fenceTwice := []move{{kind: moveCall}, {kind: moveTwice}, {kind: moveTake}, {kind: moveServe}, {kind: moveTake}, {kind: moveServe}, {kind: moveTake}}
	writeTwice := []move{{kind: moveCall}, {kind: moveServe}, {kind: moveTake}, {kind: moveServe}, {kind: moveTake}, {kind: moveTwice}, {kind: moveTake}}
	arrives, another := []move{{kind: moveArrive}}, exchanges(1, 1)
	tests := map[string]struct {
		fault faults.Kind
		parts [][]move
		want  []checker.Name
	}{
		"a fence that is late":                     {faults.LateRequest, [][]move{acquire, fenceLate, release, arrives}, nil},
		"a fence that is late, in another's turn":  {faults.LateRequest, [][]move{acquire, fenceLate, release, another, arrives}, nil},
		"a copy of a fence":                        {faults.Duplicate, [][]move{acquire, fenceTwice, release, arrives}, nil},
		"a copy of a fence, in another's turn":     {faults.Duplicate, [][]move{acquire, fenceTwice, release, another, arrives}, nil},
		"a copy of a write, and nobody had a turn": {faults.Duplicate, [][]move{acquire, writeTwice, release, arrives}, nil},
		"a copy of a write, in another's turn":     {faults.Duplicate, [][]move{acquire, writeTwice, release, another, arrives}, []checker.Name{checker.StaleWrite}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := Config{Lock: lock(t, "fenced"), Clients: 2, Rounds: 1, Budget: spend(test.fault), MostFaults: 1}
			x := newExplorer(config, traits{reads: true, lives: true, nominal: true})
			defer x.automaton.Close()
			x.horizon = 10 * x.lease
			r := newRecorder(x)
			x.watcher = r
			r.begin(x.clients)
			s, found := x.initial(), anomalies(0)
			for _, part := range test.parts {
				for _, want := range part {
					m := moveOf(t, x, s, want)
					x.judge.found = 0
					require.NoError(t, r.step(s, m))
					found |= x.judge.found
				}
			}
			verdict := checker.Judge(r.trace.Events, checker.Options{})
			require.False(t, verdict.CheckerFault, verdict.Reason)
			assert.Equal(t, test.want, found.names())
			assert.Equal(t, test.want, verdict.Names())
		})
	}
}

// moveOf is the move of that kind and client.
func moveOf(t *testing.T, x *explorer, s *state, want move) move {
	t.Helper()
	var moves []move
	for faults := range x.atOnce + 1 {
		moves = x.moves(moves, s, faults)
	}
	for _, m := range moves {
		if m.kind == want.kind && m.client == want.client {
			return m
		}
	}
	require.Fail(t, "there is no such move", "%v among %v", want, moves)
	return move{}
}

// drawsFirst draws its fence before it has the lock. Another may be granted the lock, with a greater fence, meanwhile.
type drawsFirst struct{ fencing }

func (l *drawsFirst) TryAcquire(ctx context.Context) (bool, error) {
	n, err := l.env.Server().Eval(ctx, &impls.Script{Source: `if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end return redis.call("INCR", "fences")`}, []string{learn.LockKey})
	if err != nil || n == int64(0) {
		return false, err
	}
	held, err := l.try(ctx, l.env.Token())
	if held {
		l.issued = n.(int64)
	}
	return held, err
}

// keepsFence can be acquired again by its holder, who keeps its fence.
type keepsFence struct {
	fencing
	held int
}

func (l *keepsFence) TryAcquire(ctx context.Context) (held bool, err error) {
	if held = l.held > 0; !held {
		held, err = l.fencing.TryAcquire(ctx)
	}
	if held {
		l.held++
	}
	return held, err
}

func (l *keepsFence) Release(ctx context.Context) (bool, error) {
	if l.held--; l.held > 0 {
		return true, nil
	}
	return l.fencing.Release(ctx)
}

// When an acquire took the lock decides which fence comes later, whatever else is looked for.
func TestAFenceIsAsLateAsItsLock(t *testing.T) {
	t.Parallel()
	for _, only := range [][]checker.Name{nil, {checker.FenceRegression}} {
		lock := stranger(func(p plain) impls.Lock { return &drawsFirst{fencing{plain: p, step: 1}} })
		result := explored(t, Config{Lock: lock, Clients: 2, Rounds: 1, Only: only})
		assert.Empty(t, result.Disputed)
		assert.NotNil(t, result.Found)
	}
}

func TestAHolderThatAcquiresAgainKeepsItsFence(t *testing.T) {
	t.Parallel()
	lock := stranger(func(p plain) impls.Lock { return &keepsFence{fencing: fencing{plain: p, step: 1}} })
	lock.Promises = append(lock.Promises, impls.Reentrance)
	for _, only := range [][]checker.Name{nil, {checker.FenceRegression}} {
		result := explored(t, Config{Lock: lock, Clients: 2, Rounds: 2, Reenter: 1, Only: only})
		assert.Empty(t, result.Disputed)
		assert.Nil(t, result.Found)
		assert.True(t, result.Complete(), "%s %s", result.Limit, result.Doubt)
	}
}
