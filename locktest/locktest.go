// Package locktest tests a lock library in its own go test: every scenario of the lab that fits, as a subtest, in virtual time and without a
// server.
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, locktest.Subject{Promises: locktest.Lease, New: func(env locktest.Env) (locktest.Lock, error) {
//			return mylock.New(env.Addrs[0], env.Dial, env.Name), nil
//		}})
//	}
//
// The library runs unmodified, in a bubble of testing/synctest: clients reach a model of Redis over a net.Conn in memory, and time goes on when
// every goroutine waits for it. What a bubble cannot do is skipped, with the reason: set a client's clock, or stop its timers while it
// is paused.
//
// It owns what a test gets and sees. It must not know what a step of a script does, which package play knows, nor judge a history, which package
// checker does.
package locktest

import (
	"context"
	"net"
	"time"

	"github.com/locklab/locklab/impls"
)

// Lock is one client's lock. It may also have the methods of Renewer, Checker, Limited or Fencer, and Close, which ends all that it has
// started. Env.Lock makes one of functions that return errors.
type Lock interface {
	// TryAcquire tries once, without waiting for the holder. It returns false, nil if another client has the lock.
	TryAcquire(ctx context.Context) (bool, error)
	// Release returns false, nil if the lock was not, or no longer, this client's.
	Release(ctx context.Context) (bool, error)
}

// Renewer is a Lock whose lease its client can prolong.
type Renewer interface {
	// Renew starts the lease anew. It returns false, nil if the lock is no longer this client's.
	Renew(ctx context.Context) (bool, error)
}

// Checker is a Lock that can ask its service whether it is still held.
type Checker interface {
	Held(ctx context.Context) (bool, error)
}

// Limited is a Lock that declares how long its hold is good.
type Limited interface {
	// Valid is the time until the hold ends, as the lock computes it; zero or less if it has ended.
	Valid() time.Duration
}

// Fencer is a Lock that issues a fencing token with each grant.
type Fencer interface {
	// Fence is the token of the last grant; zero before the first.
	Fence() int64
}

// Subject is a lock under test.
type Subject struct {
	// Name is the name of the lock that all clients open; empty: "lock".
	Name     string
	Promises Promises
	// New makes one client's lock, on a goroutine in the bubble. It may send commands. Explore calls it for several schedules at a time.
	New func(Env) (Lock, error)
	// Keys are the keys that the lock has on its server, if not just its name: []string{"mutex:orders"}. Its holder has all of them or, with Most,
	// more than half.
	Keys []string
	Most bool
	// Resends: the client library sends a command again when no reply comes, as go-redis does unless MaxRetries is -1.
	Resends bool
	// Leaseless: only a release frees the lock.
	Leaseless bool
	// Permits is how many clients may hold the lock at a time, if it is a semaphore.
	Permits int
	// Servers is how many lock servers the lock uses, if it is several of which a majority is enough.
	Servers int

	spec *impls.Spec // of a lock that OfSpec has; nil: there is none
}

// OfSpec is a lock that is written for impls.Env. It is measured by the promises of its card. Beside its Env it may use what it likes: goroutines, timers,
// clocks and chance of its own.
func OfSpec(spec impls.Spec) Subject {
	s := Subject{Name: spec.Name, Leaseless: spec.Leaseless, Permits: spec.Permits, Servers: spec.Servers, spec: &spec}
	s.New = func(env Env) (Lock, error) {
		return spec.New(env.env, impls.Options{Key: env.Name, Lease: env.Lease}), nil
	}
	return s
}

// Env is what a lock gets of a test. It belongs to one client's lock.
type Env struct {
	// Addrs are the addresses of the lock servers, which speak RESP2, without client-side caching.
	Addrs []string
	// Dial connects to them: go-redis's Dialer, rueidis's DialCtxFn, redigo's DialContextFunc.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Do sends a command to the first server without a connection: Explore comes through more schedules with it. It never sends one twice. The reply is
	// nil, a string, an int64, or an []any of these. An error with the method RedisError is the server's; after any other no reply has come.
	Do func(ctx context.Context, args ...any) (any, error)
	// Name is the name of the lock, and Client that of its client.
	Name, Client string
	// Lease is the time after which the server should free the lock.
	Lease time.Duration
	// Lost is to be called when the lock finds by itself that it is no longer held.
	Lost func(why string)
	// Renewed is to be called by a lock that declares its validity when a renewal in the background was confirmed.
	Renewed func(valid time.Duration)

	// awaits says whether a command has been sent, and its reply has not come.
	awaits func() bool
	env    impls.Env // for OfSpec
}
