package locktest_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/locktest"
)

var compareAndDelete = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// orRefused is how many keys a lock has got or removed; none: it is refused.
func orRefused(n int64, err error) error {
	if err == nil && n == 0 {
		return redis.Nil
	}
	return err
}

// tokenLock is a lock by SET NX PX. Unless it is careful, its release deletes the key, whoever it belongs to.
func tokenLock(careful bool) locktest.Subject {
	return locktest.Subject{Name: "orders", Promises: locktest.Lease, New: func(env locktest.Env) (locktest.Lock, error) {
		client, token, tries := connect(env), "", 0
		return env.Lock(locktest.Funcs{
			TryLock: func(ctx context.Context) error {
				tries++
				mine := env.Client + string(rune('a'+tries%26))
				ok, err := client.SetNX(ctx, env.Name, mine, env.Lease).Result()
				if err == nil && !ok {
					return redis.Nil
				}
				token = mine
				return err
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

// connect makes a client that sends nothing twice.
func connect(env locktest.Env) *redis.Client { return locktest.NewRedis(env.Addrs[0], env.Dial, false) }

func TestExploreFindsAWrongfulDelete(t *testing.T) {
	search := locktest.Search{Seed: 1, For: time.Minute, Expect: []checker.Name{"wrongful-delete"}}
	found := locktest.Explore(t, tokenLock(false), search)
	require.NotEmpty(t, found.Findings)

	search.Seed, search.Schedules = found.Findings[0].Seed, 1
	again := locktest.Explore(t, tokenLock(false), search)
	assert.Equal(t, found.Findings, again.Findings, "a seed replays its schedule")
}

// TestExploreThatFails has searches fail in a process of their own.
func TestExploreThatFails(t *testing.T) {
	hangs := tokenLock(true)
	hangs.New = func(env locktest.Env) (locktest.Lock, error) {
		client := connect(env)
		return env.Lock(locktest.Funcs{
			TryLock: func(ctx context.Context) error { return client.SetNX(ctx, env.Name, env.Client, env.Lease).Err() },
			Unlock:  func(context.Context) error { select {} },
		})
	}
	var mu sync.Mutex
	hogs := tokenLock(true)
	hogs.New = func(env locktest.Env) (locktest.Lock, error) {
		return env.Lock(locktest.Funcs{
			TryLock: func(ctx context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				set, err := env.Do(ctx, "SET", env.Name, env.Client, "NX", "PX", env.Lease.Milliseconds())
				if set == nil {
					return cmp.Or(err, locktest.ErrRefused)
				}
				return err
			},
			Unlock: func(ctx context.Context) error {
				_, err := env.Do(ctx, "DEL", env.Name)
				return err
			},
		})
	}
	every := &locktest.Every{}
	for name, search := range map[string]struct {
		subject locktest.Subject
		search  locktest.Search
		says    string
	}{
		"a bound of all": {tokenLock(true), locktest.Search{Every: &locktest.Every{Faults: -1}}, "locktest: Search.Every.Faults is -1: it is greater than 0, or 0 for the default"},
		"a mutex":        {hogs, locktest.Search{Seed: 1, Schedules: 1, Every: every}, "locktest: a goroutine of the lock waits for a sync.Mutex that another one holds while its command is under way"},
		"negative":       {tokenLock(true), locktest.Search{AtOnce: -1}, "locktest: Search.AtOnce is -1: it is greater than 0, or 0 for the default"},
		"a time as well": {tokenLock(true), locktest.Search{For: -time.Second}, "locktest: Search.For is -1s: it is greater than 0, or 0 for the default"},
		"hangs":          {hangs, locktest.Search{Seed: 1, Schedules: 1}, "locktest: no schedule came to a verdict: C1 did not come back from its release"},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv("LOCKTEST_FAILS") != "" {
				locktest.Explore(t, search.subject, search.search)
				return
			}
			if name == "a mutex" {
				needs.Long(t, "waits until a bubble has not gone on for long")
			}
			test := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
			test.Env = append(os.Environ(), "LOCKTEST_FAILS=yes")
			out, err := test.CombinedOutput()
			require.Error(t, err, string(out))
			assert.Contains(t, string(out), search.says)
		})
	}
}

// TestExploreReportsTheSmallestSeed, however many schedules are played at once.
func TestExploreReportsTheSmallestSeed(t *testing.T) {
	search := locktest.Search{Seed: 1, AtOnce: 1, For: time.Minute, Expect: []checker.Name{"wrongful-delete"}}
	alone := locktest.Explore(t, tokenLock(false), search)
	for _, search.AtOnce = range []int{2, 7} {
		together := locktest.Explore(t, tokenLock(false), search)
		assert.Equal(t, alone.Findings[0].Seed, together.Findings[0].Seed)
		assert.Equal(t, alone.Findings, together.Findings)
	}
	t.Setenv("GOGC", "") // else it is left alone
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	locktest.Explore(t, tokenLock(true), locktest.Search{Schedules: 1})
	assert.Equal(t, 100, debug.SetGCPercent(100), "a search leaves the garbage collector as it was")
}

func TestExploreAccusesNoCarefulLock(t *testing.T) {
	found := locktest.Explore(t, tokenLock(true), locktest.Search{Seed: 1, Schedules: 300, For: 5 * time.Minute})
	assert.Equal(t, 300, found.Schedules)
	assert.Less(t, found.Unknown, 10)
	assert.Greater(t, found.Commands, 3000)
	// A waiter sends its next try while time passes for the message of another client: that try is late as well.
	locktest.Explore(t, tokenLock(true), locktest.Search{Seed: 6856531087984139444, Schedules: 1, For: time.Minute})
}
