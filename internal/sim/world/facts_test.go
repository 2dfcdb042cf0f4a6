package world

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/past"
)

// every makes every choice there is, and is the space of which everything is known then.
func every(t *testing.T, config Config) *Space {
	t.Helper()
	config.Rounds, config.Tries, config.Most, config.Lease, config.Grid, config.Horizon = 1, 1, 1, time.Second, time.Second/4, 2*time.Second
	config.Servers = 1
	s := newSpace(config, past.Known{Clocks: past.Differences, Limits: true, Lives: true, Stays: true})
	t.Cleanup(s.Close)
	first, err := s.Begin()
	require.NoError(t, err)
	known, list := map[State]bool{first: true}, []State{first}
	for len(list) > 0 {
		at := list[len(list)-1]
		list = list[:len(list)-1]
		for _, o := range s.Choices(nil, &at) {
			next, _, err := s.Make(&at, o)
			require.NoError(t, err)
			if !known[next] {
				known[next] = true
				list = append(list, next)
			}
		}
	}
	return s
}

// What has happened at all, in any sequence.
func TestFacts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lock     string
		clients  int
		fault    faults.Kind
		coverage []string
		uncalled []string
		beyond   bool
	}{
		{lock: "setpx-lua", clients: 1, coverage: []string{"held"}},
		{lock: "setpx-lua", clients: 2, coverage: []string{"held", "refused", "handed over"}},
		{lock: "setpx-lua", clients: 2, fault: faults.Crash, coverage: []string{"held", "refused", "expired", "handed over"}},
		{lock: "redisson", clients: 1, coverage: []string{"held"}, uncalled: []string{"Wakeups"}},
		{lock: "watchdog", clients: 1, fault: faults.LongHold, coverage: []string{"held"}, beyond: true},
		{lock: "none", clients: 2, coverage: []string{"held", "handed over"}},
	} {
		spec, ok := impls.Find(test.lock)
		require.True(t, ok)
		facts := every(t, Config{Lock: spec, Clients: test.clients, Budget: map[faults.Kind]int{test.fault: 1}}).Facts()
		assert.Equal(t, test.coverage, facts.Coverage, test.lock)
		assert.Equal(t, test.uncalled, facts.Uncalled, test.lock)
		assert.Equal(t, test.beyond, facts.Beyond, test.lock)
		assert.False(t, facts.Unnamed, test.lock)
	}
	spec, _ := impls.Find("setpx-lua")
	elsewhere := spec.New
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
		opts.Key = "another"
		return elsewhere(env, opts)
	}
	assert.True(t, every(t, Config{Lock: spec, Clients: 1}).Facts().Unnamed)
}
