package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Goroutines of a client that tell something at one instant run in any order. What is recorded does not depend on it.
func TestWhatIsToldAtOneInstant(t *testing.T) {
	for _, lossFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := &bubble{cell: &cell{}, began: time.Now(), woken: make(chan struct{}, 1)}
			g := &guest{node: &node{}, bubble: b}
			b.peers = []*guest{g}
			var recorded []string
			tell := func(by rank, what string) { g.say(by, func() { recorded = append(recorded, what) }) }
			if lossFirst {
				tell(byItself, "loss")
			}
			tell(byAnswer, "answer")
			if !lossFirst {
				tell(byItself, "loss")
			}
			b.hear()
			assert.Equal(t, []string{"answer", "loss"}, recorded)
		})
	}
}
