package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/world"
)

// Locks on a ZooKeeper that nobody here has seen before: small, plausible, and each with one thing that a search may overlook.
func TestStrangersOnAZooKeeper(t *testing.T) {
	t.Parallel()
	answers(t, `
plain               2x2                        holds
~plain              3x1                        holds
plain               2x1  crash                 holds
plain               2x1  long-hold             holds
plain               2x1  pause                 finds double-holder
plain               2x1  pause                 holds wrongful-delete unreleasable false-alarm
plain               2x1  reply-lost            finds stuck-lock  # it does not know the name of its node
single              3x1                        holds
single              2x1  crash                 holds
single              2x1  pause                 finds wrongful-delete
trusting            2x1                        finds double-holder
by-token            2x1                        finds double-holder
jumper              2x1                        holds
jumper              3x1                        finds double-holder
gates               3x1                        holds
gates               2x1  crash                 holds
gates               2x1  pause                 finds wrongful-delete

# A watch is good for one change, and who waits for it needs another look at all nodes.
waiter              3x1                        holds
~waiter             2x2  crash                 holds
drainer             2x1                        holds double-holder
drainer             2x2                        finds double-holder
waits-in-vain       2x1                        doubts stuck-lock: still in a try
sits                2x1                        finds stuck-lock  # it keeps all others out while it waits
~waiter-lasting     2x1  partition             holds double-holder

# Whose the lock is follows from the acquire that made the first node.
stayer              2x1                        holds ghost-lock stuck-lock  # nobody else meets the node with which it was refused
stayer              2x2                        finds ghost-lock
stayer              3x1                        finds ghost-lock
looks-after-timeout 2x1  pause                 holds ghost-lock stuck-lock  # requests of a session are carried out in order
looks-after-timeout 2x1  reply-lost            holds

# Who deletes what.
forgetter           2x1                        finds unreleasable
evictor             2x1                        finds wrongful-delete
sweeper             2x1                        finds wrongful-delete
sweeper             2x1                        holds double-holder
sweeper             2x2                        finds double-holder
deletes-again       2x1                        holds  # no number is given twice that anybody knows
deletes-again-fixed 2x1                        finds wrongful-delete
keeps-number        2x1  pause                 holds wrongful-delete

# The end of a session.
follows             2x1                        holds
follows             2x1  pause                 finds false-alarm      # its node is of a later session than it follows
follows             2x1  pause                 finds wrongful-delete  # it had made up its mind
remakes             2x1                        holds
remakes             2x1  pause                 finds stuck-lock       # nobody has the lock for which it makes a node
lasting             2x1  long-hold             holds
lasting             2x1  pause                 holds double-holder
lasting             2x1  pause                 finds stale-write
doubled             2x1  pause                 finds double-holder
~blind              2x1  pause                 holds double-holder    # a hold that is over does not begin again
blind               2x1  pause                 finds stale-write

fences-numbers      2x2                        holds
~fences-numbers     2x2  crash                 holds fence-regression
fences-counts       2x2                        finds fence-regression
`, nodeStrangerNamed)
}

func nodeStrangerNamed(t *testing.T, name string) impls.Spec {
	t.Helper()
	wrap := nodesByTypes[name]
	if wrap == nil {
		d, found := nodesByFunctions[name]
		require.True(t, found, name)
		wrap = func(l made) impls.Lock { l.does = d; return &l }
	}
	spec := strangers(func(l made) impls.Lock {
		l.does = queued(withdraws)
		return wrap(l)
	})
	spec.Needs = impls.OneZooKeeper
	spec.EqualTokens = name != "by-token"
	return spec
}

// With each reduction, a search of any of them finds the same as without it.
func TestReductionsOfStrangersOnAZooKeeper(t *testing.T) {
	t.Parallel()
	kinds := []faults.Kind{"", faults.Pause, faults.Crash, faults.ReplyLost, faults.LateRequest, faults.Partition}
	kinds = kinds[:needs.Count(t, "kinds of faults", 1, len(kinds))]
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(nodesByFunctions)), slices.Sorted(maps.Keys(nodesByTypes))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range kinds {
				c := config(t, "zookeeper", kind)
				c.Lock, c.States = nodeStrangerNamed(t, name), 2_000
				with := searched(t, c)
				for _, without := range []world.Unreduced{{Apart: true}, {Undeclared: true}} {
					c.Without, c.States = without, 6_000
					if without := searched(t, c); with.Limit+without.Limit == "" {
						assert.Equal(t, fewest(without), fewest(with), kind)
					}
				}
			}
		})
	}
}

