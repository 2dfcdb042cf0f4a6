package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// What the articles say of locks on a ZooKeeper is found without a script, by the fault that it takes, and nothing less.
func TestLocksOnAZooKeeperAreCaught(t *testing.T) {
	tests := []struct {
		lock    string
		clients int
		fault   faults.Kind
		only    checker.Name
	}{
		{"zookeeper", 2, faults.Pause, checker.DoubleHolder},            // a pause beyond the session
		{"zookeeper", 2, faults.Pause, checker.StaleWrite},              // the late write of an expired session
		{"zookeeper", 2, faults.ReplyLost, checker.StuckLock},           // an orphaned node: its client does not know its name
		{"zookeeper", 2, faults.ReplyLost, checker.GhostLock},           //
		{"zookeeper", 2, faults.LateRequest, checker.StuckLock},         // the same of a create that arrives later
		{"zookeeper-herd", 3, faults.Pause, checker.WrongfulDelete},     // it deletes whose node it is
		{"zookeeper-herd", 2, faults.ReplyLost, checker.StuckLock},      // refused by its own node
		{"curator-mutex", 2, faults.Pause, checker.DoubleHolder},        // nothing tells its holder
		{"zookeeper-protected", 2, faults.Pause, checker.StaleWrite},    // a hold that ends in time, and a write that does not
		{"zookeeper-protected", 2, faults.Pause, checker.LostUpdate},    //
		{"zookeeper-fenced", 2, faults.LateRequest, checker.StaleWrite}, // late, and before anybody's with a higher fence
		{"go-zookeeper", 2, faults.Pause, checker.DoubleHolder},         // nothing tells its holder
		{"zookeeper", 2, faults.Partition, checker.DoubleHolder},        // it learns of the end of its session only from the server
		{"zookeeper", 2, faults.Partition, checker.StaleWrite},          //
		{"zookeeper", 2, faults.Partition, checker.StuckLock},           // the reply that a partition keeps is lost
		{"zookeeper-herd", 2, faults.Partition, checker.WrongfulDelete}, // its release arrives in another session
		{"curator-mutex", 2, faults.Partition, checker.LostUpdate},      //
		{"go-zookeeper", 2, faults.Partition, checker.DoubleHolder},     //
		{"zookeeper-protected", 2, faults.Partition, checker.GhostLock}, // nobody can delete a node while it is cut off, and its session lives on
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.lock, " ", test.only, " by ", test.fault), func(t *testing.T) {
			t.Parallel()
			result := explored(t, Config{
				Lock: lock(t, test.lock), Clients: test.clients, Rounds: 1, Budget: spend(test.fault), MostFaults: 1, Only: []checker.Name{test.only},
			})
			require.NotNil(t, result.Found, "not found, %v, %d states", result.Coverage, result.States)
			assert.Contains(t, result.Found.Verdict.Names(), test.only)
			assert.Equal(t, []faults.Kind{test.fault}, result.Found.Faults)
		})
	}
}

// What they promise, they keep.
func TestLocksOnAZooKeeperHold(t *testing.T) {
	exclusion := []checker.Name{checker.DoubleHolder, checker.EarlyGrant, checker.WrongfulDelete, checker.StuckLock}
	tests := []struct {
		lock    string
		clients int
		fault   faults.Kind // empty: none
		only    []checker.Name
	}{
		{"zookeeper-herd", 3, "", nil},
		{"zookeeper", 2, "", nil},
		{"zookeeper", 2, faults.Crash, nil},
		{"zookeeper", 2, faults.LongHold, nil},
		{"zookeeper", 2, faults.ReplyLost, []checker.Name{checker.DoubleHolder, checker.StaleWrite, checker.WrongfulDelete}},
		{"curator-mutex", 2, faults.Crash, nil},
		{"curator-mutex", 2, faults.LateRequest, exclusion},
		{"zookeeper-protected", 2, faults.Crash, nil},
		{"zookeeper-protected", 2, faults.LongHold, nil},
		{"zookeeper-protected", 2, faults.Pause, exclusion},
		{"zookeeper-protected", 2, faults.LateRequest, append(exclusion, checker.GhostLock)},
		{"zookeeper-fenced", 2, faults.Pause, []checker.Name{checker.DoubleHolder, checker.LostUpdate, checker.FenceRegression}},
		{"zookeeper", 2, faults.Partition, []checker.Name{checker.WrongfulDelete, checker.FalseAlarm, checker.HungOperation}},
		{"zookeeper-protected", 2, faults.Partition, append(exclusion, checker.StaleWrite, checker.LostUpdate, checker.FalseAlarm)},
		{"zookeeper-fenced", 2, faults.Partition, append(exclusion, checker.StaleWrite, checker.FenceRegression)},
	}
	tests = tests[:needs.Count(t, "searches", 8, len(tests))]
	for _, test := range tests {
		t.Run(fmt.Sprint(test.lock, " ", test.fault), func(t *testing.T) {
			t.Parallel()
			config := Config{Lock: lock(t, test.lock), Clients: test.clients, Rounds: 1, Only: test.only}
			if test.fault != "" {
				config.Budget, config.MostFaults = spend(test.fault), 1
			}
			result := explored(t, config)
			require.Nil(t, result.Found)
			assert.True(t, result.Complete(), "%s %s", result.Limit, result.Doubt)
			assert.Subset(t, result.Coverage, []string{"held", "refused", "handed over"})
		})
	}
}

