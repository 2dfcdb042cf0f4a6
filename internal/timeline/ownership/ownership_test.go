package ownership

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

// But for the one thing that a case changes, the claim must be respected and the lock is rightfully the client's.
func TestClaim(t *testing.T) {
	held := Claim{Standing: Granted, Leased: true, Holds: true}
	tests := map[string]struct {
		change         func(*Claim)
		live, rightful bool
	}{
		"held":                     {func(*Claim) {}, true, true},
		"the lease has ended":      {func(c *Claim) { c.Leased = false }, false, false},
		"release was called":       {func(c *Claim) { c.Over = true }, false, true},
		"not believed any more":    {func(c *Claim) { c.Holds = false }, false, true},
		"crashed":                  {func(c *Claim) { c.Dead, c.Holds = true, false }, true, false},
		"pending":                  {func(c *Claim) { c.Standing, c.Holds = Pending, false }, true, false},
		"crashed while pending":    {func(c *Claim) { c.Standing, c.Dead, c.Holds = Pending, true, false }, false, false},
		"refused":                  {func(c *Claim) { c.Standing = Refused }, false, false},
		"its client does not know": {func(c *Claim) { c.Standing = Dubious }, false, false},
	}
	for name, test := range tests {
		c := held
		test.change(&c)
		assert.Equal(t, test.live, c.Live(), name)
		assert.Equal(t, test.rightful, c.Rightful(Key{There: true}), name)
	}
	assert.False(t, Claim{}.Live(), "there is no owner")
	for _, key := range []Key{{}, {There: true, Stale: true}, {There: true, Foreign: true}, {There: true, Quorum: true}} {
		assert.False(t, held.Rightful(key), "%+v", key)
	}
	ghost := Claim{Standing: Refused, Leased: true}
	assert.True(t, ghost.Ghost())
	for _, c := range []Claim{held, {Standing: Refused}, {Standing: Refused, Leased: true, Over: true}, {Standing: Refused, Leased: true, Dead: true}, {Standing: Refused, Leased: true, Holds: true}} {
		assert.False(t, c.Ghost(), "%+v", c)
	}
}

func TestChange(t *testing.T) {
	tests := []struct {
		command Command
		want    Change
	}{
		{Command{Effect: history.EffectNone, ByOwner: true}, Keep},
		{Command{Effect: history.EffectCreated}, Take},
		{Command{Effect: history.EffectRemoved}, Free},
		{Command{Effect: history.EffectRemoved, Foreign: true}, Keep},

		{Command{Effect: history.EffectReplaced, ByOwner: true, Live: true, Acquire: true}, Regain},
		{Command{Effect: history.EffectReplaced, ByOwner: true}, Regain},
		{Command{Effect: history.EffectReplaced, ByOwner: true, Acquire: true}, Take},
		{Command{Effect: history.EffectReplaced, Live: true}, Challenge},
		{Command{Effect: history.EffectReplaced}, Take},
		{Command{Effect: history.EffectReplaced, Live: true, Foreign: true, Standing: Pending}, Take},
		{Command{Effect: history.EffectReplaced, Foreign: true, Standing: Granted}, Take},
		{Command{Effect: history.EffectReplaced, Foreign: true, Standing: Refused}, Keep},
		{Command{Effect: history.EffectReplaced, Foreign: true, Standing: Dubious, ByOwner: true}, Keep},

		{Command{Effect: history.EffectReplaced, Counts: true, Acquire: true, Live: true, Standing: Pending}, Challenge},
		{Command{Effect: history.EffectReplaced, Counts: true, Acquire: true, Standing: Pending}, Challenge},
		{Command{Effect: history.EffectReplaced, Counts: true, Acquire: true, Live: true, Standing: Granted}, Keep},
		{Command{Effect: history.EffectReplaced, Counts: true, Acquire: true, Standing: Dubious}, Keep},
		{Command{Effect: history.EffectReplaced, Counts: true, Live: true}, Challenge},
		{Command{Effect: history.EffectReplaced, Counts: true}, Take},
		{Command{Effect: history.EffectReplaced, Counts: true, Acquire: true, ByOwner: true}, Take},
		{Command{Effect: history.EffectReplaced, Counts: true, Acquire: true, Foreign: true, Standing: Pending}, Take},

		{Command{Effect: history.EffectProlonged, ByOwner: true}, Extend},
		{Command{Effect: history.EffectProlonged}, Keep},
		{Command{Effect: history.EffectProlonged, ByOwner: true, Foreign: true}, Keep},
		{Command{Effect: history.EffectShortened}, Shorten},
		{Command{Effect: history.EffectShortened, Foreign: true}, Keep},

		{Command{Effect: history.EffectUnclear}, Free},
		{Command{Effect: history.EffectUnclear, Exists: true, SameValue: true, ByOwner: true}, Extend},
		{Command{Effect: history.EffectUnclear, Exists: true, SameValue: true}, Keep},
		{Command{Effect: history.EffectUnclear, Exists: true, SameValue: true, Acquire: true}, Take},
		{Command{Effect: history.EffectUnclear, Exists: true}, Take},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, test.command.Change(), "%+v", test.command)
	}
}

