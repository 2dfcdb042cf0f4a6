package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestEffect(t *testing.T) {
	const ms = time.Millisecond
	held := func(value string, ttl time.Duration) State { return State{Type: "string", Value: value, TTL: ttl} }
	var absent State
	for name, c := range map[string]struct {
		before, after State
		asked         time.Duration
		want          Effect
	}{
		"nothing there":              {absent, absent, ms, EffectNone},
		"created":                    {absent, held("a", 100*ms), ms, EffectCreated},
		"untouched":                  {held("a", 100*ms), held("a", 99*ms), ms, EffectNone},
		"untouched without expiry":   {held("a", 0), held("a", 0), ms, EffectNone},
		"removed":                    {held("a", 100*ms), absent, ms, EffectRemoved},
		"removed without expiry":     {held("a", 0), absent, ms, EffectRemoved},
		"gone near its expiry":       {held("a", 3*ms), absent, ms, EffectUnclear},
		"just far enough":            {held("a", 3*ms+1), absent, ms, EffectRemoved},
		"slow questions":             {held("a", 100*ms), absent, 99 * ms, EffectUnclear},
		"replaced":                   {held("a", 100*ms), held("b", 100*ms), ms, EffectReplaced},
		"replaced by another type":   {held("a", 0), State{Type: "hash", Value: "a"}, ms, EffectReplaced},
		"another value near expiry":  {held("a", 2*ms), held("b", 100*ms), ms, EffectUnclear},
		"same value near expiry":     {held("a", 3*ms), held("a", 2*ms), ms, EffectNone},
		"unchanged near expiry":      {held("a", 3*ms), held("a", 3*ms), ms, EffectNone},
		"prolonged near expiry":      {held("a", 3*ms), held("a", 100*ms), ms, EffectUnclear},
		"prolonged":                  {held("a", 50*ms), held("a", 100*ms), ms, EffectProlonged},
		"prolonged for ever":         {held("a", 50*ms), held("a", 0), ms, EffectProlonged},
		"rounding up":                {held("a", 50*ms), held("a", 52*ms), ms, EffectNone},
		"an expiry set":              {held("a", 0), held("a", 100*ms), ms, EffectShortened},
		"shortened":                  {held("a", 100*ms), held("a", 50*ms), ms, EffectShortened},
		"older by the questions":     {held("a", 100*ms), held("a", 95*ms), 5 * ms, EffectNone},
		"brought forward below that": {held("a", 100*ms), held("a", 92*ms), 5 * ms, EffectShortened},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, Change{Before: c.before, After: c.after}.Effect(c.asked))
		})
	}
}

// Nobody is accused of what expiry alone can do: a key that only ages, and goes when its time is over.
func TestExpiryAloneIsNobodysDeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ttl := time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "ttl"))
		asked := time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "asked"))
		passed := time.Duration(rapid.Int64Range(0, int64(asked)).Draw(t, "passed"))
		milli := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
		change := Change{Before: State{Type: "string", Value: "a", TTL: milli(ttl)}}
		if passed < ttl {
			change.After = State{Type: "string", Value: "a", TTL: milli(ttl - passed)}
		}
		if !change.Before.Exists() || change.Before.TTL == 0 || change.After.Exists() && change.After.TTL == 0 {
			t.Skip("PTTL answers at least one millisecond")
		}
		assert.Contains(t, []Effect{EffectNone, EffectUnclear}, change.Effect(asked))
	})
}
