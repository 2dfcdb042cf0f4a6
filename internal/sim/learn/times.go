package learn

import (
	"math"
	"time"
)

// MS is a time in milliseconds, mostly one from now.
type MS = int32

// Never does not come.
const Never MS = math.MaxInt32

func Duration(t MS) time.Duration { return time.Duration(t) * time.Millisecond }

// wholeMS rounds up: a wait is never shorter than it was meant to be.
func wholeMS(d time.Duration) MS {
	if whole := FullMS(d); Duration(whole) < d && whole < longest {
		return whole + 1
	}
	return FullMS(d)
}

// longest is the longest time that is told from a shorter one, and twice it can be counted. No search follows time so far.
const longest = Never / 2

// FullMS rounds toward zero.
func FullMS(d time.Duration) MS {
	return MS(max(min(d/time.Millisecond, time.Duration(longest)), -time.Duration(longest)))
}

// Lease is that of every lock in a search. Its third, tenth and twelfth part are whole milliseconds.
const Lease = 1200 * time.Millisecond
