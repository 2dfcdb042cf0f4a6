package history

import (
	"strings"
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

func TestCounts(t *testing.T) {
	number := func(n string, ttl time.Duration) State { return State{Type: "string", Value: n, TTL: ttl} }
	tests := map[string]struct {
		before, after     State
		counts, prolonged bool
	}{
		"up":                    {number("1", time.Second), number("2", time.Second), true, false},
		"down below 0":          {number("0", 0), number("-1", 0), true, false},
		"time passes":           {number("1", time.Second), number("2", time.Second-time.Millisecond), true, false},
		"and prolongs":          {number("1", time.Second), number("2", 2*time.Second), true, true},
		"and shortens":          {number("1", 2*time.Second), number("2", time.Second), false, false},
		"and sets an expiry":    {number("1", 0), number("2", time.Second), false, false},
		"and removes it":        {number("1", time.Second), number("2", 0), true, true},
		"by two":                {number("1", 0), number("3", 0), false, false},
		"not at all":            {number("1", 0), number("1", 0), false, false},
		"a token":               {number("a", 0), number("2", 0), false, false},
		"a time in seconds":     {number("1790000001", 0), number("1790000002", 0), false, false},
		"what was not there":    {State{}, number("1", 0), false, false},
		"a list of that length": {State{Type: "list", Value: "1"}, State{Type: "list", Value: "2"}, false, false},
	}
	for name, test := range tests {
		change := Change{Before: test.before, After: test.after}
		for _, args := range []string{"INCR k", "incr k", "DECR k", "INCRBY k 1", "DECRBY k -1", "INCRBYFLOAT k 1", "EVAL x 1 k", "EVALSHA x 1 k", "FCALL f 1 k", "EXEC"} {
			counts, prolonged := change.CountedBy(strings.Fields(args), 0)
			assert.Equal(t, [...]bool{test.counts, test.prolonged}, [...]bool{counts, prolonged}, "%s by %s", name, args)
		}
		for _, args := range []string{"", "SET k 2 KEEPTTL", "SET k 2 XX", "GETSET k 2", "SETRANGE k 0 2", "MSET k 2", "APPEND k 0", "INCREASE k"} {
			counts, prolonged := change.CountedBy(strings.Fields(args), 0)
			assert.Equal(t, [2]bool{}, [...]bool{counts, prolonged}, "%s by %s", name, args)
		}
	}
}
