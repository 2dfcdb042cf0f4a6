package history

import (
	"strconv"
	"strings"
	"time"
)

// Effect is what a command did to one key, as far as the state probes around it can tell.
type Effect uint8

// The effects. EffectUnclear means that the key changed, by the command or by its expiry.
const (
	EffectNone Effect = iota
	EffectCreated
	EffectRemoved
	EffectReplaced  // another value, or another type
	EffectProlonged // same value, more time left, or the expiry removed
	EffectShortened // same value, an expiry set or brought forward
	EffectUnclear
)

// ExpiryMargin is added to the time between the two state probes before a change is attributed to a command. Without it a key's expiry is
// attributed to commands: every such case measured had at most 1 ms left.
const ExpiryMargin = 2 * time.Millisecond

// ttlGrain is how far two PTTL answers may differ by rounding alone.
const ttlGrain = 2 * time.Millisecond

// Effect tells what the command did to the key of the change; asked is Command.Asked.
func (c Change) Effect(asked time.Duration) Effect {
	before, after := c.Before, c.After
	switch {
	case !before.Exists() && !after.Exists():
		return EffectNone
	case !before.Exists():
		return EffectCreated
	case !c.survives(asked):
		return c.nearExpiry()
	case !after.Exists():
		return EffectRemoved
	case before.Type != after.Type || before.Value != after.Value:
		return EffectReplaced
	}
	return ttlEffect(before.TTL, after.TTL, asked)
}

// survives says whether the key would certainly have outlived both probes without a command.
func (c Change) survives(asked time.Duration) bool {
	return c.Before.TTL == 0 || c.Before.TTL > asked+ExpiryMargin
}

// nearExpiry is the effect on a key that may have expired meanwhile.
func (c Change) nearExpiry() Effect {
	if c.Before == c.After {
		return EffectNone
	}
	sameValue := c.Before.Type == c.After.Type && c.Before.Value == c.After.Value
	if sameValue && c.After.TTL != 0 && c.After.TTL <= c.Before.TTL {
		return EffectNone
	}
	return EffectUnclear
}

// mostCounted is how far a number is taken for a count. Times and random tokens are larger.
const mostCounted = 999_999

// CountedBy says whether the command that replaced the key's value only counted, see Counts. What a script, a function or a transaction did is not on
// record: each may have read the number in the same step. args are Command.Args, asked is Command.Asked.
func (c Change) CountedBy(args []string, asked time.Duration) (counts, prolonged bool) {
	if len(args) == 0 {
		return false, false
	}
	switch strings.ToUpper(args[0]) {
	case "INCR", "DECR", "INCRBY", "DECRBY", "INCRBYFLOAT", "EVAL", "EVALSHA", "FCALL", "EXEC":
		return c.Counts(asked)
	}
	return false, false
}

// Counts says whether the change may be that of a count, whatever the command was: a number became the next or the one before, and the lease was not shortened. prolonged says
// whether there is more time left than before.
func (c Change) Counts(asked time.Duration) (counts, prolonged bool) {
	before, is := c.Before.Count()
	after, still := c.After.Count()
	if !is || !still || before-after != 1 && after-before != 1 {
		return false, false
	}
	lease := ttlEffect(c.Before.TTL, c.After.TTL, asked)
	return lease != EffectShortened, lease == EffectProlonged
}

// Count is the number that a key holds, if it may be a count.
func (s State) Count() (n int, is bool) {
	if s.Type != "string" {
		return 0, false
	}
	n, err := strconv.Atoi(s.Value)
	if err != nil || n < -mostCounted || n > mostCounted {
		return 0, false
	}
	return n, true
}

func ttlEffect(before, after, asked time.Duration) Effect {
	switch {
	case before == after:
		return EffectNone
	case after == 0:
		return EffectProlonged
	case before == 0:
		return EffectShortened
	case after > before+ttlGrain:
		return EffectProlonged
	case after < before-asked-ttlGrain:
		return EffectShortened
	}
	return EffectNone
}
