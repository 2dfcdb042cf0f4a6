package libraries

import (
	"testing"
	"time"

	"github.com/locklab/locklab/locktest"
)

func TestEveryRedislock(t *testing.T) {
	found := locktest.Explore(t, redislockSubject(firstServer), locktest.Search{Schedules: 10, Every: &locktest.Every{Faults: 1, For: 60 * time.Second}})
	t.Logf("%+v", found.Every)
}
func TestEveryRedsync(t *testing.T) {
	found := locktest.Explore(t, locktest.Subject{
		Promises: locktest.Lease,
		New:      func(env locktest.Env) (locktest.Lock, error) { return newRedsync(env, goRedis) },
	}, locktest.Search{Schedules: 10, Every: &locktest.Every{Faults: 1, For: 60 * time.Second}})
	t.Logf("%+v", found.Every)
}
