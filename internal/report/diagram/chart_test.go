package diagram

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

// What befalls a process befalls each of its locks; a breakpoint, or the end of a thread, is the business of one.
func TestFaultsOfAProcessAreSeenOnAllItsLanes(t *testing.T) {
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	fault := func(ms int, name, target string, phase history.Phase) history.Event {
		return history.Event{Kind: history.KindFault, At: at(ms), Client: target, Detail: &history.Detail{
			Fault: &history.Fault{Name: name, Target: target, Phase: phase},
		}}
	}
	events := []history.Event{
		{Kind: history.KindOpen, Client: "C2", Lock: "k", Detail: &history.Detail{}},
		{Kind: history.KindOpen, Client: "C1.b", Lock: "k", Detail: &history.Detail{}},
		{Kind: history.KindOpen, Client: "C10", Lock: "k", Detail: &history.Detail{}},
		{Kind: history.KindOpen, Client: "C1", Lock: "k", Detail: &history.Detail{}},
		fault(1, "hold", "C1", history.PhaseEffective),
		fault(2, "hold", "C1", history.PhaseRecover),
		fault(3, "pause", "C1", history.PhaseInject),
		fault(4, "pause", "C1", history.PhaseEffective),
		fault(5, "pause", "C1", history.PhaseRecover),
		fault(6, "thread-death", "C1", history.PhaseInject),
	}
	line := Of(events)
	assert.Equal(t, []string{"C1", "C1.b", "C2", "C10"}, line.clients)
	var seen []string
	for _, s := range line.faults {
		seen = append(seen, s.Lane+" "+s.Label)
	}
	assert.ElementsMatch(t, []string{"C1 hold", "C1 pause", "C1.b pause", "C1 thread-death"}, seen)
}
