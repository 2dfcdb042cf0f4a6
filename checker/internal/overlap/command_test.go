package overlap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/history"
)

// The judges read the effect of a command by arithmetic of their own, and come to the same.
func TestBothJudgesReadTheSameEffects(t *testing.T) {
	seen := make(map[history.Effect]int)
	rapid.Check(t, func(t *rapid.T) {
		left := rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(1, 40).Draw(t, "tenths of milliseconds")) * 100 * time.Microsecond
		}))
		state := rapid.Custom(func(t *rapid.T) history.State {
			kind := rapid.SampledFrom([]string{"", "string", "string", "hash"}).Draw(t, "type")
			if kind == "" {
				return history.State{}
			}
			return history.State{Type: kind, Value: rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "value"), TTL: left.Draw(t, "left")}
		})
		c := history.Change{Key: "k", Before: state.Draw(t, "before"), After: state.Draw(t, "after")}
		asked := left.Draw(t, "asked")
		effect := EffectOn(&c, asked)
		seen[effect]++
		require.Equal(t, c.Effect(asked), effect)
	})
	for _, effect := range []history.Effect{history.EffectNone, history.EffectCreated, history.EffectRemoved, history.EffectReplaced,
		history.EffectProlonged, history.EffectShortened, history.EffectUnclear} {
		require.NotZero(t, seen[effect], effect)
	}
}
