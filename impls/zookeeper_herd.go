package impls

import (
	"context"
	"errors"
	"path"
)

func zookeeperHerd() Spec {
	return Spec{
		Card: Card{
			Name:     "zookeeper-herd",
			Idea:     "one ephemeral node; whoever finds it there watches it",
			Source:   "article 003, A13, without its sequence",
			Bug:      "release deletes the node whoever has made it, and wakes everybody who waits",
			Promises: []Promise{MutualExclusion, CrashSafety, IgnoresClientTime, KnowsLoss},
			Needs:    OneZooKeeper,
			Sends:    sends([]string{"CREATE", "EXISTS"}, []string{"DELETE"}),
		},
		New: func(env Env, opts Options) Lock {
			return &zookeeperHerdLock{env: env, node: path.Join(opts.Key, "held")}
		},
	}
}

type zookeeperHerdLock struct {
	env   Env
	node  string
	waits bool         // the acquire under way waits
	watch Subscription // the watch on the node; nil: none
	stop  func()       // ends the wait for the end of the session; nil: none runs
}

func (l *zookeeperHerdLock) TryAcquire(ctx context.Context) (bool, error) {
	for {
		_, err := l.env.Session().Create(ctx, l.node, false)
		switch {
		case err == nil:
			l.halt()
			life := l.env.Session().Present()
			l.stop = l.env.Go(func(ctx context.Context) { follow(ctx, l.env, life, false) })
			return true, nil
		case !errors.Is(err, NodeExists):
			return false, err
		case !l.waits:
			return false, nil
		}
		var there bool
		if there, l.watch, err = l.env.Session().Watch(ctx, l.node); err != nil || there {
			return false, err
		}
	}
}

// Enter begins a wait.
func (l *zookeeperHerdLock) Enter(context.Context) error {
	l.waits = true
	return nil
}

// Leave ends it. There is nothing to clean up.
func (l *zookeeperHerdLock) Leave(context.Context, bool) error {
	l.waits, l.watch = false, nil
	return nil
}

// Wakeups are the changes of the node that the last try has watched.
func (l *zookeeperHerdLock) Wakeups(context.Context) (Subscription, error) {
	return wakeups{&l.watch}, nil
}

func (l *zookeeperHerdLock) Release(ctx context.Context) (bool, error) {
	l.halt()
	return deleted(l.env.Session().Delete(ctx, l.node)) // the bug: whoever has made it
}

func (l *zookeeperHerdLock) halt() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}
