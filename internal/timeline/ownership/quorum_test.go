package ownership

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

func TestPart(t *testing.T) {
	tests := []struct {
		part Part
		want Change
	}{
		{Part{Effect: history.EffectNone, Own: true}, Keep},
		{Part{Effect: history.EffectCreated}, Take},
		{Part{Effect: history.EffectReplaced, Own: true, Again: true, Acquire: true}, Extend},
		{Part{Effect: history.EffectReplaced, Own: true}, Extend},
		{Part{Effect: history.EffectReplaced, Own: true, Acquire: true}, Take},
		{Part{Effect: history.EffectReplaced, Again: true}, Take},
		{Part{Effect: history.EffectProlonged, Own: true}, Extend},
		{Part{Effect: history.EffectProlonged}, Keep},
		{Part{Effect: history.EffectShortened}, Shorten},
		{Part{Effect: history.EffectRemoved, Own: true}, Keep},
		{Part{Effect: history.EffectUnclear, Own: true, SameValue: true}, Extend},
		{Part{Effect: history.EffectUnclear, SameValue: true}, Keep},
		{Part{Effect: history.EffectUnclear, SameValue: true, Acquire: true}, Take},
		{Part{Effect: history.EffectUnclear}, Take},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, test.part.Change(), "%+v", test.part)
	}
}

func TestSwing(t *testing.T) {
	tests := []struct {
		swing   Swing
		want    history.Effect
		extends bool
	}{
		{Swing{Effect: history.EffectCreated}, history.EffectNone, false},
		{Swing{Effect: history.EffectCreated, Wins: true}, history.EffectCreated, false},
		{Swing{Effect: history.EffectReplaced, Wins: true, Had: true}, history.EffectReplaced, false},
		{Swing{Effect: history.EffectReplaced, Wins: true, Had: true, Own: true}, history.EffectCreated, false},
		{Swing{Effect: history.EffectRemoved, Had: true}, history.EffectRemoved, false},
		{Swing{Effect: history.EffectRemoved, Had: true, Has: true}, history.EffectNone, false},
		{Swing{Effect: history.EffectRemoved, Had: true, Own: true}, history.EffectUnclear, false},
		{Swing{Effect: history.EffectReplaced, Had: true}, history.EffectReplaced, false},
		{Swing{Effect: history.EffectShortened, Had: true}, history.EffectNone, false},
		{Swing{Effect: history.EffectProlonged, Had: true, Has: true, Own: true}, history.EffectNone, true},
		{Swing{Effect: history.EffectProlonged, Had: true, Has: true}, history.EffectNone, false},
		{Swing{Effect: history.EffectProlonged, Had: true, Has: true, Prolongs: true}, history.EffectProlonged, false},
		{Swing{Effect: history.EffectProlonged, Had: true, Has: true, Prolongs: true, Own: true}, history.EffectNone, true},
		{Swing{Effect: history.EffectProlonged, Prolongs: true}, history.EffectNone, false},
		{Swing{Effect: history.EffectReplaced, Had: true, Has: true, Own: true}, history.EffectReplaced, true},
		{Swing{Effect: history.EffectNone, Had: true, Has: true, Own: true}, history.EffectNone, false},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, test.swing.Whole(), "%+v", test.swing)
		assert.Equal(t, test.extends, test.swing.Extends(), "%+v", test.swing)
	}
}

func TestWholeChange(t *testing.T) {
	tests := []struct {
		effect              history.Effect
		own, live, majority bool
		want                Change
	}{
		{history.EffectNone, false, true, true, Keep},
		{history.EffectCreated, false, true, true, Take},
		{history.EffectReplaced, true, true, true, Keep},
		{history.EffectReplaced, false, true, true, Challenge},
		{history.EffectReplaced, false, false, true, Take},
		{history.EffectReplaced, false, false, false, Free},
		{history.EffectRemoved, false, true, false, Free},
		{history.EffectUnclear, true, true, false, Free},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, WholeChange(test.effect, test.own, test.live, test.majority), "%+v", test)
	}
}

func TestFreed(t *testing.T) {
	for _, test := range []struct {
		servers, need int
		want          bool
	}{{0, 1, false}, {1, 1, true}, {1, 2, false}, {2, 2, true}, {3, 2, true}, {2, 3, false}} {
		assert.Equal(t, test.want, Freed(test.servers, test.need), "%+v", test)
	}
}
