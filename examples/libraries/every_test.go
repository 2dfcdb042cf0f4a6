package libraries

import (
	"testing"
	"time"

	"github.com/locklab/locklab/locktest"
)

// TestEverySchedule searches every schedule with up to one fault to its end.
func TestEverySchedule(t *testing.T) {
	for name, test := range map[string]struct {
		subject locktest.Subject
		within  time.Duration
	}{
		"redislock": {redislockSubject(firstServer), 20 * time.Second},
		"redsync": {locktest.Subject{
			Promises: locktest.Lease,
			New:      func(env locktest.Env) (locktest.Lock, error) { return newRedsync(env, goRedis) },
		}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			found := locktest.Explore(t, test.subject, locktest.Search{Schedules: 10, Every: &locktest.Every{Faults: 1, For: test.within}})
			if n := len(found.Every); n != 2 || !found.Every[n-1].Complete {
				t.Errorf("it did not get to the end: %v", found.Every)
			}
		})
	}
}
