package locktest

import (
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/locklab/locklab/internal/scenarios/sim"
)

// poolSize is only a limit: connections are made on demand.
const poolSize = 100

// connect makes a client of go-redis for each server: with the library's own retries and time-outs or, unless it resends, with none. Replies then
// come, or the scenario says that the client gives up.
func connect(access sim.Access, resends bool) []*redis.Client {
	clients := make([]*redis.Client, len(access.Addrs))
	for i, addr := range access.Addrs {
		opts := &redis.Options{
			Addr: addr, Dialer: access.Dial, Protocol: 2, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}
		if !resends {
			opts.PoolSize, opts.MaxRetries, opts.DialerRetries = poolSize, -1, 1
			opts.ReadTimeout, opts.WriteTimeout, opts.ContextTimeoutEnabled = -1, -1, true
		}
		clients[i] = redis.NewClient(opts)
	}
	return clients
}
