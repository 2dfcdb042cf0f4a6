package impls

import (
	"context"

	"github.com/locklab/locklab/history"
)

func redissonFairRedlock() Spec {
	all := []Bug{
		{Name: bugOneServer, What: "the locks have different names on one server: they are lost together", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "redisson-fair-redlock",
			Idea:   "redisson-redlock over three redisson-fair locks; it waits in their queues, one after another",
			Source: "article 003, A12, published code; how it waits from Redisson's published source, 3.9.1",
			Bug: "the elapsed time is checked neither after the majority nor while the lock is held; a failed renewal is not reported; " +
				"and three queues are no queue: a client leaves each after a twentieth of its lease",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety},
			Needs:    MostServers, Servers: multilockServers,
			Sends:    sends([]string{"EVAL"}, []string{"EVAL"}),
			Contract: history.Contract{Renews: true},
			Clocks:   []Clock{WallClock},
		},
		New: func(env Env, opts Options) Lock {
			return &fairRedlock{multilock: multilock{env: env, opts: opts, mostDo: true, fair: true, oneServer: shownBy(opts, all).has(bugOneServer)}}
		},
	}
}

// fairRedlock is the multilock whose client waits.
type fairRedlock struct {
	multilock
	waits bool
}

func (l *fairRedlock) TryAcquire(ctx context.Context) (bool, error) {
	if l.waits {
		return l.acquire(ctx, l.inQueue)
	}
	return l.acquire(ctx, l.once)
}

// Enter has the next tries wait in the queues.
func (l *fairRedlock) Enter(context.Context) error {
	l.waits = true
	return nil
}

// Leave ends that. Each try has left the queues itself.
func (l *fairRedlock) Leave(context.Context, bool) error {
	l.waits = false
	return nil
}

// inQueue tries one of the locks and waits in its queue, for as long as a third of RedLock's own time.
func (l *fairRedlock) inQueue(ctx context.Context, i int) history.Outcome {
	lock := l.locks[i].(*redissonFairLock)
	_ = lock.Enter(ctx) // it returns no error
	vote := l.once(ctx, i)
	if vote == history.No {
		vote = l.untilTurn(ctx, i, lock)
	}
	_ = lock.Leave(ctx, vote == history.OK) // nor does this
	return vote
}

// untilTurn tries again whenever a release wakes it or the holder's lease is over. As published, it does not try when its time is over.
func (l *fairRedlock) untilTurn(ctx context.Context, i int, lock *redissonFairLock) history.Outcome {
	patience, cancel := l.env.WithTimeout(ctx, l.opts.Lease/20) // Redisson's ratio, 1.5 s to a lease of 30 s
	defer cancel()
	releases, err := lock.Wakeups(patience)
	if err != nil {
		return history.No
	}
	defer releases.Close()
	for patience.Err() == nil {
		if vote := l.once(ctx, i); vote != history.No {
			return vote
		}
		rest, stop := l.env.WithTimeout(patience, max(lock.RetryAfter(), 1))
		_, err := releases.Receive(rest)
		broken := err != nil && rest.Err() == nil
		stop()
		if broken {
			break
		}
	}
	return history.No
}