// node is the path of a node of the lock.
func (l *made) node(name string) string { return path.Join(l.key, name) }

// numbered makes a sequential node.
func (l *made) numbered(ctx context.Context, name string) (node string, err error) {
	return l.env.Session().Create(ctx, l.node(name), true)
}

// fixed makes a node with a fixed name, and says whether there was none.
func (l *made) fixed(ctx context.Context, node string) (bool, error) {
	_, err := l.env.Session().Create(ctx, node, false)
	if errors.Is(err, impls.NodeExists) {
		return false, nil
	}
	return err == nil, err
}

// drop removes a node, and says whether there was one.
func (l *made) drop(ctx context.Context, node string) (bool, error) {
	err := l.env.Session().Delete(ctx, node)
	if errors.Is(err, impls.NoNode) {
		return false, nil
	}
	return err == nil, err
}

// dropHeld removes the node of the last grant.
func (l *made) dropHeld(ctx context.Context) (bool, error) {
	node := l.value
	if l.value = ""; node == "" {
		return false, nil
	}
	return l.drop(ctx, node)
}

// withdraw removes a node. after is what went wrong before, if anything did.
func (l *made) withdraw(ctx context.Context, node string, after error) (bool, error) {
	_, err := l.drop(ctx, node)
	return false, cmp.Or(after, err)
}

func (l *made) grant(node string) (bool, error) {
	l.value = node
	return true, nil
}

// ahead are the nodes that come before one, in order, and there is whether that is among the nodes.
func (l *made) ahead(ctx context.Context, node string) (ahead []string, there bool, err error) {
	names, err := l.env.Session().Children(ctx, l.key)
	slices.Sort(names)
	at, there := slices.BinarySearch(names, path.Base(node))
	return names[:at], there, err
}

// awaits waits for an event of a node, if that is there or in any case.
func (l *made) awaits(ctx context.Context, node string, always bool) error {
	there, changed, err := l.env.Session().Watch(ctx, node)
	if err == nil && (there || always) {
		_, err = changed.Receive(ctx)
	}
	return err
}

// turn says what becomes of a try whose node is not the first.
type turn = func(l *made, ctx context.Context, node string, ahead []string) (bool, error)

func withdraws(l *made, ctx context.Context, node string, _ []string) (bool, error) {
	return l.withdraw(ctx, node, nil)
}

// queued makes a sequential node, and has the lock if that is the first.
func queued(refused turn) does {
	return does{func(l *made, ctx context.Context) (bool, error) {
		node, err := l.numbered(ctx, "lock-")
		if err != nil {
			return false, err
		}
		return l.looks(ctx, node, refused)
	}, (*made).dropHeld}
}

func (l *made) looks(ctx context.Context, node string, refused turn) (bool, error) {
	ahead, there, err := l.ahead(ctx, node)
	switch {
	case err != nil || !there:
		return l.withdraw(ctx, node, err)
	case len(ahead) == 0:
		return l.grant(node)
	}
	return refused(l, ctx, node, ahead)
}

// waiter waits in its try for the end of the node before its own, if that is there or in any case, and looks again.
func waiter(always bool) does {
	var refused turn
	refused = func(l *made, ctx context.Context, node string, ahead []string) (bool, error) {
		if err := l.awaits(ctx, l.node(ahead[len(ahead)-1]), always); err != nil {
			return l.withdraw(ctx, node, err)
		}
		return l.looks(ctx, node, refused)
	}
	return queued(refused)
}

// single has the lock if it makes the only node.
func single() does {
	return does{func(l *made, ctx context.Context) (bool, error) {
		held, err := l.fixed(ctx, l.node("held"))
		if held {
			l.value = l.node("held")
		}
		return held, err
	}, (*made).dropHeld}
}

