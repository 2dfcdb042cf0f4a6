package search

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/trace"
)

// A lock that reads clocks may do something else at a later time than the search follows, and the result says so.
func TestHorizonOfClocks(t *testing.T) {
	t.Parallel()
	for name, reads := range map[string]bool{"getset": true, "setpx-lua": false} {
		r := searched(t, Config{Lock: lock(t, name), Clients: 2, Rounds: 1, Budget: Budget{}})
		require.Nil(t, r.Found)
		assert.Equal(t, reads, r.Horizon > 0, name)
	}
}

// The same search gives the same counts and the same trace.
func TestSearchesAreDeterministic(t *testing.T) {
	t.Parallel()
	c := Config{Lock: lock(t, "getset"), Clients: 2, Rounds: 1, Tries: 2, Budget: Budget{faults.ClockAhead: 1}, MostFaults: 1}
	first, second := searched(t, c), searched(t, c)
	require.NotNil(t, first.Found)
	assert.Equal(t, first.States, second.States)
	assert.Equal(t, first.Runs, second.Runs)
	assert.Equal(t, first.Found, second.Found)
}

// A search that a limit has stopped is not complete, and says which.
func TestLimitsAreSaid(t *testing.T) {
	t.Parallel()
	for want, set := range map[string]func(*Config){
		"1000 states": func(c *Config) { c.States = 1000 },
		"1ns":         func(c *Config) { c.Time = time.Nanosecond },
		"1 MiB":       func(c *Config) { c.Memory = 1 << 20 },
	} {
		c := Config{Lock: lock(t, "setpx-lua"), Clients: 3, Rounds: 2, Tries: 2}
		set(&c)
		var progress []Progress
		c.Progress = func(p Progress) { progress = append(progress, p) }
		r := searched(t, c)
		assert.False(t, r.Complete())
		assert.Equal(t, want, r.Limit)
		assert.True(t, len(progress) > 0 && slices.IsSortedFunc(progress, func(a, b Progress) int { return a.States - b.States }))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Search(ctx, Config{Lock: lock(t, "setpx-lua"), Clients: 3, Rounds: 2, Tries: 2})
	assert.ErrorIs(t, err, context.Canceled)
}

// What a limit comes upon before it stops the search is told, if nothing that is left is smaller.
func TestALimitConcludesWhatWasFound(t *testing.T) {
	needs.Long(t, "searches with many limits")
	t.Parallel()
	c := Config{Lock: lock(t, "getset")}.Usual()
	whole := searched(t, c)
	require.NotNil(t, whole.Found)
	for c.States = 1; c.States < whole.States; c.States += 256 {
		r := searched(t, c)
		if r.Found == nil {
			assert.False(t, r.Complete())
			continue
		}
		assert.True(t, r.Complete())
		assert.Equal(t, whole.Found.Faults, r.Found.Faults)
		assert.Len(t, r.Found.Steps, len(whole.Found.Steps))
	}
}

// The search goes on after what is excused, also beyond the state that shows it, and keeps the smallest counterexample for each anomaly.
func TestExcusedAnomalies(t *testing.T) {
	t.Parallel()
	c := Config{Lock: lock(t, "setpx-del"), Clients: 2, Rounds: 1, Tries: 1, MostFaults: 1, Budget: Budget{faults.LongHold: 1}}
	r := searched(t, c)
	require.Equal(t, only(checker.DoubleHolder), r.Found.Anomalies)
	assert.Empty(t, r.Excused)
	assert.Equal(t, r.Found, r.Shown())

	// After a long hold nobody can delete another's lock unless two have held it before.
	c.Excuses = func(anomaly checker.Name, struck []faults.Kind) bool {
		return anomaly != checker.WrongfulDelete && slices.Equal(struck, kinds(faults.LongHold))
	}
	r = searched(t, c)
	require.Equal(t, only(checker.WrongfulDelete), r.Found.Anomalies)

	c.Excuses = func(checker.Name, []faults.Kind) bool { return true }
	r = searched(t, c)
	require.Nil(t, r.Found)
	require.True(t, r.Complete(), r.Limit)
	var seen []checker.Name
	for _, found := range r.Excused {
		assert.Len(t, found.Faults, 1)
		assert.Subset(t, found.Verdict.Names(), found.Anomalies)
		seen = append(seen, found.Anomalies...)
	}
	assert.Subset(t, seen, only(checker.DoubleHolder, checker.WrongfulDelete))
	assert.Equal(t, r.Excused[0], r.Shown())
}

// Faults that never strike are named: a clock that the lock does not read, and none of those that struck.
func TestFaultsThatNeverStrike(t *testing.T) {
	t.Parallel()
	c := Config{
		Lock: lock(t, "setpx-lua"), Clients: 2, Rounds: 1, Tries: 1, MostFaults: 1, Only: only(checker.WrongfulDelete),
		Budget: Budget{faults.StepAhead: 1, faults.LongHold: 1, faults.Crash: 1},
	}
	r := searched(t, c)
	require.Nil(t, r.Found)
	assert.Equal(t, kinds(faults.StepAhead), r.Idle)
	assert.Equal(t, kinds(faults.StepAhead), c.Unstruck(r))
}

// The loss that a restart causes is a step of its client, and costs no fault of its own.
func TestABrokenConnectionIsNoticedOnce(t *testing.T) {
	t.Parallel()
	r := searched(t, Config{Lock: lock(t, "setpx-lua-resend"), Clients: 2, Budget: Budget{faults.Restart: 1}, Only: only(checker.FalseAlarm)}.Usual())
	require.NotNil(t, r.Found)
	require.Equal(t, kinds(faults.Restart), r.Found.Faults)
	breaks := slices.DeleteFunc(slices.Clone(r.Found.Steps), func(s trace.Step) bool { return s.Kind != trace.Break })
	require.Len(t, breaks, 1)
	require.Nil(t, breaks[0].Request, "the release had been executed")
}

// A fail-over loses no more writes than a replica may lack, and no more than it takes.
func TestAFailOverLosesAsFewWritesAsItTakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lock impls.Spec
		only checker.Name
		lag  int
		lost int
	}{
		{lock(t, "setnx-del"), checker.DoubleHolder, 0, 1},
		{lock(t, "setnx-del"), checker.DoubleHolder, 3, 1},
		{stranger(byFunctions["twofold"]), checker.DoubleHolder, 2, 2},
		{stranger(byFunctions["twofold"]), checker.DoubleHolder, 3, 2},
	} {
		r := searched(t, Config{Lock: test.lock, Clients: 2, Tries: 1, Budget: Budget{faults.FailOver: 1}, Lag: test.lag, Only: only(test.only)}.Usual())
		require.NotNil(t, r.Found, "%s %d", test.lock.Name, test.lag)
		lost := 0
		for _, s := range r.Found.Steps {
			lost = max(lost, s.Lost)
		}
		assert.Equal(t, test.lost, lost, "%s %d", test.lock.Name, test.lag)
	}
}

