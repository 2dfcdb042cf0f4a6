package overlap

import (
	"time"

	"github.com/locklab/locklab/history"
)

// What a command did, by the second judge's own reading and arithmetic. It shares no line with history.Change.Effect and timeline.AcceptedWrite,
// so that a mistake in either is one that the judges disagree on.

// ProbeRoom is how much longer than the time between the two probes a key must have had to live, and how far two of their answers may differ by
// rounding.
const ProbeRoom = 2 * time.Millisecond

// EffectOn is what a command did to a key, with so much time between the probes before and after it.
func EffectOn(c *history.Change, asked time.Duration) history.Effect {
	was, is := &c.Before, &c.After
	had, has := was.Type != "", is.Type != ""
	kept := was.Type == is.Type && was.Value == is.Value
	switch {
	case !had && has:
		return history.EffectCreated
	case !had:
		return history.EffectNone
	case was.TTL != 0 && was.TTL <= asked+ProbeRoom: // it may have expired by itself
		if kept && (is.TTL == was.TTL || is.TTL != 0 && is.TTL < was.TTL) {
			return history.EffectNone
		}
		return history.EffectUnclear
	case !has:
		return history.EffectRemoved
	case !kept:
		return history.EffectReplaced
	}
	return EffectOnLease(was.TTL, is.TTL, asked)
}

// EffectOnLease is what became of the time that a key has left; zero: it does not expire.
func EffectOnLease(was, is, asked time.Duration) history.Effect {
	if was == 0 || is == 0 {
		switch {
		case was != 0:
			return history.EffectProlonged
		case is != 0:
			return history.EffectShortened
		}
		return history.EffectNone
	}
	switch gained := is - was; {
	case gained > ProbeRoom:
		return history.EffectProlonged
	case gained+asked < -ProbeRoom:
		return history.EffectShortened
	}
	return history.EffectNone
}
