package search

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/world"
)

// fewest are the fewest faults after which each anomaly was found.
func fewest(r *Result) map[checker.Name]int {
	found := map[checker.Name]int{}
	for name, f := range r.All {
		found[name] = len(f.Faults)
	}
	return found
}

// Each reduction makes states fewer, and changes no answer.
func TestReductions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lock    string
		fault   faults.Kind
		tries   int
		without world.Unreduced
	}{
		"order of clients":                {"setpx-lua", faults.Pause, 1, world.Unreduced{Apart: true}},
		"order of clients, broken":        {"setpx-del", faults.Pause, 1, world.Unreduced{Apart: true}},
		"order of clients, counts":        {"fenced", faults.Crash, 2, world.Unreduced{Apart: true}},
		"declared state":                  {"setpx-lua", faults.Pause, 2, world.Unreduced{Undeclared: true}},
		"declared state, reads the clock": {"getset", "", 3, world.Unreduced{Undeclared: true}},
		"declared state, broken":          {"getset", faults.Crash, 2, world.Unreduced{Undeclared: true}},
		"declared state with a time":      {"redlock", "", 2, world.Unreduced{Undeclared: true}},
		"differences":                     {"redlock", "", 2, world.Unreduced{Dated: true}},
		"order of clients with sessions":  {"zookeeper", faults.Crash, 1, world.Unreduced{Apart: true}},
		"declared state with sessions":    {"zookeeper", "", 2, world.Unreduced{Undeclared: true}},
		"declared differences":            {"redlock", faults.Crash, 2, world.Unreduced{Undeclared: true, Dated: true}},
		"private steps":                   {"redlock", "", 1, world.Unreduced{Public: true}},
		"private steps, pauses":           {"setpx-del", faults.Pause, 1, world.Unreduced{Public: true}},
		"private steps, broken":           {"setnx-expire", faults.Restart, 1, world.Unreduced{Public: true}},
		"private steps, in background":    {"watchdog", faults.LongHold, 1, world.Unreduced{Public: true}},
		"all":                             {"fenced", "", 3, world.Unreduced{Apart: true, Undeclared: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.fault != "" && test.without.Undeclared || test.without.Dated {
				needs.Long(t, "thousands of states")
			}
			t.Parallel()
			c := config(t, test.lock, test.fault)
			c.Tries = test.tries
			with := searched(t, c)
			c.Without = test.without
			without := searched(t, c)
			assert.Empty(t, with.Limit+without.Limit)
			assert.Equal(t, fewest(without), fewest(with))
			assert.Less(t, with.States, without.States)
			t.Log(with.States, without.States)
		})
	}
}

// forgetful keeps a number that it does not declare.
type forgetful struct {
	hashed
	refusals int
	state    func() any
}

func (l *forgetful) TryAcquire(ctx context.Context) (bool, error) {
	if l.refusals > 1 {
		return false, nil
	}
	l.value = "all"
	reply, err := l.env.Server().Do(ctx, "SET", l.key, l.value, "NX", "PX", lease.Milliseconds())
	if reply == nil {
		l.refusals++
	}
	return reply == "OK", err
}

func (l *forgetful) State() any { return l.state() }

// A lock that keeps more than it declares is refused, and so is what cannot be compared.
func TestFalseDeclarations(t *testing.T) {
	t.Parallel()
	for want, state := range map[string]any{"goes on in two ways": "nothing", "its State has a []int": []int{1}} {
		c := config(t, "setpx-lua", "")
		c.Tries = 4
		c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock {
			return &forgetful{hashed: hashed{env: env, key: opts.Key}, state: func() any { return state }}
		}
		_, err := Search(context.Background(), c)
		require.ErrorContains(t, err, want)
	}
}
