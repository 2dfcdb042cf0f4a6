package sources_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/scenarios"
)

// TestCitations asserts that whatever cards, scripts and workloads cite is in the bibliography, and that each of the lab's own locks and
// scripts says where it comes from.
func TestCitations(t *testing.T) {
	for _, spec := range impls.Every() {
		cited, err := sources.Cited(spec.Source)
		require.NoError(t, err, spec.Name)
		assert.NotEmpty(t, cited, "%s: %q", spec.Name, spec.Source)
	}
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	for _, script := range scripts {
		cited, err := sources.Cited(script.Source)
		require.NoError(t, err, script.Name)
		named := func(r sources.Reference) bool { return r.Title != "" && r.Author != "" }
		assert.True(t, slices.ContainsFunc(cited, named), "%s cites no source with title and author: %q", script.Name, script.Source)
	}
	for _, work := range scenarios.Workloads() {
		_, err := sources.Cited(work.Source)
		require.NoError(t, err, work.Name)
	}
}

func TestCited(t *testing.T) {
	tests := map[string][]string{
		"articles 000 v2, 001 and 003, A4":                  {"000", "001", "003", "A4"},
		"redisson/redisson#3194 and #3712: the renewal":     {"redisson/redisson#3194", "redisson/redisson#3712"},
		"article 004, W3; Kleppmann, \"How to do\"":         {"004", "W3", "Kleppmann"},
		"article 003, A9; from Redisson's published source": {"003", "A9", "Redisson's published source"},
		"a lease of 1000 ms":                                nil,
	}
	for text, want := range tests {
		cited, err := sources.Cited(text)
		require.NoError(t, err)
		var got []string
		for _, r := range cited {
			got = append(got, r.ID)
		}
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"article 009", "A99", "nobody/nothing#1"} {
		_, err := sources.Cited(text)
		assert.ErrorContains(t, err, "which the bibliography does not have", text)
	}
}

// TestReferences asserts that no entry is there twice, and that algorithms name articles that exist.
func TestReferences(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range sources.All() {
		assert.False(t, seen[r.ID], r.ID)
		seen[r.ID] = true
		assert.NotEmpty(t, r.Title, r.ID)
		assert.Equal(t, len(r.In) == 0, r.Author != "", "%s: an author, or that none is known; an algorithm is an article's", r.ID)
		for _, article := range r.In {
			assert.True(t, seen[article], "%s is in %s", r.ID, article)
		}
	}
	assert.Equal(t, "article 002: Distributed locks with Redis, and a simple implementation that extends the lock by itself; hope_wisdom; address not known",
		sources.All()[2].String())
}

// TestPostsAreCited: the scenarios that show the races of Kleppmann's and antirez's posts cite them.
func TestPostsAreCited(t *testing.T) {
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	for post, races := range map[string][]string{
		"Martin Kleppmann":               {"pause-past-lease", "late-write-comes-first", "checked-then-stopped", "pause-before-second-look", "one-clock-jumps", "server-clock-jumps"},
		"Salvatore Sanfilippo (antirez)": {"pause-before-second-look", "pause-after-second-look", "grant-after-the-lease", "one-clock-jumps"},
	} {
		for _, name := range races {
			script, ok := scenarios.Find(scripts, name)
			require.True(t, ok, name)
			cited, err := sources.Cited(script.Source)
			require.NoError(t, err)
			assert.True(t, slices.ContainsFunc(cited, func(r sources.Reference) bool { return r.Author == post }), "%s does not cite %s", name, post)
		}
	}
}
