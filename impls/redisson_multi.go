package impls

import (
	"context"
	"fmt"

	"github.com/locklab/locklab/history"
)

func redissonMultilock() Spec {
	return Spec{
		Card: Card{
			Name:   "redisson-multilock",
			Idea:   "a redisson lock on each of three servers, all of which must grant it",
			Source: "article 003, A12; from Redisson's published source",
			Bug: "its hold does not end with its leases, and a failed renewal is not reported; " +
				"if one server is down nobody can acquire it, and what it cannot release there blocks the next client",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety, IgnoresClientTime},
			Needs:    EveryServer, Servers: multilockServers,
			Sends:    sends([]string{"EVAL"}, []string{"EVAL"}),
			Contract: history.Contract{Renews: true},
		},
		New: func(env Env, opts Options) Lock { return &multilock{env: env, opts: opts} },
	}
}

// bugOneServer is the set-up of article 003.
const bugOneServer = "one-server"

func redissonRedlock() Spec {
	all := []Bug{
		{Name: bugOneServer, What: "the locks have different names on one server: they are lost together", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "redisson-redlock",
			Idea:   "redisson-multilock for which a majority is enough; deprecated by its authors",
			Source: "article 003, A12; from Redisson's published source",
			Bug: "the elapsed time is checked neither after the majority nor while the lock is held; " +
				"and a failed renewal is not reported",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety, IgnoresClientTime},
			Needs:    MostServers, Servers: multilockServers,
			Sends:    sends([]string{"EVAL"}, []string{"EVAL"}),
			Contract: history.Contract{Renews: true},
		},
		New: func(env Env, opts Options) Lock {
			return &multilock{env: env, opts: opts, mostDo: true, oneServer: shownBy(opts, all).has(bugOneServer)}
		},
	}
}

// multilockServers is the number of locks that article 003 combines.
const multilockServers = 3

// multilock combines several redisson locks.
type multilock struct {
	env       Env
	opts      Options
	mostDo    bool // a majority is enough
	oneServer bool // all locks are on one server, each under a name of its own
	fair      bool // of redisson-fair locks
	locks     []Lock
}

// TryAcquire tries one lock after another. As published, it stops at the first failure after it has a majority, releases only the locks
// that were granted or timed out, and does not check those releases.
func (l *multilock) TryAcquire(ctx context.Context) (bool, error) { return l.acquire(ctx, l.once) }

func (l *multilock) acquire(ctx context.Context, try func(ctx context.Context, i int) history.Outcome) (bool, error) {
	locks, q := l.open(), l.quorum()
	var acquired []int
	failures := len(locks) - q.need // that it can afford
	for i := range locks {
		vote := try(ctx, i)
		switch {
		case vote == history.OK:
			acquired = append(acquired, i)
			continue
		case vote == history.Unknown:
			l.unlock(ctx, []int{i})
		}
		if ctx.Err() != nil {
			l.unlock(ctx, acquired)
			return false, ctx.Err()
		}
		if len(acquired) == q.need {
			break
		}
		if failures == 0 {
			l.unlock(ctx, acquired)
			return false, nil
		}
		failures--
	}
	return true, nil
}

// once tries one of the locks.
func (l *multilock) once(ctx context.Context, i int) history.Outcome {
	return l.quorum().vote(ctx, i, func(ctx context.Context, _ int) (bool, error) { return l.locks[i].TryAcquire(ctx) })
}

// Release releases every lock, even if ctx ends: Redisson has asked all servers by then.
func (l *multilock) Release(ctx context.Context) (bool, error) {
	l.open()
	q := l.quorum()
	released := q.ask(ctx, l.release)
	q.askRest(ctx, released, l.release)
	return released.decide(q.need)
}

// unlock releases some of the locks and ignores the results.
func (l *multilock) unlock(ctx context.Context, which []int) {
	q := l.quorum()
	for _, i := range which {
		q.vote(context.WithoutCancel(ctx), i, l.release)
	}
}

func (l *multilock) release(ctx context.Context, i int) (bool, error) { return l.locks[i].Release(ctx) }

func (l *multilock) quorum() quorum {
	n := len(l.env.Servers())
	need := n
	if l.mostDo {
		need = majority(n)
	}
	return quorum{env: l.env, need: need, patience: nodePatience(l.opts.Lease)}
}

// open makes a lock for each server, each with a Redisson client of its own.
func (l *multilock) open() []Lock {
	if l.locks == nil {
		servers := l.env.Servers()
		for i := range servers {
			opts, at := l.opts, i
			if l.oneServer {
				at = len(servers) / 2
			}
			if l.oneServer && i > 0 {
				opts.Key = fmt.Sprintf("%s-%d", opts.Key, i+1)
			}
			env := serverEnv{Env: l.env, server: servers[at], name: fmt.Sprintf(" on server %d", at+1)}
			lock := redissonLock{env: env, opts: opts}
			if l.fair {
				l.locks = append(l.locks, &redissonFairLock{redissonLock: lock})
				continue
			}
			l.locks = append(l.locks, &lock)
		}
	}
	return l.locks
}

// serverEnv is the Env of a lock on one of several servers.
type serverEnv struct {
	Env
	server Server
	name   string
}

func (e serverEnv) Server() Server    { return e.server }
func (e serverEnv) Servers() []Server { return []Server{e.server} }

func (e serverEnv) Shared(key string, make func() any) any { return e.Env.Shared(key+e.name, make) }

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
