package libraries

import (
	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/locktest"
)

// goRedis is a client that never sends a command twice, and gives no reply up: that is a scenario's to say.
func goRedis(env locktest.Env, addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Dialer: env.Dial, Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
	})
}

func firstServer(env locktest.Env) *redis.Client { return goRedis(env, env.Addrs[0]) }