func TestEarlyGrantAndInterference(t *testing.T) {
	for effect, want := range map[history.Effect]struct{ early, interferes bool }{
		history.EffectNone: {}, history.EffectCreated: {true, false}, history.EffectReplaced: {true, true}, history.EffectRemoved: {false, true},
		history.EffectProlonged: {false, true}, history.EffectShortened: {}, history.EffectUnclear: {},
	} {
		c := Command{Effect: effect, Live: true, Standing: Pending}
		assert.Equal(t, want.early, c.EarlyGrant(), effect)
		if want.interferes {
			assert.Equal(t, effect, c.Interference(), effect)
		} else {
			assert.Equal(t, history.EffectNone, c.Interference(), effect)
		}
		c.Standing = Granted
		assert.False(t, c.EarlyGrant(), "no acquire is pending")
		for _, harmless := range []Command{{Effect: effect, Standing: Pending}, {Effect: effect, Live: true, ByOwner: true}} {
			assert.False(t, harmless.EarlyGrant() || harmless.Interference() != history.EffectNone, "%+v", harmless)
		}
	}
	foreign := Command{Effect: history.EffectReplaced, Live: true, Foreign: true}
	assert.True(t, foreign.EarlyGrant(), "the owner was told that it has the lock")
	assert.Equal(t, history.EffectNone, foreign.Interference(), "what was there was not the owner's")
}

// A refused acquire may count. What prolongs the lock of another client counts against it all the same, and so does what is no acquire.
func TestCounting(t *testing.T) {
	counts := Command{Effect: history.EffectReplaced, Live: true, Counts: true, Acquire: true, Standing: Pending}
	assert.True(t, counts.EarlyGrant(), "if it is granted")
	assert.Equal(t, history.EffectNone, counts.Interference())
	counts.Pending = true
	assert.False(t, counts.EarlyGrant(), "the owner has not been told that it has the lock")
	counts.Prolongs = true
	assert.Equal(t, history.EffectProlonged, counts.Interference())
	counts.Acquire = false
	assert.Equal(t, history.EffectReplaced, counts.Interference())
}

func TestRelease(t *testing.T) {
	tests := []struct {
		release                  Release
		unreleasable, falseAlarm bool
	}{
		{Release{Outcome: history.OK, Rightful: true}, true, false},
		{Release{Outcome: history.No, Rightful: true}, true, true},
		{Release{Outcome: history.Unknown, Rightful: true}, false, false},
		{Release{Outcome: history.OK}, false, false},
		{Release{Outcome: history.No}, false, false},
		{Release{Outcome: history.No, Removed: true}, false, true},
		{Release{Outcome: history.OK, Removed: true}, false, false},
		{Release{Outcome: history.Unknown, Removed: true}, false, false},
		{Release{Outcome: history.No, Rightful: true, Inner: true}, false, true},
		{Release{Outcome: history.No, Rightful: true, Changed: true}, false, false},
	}
	for _, test := range tests {
		assert.Equal(t, test.unreleasable, test.release.Unreleasable(), "%+v", test.release)
		assert.Equal(t, test.falseAlarm, test.release.FalseAlarm(), "%+v", test.release)
	}
}

func TestStaleWrite(t *testing.T) {
	mine := Write{Client: 1}
	assert.False(t, LatestGrant{}.Stale(mine), "the lock was never granted")
	assert.False(t, LatestGrant{Client: 1}.Stale(mine))
	assert.True(t, LatestGrant{Client: 1, Released: true}.Stale(mine))
	assert.True(t, LatestGrant{Client: 2}.Stale(mine))
	assert.True(t, LatestGrant{Client: 2, Released: true}.Stale(mine))
	assert.False(t, LatestGrant{Client: 2}.Stale(Write{Client: 1, MayOwn: true}), "it may own the lock by now")
	assert.True(t, LatestGrant{Client: 1, Released: true}.Stale(Write{Client: 1, MayOwn: true}))
	assert.False(t, LatestGrant{Client: 1, Released: true}.Stale(Write{Client: 1, Same: true}), "a copy of what it wrote in its turn")
	assert.True(t, LatestGrant{Client: 1, Released: true}.Stale(Write{Client: 1, Same: true, Passed: true}), "another has had a turn in between")
	assert.True(t, LatestGrant{Client: 2}.Stale(Write{Client: 1, Same: true}), "it is another's turn")
}
