package second

import (
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// What a command counted or wrote, by the second judge's own reading. It shares no line with history.Change.CountedBy and timeline.AcceptedWrite, so that
// a mistake in either is one that the judges disagree on.

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
	lease := overlap.EffectOnLease(was.TTL, is.TTL, c.Asked)
	return (to == from+1 || to == from-1) && lease != history.EffectShortened, lease == history.EffectProlonged
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
