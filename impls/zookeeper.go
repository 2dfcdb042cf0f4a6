package impls

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

func zookeeper() Spec {
	return Spec{
		Card: Card{
			Name:     "zookeeper",
			Idea:     "an ephemeral sequential node; the smallest number has the lock, any other client watches its predecessor",
			Source:   "article 003, A13",
			Bug:      "a create whose reply is lost leaves a node of which its client does not know the name",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime, KnowsLoss, Fairness},
			Needs:    OneZooKeeper,
			Sends:    sends([]string{"CREATE", "GETCHILDREN", "EXISTS", "DELETE"}, []string{"DELETE"}),
		},
		New: func(env Env, opts Options) Lock { return &zookeeperLock{env: env, opts: opts} },
	}
}

func zookeeperProtected() Spec {
	spec := zookeeper()
	spec.Name, spec.Bug = "zookeeper-protected", ""
	spec.Idea = "zookeeper with a token in the node's name, to find it after a lost reply; the hold ends when the session may have"
	spec.Source = "article 003, A13, with the protected create that Curator has, and a validity that this lab adds"
	spec.Promises = append(slices.Clone(spec.Promises), ExclusionOnPause)
	spec.New = func(env Env, opts Options) Lock { return newProtected(env, opts) }
	return spec
}

func zookeeperFenced() Spec {
	spec := zookeeperProtected()
	spec.Name = "zookeeper-fenced"
	spec.Idea = "zookeeper-protected that issues its node's number as a fencing token"
	spec.Source = "article 003, A13, with the fence that this lab adds"
	spec.Promises = append(slices.Clone(spec.Promises), Fencing)
	spec.New = func(env Env, opts Options) Lock {
		return &zookeeperFencedLock{newProtected(env, opts)}
	}
	return spec
}

type zookeeperLock struct {
	env       Env
	opts      Options
	protected bool
	// unfollowed: nobody learns of the end of the session during a hold.
	unfollowed bool

	waits bool         // the acquire under way waits
	own   string       // the path of the node by which it does; empty: there is none
	ahead Subscription // the watch on the predecessor; nil: none
	life  Lifetime     // the session that made our node
	held  string       // the path of the node of our last hold
	stop  func()       // ends the wait for the end of the session; nil: none runs
}

// TryAcquire follows the article's steps.
func (l *zookeeperLock) TryAcquire(ctx context.Context) (bool, error) {
	// 1. Create an ephemeral sequential node below the lock's.
	if err := l.create(ctx); err != nil {
		return false, err
	}
	for {
		// 2. List the nodes. The smallest number has the lock.
		names, err := l.env.Session().Children(ctx, l.opts.Key)
		if err != nil {
			return false, l.abandon(ctx, err)
		}
		predecessor, there := before(names, path.Base(l.own))
		switch {
		case !there: // our session has ended since the create
			l.own = ""
			return false, nil
		case predecessor == "":
			l.granted()
			return true, nil
		case !l.waits:
			return false, l.withdraw(ctx)
		}
		// 3. Any other client watches its predecessor only.
		there, l.ahead, err = l.env.Session().Watch(ctx, path.Join(l.opts.Key, predecessor))
		if err != nil {
			return false, l.abandon(ctx, err)
		}
		if there {
			return false, nil // 4. When it goes, list again: see Wakeups.
		}
		// It has gone between the list and the watch, so that no event would come: list again at once.
	}
}

// create makes our node, unless an earlier try has. If the node is there in a later list, the session that made it is the one right after the
// create.
func (l *zookeeperLock) create(ctx context.Context) (err error) {
	switch {
	case l.own != "":
		return nil
	case l.protected:
		err = l.createProtected(ctx)
	default:
		l.own, err = l.env.Session().Create(ctx, path.Join(l.opts.Key, "lock-"), true) // the bug of zookeeper: without a reply, the name is not known
	}
	l.life = l.env.Session().Present()
	return err
}

// createTries bounds the tries of a create whose replies are lost.
const createTries = 3

// createProtected looks for its token among the nodes when it does not know whether it has made one.
func (l *zookeeperLock) createProtected(ctx context.Context) (err error) {
	token := l.env.Token()
	if err = l.createFound(ctx, token); Classify(err) == history.Unknown {
		l.removeLater(func(ctx context.Context) (string, error) { return l.find(ctx, token) })
	}
	return err
}

// createFound makes a node with the token, or finds the one that an earlier try has made.
func (l *zookeeperLock) createFound(ctx context.Context, token string) (err error) {
	for range createTries {
		l.own, err = l.env.Session().Create(ctx, path.Join(l.opts.Key, token+"-lock-"), true)
		if Classify(err) != history.Unknown || ctx.Err() != nil {
			return err
		}
		l.own, err = l.find(ctx, token)
		if err != nil || l.own != "" {
			return err
		}
	}
	return errors.New("the replies to all creates were lost")
}

// find is the path of the node with the token; empty: there is none.
func (l *zookeeperLock) find(ctx context.Context, token string) (string, error) {
	names, err := l.env.Session().Children(ctx, l.opts.Key)
	if err != nil {
		return "", err
	}
	if n := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, token) }); n >= 0 {
		return path.Join(l.opts.Key, names[n]), nil
	}
	return "", nil
}