// followed has a background task after each grant, which is told of the contacts of the session, and of its end.
func followed(d does, prolonged func(l *made), expired func(l *made, ctx context.Context) (on bool)) does {
	return does{func(l *made, ctx context.Context) (bool, error) {
		life := l.env.Session().Present()
		held, err := d.try(l, ctx)
		if mine := l.value; held {
			l.env.Go(func(ctx context.Context) {
				for on := true; on && l.value == mine; {
					switch err := life.Prolonged(ctx); {
					case err == nil:
						prolonged(l)
					case errors.Is(err, impls.ErrExpired) && l.value == mine:
						life = l.env.Session().Present()
						on = expired(l, ctx)
					default:
						return
					}
				}
			})
		}
		return held, err
	}, d.release}
}

// deletesTwice deletes once more, some time after the release.
func deletesTwice(d does) does {
	d.release = func(l *made, ctx context.Context) (bool, error) {
		node := l.value
		freed, err := l.dropHeld(ctx)
		l.env.Go(func(ctx context.Context) {
			if l.env.Sleep(ctx, l.lease/7) == nil {
				_, _ = l.drop(ctx, node)
			}
		})
		return freed, err
	}
	return d
}

var nodesByFunctions = map[string]does{
	"plain":  queued(withdraws),
	"single": single(),
	// It asks only whether its node is there.
	"trusting": queued(func(l *made, _ context.Context, node string, _ []string) (bool, error) { return l.grant(node) }),
	// It has the lock if the node before its own is gone, whoever is before that.
	"jumper": queued(func(l *made, ctx context.Context, node string, ahead []string) (bool, error) {
		there, _, err := l.env.Session().Watch(ctx, l.node(ahead[len(ahead)-1]))
		if err != nil || there {
			return l.withdraw(ctx, node, err)
		}
		return l.grant(node)
	}),
	// Once the node before its own has gone, it removes its own, and has the lock without a node.
	"drainer": queued(func(l *made, ctx context.Context, node string, ahead []string) (bool, error) {
		err := l.awaits(ctx, l.node(ahead[len(ahead)-1]), false)
		_, err = l.withdraw(ctx, node, err)
		return err == nil, err
	}),
	"waiter": waiter(false),
	// Where the node before its own has gone before it is watched, nobody makes it anew.
	"waits-in-vain": waiter(true),
	// It has the lock, and waits for an event of its own node.
	"sits": {func(l *made, ctx context.Context) (bool, error) {
		held, err := single().try(l, ctx)
		if held {
			err = l.awaits(ctx, l.value, true)
		}
		return false, err
	}, (*made).dropHeld},
	// It leaves its node where it is when it is refused, and goes on with it.
	"stayer": {func(l *made, ctx context.Context) (held bool, err error) {
		if l.value == "" {
			if l.value, err = l.numbered(ctx, "lock-"); err != nil {
				return false, err
			}
		}
		ahead, there, err := l.ahead(ctx, l.value)
		if err == nil && !there {
			l.value = ""
		}
		return there && len(ahead) == 0, err
	}, (*made).dropHeld},
	// It takes two nodes.
	"gates": {func(l *made, ctx context.Context) (bool, error) {
		held, err := l.fixed(ctx, l.node("a"))
		if !held || err != nil {
			return false, err
		}
		if held, err = l.fixed(ctx, l.node("b")); held {
			return l.grant(l.node("b"))
		}
		return l.withdraw(ctx, l.node("a"), err)
	}, func(l *made, ctx context.Context) (bool, error) {
		if freed, err := l.dropHeld(ctx); !freed || err != nil {
			return false, err
		}
		return l.drop(ctx, l.node("a"))
	}},
	// It orders nodes by the tokens before their numbers.
	"by-token": {func(l *made, ctx context.Context) (bool, error) {
		node, err := l.numbered(ctx, l.env.Token()+"-lock-")
		if err != nil {
			return false, err
		}
		return l.looks(ctx, node, withdraws)
	}, (*made).dropHeld},
	"forgetter": {queued(withdraws).try, func(*made, context.Context) (bool, error) { return true, nil }},
	// It removes the first node, and then its own.
	"evictor": queued(func(l *made, ctx context.Context, node string, ahead []string) (bool, error) {
		_, err := l.drop(ctx, l.node(ahead[0]))
		return l.withdraw(ctx, node, err)
	}),
	// Its release removes all nodes that there are.
	"sweeper": {queued(withdraws).try, func(l *made, ctx context.Context) (bool, error) {
		names, err := l.env.Session().Children(ctx, l.key)
		for _, name := range names {
			if _, failed := l.drop(ctx, l.node(name)); failed != nil {
				err = failed
			}
		}
		return err == nil, err
	}},
	"deletes-again":       deletesTwice(queued(withdraws)),
	"deletes-again-fixed": deletesTwice(single()),
	// A session's requests are carried out in order: what it does not find then will not be made.
	"looks-after-timeout": {func(l *made, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		within, cancel := l.env.WithTimeout(ctx, l.lease/4)
		defer cancel()
		_, _ = l.numbered(within, mine+"-lock-")
		at, node, err := l.place(ctx, mine)
		switch {
		case err != nil || at < 0:
			return false, err
		case at == 0:
			return l.grant(node)
		}
		return l.withdraw(ctx, node, nil)
	}, (*made).dropHeld},
	"follows": followed(single(), func(*made) {}, func(l *made, _ context.Context) bool {
		l.value = ""
		l.env.Lost("the session has expired")
		return false
	}),
	// Its hold goes on in another session, with another node.
	"remakes": followed(single(), func(*made) {}, func(l *made, ctx context.Context) bool {
		on, _ := l.fixed(ctx, l.value)
		return on
	}),
	// It keeps the number of its node alone.
	"keeps-number": {func(l *made, ctx context.Context) (bool, error) {
		held, err := queued(withdraws).try(l, ctx)
		l.n, l.value = numberOf(l.value), ""
		return held, err
	}, func(l *made, ctx context.Context) (bool, error) {
		return l.drop(ctx, l.node(fmt.Sprintf("lock-%010d", l.n)))
	}},
}

