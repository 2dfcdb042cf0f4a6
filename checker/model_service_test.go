package checker

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each case can be decided only by looking for an order: the one in which the answers are listed is another one.
func TestServiceModelSearches(t *testing.T) {
	type step struct {
		what       serviceInput
		call, done int64
	}
	cases := map[string]struct {
		steps []step
		want  porcupine.CheckResult
	}{
		"refused before the lock ends":             {[]step{{serviceEnds, 2, 9}, {serviceRefuses, 4, 8}}, porcupine.Ok},
		"refused after its latest end":             {[]step{{serviceEnds, 2, 5}, {serviceRefuses, 6, 8}}, porcupine.Illegal},
		"refused after the end, before the next":   {[]step{{serviceChanges, 7, 7}, {serviceEnds, 2, 3}, {serviceRefuses, 4, 6}}, porcupine.Illegal},
		"refused after the end, while another has": {[]step{{serviceRefuses, 4, 9}, {serviceEnds, 2, 3}, {serviceChanges, 5, 8}}, porcupine.Ok},
		"denied before its earliest end":           {[]step{{serviceChanges, 9, open}, {serviceDenies, 4, 8}}, porcupine.Illegal},
		"denied when it may have ended":            {[]step{{serviceDenies, 4, 8}, {serviceChanges, 7, open}}, porcupine.Ok},
		"refused and denied, in this order":        {[]step{{serviceDenies, 2, 9}, {serviceEnds, 2, 9}, {serviceRefuses, 2, 9}}, porcupine.Ok},
		"denied and then refused":                  {[]step{{serviceDenies, 2, 3}, {serviceEnds, 2, 9}, {serviceRefuses, 4, 9}}, porcupine.Illegal},
	}
	for name, c := range cases {
		var o observation
		for _, s := range c.steps {
			o.add(s.what, s.call, s.done)
		}
		for w := range serviceWindows([]observation{o}) {
			assert.Equal(t, c.want, windowJudge{timeout: time.Minute, searches: true}.window(w), name)
			assert.False(t, w.legalAsListed(), name)
		}
	}
}

// A judge that takes the answers as they are listed, and does not search, accuses a story that is safe.
func TestServiceModelNeedsTheSearch(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	var saved []string
	observed := make(map[Name]int)
	for _, path := range paths {
		events, err := readStory(path)
		require.NoError(t, err)
		_, owners := lockHistories(events, true)
		for _, lock := range owners {
			for n, name := range serviceNames {
				for w := range serviceWindows(lock.service.observed[n]) {
					observed[name]++
					if !w.legalAsListed() && porcupine.CheckOperations(w.model, w.operations) {
						saved = append(saved, strings.TrimSuffix(filepath.Base(path), ".txt"))
					}
				}
			}
		}
	}
	assert.Contains(t, saved, "safe-refused-before-the-other-was")
	for _, name := range serviceNames {
		assert.Greater(t, observed[name], 3, name)
	}
}

// A lock on several servers has both judges as well.
func TestLocksOnSeveralServersAreJudgedTwice(t *testing.T) {
	for _, story := range []string{
		"early-grant-of-a-majority", "wrongful-delete-of-a-majority", "overwrite-of-a-majority", "stale-write-after-a-majority-was-granted", "fence-regression-of-a-majority",
		"stuck-lock-on-a-majority", "ghost-lock-of-a-majority", "unreleasable-majority", "false-alarm-of-a-majority",
	} {
		events, err := readStory("testdata/" + story + ".txt")
		require.NoError(t, err)
		second := secondOpinion(events, Options{Timeout: time.Minute})
		assert.Empty(t, second.unjudged, story)
		assert.True(t, slices.ContainsFunc(second.illegal, func(f finding) bool { return strings.HasPrefix(story, string(f.name)) }), "%s: %v", story, second.illegal)
	}
}
