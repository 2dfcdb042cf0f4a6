// Package impls holds the locks under test: one file each, with a card (source, promises, needs), in an explicit list.
//
// It owns the contracts Lock and Env. A lock touches the world through its Env only: it must not know a clock, a network, a server or
// a goroutine of its own. So the same code runs in a client process against a real Redis and, under a scheduler that owns every
// choice, in the formal model.
package impls

import (
	"context"
	"time"
)

// Lock is one client's view of one named lock. A Lock is used by one goroutine at a time; what runs beside it (a watchdog) is
// started with Env.Go.
//
// An operation that ends with an error has an outcome of its own: see Classify.
type Lock interface {
	// TryAcquire tries once, without waiting for the holder. It returns false, nil if somebody else has the lock.
	TryAcquire(ctx context.Context) (bool, error)
	// Release gives the lock up. It returns false, nil if the lock was not (or no longer) this client's.
	Release(ctx context.Context) (bool, error)
}

// Renewer is a lock whose lease its user can prolong.
type Renewer interface {
	// Renew starts the lease anew. It returns false, nil if the lock is no longer this client's.
	Renew(ctx context.Context) (bool, error)
}

// Checker is a lock that can be asked whether it is still held.
type Checker interface {
	// Held asks the lock service. It returns false, nil if the lock is not this client's.
	Held(ctx context.Context) (bool, error)
}

// Limited is a lock that declares for how long its hold is good.
type Limited interface {
	// Valid is the time left until the hold ends by the lock's own account; zero or less if it has ended.
	Valid() time.Duration
}

// Fencer is a lock that hands out a number with each grant, which grows with every grant.
type Fencer interface {
	// Fence is the number of the last grant; zero before the first.
	Fence() int64
}

// Hinter is a lock that knows, when it refuses, how long the holder's lease still runs.
type Hinter interface {
	// RetryAfter is what the last refused try was told; zero: nothing.
	RetryAfter() time.Duration
}

// Waker is a lock whose release wakes those who wait for it.
type Waker interface {
	// Wakeups subscribes to the releases that concern this client.
	Wakeups(ctx context.Context) (Subscription, error)
}

// Patient is a lock that must know that its user is going to wait, because it queues or keeps a connection meanwhile.
type Patient interface {
	// Enter is called before the first try of an acquire that will wait.
	Enter(ctx context.Context) error
	// Leave is called after its last try, if Enter succeeded. held is what the acquire came to; ctx may have ended.
	Leave(ctx context.Context, held bool)
}

// SelfTimed is a lock that decides itself when its user has waited for long enough.
type SelfTimed interface {
	// WaitedEnough is asked after each refused try of an acquire that began at a time of the client's clock, and is to wait for so long.
	WaitedEnough(began time.Time, within time.Duration) bool
}

// Env is all that a lock may touch. One Env belongs to one Lock.
type Env interface {
	// Server is the lock service, or the first of several.
	Server() Server
	// Servers are all of them, in an order that is the same for every client.
	Servers() []Server
	// Now reads the client's clock, which may be wrong (that is the point): it has an offset and a rate of its own. It never
	// reads a time before 1970.
	Now() time.Time
	// Sleep waits for d by the client's clock, or until ctx ends; then it returns the context's error.
	Sleep(ctx context.Context, d time.Duration) error
	// WithTimeout is context.WithTimeout by the client's clock; the context ends with the lock, too.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Token returns a value that no other call in any client returns.
	Token() string
	// Go runs fn beside the lock's operations. The context given to fn ends when the lock is closed or stop is called; stop
	// waits until fn has returned.
	Go(fn func(ctx context.Context)) (stop func())
	// Shared is state that all locks of this client process have in common: what make returned when the key was first asked for.
	// The value must be safe for concurrent use and must never block: who has to wait for another sleeps and looks again.
	Shared(key string, make func() any) any
	// Lost tells the lock's user that it is no longer held, and why.
	Lost(why string)
	// Renewed tells that the hold is good for d from now: a renewal in the background has been confirmed.
	Renewed(d time.Duration)
}

// Options are what the user of a lock chooses.
type Options struct {
	Key string
	// Lease is the time after which the service frees the lock by itself. Locks that have none ignore it.
	Lease time.Duration
	// Bugs are the published bugs that the lock is to show; nil: those that it shows by default. Locks without a choice ignore it.
	Bugs []string
}
