package libraries

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/locktest"
)

func rueidisSubject() locktest.Subject {
	return locktest.Subject{
		Name: "orders", Promises: locktest.Watchdog, Resends: true,
		Keys: []string{"rueidislock:0:orders"}, New: newRueidislock,
	}
}

// newRueidislock is one client's lock by rueidislock, on one key. A hold lasts as long as its context.
func newRueidislock(env locktest.Env) (locktest.Lock, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		KeyMajority: 1, KeyValidity: env.Lease,
		ClientOption: rueidis.ClientOption{
			InitAddress: env.Addrs, AlwaysRESP2: true, DisableCache: true, ForceSingleClient: true,
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return env.Dial(ctx, "tcp", addr)
			},
		},
	})
	if err != nil {
		return nil, err
	}
	held, unlock := context.Background(), func() {}
	take := func(acquire func(context.Context, string) (context.Context, context.CancelFunc, error)) func(context.Context) error {
		return func(ctx context.Context) error {
			hold, cancel, err := acquire(ctx, env.Name)
			if err == nil {
				held, unlock = hold, cancel
			}
			return err
		}
	}
	return env.Lock(locktest.Funcs{
		TryLock: take(locker.TryWithContext),
		Unlock:  func(context.Context) error { unlock(); return nil },
		Done:    func() <-chan struct{} { return held.Done() },
		Close:   locker.Close,
		Refused: []error{rueidislock.ErrNotLocked},
	})
}

// TestExploreRueidislock: rueidis sends its script again when the connection breaks between the command and its reply. The second try is refused
// by the key that the first has set, and that stays, although the acquire has said no (S01; seen from redis/go-redis#2985).
func TestExploreRueidislock(t *testing.T) {
	locktest.Explore(t, rueidisSubject(), locktest.Search{Seed: 1, For: 2 * time.Minute, Expect: []checker.Name{"ghost-lock"}})
}
