package overlap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// The judges read the effect of a command by arithmetic of their own, and come to the same.
func TestBothJudgesReadTheSameEffects(t *testing.T) {
	var lefts []time.Duration // none, and some about the margins of a millisecond
	for _, tenths := range []int{0, 1, 9, 10, 11, 20, 40} {
		lefts = append(lefts, time.Duration(tenths)*100*time.Microsecond)
	}
	states := []history.State{{}}
	for _, kind := range []string{"string", "hash"} {
		for _, value := range []string{"a", "b"} {
			for _, left := range lefts {
				states = append(states, history.State{Type: kind, Value: value, TTL: left})
			}
		}
	}
	seen := make(map[history.Effect]int)
	for _, before := range states {
		for _, after := range states {
			for _, asked := range lefts {
				c := history.Change{Key: "k", Before: before, After: after}
				effect := EffectOn(&c, asked)
				seen[effect]++
				require.Equal(t, c.Effect(asked), effect, "%v, then %v, asked for %v", before, after, asked)
			}
		}
	}
	for _, effect := range []history.Effect{history.EffectNone, history.EffectCreated, history.EffectRemoved, history.EffectReplaced,
		history.EffectProlonged, history.EffectShortened, history.EffectUnclear} {
		require.NotZero(t, seen[effect], effect)
	}
}