// Bounds that no search can have are refused by the name of their flag, and so are locks on servers that no search has.
func TestBounds(t *testing.T) {
	t.Parallel()
	for bound, set := range map[string]func(*Config){
		"clients":    func(c *Config) { c.Clients = MostClients + 1 },
		"rounds":     func(c *Config) { c.Rounds = MostRounds + 1 },
		"tries":      func(c *Config) { c.Tries = MostTries + 1 },
		"servers":    func(c *Config) { c.Servers = MostServers + 1 },
		"max-faults": func(c *Config) { c.MostFaults = MostFaults + 1 },
		"lag":        func(c *Config) { c.Lag = MostLag + 1 },
		"reenter":    func(c *Config) { c.Reenter = 1 },
		"skew":       func(c *Config) { c.Skew = time.Millisecond / 2 },
		"clock-rate": func(c *Config) { c.ClockRate = 1 },
		"partitions": func(c *Config) { c.Budget = Budget{faults.Partition: 1} },
		"crashes":    func(c *Config) { c.Budget = Budget{faults.Crash: -1} },
	} {
		c := Config{Lock: lock(t, "setpx-lua")}
		set(&c)
		err := c.Usual().Check()
		wrong := new(BoundError)
		if assert.ErrorAs(t, err, &wrong, bound) {
			assert.Equal(t, bound, wrong.Bound)
		}
	}
	assert.NoError(t, Config{Lock: lock(t, "setpx-lua")}.Usual().Check())
	for _, lock := range slices.Concat(impls.OnReplicas(), impls.OnCluster()) {
		_, err := Search(t.Context(), Config{Lock: lock, Clients: 2, Rounds: 1})
		require.EqualError(t, err, fmt.Sprintf("%s cannot be explored: it needs %s, and the explorer has none", lock.Name, lock.Needs))
	}
}

// The anomalies that are looked for are the checker's, in its order.
func TestAnomaliesAreTheCheckers(t *testing.T) {
	t.Parallel()
	defined := checker.Definitions()
	names := slices.Clone(Anomalies())
	slices.SortFunc(names, func(a, b checker.Name) int {
		place := func(name checker.Name) int {
			return slices.IndexFunc(defined, func(d checker.Definition) bool { return d.Name == name })
		}
		return place(a) - place(b)
	})
	assert.Equal(t, names, Anomalies())
	assert.Len(t, names, len(defined)-2)
}

// A lock that refuses for no reason is of no use, but nothing is there that could be stuck; so nothing was shown. One whose every try ends in an error was
// never held, and of one under another key than the lock's nothing was judged.
func TestVacuousResults(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]does{
		"refuses what is free":   {try: func(l *made, ctx context.Context) (bool, error) { _, err := l.do(ctx, "GET", l.key); return false, err }},
		"refuses without asking": {try: func(*made, context.Context) (bool, error) { return false, nil }},
		"every try is an error": {try: func(l *made, ctx context.Context) (bool, error) {
			_, err := l.eval(ctx, `return redis.error_reply("NO luck")`)
			return false, err
		}},
	} {
		r := searched(t, Config{Lock: stranger(d), Clients: 2, Budget: Budget{faults.Pause: 1}}.Usual())
		assert.Nil(t, r.Found, name)
		assert.Empty(t, r.Limit, name)
		assert.True(t, r.Vacuous(), name)
	}
	// A script is the whole try: who runs it, and is refused, has asked for a lock that is free, and no client ever gets it.
	r := searched(t, Config{Lock: stranger(does{try: func(l *made, ctx context.Context) (bool, error) {
		_, err := l.eval(ctx, "return redis.call('GET', KEYS[1])")
		return false, err
	}}), Clients: 1, Budget: Budget{}}.Usual())
	require.NotNil(t, r.Found)
	assert.Equal(t, only(checker.StuckLock), r.Found.Anomalies)
}
