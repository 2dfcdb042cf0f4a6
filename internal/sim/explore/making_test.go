package explore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// A lock that cannot be made is refused, and does not end the search's own process.
func TestLocksThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for want, made := range map[string]func(plain) impls.Lock{
		"panicked: oh":      func(plain) impls.Lock { panic("oh") },
		"has made no lock":  func(plain) impls.Lock { return nil },
		"New asks a server": func(p plain) impls.Lock { _, _ = p.env.Server().Do(context.Background(), "PING"); return &p },
		"sleeps or waits":   func(p plain) impls.Lock { _ = p.env.Sleep(context.Background(), time.Second); return &p },
	} {
		_, err := Explore(t.Context(), Config{Lock: stranger(made)}.Usual())
		assert.ErrorContains(t, err, want)
	}
}

// A task that has been running since its lock was made, or that another task began between two operations, is no operation: what is lost is an acquire's.
func TestTasksBeforeAnOperation(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(p *plain, ctx context.Context){
		"of New": func(p *plain, ctx context.Context) { _ = p.env.Sleep(ctx, 3*p.lease) },
		"of another task": func(p *plain, ctx context.Context) {
			p.env.Go(func(ctx context.Context) { _ = p.env.Sleep(ctx, 3*p.lease) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lock := stranger(func(p plain) impls.Lock {
				p.env.Go(func(ctx context.Context) { begin(&p, ctx) })
				return &p
			})
			config := Config{Lock: lock, Clients: 2, Only: []checker.Name{checker.GhostLock}, Budget: spend(faults.ReplyLost)}
			result, err := Explore(t.Context(), config.Usual())
			require.NoError(t, err)
			assert.Empty(t, result.Disputed)
			assert.NotNil(t, result.Found)
		})
	}
}
