package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// Strangers on a ZooKeeper: each has one thing that a search may overlook, or that the judges may see otherwise.

// noder makes a sequential node, and has the lock if there is none with a smaller number. Otherwise it withdraws.
type noder struct {
	env  impls.Env
	key  string
	own  string
	held string
	declared
}

func (l *noder) create(ctx context.Context) (err error) {
	l.own, err = l.env.Session().Create(ctx, path.Join(l.key, "lock-"), true)
	return err
}

// ahead are the nodes that there are, and the one before its own; there: so is that.
func (l *noder) ahead(ctx context.Context) (names []string, before string, there bool, err error) {
	names, err = l.env.Session().Children(ctx, l.key)
	own := path.Base(l.own)
	for _, name := range names {
		if name < own && name > before {
			before = name
		}
	}
	return names, before, slices.Contains(names, own), err
}

func (l *noder) take() (bool, error) {
	l.held, l.own = l.own, ""
	return true, nil
}

// withdraw removes its node. after is what went wrong before, if anything did.
func (l *noder) withdraw(ctx context.Context, after error) (bool, error) {
	node := l.own
	l.own = ""
	_, err := l.drop(ctx, node)
	return false, cmp.Or(after, err)
}

func (l *noder) drop(ctx context.Context, node string) (bool, error) {
	err := l.env.Session().Delete(ctx, node)
	if errors.Is(err, impls.NoNode) {
		return false, nil
	}
	return err == nil, err
}

func (l *noder) TryAcquire(ctx context.Context) (bool, error) {
	if err := l.create(ctx); err != nil {
		return false, err
	}
	_, before, there, err := l.ahead(ctx)
	if err == nil && there && before == "" {
		return l.take()
	}
	return l.withdraw(ctx, err)
}

func (l *noder) Release(ctx context.Context) (bool, error) {
	node := l.held
	l.held = ""
	if node == "" {
		return false, nil
	}
	return l.drop(ctx, node)
}

// drainer watches the node before its own, and lists again. If that has gone meanwhile, it waits for the event, and then withdraws, and has the lock
// without a node.
type drainer struct{ noder }

func (l *drainer) TryAcquire(ctx context.Context) (bool, error) {
	if err := l.create(ctx); err != nil {
		return false, err
	}
	_, before, _, err := l.ahead(ctx)
	if err != nil {
		return false, err
	}
	if before == "" {
		return l.take()
	}
	there, changed, err := l.env.Session().Watch(ctx, path.Join(l.key, before))
	if err != nil || !there {
		return l.withdraw(ctx, err)
	}
	names, _, _, err := l.ahead(ctx)
	if err != nil || slices.Contains(names, before) {
		return l.withdraw(ctx, err)
	}
	if _, err := changed.Receive(ctx); err != nil {
		return false, err
	}
	_, err = l.withdraw(ctx, nil)
	return err == nil, err
}

// trusting asks only whether its node is there.
type trusting struct{ noder }

func (l *trusting) TryAcquire(ctx context.Context) (bool, error) {
	if err := l.create(ctx); err != nil {
		return false, err
	}
	if _, _, there, err := l.ahead(ctx); err != nil || !there {
		return false, err
	}
	return l.take()
}

// jumper has the lock if the node before its own is gone, whoever is before that.
type jumper struct{ noder }

func (l *jumper) TryAcquire(ctx context.Context) (bool, error) {
	if err := l.create(ctx); err != nil {
		return false, err
	}
	_, before, _, err := l.ahead(ctx)
	there := false
	if err == nil && before != "" {
		there, _, err = l.env.Session().Watch(ctx, path.Join(l.key, before))
	}
	if err == nil && !there {
		return l.take()
	}
	return l.withdraw(ctx, err)
}

// stayer leaves its node where it is when it is refused, and goes on with it.
type stayer struct{ noder }

func (l *stayer) TryAcquire(ctx context.Context) (bool, error) {
	if l.own == "" {
		if err := l.create(ctx); err != nil {
			return false, err
		}
	}
	_, before, there, err := l.ahead(ctx)
	switch {
	case err != nil:
	case !there:
		l.own = ""
	case before == "":
		return l.take()
	}
	return false, err
}

// gates takes two nodes with fixed names.
type gates struct {
	noder
	on bool
}

func (l *gates) TryAcquire(ctx context.Context) (bool, error) {
	s := l.env.Session()
	_, err := s.Create(ctx, path.Join(l.key, "a"), false)
	if err == nil {
		if _, err = s.Create(ctx, path.Join(l.key, "b"), false); err == nil {
			l.on = true
			return true, nil
		}
		_ = s.Delete(ctx, path.Join(l.key, "a"))
	}
	if errors.Is(err, impls.NodeExists) {
		err = nil
	}
	return false, err
}

func (l *gates) Release(ctx context.Context) (bool, error) {
	if !l.on {
		return false, nil
	}
	l.on = false
	if _, err := l.drop(ctx, path.Join(l.key, "b")); err != nil {
		return false, err
	}
	return l.drop(ctx, path.Join(l.key, "a"))
}

