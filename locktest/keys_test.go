package locktest_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/locktest"
)

// takeMost takes the free ones of some keys, if they are most; freeOwn deletes those with a token.
var (
	takeMost = redis.NewScript(`
local free = {}
for _, key in ipairs(KEYS) do if redis.call("EXISTS", key) == 0 then free[#free + 1] = key end end
if #free * 2 <= #KEYS then return 0 end
for _, key in ipairs(free) do redis.call("SET", key, ARGV[1], "PX", ARGV[2]) end
return #free`)
	freeOwn = redis.NewScript(`
local n = 0
for _, key in ipairs(KEYS) do if redis.call("GET", key) == ARGV[1] then n = n + redis.call("DEL", key) end end
return n`)
)

// keysLock is a lock on two of three keys of one server. Unless it is careful, its release deletes them, whoever they belong to.
func keysLock(careful bool) locktest.Subject {
	keys := []string{"orders:1", "orders:2", "orders:3"}
	return locktest.Subject{Name: "orders", Promises: locktest.Lease, Keys: keys, Most: true, New: func(env locktest.Env) (locktest.Lock, error) {
		client, token, tries := connect(env), "", 0
		return env.Lock(locktest.Funcs{
			TryLock: func(ctx context.Context) error {
				tries++
				mine := env.Client + "-" + strconv.Itoa(tries)
				err := orRefused(takeMost.Run(ctx, client, keys, mine, env.Lease.Milliseconds()).Int64())
				if err == nil {
					token = mine
				}
				return err
			},
			Unlock: func(ctx context.Context) error {
				if careful {
					return orRefused(freeOwn.Run(ctx, client, keys, token).Int64())
				}
				return orRefused(client.Del(ctx, keys...).Result())
			},
			Close:   func() { _ = client.Close() },
			Refused: []error{redis.Nil},
		})
	}}
}

// TestExploreKnowsSeveralKeys: a lock on several keys is its holder's who has most of them.
func TestExploreKnowsSeveralKeys(t *testing.T) {
	found := locktest.Explore(t, keysLock(true), locktest.Search{Seed: 1, Schedules: 100, For: 5 * time.Minute})
	assert.Equal(t, 100, found.Schedules)
	assert.Less(t, found.Unknown, 10)

	found = locktest.Explore(t, keysLock(false), locktest.Search{Seed: 1, For: time.Minute, Expect: []checker.Name{"wrongful-delete"}})
	require.NotEmpty(t, found.Findings)
}
