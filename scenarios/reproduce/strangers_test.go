//go:build linux || darwin

package reproduce_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/scenarios/reproduce"
	"github.com/locklab/locklab/sim/explore"
)

// patient takes the lock by force when it has been refused three times. It counts by itself, or on the server under another key.
type patient struct {
	env      impls.Env
	opts     impls.Options
	onServer bool
	refused  int64
}

func (l *patient) TryAcquire(ctx context.Context) (bool, error) {
	set := []any{"SET", l.opts.Key, l.env.Token(), "PX", l.opts.Lease.Milliseconds()}
	reply, err := l.env.Server().Do(ctx, append(set, "NX")...)
	if reply == "OK" || err != nil {
		return reply == "OK", err
	}
	l.refused++
	refused := any(l.refused)
	if l.onServer {
		if refused, err = l.env.Server().Do(ctx, "INCR", l.opts.Key+":refused"); err != nil {
			return false, err
		}
		l.refused = 0
	}
	if refused == int64(3) {
		reply, err = l.env.Server().Do(ctx, set...)
	}
	return reply == "OK", err
}

func (l *patient) Release(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "DEL", l.opts.Key)
	return reply == int64(1), err
}

// A try that is refused and changes nothing under the lock's key may still be part of what breaks the lock: somebody remembers it.
func TestRefusedTriesThatSomebodyRemembers(t *testing.T) {
	for _, onServer := range []bool{false, true} {
		t.Run(fmt.Sprintf("on the server: %v", onServer), func(t *testing.T) {
			spec := impls.Spec{
				Card: impls.Card{Name: "patient", Needs: impls.OneServer},
				New: func(env impls.Env, opts impls.Options) impls.Lock {
					return &patient{env: env, opts: opts, onServer: onServer}
				},
			}
			explored, err := lab.Explore(t.Context(), lab.ExplorePlan{
				Lock: spec, Clients: 2, Budget: explore.Budget{}, Only: []checker.Name{checker.Overwrite},
			})
			require.NoError(t, err)
			require.NotNil(t, explored.Found)
			replays, err := lab.Replays(t.Context(), lab.ReplayPlan{
				Counterexamples: []reproduce.Counterexample{{Lock: spec, Faults: reproduce.All, Trace: explored.Found}},
				Options:         lab.Options{Setting: lab.Setting{World: lab.Sim}},
			})
			require.NoError(t, err)
			require.NoError(t, replays[0].Err)
			assert.Equal(t, 1, replays[0].Shown)
		})
	}
}
