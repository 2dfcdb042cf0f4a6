package explore

import (
	"context"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// measuring refuses a grant whose reply came after the lease, and ends its hold with the lease, by one clock or the other.
type measuring struct {
	env     impls.Env
	wall    bool
	expires time.Duration
}

func (l *measuring) now() time.Duration {
	if l.wall {
		return time.Duration(l.env.Now().UnixNano())
	}
	return l.env.Monotonic()
}

func (l *measuring) State() any { return l.expires }

func (l *measuring) Valid() time.Duration { return l.expires - l.now() }

func (l *measuring) TryAcquire(ctx context.Context) (bool, error) {
	token, expires := l.env.Token(), l.now()+learn.Lease
	reply, err := l.env.Server().Do(ctx, "SET", learn.LockKey, token, "NX", "PX", learn.Lease.Milliseconds())
	if err != nil || reply != "OK" || l.now() >= expires {
		return false, err
	}
	l.expires = expires
	return true, nil
}

func (l *measuring) Release(context.Context) (bool, error) { return true, nil }

// TestServerSetBack: a server's clock that is set back prolongs the leases on it, as a jump forward shortens them. So nobody gets the lock
// early, and what a dead client has left lasts for longer than anybody waits.
func TestServerSetBack(t *testing.T) {
	tests := map[string]struct {
		lock   string
		faults []faults.Kind
		want   checker.Name
	}{
		"alone":                         {"setpx-lua", []faults.Kind{faults.ClockBack}, ""},
		"twice":                         {"setpx-lua", []faults.Kind{faults.ClockBack, faults.ClockBack}, ""},
		"forward":                       {"setpx-lua", []faults.Kind{faults.ClockJump}, checker.DoubleHolder},
		"a crash":                       {"setpx-lua", []faults.Kind{faults.Crash}, ""},
		"and a crash":                   {"setpx-lua", []faults.Kind{faults.ClockBack, faults.Crash}, checker.StuckLock},
		"and a crash, judged elsewhere": {"setnx-expired-del", []faults.Kind{faults.ClockBack, faults.Crash}, checker.WrongfulDelete},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := explored(t, Config{Lock: lock(t, test.lock), Clients: 3, Rounds: 1, Budget: spend(test.faults...), MostFaults: len(test.faults)})
			if test.want == "" {
				require.Nil(t, result.Found)
				require.True(t, result.Complete(), result.Limit)
				return
			}
			require.NotNil(t, result.Found)
			assert.Contains(t, result.Found.Verdict.Names(), test.want)
		})
	}
}

// TestWallClocksStep: one pause and one step back make two holders of a lock that measures by its wall clock; neither does so alone,
// and a monotonic clock does not step. A step of a contender's clock is enough where leases are judged by wall clocks.
func TestWallClocksStep(t *testing.T) {
	measures := func(wall bool) impls.Spec {
		return impls.Spec{
			Card: impls.Card{Name: "measuring", Needs: impls.OneServer, EqualTokens: true},
			New:  func(env impls.Env, _ impls.Options) impls.Lock { return &measuring{env: env, wall: wall} },
		}
	}
	tests := map[string]struct {
		lock   impls.Spec
		faults []faults.Kind
		found  bool
	}{
		"pause and step back":            {measures(true), []faults.Kind{faults.Pause, faults.StepBack}, true},
		"pause":                          {measures(true), []faults.Kind{faults.Pause}, false},
		"step back":                      {measures(true), []faults.Kind{faults.StepBack}, false},
		"pause and step ahead":           {measures(true), []faults.Kind{faults.Pause, faults.StepAhead}, false},
		"the same, monotonic":            {measures(false), []faults.Kind{faults.Pause, faults.StepBack}, false},
		"getset, ahead":                  {lock(t, "getset"), []faults.Kind{faults.StepAhead}, true},
		"getset, back":                   {lock(t, "getset"), []faults.Kind{faults.StepBack}, true},
		"getset-published, ahead":        {lock(t, "getset-published"), []faults.Kind{faults.StepAhead}, false},
		"its clock wrong from the start": {lock(t, "getset-published"), []faults.Kind{faults.ClockAhead}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(test.faults) > 1 && !test.found {
				needs.Long(t, "a long search")
			}
			config := Config{
				Lock: test.lock, Clients: 2, Rounds: 1, Budget: spend(test.faults...), MostFaults: len(test.faults),
				Only: []checker.Name{checker.DoubleHolder},
			}
			result := explored(t, config)
			require.Equal(t, test.found, result.Found != nil)
			if !test.found {
				require.Empty(t, result.Limit)
				return
			}
			assert.Len(t, result.Found.Faults, len(test.faults))
			assert.Contains(t, result.Found.Verdict.Names(), checker.DoubleHolder)
		})
	}
}