// place is the path of the node with a token, and how many come before it; negative: there is none. It asks twice if it has to.
func (l *made) place(ctx context.Context, token string) (at int, node string, err error) {
	names, err := l.env.Session().Children(ctx, l.key)
	if err != nil {
		names, err = l.env.Session().Children(ctx, l.key)
	}
	slices.SortFunc(names, func(a, b string) int { return numberOf(a) - numberOf(b) })
	at = slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, token) })
	if at >= 0 {
		node = l.node(names[at])
	}
	return at, node, err
}

// numberOf is that behind the name of a sequential node.
func numberOf(node string) int {
	n, _ := strconv.Atoi(node[max(0, len(node)-10):])
	return n
}

// lasting declares that its holds last as long as its session, or a multiple of that.
type lasting struct {
	made
	times time.Duration
}

func (l *lasting) Valid() time.Duration { return l.times * l.env.Session().Valid() }

var nodesByTypes = map[string]func(made) impls.Lock{
	"lasting":        func(l made) impls.Lock { return &lasting{l, 1} },
	"doubled":        func(l made) impls.Lock { return &lasting{l, 2} },
	"waiter-lasting": func(l made) impls.Lock { l.does = waiter(false); return &lasting{l, 1} },
	// It declares that its hold lasts longer whenever the server answers, also in a session that has not made its node.
	"blind": func(l made) impls.Lock {
		renews := func(l *made) { l.env.Renewed(l.env.Session().Valid()) }
		l.does = followed(l.does, renews, func(l *made, _ context.Context) bool { renews(l); return true })
		return &lasting{l, 1}
	},
	// Its fence is the number of its node, or how many nodes there were.
	"fences-numbers": func(l made) impls.Lock {
		l.does.try = func(l *made, ctx context.Context) (bool, error) {
			held, err := queued(withdraws).try(l, ctx)
			l.n = numberOf(l.value) + 1
			return held, err
		}
		return &drawn{l}
	},
	"fences-counts": func(l made) impls.Lock {
		l.does.try = func(l *made, ctx context.Context) (bool, error) {
			names, err := l.env.Session().Children(ctx, l.key)
			if err != nil {
				return false, err
			}
			l.n = len(names) + 1
			return queued(withdraws).try(l, ctx)
		}
		return &drawn{l}
	},
}
