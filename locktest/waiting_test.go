package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/locktest"
)

// waitingLock is tokenLock for a library that can only wait.
func waitingLock(careful bool) locktest.Subject {
	return locktest.Subject{Promises: locktest.Lease, New: func(env locktest.Env) (locktest.Lock, error) {
		client, token := connect(env), ""
		return env.Lock(locktest.Funcs{
			Lock: func(ctx context.Context) error {
				for n := 0; ; n++ {
					mine := env.Client + time.Now().String()
					if ok, err := client.SetNX(ctx, env.Name, mine, env.Lease).Result(); ok || err != nil {
						token = mine
						return err
					}
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(20 * time.Millisecond):
					}
				}
			},
			Unlock: func(ctx context.Context) error {
				if careful {
					return orRefused(compareAndDelete.Run(ctx, client, []string{env.Name}, token).Int64())
				}
				return orRefused(client.Del(ctx, env.Name).Result())
			},
			Close:   func() { _ = client.Close() },
			Refused: []error{redis.Nil},
		})
	}}
}

// TestLibraryThatWaits: an acquire that waits until its context ends is tested like one that tries, and a sound one is not accused.
func TestLibraryThatWaits(t *testing.T) {
	t.Run("every scenario", func(t *testing.T) { locktest.Run(t, waitingLock(true)) })
	locktest.Explore(t, waitingLock(true), locktest.Search{Seed: 1, Schedules: 300, For: time.Minute})
	found := locktest.Explore(t, waitingLock(false), locktest.Search{Seed: 1, For: time.Minute, Expect: []checker.Name{"wrongful-delete"}})
	require.NotEmpty(t, found.Findings)
	require.Equal(t, "release-by-owner: DEL removed another client's lock", found.Findings[0].Cause)
}
