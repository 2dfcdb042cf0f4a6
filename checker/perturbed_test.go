package checker

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/checker/internal/second"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// TestJudgesAgreeOnPerturbedHistories has both judges read histories in which something was changed at random places: answers, states, faults,
// notices. Most of them are impossible, and many illegal in several ways; the judges must see the same in each.
func TestJudgesAgreeOnPerturbedHistories(t *testing.T) {
	var originals [][]history.Event
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, path := range paths {
		events, err := readStory(path)
		require.NoError(t, err)
		originals = append(originals, events)
	}
	for seed := range uint64(20) {
		originals = append(originals, legalSeeded(seed).events)
		for _, v := range violations {
			if s, _, _ := violated(seed, v); s != nil {
				originals = append(originals, s.events)
			}
		}
	}
	seen := make(map[Name]int)
	for seed := range uint64(max(2, histories(t)/100)) {
		for n, events := range originals {
			dice := rand.New(rand.NewPCG(seed, uint64(n)))
			events = perturbed(dice, events)
			first, _ := observe(events, maxPerName, newPremises())
			porcupine := secondOpinion(events, Options{Timeout: time.Minute, Twice: true})
			require.Empty(t, disagreement(first, porcupine), "seed %d, original %d\n%s", seed, n, printed(events))
			require.Equal(t, porcupine, second.OpinionOf(events, overlap.Judge{Timeout: time.Minute}), "seed %d, original %d\n%s", seed, n, printed(events))
			for _, name := range namesOf(first) {
				seen[name]++
			}
		}
	}
	for _, d := range Definitions() {
		assert.NotZero(t, seen[d.Name], d.Name)
	}
}

// perturbed changes a few things.
func perturbed(dice *rand.Rand, events []history.Event) []history.Event {
	events = copied(events)
	names := make([]string, 0, len(edits))
	for name := range edits {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	for range 1 + dice.IntN(3) {
		edit, often := edits[pick(dice, names...)], 1+dice.IntN(6)
		for i := range events {
			if dice.IntN(often) == 0 {
				edit(&events[i])
			}
		}
	}
	for range dice.IntN(3) {
		i := dice.IntN(len(events))
		e := inserted(dice, &events[i])
		if e.Kind == history.KindExit { // then the client does nothing more, though commands of its may come late
			later := slices.DeleteFunc(slices.Clone(events[i:]), func(o history.Event) bool {
				return o.Client == e.Client && o.Kind != history.KindCommand
			})
			events = append(events[:i:i], later...)
		}
		events = slices.Insert(events, i, e)
	}
	return events
}

// inserted is an event that may come before another.
func inserted(dice *rand.Rand, next *history.Event) history.Event {
	fault := func(kind faults.Kind, target string) history.Event {
		return history.Event{At: next.At, Kind: history.KindFault, Detail: &history.Detail{
			Fault: &history.Fault{Name: string(kind), Target: target, Phase: pick(dice, history.PhaseInject, history.PhaseEffective, history.PhaseRecover)}}}
	}
	switch dice.IntN(5) {
	case 0:
		return fault(faults.Restart, "redis")
	case 1:
		return fault(faults.Pause, "C1")
	case 2:
		return history.Event{At: next.At, Kind: history.KindExit, Client: "C1"}
	case 3:
		return history.Event{At: next.At, Kind: history.KindValid, Client: "C1", Lock: storyLock, Valid: 100 * ms}
	}
	return history.Event{At: next.At, Kind: history.KindLost, Client: pick(dice, "C1", "C2"), Lock: storyLock}
}
