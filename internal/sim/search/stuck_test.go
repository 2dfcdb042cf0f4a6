package search

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

// remaker has a watchdog that nobody stops. It makes the key anew when it is missing, and prolongs it for ever.
type remaker struct {
	hashed
}

func (l *remaker) TryAcquire(ctx context.Context) (bool, error) {
	taken, err := l.hashed.TryAcquire(ctx)
	if taken {
		mine := l.value
		l.env.Go(func(ctx context.Context) {
			for l.env.Sleep(ctx, lease/3) == nil {
				_, _ = l.env.Server().Do(ctx, "SET", l.key, mine, "PX", lease.Milliseconds())
			}
		})
	}
	return taken, err
}

// A key that is made anew after the release keeps everybody out, and gives the lock to nobody.
func TestRemadeKeyIsStuck(t *testing.T) {
	t.Parallel()
	c := config(t, "setpx-lua", "")
	c.Clients = 1
	c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock { return &remaker{hashed{env: env, key: opts.Key}} }
	assert.Contains(t, names(searched(t, c)), checker.StuckLock)
}
