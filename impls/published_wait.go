package impls

import "time"

// bugWallClock is a bug of all published code that waits.
const bugWallClock = "wall-clock"

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
