// Package impls holds the locks under test: a file for each, or for variants of one, with a card (source, promises, needs), in an explicit list.
//
// It owns the contracts Lock and Env. A lock must not use clocks, servers, tokens or goroutines except through its Env. So the same code
// runs in a client process against a real Redis and, under a scheduler that makes every choice, in the formal model.
package impls

import (
	"context"
	"time"
)

// Lock is one client's view of one named lock. One goroutine at a time uses it; background tasks (a watchdog) start with Env.Go.
//
// Classify maps an operation's error to its outcome.
type Lock interface {
	// TryAcquire tries once, without waiting for the holder. It returns false, nil if another client has the lock.
	TryAcquire(ctx context.Context) (bool, error)
	// Release releases the lock. It returns false, nil if the lock was not (or no longer) this client's.
	Release(ctx context.Context) (bool, error)
}

// Stateful is a lock that says what it keeps. That declares that it keeps the contract of Env, too: it is deterministic, and has time, chance and goroutines
// from its Env only. An exploration shows no lock to hold that does not declare it.
type Stateful interface {
	// State is all that the lock keeps and that its next operations depend on, in its fields, in Env.Shared or elsewhere: numbers, strings, times, or a struct
	// or an array of these; what it has from its clock is a Reading. After equal states the lock does the same. State is asked between two operations, also
	// while a background task waits. It must neither change anything nor ask a server, a clock or for a token.
	State() any
}

// Reading is a time by the lock's clock, in its State. A search may take it as the difference from now: whoever read the same an hour later then has the
// same state.
type Reading time.Duration

// Renewer is a lock whose lease its client can prolong.
type Renewer interface {
	// Renew starts the lease anew. It returns false, nil if the lock is no longer this client's.
	Renew(ctx context.Context) (bool, error)
}

// Checker is a lock that can check whether it is still held.
type Checker interface {
	// Held asks the lock service. It returns false, nil if the lock is not this client's.
	Held(ctx context.Context) (bool, error)
}

// Limited is a lock that declares the validity of its hold.
type Limited interface {
	// Valid is the time until the hold ends, as the lock computes it; zero or less if it has ended.
	Valid() time.Duration
}

// Fencer is a lock that issues a fencing token with each grant.
type Fencer interface {
	// Fence is the token of the last grant; zero before the first.
	Fence() int64
}

// Hinter is a lock whose refusal carries the rest of the holder's lease.
type Hinter interface {
	// RetryAfter is the rest that the last refused try read; zero: unknown.
	RetryAfter() time.Duration
}

// Waker is a lock whose release wakes waiters.
type Waker interface {
	// Wakeups subscribes to the releases that concern this client.
	Wakeups(ctx context.Context) (Subscription, error)
}

// Patient is a lock that must know when its client waits, because it queues or keeps a connection meanwhile.
type Patient interface {
	// Enter is called before the first try of an acquire that will wait.
	Enter(ctx context.Context) error
	// Leave is called after the last try, if Enter succeeded. held is the result of the acquire; ctx may have ended. After an error the
	// service may still have the client's request, so that the answer to the acquire cannot be no.
	Leave(ctx context.Context, held bool) error
}

// SelfTimed is a lock that decides itself when a wait is over.
type SelfTimed interface {
	// WaitedEnough is called after each refused try; began is when the acquire began by the client's clock, within how long it may wait.
	WaitedEnough(began time.Time, within time.Duration) bool
}

// Paced is a lock whose source says how long a waiter pauses.
type Paced interface {
	// Pause is the sleep before the next try; waited is the time since the wait began. Zero only lets others run.
	Pause(waited time.Duration) time.Duration
}

// NoPause is the pause of a waiter that does not even let others run.
const NoPause = time.Duration(-1)

// Blocking is a lock that waits by itself.
type Blocking interface {
	// Acquire waits until the lock is granted, patience ends or an error occurs. ctx is that of its requests, and patience ends with it.
	Acquire(ctx, patience context.Context) (bool, error)
}

// Connected is a lock of a program of its own that connects to its service by itself, at Options.Service, and not by Env.
type Connected interface {
	// Connect makes the lock's connections, or replaces those that are broken. It returns when they work. They end with the lock.
	Connect(ctx context.Context) error
}

// Env is a lock's only access to the world. One Env belongs to one Lock.
type Env interface {
	// Server is the lock service, or the first of several.
	Server() Server
	// Servers are all of them, in an order that is the same for every client.
	Servers() []Server
	// Session is the client's session with the lock service, if that is a ZooKeeper; else nil.
	Session() Session
	// Now reads the wall clock of the client, which has an offset and a rate of its own and can be set ahead or back at any time. It never
	// reads a time before 1970.
	Now() time.Time
	// Monotonic reads the monotonic clock of the client: the time since a moment that another machine does not share. It has the rate of the
	// wall clock and never steps.
	Monotonic() time.Duration
	// Sleep waits for d by the client's clock, or until ctx ends; then it returns the context's error.
	Sleep(ctx context.Context, d time.Duration) error
	// WithTimeout is context.WithTimeout by the client's clock; the context ends with the lock, too.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Token returns a value that is unique among all clients.
	Token() string
	// Go runs fn beside the lock's operations. The context given to fn ends when the lock is closed or stop is called; stop
	// waits until fn has returned.
	Go(fn func(ctx context.Context)) (stop func())
	// Shared is state that all locks of this client process share: the result of make at the first call with the key. The value must be
	// safe for concurrent use and must never block: to wait, a lock sleeps and polls. A lock whose source keeps state by lock object or by
	// thread puts the name of that into the key: one Lock may be another thread's view of an object, or an object's view of another key.
	Shared(key string, make func() any) any
	// Object names the lock object of the process that the client uses.
	Object() string
	// Thread names the thread of the process that uses it.
	Thread() string
	// Lost tells the client that the lock is no longer held, and why.
	Lost(why string)
	// Renewed tells the client that a background renewal was confirmed: the hold is valid for d from now.
	Renewed(d time.Duration)
}

// Options are the client's choices.
type Options struct {
	Key string
	// Lease is the time after which the server frees the lock. Leaseless locks ignore it.
	Lease time.Duration
	// Service is the address of the lock's service, for a lock that is Connected.
	Service string
	// Bugs selects among the lock's published bugs; nil: the default ones.
	Bugs []string
}
