//go:build linux || darwin

package live_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/scenarios"
)

// verbTest is a script with one thing in it that a step can do, and what must come of it in every world. Leases are long except where a
// script waits for their end.
type verbTest struct {
	Lock    string
	Text    string
	Verdict string
	Story   []string // lines of the story that must be told in this order; others may stand between them
}

func allVerbs() map[string]verbTest {
	all := redisVerbs()
	maps.Copy(all, replicaVerbs())
	maps.Copy(all, clusterVerbs())
	return all
}

// redisVerbs are those that every Redis of the lab's own serves.
func redisVerbs() map[string]verbTest {
	all := operationVerbs()
	maps.Copy(all, faultVerbs())
	maps.Copy(all, lateVerbs())
	return all
}

// TestEveryVerb holds both worlds to the same scripts and stories.
func TestEveryVerb(t *testing.T) { playEach(t, openStage(t, nil), redisVerbs()) }

// TestEveryVerbOfReplicas does so where there are replicas.
func TestEveryVerbOfReplicas(t *testing.T) {
	needs.Long(t, "every verb on a server with a replica")
	needs.Found(t, "redis", redis.Find)
	playEach(t, openStage(t, func(cfg *live.Config) { cfg.Server = live.Replicated }), replicaVerbs())
}

// TestEveryVerbOfACluster does so for a cluster, which the model does not have.
func TestEveryVerbOfACluster(t *testing.T) {
	needs.Long(t, "every verb on a cluster")
	needs.Found(t, "redis", redis.Find)
	playLive(t, openStage(t, func(cfg *live.Config) { cfg.Server = live.Cluster }), clusterVerbs())
}

func playEach(t *testing.T, s *stage, all map[string]verbTest) {
	names := slices.Sorted(maps.Keys(all))
	some := map[string]verbTest{}
	count := needs.Count(t, "verbs outside the model", (len(all)+4)/5, len(all))
	for i := range count {
		name := names[i*len(all)/count]
		some[name] = all[name]
	}
	playLive(t, s, some)
	for name, test := range all {
		t.Run(name+" in the model", func(t *testing.T) { playInModel(t, name, test) })
	}
}

func playLive(t *testing.T, s *stage, all map[string]verbTest) {
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell, events := s.playScript(t, script(t, name, test.Text), subject(t, test.Lock))
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

func playInModel(t *testing.T, name string, test verbTest) {
	var events []history.Event
	model := lab.Runner{World: sim.Open(sim.Config{CellTimeout: time.Minute}), Keep: func(_ record.Cell, _ history.Header, all []history.Event) error {
		events = all
		return nil
	}}
	cell := model.Run(t.Context(), lab.Case{Subject: subject(t, test.Lock), Script: script(t, name, test.Text), Round: 1})
	require.Empty(t, cell.Failure)
	assert.Equal(t, test.Verdict, cell.Verdict.String(), "%+v", cell.Verdict)
	told := strings.Split(withoutUnheard(story(events)), "\n")
	lines := strings.Split(withoutUnheard(append(test.Story, "end: complete")), "\n")
	assert.Empty(t, missingFrom(told, lines...), "it is missing, or stands too early, in\n%s", strings.Join(told, "\n"))
	faultsAreEvident(t, events)
}

// withoutUnheard leaves out that a reply was not heard: the model knows it of replies to connections that are broken, too, and a tap cannot.
func withoutUnheard(lines []string) string {
	return strings.ReplaceAll(strings.Join(lines, "\n"), " unheard", "")
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
		if e.Kind == history.KindCommand && e.Command().Again {
			n++
		}
	}
	return n
}

// TestNoVerbIsForgotten asserts that the table above has whatever a script can say.
func TestNoVerbIsForgotten(t *testing.T) {
	used := map[string][]string{
		"client verb": {"renew"}, // no lock that comes with the lab can be renewed by its user
	}
	for name, test := range allVerbs() {
		for form, words := range script(t, name, test.Text).Uses() {
			used[form] = append(used[form], words...)
		}
	}
	for _, form := range scenarios.Grammar() {
		switch form.Name {
		case "client verb", "lab verb", "direction", "breakpoint", "option":
			assert.Subset(t, used[form.Name], form.Words, form.Name)
		}
	}
}
