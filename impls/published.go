package impls

import "time"

// What a lock keeps in a static variable or in a field of its lock object has the same scope here, and a thread-local has the thread in its name. The
// name says whose it is; fresh makes the first value.

// static is a static variable: the process has one.
func static[T any](env Env, name string, fresh func() *T) *T {
	return env.Shared(name, func() any { return fresh() }).(*T)
}

// field is an instance field: each lock object has one.
func field[T any](env Env, name string, fresh func() *T) *T {
	return static(env, name+" of object "+env.Object(), fresh)
}

// zero makes a zero value.
func zero[T any]() *T { return new(T) }

// wallLeaseBug is the bug wall-clock of a lock that counts its lease itself; where says whose it is.
func wallLeaseBug(where string) Bug {
	return Bug{
		Name: bugWallClock, What: where + "it counts its lease by its wall clock: set back, the hold outlives the lease", Apart: true,
	}
}

// leaseClock is what a lock counts its lease by: the monotonic clock or, with the bug, the wall clock.
type leaseClock struct {
	env  Env
	bugs bugs
}

// now is a time that only readings of this clock can be compared with.
func (c leaseClock) now() time.Duration {
	if c.bugs.has(bugWallClock) {
		return time.Duration(c.env.Now().UnixNano())
	}
	return c.env.Monotonic()
}

// Bugs of several locks.
const (
	bugWallClock = "wall-clock"      // of all published code that waits
	bugSwallowed = "swallowed-error" // of the code published with articles 001 and 002
)

// wallClockBug is the bug in one line.
func wallClockBug() Bug {
	return Bug{Name: bugWallClock, What: "a client measures its wait by its wall clock: set back, it waits too long; set ahead, it gives up early"}
}

// wallClock times its client's wait by the client's clock. A lock with the bug embeds it.
type wallClock struct{ clock Env }

// WaitedEnough is the bug: the wall clock may be set back or ahead.
func (w wallClock) WaitedEnough(began time.Time, within time.Duration) bool {
	return w.clock.Now().Sub(began) >= within
}

// spins is a lock whose waiters try again at once, as both of article 004 do.
type spins struct{ Lock }

// Pause is none.
func (spins) Pause(time.Duration) time.Duration { return NoPause }

// spinning is a lock of article 004 as its code waits.
func spinning(lock Lock, env Env, bugs bugs) Lock {
	if bugs.has(bugWallClock) {
		return &struct {
			spins
			wallClock
		}{spins{lock}, wallClock{env}}
	}
	return &spins{lock}
}
