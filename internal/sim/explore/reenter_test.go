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
	"github.com/locklab/locklab/internal/needs"
)

// uncounted is a lock that its holder can take again, and that forgets that it has: any release frees it.
func uncounted() impls.Spec {
	return impls.Spec{
		Card: impls.Card{Name: "uncounted", Needs: impls.OneServer, EqualTokens: true, Promises: []impls.Promise{impls.Reentrance}},
		New:  func(env impls.Env, _ impls.Options) impls.Lock { return &uncountedLock{env: env} },
	}
}

type uncountedLock struct {
	env  impls.Env
	held bool
}

func (l *uncountedLock) State() any { return l.held }

func (l *uncountedLock) TryAcquire(ctx context.Context) (bool, error) {
	if l.held {
		return true, nil
	}
	reply, err := l.env.Server().Do(ctx, "SET", learn.LockKey, "x", "NX", "PX", learn.Lease.Milliseconds())
	l.held = reply == "OK"
	return l.held, err
}

func (l *uncountedLock) Release(ctx context.Context) (bool, error) {
	l.held = false
	_, err := l.env.Server().Do(ctx, "DEL", learn.LockKey)
	return err == nil, err
}

// TestReenter: a lock that counts right holds; one that is free after too few releases has two holders; and one that counts a try twice,
// whose answer was lost, is not free after as many releases as its holder was told that it has it.
func TestReenter(t *testing.T) {
	tests := map[string]struct {
		lock     impls.Spec
		faults   []faults.Kind
		looksFor checker.Name // empty: all
		finds    bool
	}{
		"counts right":            {lock(t, "redisson"), nil, "", false},
		"counts right in a queue": {lock(t, "redisson-fair"), nil, "", false},
		"after a crash":           {lock(t, "redisson"), []faults.Kind{faults.Crash}, "", false},
		"one release is enough":   {uncounted(), nil, checker.DoubleHolder, true},
		"a retry counts twice":    {lock(t, "redisson"), []faults.Kind{faults.ReplyLost}, checker.Unreleasable, true},
		"a copy counts, too":      {lock(t, "redisson"), []faults.Kind{faults.Duplicate}, checker.Unreleasable, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "counts right in a queue" {
				needs.Long(t, "a long search")
			}
			config := Config{Lock: test.lock, Clients: 2, Rounds: 1, Reenter: 1, Budget: spend(test.faults...), MostFaults: len(test.faults)}
			if test.looksFor != "" {
				config.Only = []checker.Name{test.looksFor}
			}
			result := explored(t, config)
			require.True(t, result.Complete(), result.Limit)
			assert.Equal(t, test.finds, result.Found != nil)
			if test.finds {
				assert.Contains(t, result.Found.Verdict.Names(), test.looksFor)
				assert.Len(t, result.Found.Faults, len(test.faults))
			}
		})
	}
}
