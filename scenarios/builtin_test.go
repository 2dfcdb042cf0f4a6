package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func builtin(t *testing.T) []*Script {
	t.Helper()
	scripts, err := Builtin()
	require.NoError(t, err)
	return scripts
}

func TestBuiltinScriptsAreWholeStories(t *testing.T) {
	for _, s := range builtin(t) {
		t.Run(s.Name, func(t *testing.T) {
			assert.NotEmpty(t, s.Title)
			assert.True(t, strings.HasSuffix(s.Title, "."), "a title is a sentence")
			assert.NotEmpty(t, s.About)
			assert.NotEmpty(t, s.Source)
			assert.True(t, strings.Contains(s.Source, "article") || strings.Contains(s.Source, "#"), "a source is an article or a thread")
		})
	}
}

func TestBuiltinListsEveryScript(t *testing.T) {
	files, err := scripts.ReadDir("scripts")
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), suffix))
	}
	assert.ElementsMatch(t, names, order())
}

func TestFind(t *testing.T) {
	all := builtin(t)
	found, ok := Find(all, "holder-crashes")
	require.True(t, ok)
	assert.Equal(t, "holder-crashes.lab", found.Path)
	_, ok = Find(all, "holder-crash")
	assert.False(t, ok)
}
