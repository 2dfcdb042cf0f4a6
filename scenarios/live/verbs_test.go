//go:build linux || darwin

package live_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/verbs"
	"github.com/locklab/locklab/scenarios"
)

// allVerbs are those of both worlds and those of this one.
func allVerbs() map[string]verbs.Test {
	all := verbs.Tests()
	maps.Copy(all, verbs.Live())
	return all
}

func TestEveryVerb(t *testing.T) {
	s := openStage(t, nil)
	for name, test := range allVerbs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell, events := s.play(t, script(t, name, test.Text), subject(t, test.Lock))
			assert.Equal(t, test.Verdict, cell.Verdict.String(), "%+v", cell.Verdict)
			tells(t, events, append(test.Story, "end: complete")...)
			faultsAreEvident(t, events)
			switch name {
			case "delay":
				assert.GreaterOrEqual(t, took(t, events, history.OpCheck), 80*time.Millisecond)
			case "duplicate", "hold a copy":
				assert.Equal(t, 1, again(events))
			}
		})
	}
}

// took is how long the first operation of that kind was under way.
func took(t *testing.T, events []history.Event, op history.Op) time.Duration {
	t.Helper()
	var called time.Duration
	for _, e := range events {
		if e.Op == op && e.Kind == history.KindCall {
			called = e.At
		}
		if e.Op == op && e.Kind == history.KindReturn {
			return e.At - called
		}
	}
	require.Fail(t, "the operation has not returned")
	return 0
}

// again counts the commands that reached the server a second time.
func again(events []history.Event) (n int) {
	for _, e := range events {
		if e.Kind == history.KindCommand && e.Detail.Command.Again {
			n++
		}
	}
	return n
}

// TestNoVerbIsForgotten asserts that the table above has whatever a script can say.
func TestNoVerbIsForgotten(t *testing.T) {
	seen := map[scenarios.Verb]bool{}
	ops := map[history.Op]bool{history.OpRenew: true} // no lock that comes with the lab can be renewed by its user
	actions := map[scenarios.Action]bool{}
	sides := map[scenarios.Side]bool{}
	for name, test := range allVerbs() {
		for _, step := range script(t, name, test.Text).Steps {
			seen[step.Verb], ops[step.Op] = true, true
			if step.Verb == scenarios.VerbCutOff {
				sides[step.Side] = true
			}
			for _, trap := range step.Traps {
				actions[trap.Do] = true
			}
		}
	}
	for verb := scenarios.VerbOp; verb <= scenarios.VerbRestart; verb++ {
		assert.True(t, seen[verb], "verb %d", verb)
	}
	for op := history.OpAcquire; op <= history.OpWork; op++ {
		assert.True(t, ops[op], op.String())
	}
	for action := scenarios.HoldRequest; action <= scenarios.HoldCopy; action++ {
		assert.True(t, actions[action], "action %d", action)
	}
	assert.Len(t, sides, 3)
}