// blind declares itself renewed whenever the server answers, also in a session that has not made its node.
type blind struct {
	noder
	stop func()
}

func (l *blind) Valid() time.Duration { return l.env.Session().Valid() }

func (l *blind) TryAcquire(ctx context.Context) (bool, error) {
	held, err := l.noder.TryAcquire(ctx)
	if held {
		l.stop = l.env.Go(func(ctx context.Context) {
			for life := l.env.Session().Present(); ; {
				err := life.Prolonged(ctx)
				if errors.Is(err, impls.ErrExpired) {
					life = l.env.Session().Present()
				} else if err != nil {
					return
				}
				l.env.Renewed(l.env.Session().Valid())
			}
		})
	}
	return held, err
}

func (l *blind) Release(ctx context.Context) (bool, error) {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	return l.noder.Release(ctx)
}

func nodeStranger(made func(noder) impls.Lock) impls.Spec {
	spec := stranger(nil)
	spec.Needs = impls.OneZooKeeper
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
		return declaring(made(noder{env: env, key: opts.Key}))
	}
	return spec
}

var nodeStrangers = map[string]func(noder) impls.Lock{
	"plain":    func(n noder) impls.Lock { return &n },
	"drainer":  func(n noder) impls.Lock { return &drainer{n} },
	"trusting": func(n noder) impls.Lock { return &trusting{n} },
	"jumper":   func(n noder) impls.Lock { return &jumper{n} },
	"stayer":   func(n noder) impls.Lock { return &stayer{n} },
	"gates":    func(n noder) impls.Lock { return &gates{noder: n} },
	"blind":    func(n noder) impls.Lock { return &blind{noder: n} },
}

func TestStrangersOnAZooKeeper(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lock    string
		clients int
		fault   faults.Kind
		only    checker.Name
		found   bool
	}{
		{lock: "plain", clients: 2},
		{lock: "plain", clients: 2, fault: faults.Crash},
		{lock: "plain", clients: 2, fault: faults.Pause, only: checker.DoubleHolder, found: true},
		{lock: "drainer", clients: 3, only: checker.DoubleHolder, found: true},
		{lock: "trusting", clients: 2, only: checker.DoubleHolder, found: true},
		{lock: "jumper", clients: 2},
		{lock: "jumper", clients: 3, only: checker.DoubleHolder, found: true},
		{lock: "stayer", clients: 3, only: checker.GhostLock, found: true},
		{lock: "gates", clients: 2},
		{lock: "gates", clients: 2, fault: faults.Pause, only: checker.WrongfulDelete, found: true},
		{lock: "blind", clients: 2, fault: faults.Pause, only: checker.DoubleHolder},
		{lock: "blind", clients: 2, fault: faults.Pause, found: true},
		{lock: "blind", clients: 2, fault: faults.Pause, only: checker.StaleWrite, found: true},
	} {
		config := Config{Lock: nodeStranger(nodeStrangers[test.lock]), Clients: test.clients, Rounds: 1, Budget: Budget{}, States: 50_000}
		if test.fault != "" {
			config.Budget, config.MostFaults = spend(test.fault), 1
		}
		if test.only != "" {
			config.Only = []checker.Name{test.only}
		}
		result, err := Explore(t.Context(), config)
		require.NoError(t, err, "%+v", test)
		assert.Empty(t, result.Disputed, "%+v", test)
		assert.Empty(t, result.Limit, "%+v", test)
		assert.Empty(t, result.Doubt, "%+v", test)
		if assert.Equal(t, test.found, result.Found != nil, "%+v", test) && test.only != "" && test.found {
			assert.Contains(t, result.Found.Verdict.Names(), test.only, "%+v", test)
		}
	}
}

// Whose the lock is follows from the acquire that made the first node: one under way, one that was told ok, one that was refused, or that of a dead client.
func TestTheJudgesAgreeOnStrangersOnAZooKeeper(t *testing.T) {
	t.Parallel()
	walks := 5 * cmp.Or(*strangerWalks, needs.Count(t, "fives of random paths", 4, 40))
	for _, test := range []struct {
		lock  string
		fault faults.Kind
	}{
		{"jumper", ""}, {"trusting", faults.Crash}, {"stayer", faults.ReplyLost}, {"gates", faults.ReplyLost}, {"gates", faults.Pause}, {"blind", faults.Pause}, {"drainer", faults.Partition},
	} {
		t.Run(fmt.Sprint(test.lock, " ", test.fault), func(t *testing.T) {
			t.Parallel()
			config := Config{Lock: nodeStranger(nodeStrangers[test.lock]), Clients: 3, Rounds: 1, Budget: Budget{}}
			if test.fault != "" {
				config.Budget, config.MostFaults = spend(test.fault), 1
			}
			x := newExplorer(config, traits{})
			defer x.automaton.Close()
			fresh := x.judge
			for seed := range uint64(walks) {
				x.judge = fresh
				walkOnce(t, x, seed, func(n checker.Name) bool { return n != checker.Unfair })
			}
		})
	}
}
