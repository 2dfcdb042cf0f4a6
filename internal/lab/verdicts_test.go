package lab_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/scenarios"
)

// Locks with one mistake each, and their sound counterparts. A script and a lock come to a verdict, in the model and on a server.

// testLocks are the locks of this file: client processes must know them.
func testLocks() []impls.Spec {
	return []impls.Spec{timedLock("from-reply", true, 1), timedLock("from-call", false, 1), timedLock("majority-from-reply", true, 3), timedLock("majority-from-call", false, 3),
		semaphore("two-permits", 2, 2), semaphore("two-permits-undeclared", 2, 0), semaphore("three-permits", 3, 2)}
}

// timedLock is a lock that counts its validity from the reply, which may have come late, or from before its commands. On several servers it needs most.
func timedLock(name string, fromReply bool, servers int) impls.Spec {
	card := impls.Card{
		EqualTokens: true,
		Name:        name, Idea: "SET NX PX, and the end of the hold by the client's clock", Needs: impls.OneServer, Clocks: []impls.Clock{impls.MonotonicClock},
		Promises: []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner, impls.CrashSafety},
		Sends:    impls.Commands{},
	}
	if servers > 1 {
		card.Needs, card.Servers = impls.MostServers, servers
	}
	return impls.Spec{Card: card, New: func(env impls.Env, opts impls.Options) impls.Lock {
		return &ownTimeLock{env: env, opts: opts, fromReply: fromReply}
	}}
}

type ownTimeLock struct {
	env       impls.Env
	opts      impls.Options
	fromReply bool
	token     string
	until     time.Duration
}

func (l *ownTimeLock) State() any {
	return struct {
		token string
		until time.Duration
	}{l.token, l.until}
}

func (l *ownTimeLock) TryAcquire(ctx context.Context) (bool, error) {
	l.token = l.env.Token()
	now, got := l.env.Monotonic(), 0
	for _, s := range l.env.Servers() {
		reply, err := s.Do(ctx, "SET", l.opts.Key, l.token, "NX", "PX", l.opts.Lease.Milliseconds())
		if err != nil {
			return false, err
		}
		if reply == "OK" {
			got++
		}
	}
	if l.fromReply {
		now = l.env.Monotonic()
	}
	l.until = now + l.opts.Lease
	return got > len(l.env.Servers())/2, nil
}

func (l *ownTimeLock) Release(ctx context.Context) (bool, error) {
	freed := 0
	for _, s := range l.env.Servers() {
		n, err := s.Eval(ctx, &impls.Script{Source: `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end`}, []string{l.opts.Key}, l.token)
		if err != nil {
			return false, err
		}
		if n == int64(1) {
			freed++
		}
	}
	return freed > len(l.env.Servers())/2, nil
}

func (l *ownTimeLock) Valid() time.Duration { return l.until - l.env.Monotonic() }

// verdictOf plays a script with a lock in a world.
func verdictOf(t *testing.T, world string, s *scenarios.Script, lock impls.Spec) checker.Verdict {
	t.Helper()
	plan := inSim([]lab.Case{{Script: s, Subject: play.SubjectOf(lock)}})
	plan.World = world
	run, err := lab.Run(t.Context(), plan)
	require.NoError(t, err)
	require.Len(t, run.Cells, 1)
	require.False(t, run.Cells[0].Verdict.CheckerFault, run.Cells[0].Verdict.Reason)
	return run.Cells[0].Verdict
}

const lateReply = `lease    2s
clients  C1 C2

C1  acquire hold reply of first SET => held-up
    wait for 1500ms
C1  continue => ok
    wait for 700ms
C2  acquire
`

// whileItTravels is a script in which the reply to C1's SET is on its way while something lasts.
func whileItTravels(begins, ends string) string {
	return `lease    2s
clients  C1 C2

C1  acquire hold reply of first SET => held-up
C1  ` + begins + `
C1  continue in background
    wait for 1500ms
C1  ` + ends + `
C1  await => ok
    wait for 700ms
C2  acquire
`
}

const slowLink = `lease    2s
clients  C1 C2

C1  delay 700ms
C1  acquire => ok
    wait for 1500ms
C2  acquire
`

// A hold whose validity is counted from a reply that came late outlasts its lease.
func TestValidityCountedFromTheReply(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		worlds []string
	}{
		"a breakpoint": {lateReply, []string{lab.Sim, lab.Live}},
		"a pause":      {whileItTravels("pause", "resume"), []string{lab.Sim, lab.Live}},
		"a partition":  {whileItTravels("cut off", "heal"), []string{lab.Sim, lab.Live}},
		"a slow link":  {slowLink, []string{lab.Sim}},
	} {
		for _, world := range test.worlds[:needs.Count(t, "worlds", 1, len(test.worlds))] {
			s := script(t, "late", test.script)
			late, sound := verdictOf(t, world, s, timedLock("from-reply", true, 1)), verdictOf(t, world, s, timedLock("from-call", false, 1))
			assert.Equal(t, []checker.Name{checker.DoubleHolder}, late.Names(), "%s, %s: %s", name, world, late)
			assert.Equal(t, checker.Safe, sound.Kind, "%s, %s: %s", name, world, sound)
		}
	}
}

