package checker

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// What a command did, by the second judge's own reading and arithmetic. It shares no line with history.Change.Effect and timeline.AcceptedWrite,
// so that a mistake in either is one that the judges disagree on.

// probeRoom is how much longer than the time between the two probes a key must have had to live, and how far two of their answers may differ by
// rounding.
const probeRoom = 2 * time.Millisecond

// effectOn is what a command did to a key, with so much time between the probes before and after it.
func effectOn(c *history.Change, asked time.Duration) history.Effect {
	was, is := &c.Before, &c.After
	had, has := was.Type != "", is.Type != ""
	kept := was.Type == is.Type && was.Value == is.Value
	switch {
	case !had && has:
		return history.EffectCreated
	case !had:
		return history.EffectNone
	case was.TTL != 0 && was.TTL <= asked+probeRoom: // it may have expired by itself
		if kept && (is.TTL == was.TTL || is.TTL != 0 && is.TTL < was.TTL) {
			return history.EffectNone
		}
		return history.EffectUnclear
	case !has:
		return history.EffectRemoved
	case !kept:
		return history.EffectReplaced
	}
	return effectOnLease(was.TTL, is.TTL, asked)
}

// counters are the commands that may count in one step: those of one number, and those of which the record does not show what they did.
const counters = "INCR INCRBY INCRBYFLOAT DECR DECRBY EVAL EVALSHA FCALL EXEC"

// countsOn says whether a command that put another value in the place of a key's counted one up or down, without taking time from it, and whether
// it gave it more.
func countsOn(c *history.Command, change *history.Change) (counts, longer bool) {
	if len(c.Args) == 0 || !slices.Contains(strings.Fields(counters), strings.ToUpper(c.Args[0])) {
		return false, false
	}
	was, is := &change.Before, &change.After
	const digits = 6 // a time has more
	from, err := strconv.Atoi(was.Value)
	to, err2 := strconv.Atoi(is.Value)
	if was.Type != "string" || is.Type != "string" || err != nil || err2 != nil || len(strings.TrimLeft(was.Value, "-")) > digits || len(strings.TrimLeft(is.Value, "-")) > digits {
		return false, false
	}
	lease := effectOnLease(was.TTL, is.TTL, c.Asked)
	return (to == from+1 || to == from-1) && lease != history.EffectShortened, lease == history.EffectProlonged
}

// effectOnLease is what became of the time that a key has left; zero: it does not expire.
func effectOnLease(was, is, asked time.Duration) history.Effect {
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
	case gained > probeRoom:
		return history.EffectProlonged
	case gained+asked < -probeRoom:
		return history.EffectShortened
	}
	return history.EffectNone
}

// readers are the commands that change nothing.
const readers = " GET MGET STRLEN EXISTS TTL PTTL EXPIRETIME PEXPIRETIME TYPE OBJECT HGET HMGET HGETALL HEXISTS HLEN LRANGE LLEN LINDEX SISMEMBER SMEMBERS " +
	"SCARD ZSCORE ZRANGE ZRANK ZCARD WATCH UNWATCH MULTI DISCARD EVAL_RO EVALSHA_RO FCALL_RO "

// writes says whether the resource carried out a command that may have written.
func writes(c *history.Command) bool {
	if len(c.Args) == 0 {
		return false
	}
	name := strings.ToUpper(c.Args[0])
	switch {
	case c.Reply == "", c.Reply[0] == '-', c.Reply == "QUEUED": // not answered, refused, to be done by EXEC
		return false
	case name == "EXEC" && c.Reply == "nil": // what was watched had changed
		return false
	case len(c.Args) == 5 && strings.Contains(" EVAL EVALSHA FCALL ", " "+name+" ") && c.Args[2] == "1" && strings.Contains(c.Args[3]+":", ":fence:"):
		return false // it shows a fence
	}
	return !strings.Contains(readers, " "+name+" ")
}

// keepsValues says whether the values after a command are known to be those before it.
func keepsValues(c *history.Command) bool {
	for _, ch := range c.Changes {
		if ch.Before.Value != ch.After.Value || ch.Before.Exists() != ch.After.Exists() {
			return false
		}
	}
	return len(c.Changes) > 0
}
