package libraries

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/locklab/locklab/locktest"
)

func rueidisSubject() locktest.Subject {
	return locktest.Subject{
		Name: "orders", Promises: locktest.Watchdog, Resends: true,
		Keys: []string{"rueidislock:0:orders"}, New: newRueidislock,
	}
}

// newRueidislock is one client's lock by rueidislock, on one key.
func newRueidislock(env locktest.Env) locktest.Lock {
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
		return nil
	}
	var unlock context.CancelFunc
	return locktest.Funcs{
		Try: func(ctx context.Context) error {
			held, cancel, err := locker.TryWithContext(context.WithoutCancel(ctx), env.Name)
			if err != nil {
				return err
			}
			var released atomic.Bool
			context.AfterFunc(held, func() {
				if !released.Load() {
					env.Lost("its context has ended")
				}
			})
			unlock = func() {
				released.Store(true)
				cancel()
			}
			return nil
		},
		Unlock: func(context.Context) error {
			unlock()
			return nil
		},
		Stop:    locker.Close,
		Refused: []error{rueidislock.ErrNotLocked},
	}.Lock()
}

// TestExploreRueidislock: rueidis sends its script again when the connection breaks between the command and its reply. The second try is refused
// by the key that the first has set, and that stays, although the acquire has said no (S01; seen from redis/go-redis#2985).
func TestExploreRueidislock(t *testing.T) {
	locktest.Explore(t, rueidisSubject(), locktest.Search{Seed: 1, For: 2 * time.Minute, Expect: []locktest.AnomalyName{"ghost-lock"}})
}
