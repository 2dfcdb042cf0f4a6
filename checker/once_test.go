package checker

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// TestStoriesJudgedOnce lists the stories in which the second judge does not say whose the lock is: something happened to the key that no
// command on record did. In all others it judges every anomaly.
func TestStoriesJudgedOnce(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	var once []string
	for _, path := range paths {
		events, err := readStory(path)
		require.NoError(t, err)
		if len(secondOpinion(events, Options{Timeout: time.Minute, Twice: true}).Unjudged) > 0 {
			once = append(once, strings.TrimSuffix(filepath.Base(path), ".txt"))
		}
	}
	assert.Equal(t, []string{
		"early-grant-older-lock-came-back", "safe-count-from-another-time", "safe-older-lock-came-back", "safe-older-lock-of-another-came-back",
		"safe-several-servers",
	}, once)
}

// TestOneWrongfulDeleteInALargeHistory: beyond what porcupine searches, windows without a suspect are left out. The others are not.
func TestOneWrongfulDeleteInALargeHistory(t *testing.T) {
	events := probedTurns(searchedEvents)
	require.Equal(t, Verdict{Kind: Safe}, Judge(events, Options{Twice: true}))
	at := slices.IndexFunc(events, func(e history.Event) bool { return e.Op == history.OpRelease && e.Kind == history.KindCommand })
	events[at].Client, events[at].Op, events[at].ID = "C3", history.OpNone, 0
	events[at-1], events[at] = events[at], events[at-1] // before the release is called
	events[at-1].At, events[at].At = events[at].At, events[at-1].At
	v := Judge(events, Options{Twice: true})
	require.Equal(t, []Name{WrongfulDelete}, v.Names(), v.String())
}

// probedTurns is a history of two clients that take turns, with their commands, of at least so many events.
func probedTurns(least int) (events []history.Event) {
	record := func(e history.Event) {
		e.At, e.Lock = time.Duration(len(events))*ms, storyLock
		events = append(events, e)
	}
	for _, client := range []string{"C1", "C2", "C3"} {
		record(history.Event{Kind: history.KindOpen, Client: client, Detail: &history.Detail{Contract: history.Contract{Leaseless: true}}})
	}
	for id := int64(1); len(events) < least; id++ {
		client := clientName(int(id/2) % 2)
		op, command, change := history.OpAcquire, "SETNX", history.Change{Key: storyLock, After: history.State{Type: "string", Value: client}}
		if id%2 == 0 {
			client, op, command = clientName(int(id/2-1)%2), history.OpRelease, "DEL"
			change.Before, change.After = history.State{Type: "string", Value: client}, history.State{}
		}
		record(history.Event{Kind: history.KindCall, Client: client, Op: op, ID: id})
		record(history.Event{Kind: history.KindCommand, Client: client, Op: op, ID: id, Detail: &history.Detail{Command: &history.Command{
			Server: "redis", Args: []string{command, storyLock}, Reply: "1", Changes: []history.Change{change},
		}}})
		record(history.Event{Kind: history.KindReturn, Client: client, Op: op, ID: id, Outcome: history.OK})
	}
	return events
}
