package impls

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
)

func goZooKeeper() Spec {
	return Spec{
		Card: Card{
			Name:   "go-zookeeper",
			Idea:   "zk.Lock of go-zookeeper: the queue of zookeeper with a token in the node's name; nothing is cancelled, and nobody learns of a loss",
			Source: "article 003, A13, as go-zookeeper has it: v1.0.4, lock.go",
			Bug: "an error after the create leaves the node in the queue; whether the own node is among those listed is not asked; " +
				"after a release of a node that has gone, the lock is ErrDeadlock for ever",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime, Fairness},
			Needs:    OneZooKeeper,
			Sends:    sends([]string{"CREATE", "GETCHILDREN", "EXISTS", "DELETE"}, []string{"DELETE"}),
		},
		New: func(env Env, opts Options) Lock { return &goZooKeeperLock{env: env, opts: opts} },
	}
}

// errDeadlock refuses to take a lock twice that this client has, or thinks that it has.
const errDeadlock ServerError = "ErrDeadlock: zk: trying to acquire a lock twice"

// goZooKeeperLock is a zk.Lock. It reads the predecessor's existence where the library reads its data. A Lock call cannot be cancelled, so a caller who
// has no time to wait leaves it to itself, and unlocks as soon as it is granted.
type goZooKeeperLock struct {
	env  Env
	opts Options

	waits    bool         // the acquire under way waits
	own      string       // the path of the node by which it does; empty: there is none
	life     Lifetime     // the session that made it
	ahead    Subscription // the watch on the predecessor; nil: none
	lockPath string       // of the hold; empty: not locked
}

// TryAcquire is LockWithData.
func (l *goZooKeeperLock) TryAcquire(ctx context.Context) (bool, error) {
	if l.lockPath != "" {
		return false, errDeadlock // also when that node has long gone with its session
	}
	if l.own == "" {
		if err := l.create(ctx); err != nil {
			return false, err
		}
	} else if l.env.Session().Present() != l.life { // the watch has ended with the session: ev.Err
		l.own = ""
		return false, ErrExpired
	}
	first, err := l.queue(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		l.leave()
		return false, err
	case err != nil:
		l.own = "" // the bug: the node stays
		return false, err
	case first:
		l.lockPath, l.own, l.ahead = l.own, "", nil
		return true, nil
	case !l.waits:
		l.leave()
	}
	return false, nil
}

// create makes our node.
func (l *goZooKeeperLock) create(ctx context.Context) (err error) {
	token := l.env.Token()
	l.own, err = l.createProtected(ctx, token)
	l.life = l.env.Session().Present()
	if err != nil && ctx.Err() != nil {
		l.own = ""
		l.env.Go(func(ctx context.Context) {
			if node, err := l.find(ctx, token); err == nil && node != "" {
				l.finish(ctx, node)
			}
		})
	}
	return err
}

// protectedPrefix begins the names of nodes with a token.
const protectedPrefix = "_c_"

// createProtected is CreateProtectedEphemeralSequential.
func (l *goZooKeeperLock) createProtected(ctx context.Context, token string) (node string, err error) {
	for range createTries {
		node, err = l.env.Session().Create(ctx, path.Join(l.opts.Key, protectedPrefix+token+"-lock-"), true)
		if Classify(err) != history.Unknown || ctx.Err() != nil {
			return node, err
		}
		if node, also := l.find(ctx, token); also != nil || node != "" {
			return node, also // the bug: after an error the node may be there
		}
	}
	return "", err
}

// find is the path of the node with a token; empty: there is none.
func (l *goZooKeeperLock) find(ctx context.Context, token string) (string, error) {
	names, err := l.env.Session().Children(ctx, l.opts.Key)
	if err != nil {
		return "", err
	}
	if n := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, protectedPrefix+token) }); n >= 0 {
		return path.Join(l.opts.Key, names[n]), nil
	}
	return "", nil
}

// queue lists the nodes until ours is the first, or its predecessor is watched. The bug: that ours is among them is not asked.
func (l *goZooKeeperLock) queue(ctx context.Context) (first bool, err error) {
	for {
		names, err := l.env.Session().Children(ctx, l.opts.Key)
		if err != nil {
			return false, err
		}
		predecessor, _ := before(names, path.Base(l.own))
		if predecessor == "" {
			return true, nil
		}
		var there bool
		there, l.ahead, err = l.env.Session().Watch(ctx, path.Join(l.opts.Key, predecessor))
		if err != nil || there {
			return false, err
		}
	}
}

// leave leaves the call under way to itself.
func (l *goZooKeeperLock) leave() {
	node := l.own
	l.own, l.ahead = "", nil
	l.env.Go(func(ctx context.Context) { l.finish(ctx, node) })
}

// finish goes on with a call that nobody waits for: when it is granted the caller unlocks.
func (l *goZooKeeperLock) finish(ctx context.Context, node string) {
	rest := &goZooKeeperLock{env: l.env, opts: l.opts, own: node}
	for ctx.Err() == nil {
		first, err := rest.queue(ctx)
		if err != nil {
			return
		}
		if first {
			_ = l.env.Session().Delete(ctx, node) // nobody is there to learn of an error
			return
		}
		if _, err := rest.ahead.Receive(ctx); err != nil {
			return
		}
	}
}

// Release is Unlock. After an error, NoNode too, it still counts as locked.
func (l *goZooKeeperLock) Release(ctx context.Context) (bool, error) {
	if l.lockPath == "" {
		return false, nil // ErrNotLocked
	}
	done, err := deleted(l.env.Session().Delete(ctx, l.lockPath))
	if done {
		l.lockPath = ""
	}
	return done, err
}

// Enter begins a wait.
func (l *goZooKeeperLock) Enter(context.Context) error {
	l.waits = true
	return nil
}

// Leave leaves a call to itself whose time is over.
func (l *goZooKeeperLock) Leave(_ context.Context, held bool) error {
	l.waits = false
	if !held && l.own != "" {
		l.leave()
	}
	return nil
}

// Wakeups are the changes of the predecessor.
func (l *goZooKeeperLock) Wakeups(context.Context) (Subscription, error) {
	return wakeups{&l.ahead}, nil
}