func TestValidityOfAMajorityCountedFromTheReply(t *testing.T) {
	s := script(t, "late", `lease    2s
clients  C1 C2
servers  3

C1  acquire hold reply of third SET => held-up
    wait for 1500ms
C1  continue => ok
    wait for 700ms
C2  acquire
`)
	for _, world := range []string{lab.Sim, lab.Live} {
		late, sound := verdictOf(t, world, s, timedLock("majority-from-reply", true, 3)), verdictOf(t, world, s, timedLock("majority-from-call", false, 3))
		assert.Equal(t, []checker.Name{checker.DoubleHolder}, late.Names(), "%s: %s", world, late)
		assert.Equal(t, checker.Safe, sound.Kind, "%s: %s", world, sound)
	}
}

// The explorer judges by the same moment.
func TestExploreValidityCountedFromTheReply(t *testing.T) {
	found := func(spec impls.Spec) *search.Result {
		result, err := lab.Explore(t.Context(), lab.ExplorePlan{Lock: spec, Clients: 2, Rounds: 1, Budget: search.Budget{faults.Pause: 1}, Only: []checker.Name{checker.DoubleHolder}})
		require.NoError(t, err)
		return result.Result
	}
	late := found(timedLock("from-reply", true, 1))
	require.NotNil(t, late.Found)
	assert.Contains(t, late.Found.Anomalies, checker.DoubleHolder)
	assert.Nil(t, found(timedLock("from-call", false, 1)).Found)
}

// script plays with a script that says who asks when. A lock is stuck by what its clients see, on every server.
const stuckWithoutWithin = `lease    2s
clients  C1 C2

C1  acquire => ok
C1  crash
    wait for 10s
C2  acquire
    wait for 10s
C2  acquire
`

const partialForever = `lease    1s
clients  C1 C2 C3

C1  acquire hold before second write => held-up
C2  acquire => no
C1  continue
C3  acquire within 5 leases
C3  release
`

const waitBoth = `lease    2s
clients  C1 C2 C3

C1  acquire hold before first GETCHILDREN => held-up
C2  acquire
C1  continue
C3  acquire within 5 leases
C3  release
`

func TestStuckLocks(t *testing.T) {
	setnx, ok := impls.Find("setnx-del")
	require.True(t, ok)
	lua, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	for name, test := range map[string]struct {
		script string
		lock   impls.Spec
		shows  []checker.Name
	}{
		"no lease, two tries":             {stuckWithoutWithin, setnx, []checker.Name{checker.StuckLock}},
		"a lease, two tries":              {stuckWithoutWithin, lua, nil},
		"each has one of two keys":        {partialForever, twoKeys("keeper", true), []checker.Name{checker.StuckLock}},
		"each gives one of two keys back": {partialForever, twoKeys("giver", false), nil},
		"each waits for the other's node": {waitBoth, alone("alone", true), []checker.Name{checker.StuckLock, checker.GhostLock}},
		"each removes its node again":     {waitBoth, alone("shy", false), nil},
	} {
		v := verdictOf(t, lab.Sim, script(t, "stuck", test.script), test.lock)
		assert.Equal(t, test.shows, v.Names(), "%s: %s", name, v)
		if test.shows == nil {
			assert.Equal(t, checker.Safe, v.Kind, "%s: %s", name, v)
		}
	}
}

// twoKeys is a lock that needs a key on each of two servers, without an expiry. One that keeps has what it got when it is refused.
func twoKeys(name string, keeps bool) impls.Spec {
	return impls.Spec{
		Card: impls.Card{
			Name: name, Idea: "SETNX of two keys", Needs: impls.EveryServer, Servers: 2, Contract: history.Contract{Leaseless: true},
			Promises: []impls.Promise{impls.MutualExclusion}, Sends: impls.Commands{},
		},
		New: func(env impls.Env, opts impls.Options) impls.Lock {
			return &twoKeysLock{env: env, key: opts.Key, keeps: keeps}
		},
	}
}

type twoKeysLock struct {
	env   impls.Env
	key   string
	keeps bool
}

func (l *twoKeysLock) TryAcquire(ctx context.Context) (bool, error) {
	var got []impls.Server
	for _, s := range l.env.Servers() {
		n, err := s.Do(ctx, "SETNX", l.key, l.env.Token())
		if err != nil {
			return false, err
		}
		if n == int64(1) {
			got = append(got, s)
		}
	}
	if len(got) == 2 || l.keeps {
		return len(got) == 2, nil
	}
	return false, l.free(ctx, got)
}

func (l *twoKeysLock) free(ctx context.Context, servers []impls.Server) error {
	for _, s := range servers {
		if _, err := s.Do(ctx, "DEL", l.key); err != nil {
			return err
		}
	}
	return nil
}

