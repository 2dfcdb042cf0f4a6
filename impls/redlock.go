package impls

import (
	"context"
	"fmt"
	"time"
)

// redlockServers is the number of servers in article 003.
const redlockServers = 5

func redlock() Spec {
	bugs := []Bug{wallLeaseBug("as in the first implementations: ")}
	card := redlockCard("redlock", "", "a token on a majority of five servers, each with a short time-out; the hold ends with its lease, "+
		"less the elapsed time and clock drift")
	card.Bugs = bugs
	return Spec{
		Card: card,
		New: func(env Env, opts Options) Lock {
			return &limitedRedlock{redlockLock{env: env, opts: opts, clock: leaseClock{env, shownBy(opts, bugs)}, keyOn: sameKey}}
		},
	}
}

func redlockNoSecondLook() Spec {
	bugs := []Bug{
		{Name: "no-second-look", What: "the elapsed time is not checked after the majority: the first leases may have expired"},
		{Name: "half-majority", What: "N/2 servers count as a majority: two clients can both have as many", Apart: true},
	}
	card := redlockCard("redlock-no-second-look", bugs[0].What, "redlock without the check of the elapsed time")
	card.Bugs = bugs
	return Spec{
		Card: card,
		New: func(env Env, opts Options) Lock {
			shown := shownBy(opts, bugs)
			return &limitedRedlock{redlockLock{
				env: env, opts: opts, clock: leaseClock{env: env}, keyOn: sameKey, noSecondLook: shown.has("no-second-look"), half: shown.has("half-majority"),
			}}
		},
	}
}

// The bugs of Redlock as article 003 words it.
const (
	bugNoEnd      = "no-end"
	bugTinyExpiry = "tiny-expiry"
)

func redlockEndless() Spec {
	bugs := []Bug{
		{Name: bugNoEnd, What: "the validity is not checked again: its holder continues after its leases have expired"},
		{Name: bugTinyExpiry, What: "the keys expire after some tens of milliseconds, before most work begins: the bound for one server is taken for the lease", Apart: true},
	}
	card := redlockCard("redlock-endless", bugs[0].What, "redlock whose hold does not end with its validity")
	card.Bugs = bugs
	return Spec{
		Card: card,
		New: func(env Env, opts Options) Lock {
			shown := shownBy(opts, bugs)
			if shown.has(bugTinyExpiry) {
				opts.Lease /= 5 // longer than tens of milliseconds, so that a busy machine can ask five servers meanwhile
			}
			l := redlockLock{env: env, opts: opts, clock: leaseClock{env: env}, keyOn: sameKey}
			if shown.has(bugNoEnd) {
				return &l
			}
			return &limitedRedlock{l}
		},
	}
}

// masters is the number of primaries of the cluster on which redlock-cluster is tested.
const masters = 3

func redlockCluster() Spec {
	card := redlockCard("redlock-cluster", "", "redlock on one cluster: a token in a key of its own on each of three primaries")
	card.Needs, card.Servers = Masters, masters
	return Spec{
		Card: card,
		New: func(env Env, opts Options) Lock {
			return &limitedRedlock{redlockLock{env: env, opts: opts, clock: leaseClock{env: env}, keyOn: MasterKey}}
		},
	}
}

// MasterKey is the key of a lock on the ith primary of a cluster. On one cluster a key belongs to one primary, so it has a hash tag of that one.
func MasterKey(key string, i int) string { return fmt.Sprintf("{%c}%s", 'a'+i, key) }

// sameKey is the key of a lock on independent servers.
func sameKey(key string, _ int) string { return key }

func redlockCard(name, bug, idea string) Card {
	return Card{
		Name: name, Idea: idea, Bug: bug, Source: "article 003, A11",
		Promises: []Promise{MutualExclusion, ExclusionOnPause, ReleaseByOwner, CrashSafety},
		Needs:    MostServers, Servers: redlockServers,
		Sends:  sends([]string{"SET", "EVAL"}, []string{"EVAL"}),
		Clocks: []Clock{MonotonicClock},
	}
}

// redlockLock declares no validity; limitedRedlock does.
type redlockLock struct {
	env                Env
	opts               Options
	clock              leaseClock
	noSecondLook, half bool
	keyOn              func(key string, i int) string // on the ith server

	token   string        // of our last hold
	expires time.Duration // by our clock
}

type limitedRedlock struct{ redlockLock }

// Valid is the time left of the first lease, less the drift.
func (l *limitedRedlock) Valid() time.Duration { return l.expires - l.clock.now() }

// TryAcquire asks every server, even after a majority: each further grant is one more server that may fail later.
func (l *redlockLock) TryAcquire(ctx context.Context) (bool, error) {
	token, began := l.env.Token(), l.clock.now()
	servers, q := l.env.Servers(), l.quorum()
	taken := q.ask(ctx, func(ctx context.Context, i int) (bool, error) {
		return stored(servers[i].Do(ctx, "SET", l.keyOn(l.opts.Key, i), token, "NX", "PX", l.opts.Lease.Milliseconds()))
	})
	if l.noSecondLook {
		began = l.clock.now() // the bug of redlock-no-second-look: the time spent is not counted
	}
	held, _ := taken.decide(q.need)
	expires := began + l.opts.Lease - redlockDrift(l.opts.Lease)
	if held && ctx.Err() == nil && l.clock.now() < expires {
		l.token, l.expires = token, expires
		return true, nil
	}
	removed := l.remove(context.WithoutCancel(ctx), token)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case leftBehind(taken, removed) >= q.need:
		return false, errTooFewAnswers
	}
	return false, nil
}

// Release releases the lock on every server, also on those that did not grant it: their answer may have been lost. It tries them all, even
// if ctx ends.
func (l *redlockLock) Release(ctx context.Context) (bool, error) {
	return l.remove(ctx, l.token).decide(l.quorum().need)
}

func (l *redlockLock) remove(ctx context.Context, token string) votes {
	servers, script, q := l.env.Servers(), &Script{Source: compareAndDelete}, l.quorum()
	one := func(ctx context.Context, i int) (bool, error) {
		return applied(servers[i].Eval(ctx, script, []string{l.keyOn(l.opts.Key, i)}, token))
	}
	removed := q.ask(ctx, one)
	q.askRest(ctx, removed, one)
	return removed
}

func (l *redlockLock) quorum() quorum {
	need := majority(len(l.env.Servers()))
	if l.half {
		need-- // the bug of redlock-no-second-look/half-majority
	}
	return quorum{env: l.env, need: need, patience: nodePatience(l.opts.Lease)}
}

// redlockDrift bounds the servers' clock drift within a lease: 1 %, plus 2 ms for the precision of expiry.
func redlockDrift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }
