package explore

import (
	"context"
	"errors"
	"testing"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/needs"
)

// A client is paused when it has made up its mind and has not sent its request yet. These are broken by that.
var lateRequests = []strange{
	{name: "looks whether a request was executed that is over time", only: ghosts, faults: pauses(1), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		within, cancel := l.env.WithTimeout(ctx, l.lease/4)
		defer cancel()
		ok, err := l.try(within, mine)
		if !errors.Is(err, context.DeadlineExceeded) {
			return ok, err
		}
		v, err := l.do(ctx, "GET", learn.LockKey) // the request may arrive after this one
		l.value = mine
		return v == mine, err
	}, nil)},
	{name: "releases nothing a lease after it has called, though the server's lease began later", only: []checker.Name{checker.Unreleasable}, faults: pauses(1), made: keepsToItsLease},
	{name: "says that a lease is over which began later", only: []checker.Name{checker.FalseAlarm}, faults: pauses(1), made: keepsToItsLease},
	{name: "its lease began no later", only: []checker.Name{checker.Unreleasable}, faults: []faults.Kind{faults.Crash}, holds: true, made: keepsToItsLease},
}

var keepsToItsLease = script(func(l *scripted, ctx context.Context) (bool, error) {
	l.t = l.env.Now()
	return l.plain.TryAcquire(ctx)
}, func(l *scripted, ctx context.Context) (bool, error) {
	if l.env.Now().Sub(l.t) >= l.lease {
		return false, nil
	}
	return l.del(ctx)
})

func TestRequestsThatAPauseDelays(t *testing.T) {
	t.Parallel()
	for _, s := range lateRequests {
		t.Run(s.name, func(t *testing.T) {
			if s.name == "its lease began no later" {
				needs.Long(t, "a long search")
			}
			result := s.explore(t)
			assert.Equal(t, s.holds, result.Found == nil)
			assert.True(t, !s.holds || result.Complete(), "%s %s", result.Limit, result.Doubt)
		})
	}
}
