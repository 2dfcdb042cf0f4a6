package explore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// boaster declares every third of a lease that it holds the lock, whatever a server says, for so many leases.
type boaster struct {
	plain
	stop   func()
	asks   string // the key that it reads before; empty: none
	leases int
}

func (l *boaster) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	if ok {
		l.halt()
		l.stop = l.env.Go(l.boast)
	}
	return ok, err
}

func (l *boaster) Release(ctx context.Context) (bool, error) {
	l.halt()
	return l.plain.Release(ctx)
}

func (l *boaster) halt() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

func (l *boaster) boast(ctx context.Context) {
	for l.env.Sleep(ctx, l.lease/3) == nil {
		if l.asks != "" {
			if _, err := l.env.Server().Do(ctx, "GET", l.asks); err != nil {
				return
			}
		}
		l.env.Renewed(l.lease * time.Duration(l.leases))
	}
}

var boasters = map[string]func(plain) impls.Lock{
	"without asking":                   func(p plain) impls.Lock { return &boaster{plain: p, leases: 1} },
	"for long, without asking":         func(p plain) impls.Lock { return &boaster{plain: p, leases: 3} },
	"after asking for another key":     func(p plain) impls.Lock { return &boaster{plain: p, leases: 1, asks: "other"} },
	"for long, after another key":      func(p plain) impls.Lock { return &boaster{plain: p, leases: 3, asks: "other"} },
	"after asking for the lock itself": func(p plain) impls.Lock { return &boaster{plain: p, leases: 1, asks: lockKey} },
}

// What a background task declares counts from the latest reply that says something of the lock, to the explorer as to the checker. Its user goes by what was
// declared: so it writes when the lock is another's.
func TestDeclarationsWithoutAsking(t *testing.T) {
	t.Parallel()
	for name, made := range boasters {
		for _, fault := range []faults.Kind{faults.LongHold, faults.Pause} {
			t.Run(fmt.Sprint(name, " ", fault), func(t *testing.T) {
				t.Parallel()
				for _, only := range [][]checker.Name{nil, {checker.DoubleHolder}, {checker.StaleWrite}} {
					config := Config{Lock: renewing(made), Clients: 2, Rounds: 1, Budget: spend(fault), MostFaults: 1, Only: only}
					result, err := Explore(context.Background(), config.Usual())
					require.NoError(t, err)
					assert.Empty(t, result.Disputed)
					if len(only) == 0 || only[0] == checker.StaleWrite {
						assert.NotNil(t, result.Found)
					}
				}
			})
		}
	}
}

func TestTheJudgesAgreeOnDeclarations(t *testing.T) {
	t.Parallel()
	for name, made := range boasters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walk(t, Config{Lock: renewing(made)}, 20, func(n checker.Name) bool { return n != checker.Unfair })
		})
	}
}

func renewing(made func(plain) impls.Lock) impls.Spec {
	spec := stranger(made)
	spec.Renews = true
	return spec
}
