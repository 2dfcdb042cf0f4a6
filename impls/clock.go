package impls

import "time"

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