// On random interleavings explorer and checker see the same of locks on a ZooKeeper, too.
func TestTheJudgesAgreeOnSessions(t *testing.T) {
	for _, spec := range impls.OnZooKeeper() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			config := Config{Lock: spec, Clients: 3, Rounds: 2, MostFaults: 3, Budget: Budget{
				faults.Pause: 2, faults.Crash: 2, faults.LongHold: 2, faults.ReplyLost: 2, faults.LateRequest: 2, faults.Partition: 2,
			}}
			x := newExplorer(config, traits{})
			defer x.automaton.Close()
			// A fence that arrives late at the resource is a write to the checker, and none to the search: it changes no data.
			fenced := slices.Contains(spec.Promises, impls.Fencing)
			fresh := x.judge
			for seed := range uint64(40) {
				x.judge = fresh
				walkOnce(t, x, seed, func(n checker.Name) bool { return n != checker.Unfair && !(fenced && n == checker.StaleWrite) })
			}
		})
	}
}

// A lock that does something else at its second contact with the server than at the first is not taken to do the same.
func TestContactsAreTakenAgain(t *testing.T) {
	spec := lock(t, "zookeeper")
	inner := spec.New
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
		return &countingContacts{Lock: inner(env, opts), env: env}
	}
	config := Config{Lock: spec, Clients: 1, Rounds: 1, Budget: Budget{faults.Pause: 1}, MostFaults: 1, Only: []checker.Name{checker.FalseAlarm}}
	require.Nil(t, explored(t, config).Found)
	config.Budget, config.MostFaults = Budget{faults.Pause: 2}, 2
	require.NotNil(t, explored(t, config).Found)
}

// countingContacts reports a loss at the second contact of a hold.
type countingContacts struct {
	impls.Lock
	env impls.Env
}

func (l *countingContacts) TryAcquire(ctx context.Context) (bool, error) {
	held, err := l.Lock.TryAcquire(ctx)
	if held {
		life := l.env.Session().Present()
		l.env.Go(func(ctx context.Context) {
			for range 2 {
				if err := life.Prolonged(ctx); errors.Is(err, impls.ErrExpired) {
					return
				}
			}
			l.env.Lost("it was told twice")
		})
	}
	return held, err
}

// A search refuses what it does not have.
func TestSessionsHaveBounds(t *testing.T) {
	for _, config := range []Config{
		{Budget: Budget{faults.Restart: 1}, MostFaults: 1},
		{Lock: lock(t, "setpx-lua"), Budget: Budget{faults.Partition: 1}, MostFaults: 1},
		{Servers: 3},
		{Only: []checker.Name{checker.Unfair}},
	} {
		if config.Lock.Name == "" {
			config.Lock = lock(t, "zookeeper")
		}
		bound := new(BoundError)
		require.ErrorAs(t, config.Usual().Check(), &bound)
		_, err := Explore(t.Context(), config.Usual())
		require.ErrorAs(t, err, &bound)
	}
	spec := lock(t, "zookeeper")
	require.NoError(t, Config{Lock: spec}.Usual().Check())
	inner := spec.New
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock { return readingClock{inner(env, opts), env} }
	_, err := Explore(t.Context(), Config{Lock: spec, Clients: 1, Rounds: 1})
	require.ErrorIs(t, err, errClockBesideSession)
}

type readingClock struct {
	impls.Lock
	env impls.Env
}

func (l readingClock) Release(ctx context.Context) (bool, error) {
	l.env.Now()
	return l.Lock.Release(ctx)
}

// Numbers that nobody knows any more are given again, and never one that somebody may compare with.
func TestNumbersOfNodes(t *testing.T) {
	for text, want := range map[string]uint32{
		"": 0, "/k/lock-": 0, "/k/lock-0000000000": 1, "lock-0000000004 C1#a-lock-0000000002": 5, "123456789": 0, "lock-2147483647": 1 << 31, "lock-9999999999": 0,
	} {
		assert.Equal(t, want, learn.TopNumber(text), text)
	}
}