func (l *twoKeysLock) Release(ctx context.Context) (bool, error) {
	return true, l.free(ctx, l.env.Servers())
}

// alone is a lock of a ZooKeeper: who is alone below its node has it. One that keeps leaves its own node there when it is refused.
func alone(name string, keeps bool) impls.Spec {
	return impls.Spec{
		Card: impls.Card{
			Name: name, Idea: "an ephemeral node of which no other may stand beside it", Needs: impls.OneZooKeeper,
			Promises: []impls.Promise{impls.MutualExclusion}, Sends: impls.Commands{},
		},
		New: func(env impls.Env, opts impls.Options) impls.Lock {
			return &aloneLock{env: env, key: opts.Key, keeps: keeps}
		},
	}
}

type aloneLock struct {
	env   impls.Env
	key   string
	keeps bool
	own   string
}

func (l *aloneLock) TryAcquire(ctx context.Context) (_ bool, err error) {
	if l.own == "" {
		if l.own, err = l.env.Session().Create(ctx, l.key+"/lock-", true); err != nil {
			return false, err
		}
	}
	names, err := l.env.Session().Children(ctx, l.key)
	if err != nil || len(names) == 1 {
		return err == nil, err
	}
	if l.keeps {
		return false, nil
	}
	_, err = l.Release(ctx)
	return false, err
}

func (l *aloneLock) Release(ctx context.Context) (bool, error) {
	own := l.own
	l.own = ""
	err := l.env.Session().Delete(ctx, own)
	return err == nil, err
}

const twoPermits = `lease    20s
clients  C1 C2 C3

C1  acquire => ok
C2  acquire => ok
C3  acquire => no
C1  release => ok
C3  acquire => ok
C3  release
C2  release
`

const threeHolders = `lease    20s
clients  C1 C2 C3

C1  acquire => ok
C2  acquire => ok
C3  acquire
C3  work
C2  work
C2  release
C3  release
C1  release
`

// semaphore is a lock with so many permits, of which it declares some.
func semaphore(name string, permits, declared int) impls.Spec {
	return impls.Spec{
		Card: impls.Card{
			Name: name, Idea: "INCR, and DECR if that were too many", Needs: impls.OneServer, Contract: history.Contract{Leaseless: true, Permits: declared},
			Promises: []impls.Promise{impls.MutualExclusion}, Sends: impls.Commands{},
		},
		New: func(env impls.Env, opts impls.Options) impls.Lock {
			return &semaphoreLock{env, opts.Key, int64(permits)}
		},
	}
}

type semaphoreLock struct {
	env     impls.Env
	key     string
	permits int64
}

func (l *semaphoreLock) TryAcquire(ctx context.Context) (bool, error) {
	n, err := l.env.Server().Do(ctx, "INCR", l.key)
	if err != nil || n.(int64) <= l.permits {
		return err == nil, err
	}
	_, err = l.env.Server().Do(ctx, "DECR", l.key)
	return false, err
}

func (l *semaphoreLock) Release(ctx context.Context) (bool, error) {
	_, err := l.env.Server().Do(ctx, "DECR", l.key)
	return err == nil, err
}

// A lock of two permits may have two holders, and no third one.
func TestPermits(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		lock   impls.Spec
		shows  []checker.Name
	}{
		"two of two":                         {twoPermits, semaphore("two-permits", 2, 2), nil},
		"two of one":                         {twoPermits, semaphore("two-permits-undeclared", 2, 0), []checker.Name{checker.DoubleHolder}},
		"two of two, and a third is refused": {threeHolders, semaphore("two-permits", 2, 2), nil},
		"three of two":                       {threeHolders, semaphore("three-permits", 3, 2), []checker.Name{checker.DoubleHolder}},
	} {
		worlds := []string{lab.Sim, lab.Live}
		for _, world := range worlds[:needs.Count(t, "worlds", 1, len(worlds))] {
			v := verdictOf(t, world, script(t, "permits", test.script), test.lock)
			if test.shows == nil {
				assert.Equal(t, checker.Safe, v.Kind, "%s, %s: %s", name, world, v)
				continue
			}
			assert.Subset(t, v.Names(), test.shows, "%s, %s: %s", name, world, v)
		}
	}
	for declared, found := range map[int]bool{2: true, 3: false} {
		plan := lab.ExplorePlan{Lock: semaphore("three-permits", 3, declared), Clients: 3, Rounds: 1, Only: []checker.Name{checker.DoubleHolder}}
		if needs.Count(t, "faults of any kind", 1, 2) == 1 { // two have a hundred times as many states
			plan.Budget, plan.MostFaults = search.Budget{faults.Crash: 1}, 1
		}
		result, err := lab.Explore(t.Context(), plan)
		require.NoError(t, err)
		var shown []checker.Name
		if result.Found != nil {
			shown = result.Found.Anomalies
		}
		assert.Equal(t, found, shown != nil, "three permits, of which %d are declared: %v", declared, shown)
	}
}
