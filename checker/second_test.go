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

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/checker/internal/second"
)

// A judge that takes the answers as they are listed, and does not search, accuses a story that is safe.
func TestServiceModelNeedsTheSearch(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	var saved []string
	observed := make(map[string]int)
	for _, path := range paths {
		events, err := readStory(path)
		require.NoError(t, err)
		_, owners := second.LocksAndOwners(events, true)
		for _, lock := range owners {
			for n, name := range second.ServiceNames {
				for w := range lock.Observations(n) {
					observed[name]++
					if !w.LegalAsListed() && porcupine.CheckOperations(w.Model, w.Operations) {
						saved = append(saved, strings.TrimSuffix(filepath.Base(path), ".txt"))
					}
				}
			}
		}
	}
	assert.Contains(t, saved, "safe-refused-before-the-other-was")
	for _, name := range second.ServiceNames {
		assert.Greater(t, observed[name], 3, name)
	}
}

// TestWhatIsJudgedTwice: where calls overlap always, and everything if that is asked for.
func TestWhatIsJudgedTwice(t *testing.T) {
	events := turns(4, true)
	assert.ElementsMatch(t, []string{"double-holder", "fence-regression", "lost-update"}, secondOpinion(events, Options{Timeout: time.Minute}).Judged)
	var all []string
	for _, d := range Definitions() {
		all = append(all, string(d.Name))
	}
	assert.ElementsMatch(t, all, secondOpinion(events, Options{Timeout: time.Minute, Twice: true}).Judged)
}

// TestOneOpinionIsPartOfTheSecond: what porcupine finds in a story where calls overlap is what it finds there when it judges everything, and the verdict is
// the same.
func TestOneOpinionIsPartOfTheSecond(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	found := make(map[string]int)
	for _, path := range paths {
		events, err := readStory(path)
		require.NoError(t, err)
		once, twice := secondOpinion(events, Options{Timeout: time.Minute}), secondOpinion(events, Options{Timeout: time.Minute, Twice: true})
		isOther := func(f overlap.Finding) bool {
			return !slices.Contains(once.Judged, f.Name) || slices.Contains(once.Unjudged, f)
		}
		assert.ElementsMatch(t, slices.DeleteFunc(twice.Illegal, isOther), slices.DeleteFunc(once.Illegal, isOther), path)
		assert.Equal(t, Judge(events, Options{Twice: true}), Judge(events, Options{}), path)
		for _, f := range once.Illegal {
			found[f.Name]++
		}
	}
	assert.Len(t, found, 3)
}

// A lock on several servers has both judges as well.
func TestLocksOnSeveralServersAreJudgedTwice(t *testing.T) {
	for _, story := range []string{
		"early-grant-of-a-majority", "wrongful-delete-of-a-majority", "overwrite-of-a-majority", "stale-write-after-a-majority-was-granted", "fence-regression-of-a-majority",
		"stuck-lock-on-a-majority", "ghost-lock-of-a-majority", "unreleasable-majority", "false-alarm-of-a-majority",
	} {
		events, err := readStory("testdata/" + story + ".txt")
		require.NoError(t, err)
		second := secondOpinion(events, Options{Timeout: time.Minute, Twice: true})
		assert.Empty(t, second.Unjudged, story)
		assert.True(t, slices.ContainsFunc(second.Illegal, func(f overlap.Finding) bool { return strings.HasPrefix(story, string(f.Name)) }), "%s: %v", story, second.Illegal)
	}
}
