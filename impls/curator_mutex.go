package impls

import (
	"context"

	"github.com/locklab/locklab/history"
)

// bugLeftNode: the end of the time is taken for the end of the client, after which the listing deletes nothing.
const bugLeftNode = "left-node"

func curatorMutex() Spec {
	all := []Bug{
		{Name: bugLeftNode, What: "an acquire whose time is over returns false and leaves its node in the queue", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "curator-mutex",
			Idea:   "Curator's InterProcessMutex: the queue of zookeeper-protected, reentrant by a count in the memory of the thread",
			Source: "article 003, A14",
			Bug: "internalLock asks the count in memory only: a thread whose session has ended takes the lock again; " +
				"nothing tells it that the lock is lost; a release that failed is forgotten, and the next one answers no",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime, Fairness, Reentrance},
			Needs:    OneZooKeeper,
			Sends:    sends([]string{"CREATE", "GETCHILDREN", "EXISTS", "DELETE"}, []string{"DELETE"}),
		},
		New: func(env Env, opts Options) Lock {
			return &curatorMutexLock{
				internals: zookeeperLock{env: env, opts: opts, protected: true, unfollowed: true}, bugs: shownBy(opts, all),
			}
		},
	}
}

// curatorMutexLock is one thread's view of an InterProcessMutex. It reads the predecessor's existence where Curator reads its data.
type curatorMutexLock struct {
	internals zookeeperLock // LockInternals
	bugs      bugs
	count     int // lockCount of the thread's LockData; zero: it has none
}

// TryAcquire is internalLock.
func (l *curatorMutexLock) TryAcquire(ctx context.Context) (bool, error) {
	if l.count > 0 { // the bug: whether the node is still there is not asked
		l.count++
		return true, nil
	}
	if l.bugs.has(bugLeftNode) {
		l.internals.waits = true // it deletes nothing when it is not its turn
	}
	held, err := l.internals.TryAcquire(ctx)
	if held {
		l.count = 1
	}
	return held, err
}

// deleteTries bounds the tries of a delete whose replies are lost. Curator's retry policy is its user's; each try waits for a connection.
const deleteTries = 3

// Release forgets the hold with its last release, whatever the answer. The delete is "guaranteed": after the last try it goes on in the background.
func (l *curatorMutexLock) Release(ctx context.Context) (bool, error) {
	if l.count == 0 {
		return false, nil // IllegalMonitorStateException
	}
	if l.count--; l.count > 0 {
		return true, nil
	}
	node := l.internals.held
	done, err := l.internals.Release(ctx)
	for try := 1; try < deleteTries && Classify(err) == history.Unknown && ctx.Err() == nil; try++ {
		_, err = deleted(l.internals.env.Session().Delete(ctx, node))
		done = err == nil // also if there is no such node: an earlier try may have deleted it
	}
	l.internals.held = ""
	if Classify(err) == history.Unknown {
		l.internals.removeLater(func(context.Context) (string, error) { return node, nil })
	}
	return done, err
}

// Enter begins a wait.
func (l *curatorMutexLock) Enter(ctx context.Context) error { return l.internals.Enter(ctx) }

// Leave deletes our node if the time is over: doDelete.
func (l *curatorMutexLock) Leave(ctx context.Context, held bool) error {
	if l.bugs.has(bugLeftNode) {
		l.internals.own = ""
	}
	return l.internals.Leave(ctx, held)
}

// Wakeups are the changes of the predecessor.
func (l *curatorMutexLock) Wakeups(ctx context.Context) (Subscription, error) {
	return l.internals.Wakeups(ctx)
}