// removeLater removes a node that was given up, if it is there, as soon as the server answers.
func (l *zookeeperLock) removeLater(find func(context.Context) (string, error)) {
	l.env.Go(func(ctx context.Context) {
		for ctx.Err() == nil {
			node, err := find(ctx)
			if err == nil && node != "" {
				err = l.env.Session().Delete(ctx, node)
			}
			if Classify(err) != history.Unknown {
				return
			}
			_ = l.env.Sleep(ctx, l.opts.Lease/20) // ctx is checked above
		}
	})
}

// granted begins a hold. It is lost with the session.
func (l *zookeeperLock) granted() {
	l.held, l.own, l.ahead = l.own, "", nil
	l.halt()
	if l.unfollowed {
		return
	}
	life := l.life
	l.stop = l.env.Go(func(ctx context.Context) { follow(ctx, l.env, life, l.protected) })
}

// follow reports a loss when the session has expired and, if it is to, that it has been prolonged.
func follow(ctx context.Context, env Env, life Lifetime, tell bool) {
	for {
		switch err := life.Prolonged(ctx); {
		case errors.Is(err, ErrExpired):
			env.Lost(err.Error())
			return
		case err != nil:
			return
		case tell:
			env.Renewed(env.Session().Valid())
		}
	}
}

// abandon deletes our node after an error, as the article says, and returns the error.
func (l *zookeeperLock) abandon(ctx context.Context, err error) error {
	ctx, cancel := l.env.WithTimeout(context.WithoutCancel(ctx), l.opts.Lease/4)
	defer cancel()
	if also := l.withdraw(ctx); err == nil {
		err = also
	}
	return err
}

// withdraw deletes our node. The protected lock goes on trying after an error: without that the node stays for as long as the session.
func (l *zookeeperLock) withdraw(ctx context.Context) error {
	node := l.own
	l.own, l.ahead = "", nil
	_, err := deleted(l.env.Session().Delete(ctx, node))
	if l.protected && Classify(err) == history.Unknown {
		l.removeLater(func(context.Context) (string, error) { return node, nil })
	}
	return err
}

// Enter begins a wait: our node stays from try to try.
func (l *zookeeperLock) Enter(context.Context) error {
	l.waits = true
	return nil
}

// Leave deletes our node if the time is over.
func (l *zookeeperLock) Leave(ctx context.Context, held bool) error {
	l.waits = false
	if held || l.own == "" {
		return nil
	}
	return l.abandon(ctx, nil)
}

// Wakeups are the changes of the predecessor that the last try has watched.
func (l *zookeeperLock) Wakeups(context.Context) (Subscription, error) { return wakeups{&l.ahead}, nil }

// wakeups waits for the watch that the last try has set.
type wakeups struct{ watch *Subscription }

func (w wakeups) Receive(ctx context.Context) (string, error) {
	if *w.watch == nil {
		return "", nil
	}
	return (*w.watch).Receive(ctx)
}

func (w wakeups) Close() {}

// Release deletes the node of our hold.
func (l *zookeeperLock) Release(ctx context.Context) (bool, error) {
	if l.held == "" {
		return false, nil
	}
	l.halt()
	done, err := deleted(l.env.Session().Delete(ctx, l.held))
	if Classify(err) != history.Unknown {
		l.held = ""
	}
	return done, err
}

// Held asks whether our node is there: it was the first when we were granted the lock.
func (l *zookeeperLock) Held(ctx context.Context) (bool, error) {
	names, err := l.env.Session().Children(ctx, l.opts.Key)
	return l.held != "" && slices.Contains(names, path.Base(l.held)), err
}

// halt ends the wait for the end of the session.
func (l *zookeeperLock) halt() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// deleted reads the result of a delete: false if there was no such node.
func deleted(err error) (bool, error) {
	if errors.Is(err, NoNode) {
		return false, nil
	}
	return err == nil, err
}

// before finds our node among the nodes of a lock, and the one before it; empty: ours is the first.
func before(names []string, own string) (predecessor string, there bool) {
	for _, name := range names {
		there = there || name == own
		if nodeNumber(name) < nodeNumber(own) && (predecessor == "" || nodeNumber(name) > nodeNumber(predecessor)) {
			predecessor = name
		}
	}
	return predecessor, there
}

// nodeNumber is the number that a ZooKeeper has put behind the name of a node; -1 if there is none.
func nodeNumber(name string) int64 {
	const digits = 10
	n, err := strconv.ParseInt(name[max(0, len(name)-digits):], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// zookeeperProtectedLock declares that its hold lasts as long as the session certainly does.
type zookeeperProtectedLock struct{ zookeeperLock }

func newProtected(env Env, opts Options) *zookeeperProtectedLock {
	return &zookeeperProtectedLock{zookeeperLock{env: env, opts: opts, protected: true}}
}

// Valid is how long the session lasts at least.
func (l *zookeeperProtectedLock) Valid() time.Duration { return l.env.Session().Valid() }

type zookeeperFencedLock struct{ *zookeeperProtectedLock }

// Fence is the number of our node, counted from 1. It grows from grant to grant, since locks are granted in the order of the numbers.
func (l *zookeeperFencedLock) Fence() int64 { return nodeNumber(path.Base(l.held)) + 1 }

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
