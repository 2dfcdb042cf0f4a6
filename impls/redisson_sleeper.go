package impls

import (
	"context"
	"strings"
)

// bugPublishedFirst is the wrong order of two steps that Redisson's release takes in one script.
const bugPublishedFirst = "published-first"

// redissonSleeper publishes before it deletes, and waits for nothing but to be woken: whoever is woken finds the lock there and sleeps on.
type redissonSleeper struct{ redissonLock }

// countOutSilently is countOut without what wakes the waiters.
var countOutSilently = strings.Replace(countOut, `redis.call("PUBLISH", KEYS[2], "0")`+"\n", "", 1)

// Acquire tries when it is woken, and at no other time.
func (l *redissonSleeper) Acquire(ctx, patience context.Context) (bool, error) {
	releases, err := l.Wakeups(patience)
	if err != nil {
		return false, err
	}
	defer releases.Close()
	for {
		held, err := l.TryAcquire(ctx)
		if held || err != nil {
			return held, err
		}
		if _, err := releases.Receive(patience); patience.Err() != nil {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
}

// Release publishes first.
func (l *redissonSleeper) Release(ctx context.Context) (bool, error) {
	if _, err := l.env.Server().Do(ctx, "PUBLISH", l.channel(), "0"); err != nil {
		return l.released(nil, err)
	}
	return l.released(l.giveBack(ctx, countOutSilently))
}
