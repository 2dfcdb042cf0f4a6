package overlap

import (
	"cmp"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// validUntil is the earliest end of a hold that a client declared, at from or later, to be good for so long by its own clock: it may have rounded.
func (r *Reader) validUntil(client string, from, valid time.Duration) time.Duration {
	if speed := r.drift[history.ProcessOf(client)]; speed != 0 {
		valid = stretched(valid, 1/speed)
	}
	return from + valid - 2*time.Millisecond
}

// stretched is a length of time times a factor, or a century.
func stretched(d time.Duration, by float64) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	if long := float64(d) * by; long < float64(century) {
		return time.Duration(long)
	}
	return century
}

// drifts takes in that a process's clock runs faster or slower from now on, and with it what is left of the holds in it. A clock that is
// to run faster does so when that is ordered, at the earliest; one that is to run slower when that was seen.
func (r *Reader) drifts(e *history.Event) {
	f := e.Fault()
	if f == nil || faults.Kind(f.Name).Of().Kind != faults.Skew || f.Phase == history.PhaseRecover {
		return
	}
	before, after := cmp.Or(r.drift[f.Target], 1), faults.ClockRate(f.What)
	if after == before || after < before && f.Phase != history.PhaseEffective {
		return
	}
	r.drift[f.Target] = after
	for _, lock := range r.order {
		for client, h := range lock.Holders {
			if history.ProcessOf(client) != f.Target {
				continue
			}
			if r.lapse(h, lock, e.At); h.Active && h.Ends != Never {
				h.Ends = e.At + stretched(h.Ends-e.At, before/after)
			}
		}
	}
}
