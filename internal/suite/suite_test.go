package suite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	f, err := Parse("x.toml", []byte("# comment\nclient = [\n  'a',\n]\nstorm.for = \"1s\"\n\n[run]\nseed = 7\n'out' = \"x\"\n"))
	require.NoError(t, err)
	assert.Equal(t, []Key{{"", "client", 2, []any{"a"}}, {"storm", "for", 5, "1s"}, {"run", "seed", 8, int64(7)}, {"run", "out", 9, "x"}}, f.Keys)

	f, err = Parse("x.toml", []byte("run = { seed = 7 }\n[empty]\n"))
	require.NoError(t, err)
	assert.Equal(t, []Key{{"run", "seed", 1, int64(7)}, {"empty", "", 2, nil}}, f.Keys)

	for text, want := range map[string]string{
		"a = 1\nb = \n":       "x.toml:2: ",
		"a = 1\na = 2\n":      "x.toml:2: ",
		"[a]\n[a.b]\nc = 1":   `x.toml:2: there are no tables in table "a", such as "b"`,
		"a = [1\n":            "x.toml:1: ",
		"\xff":                "x.toml:1: ",
		"a = 1\n[b]\n[b]\n":   "x.toml:3: ",
		"ok = 1\nx = 'open\n": "x.toml:2: ",
	} {
		_, err := Parse("x.toml", []byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

// TestFind: the file is here or in a parent, up to the root of the repository and not beyond it.
func TestFind(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "repo", "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	put := func(parts ...string) {
		require.NoError(t, os.WriteFile(filepath.Join(append([]string{root}, parts...)...), nil, 0o644))
	}
	find := func() string {
		path, err := Find(deep)
		require.NoError(t, err)
		return path
	}
	put(Name)
	assert.Empty(t, find(), "without a repository only here")
	put("repo", ".git")
	assert.Empty(t, find(), "not beyond the root")
	put("repo", Name)
	assert.Equal(t, filepath.Join("..", "..", Name), find())
	put("repo", "a", Name)
	assert.Equal(t, filepath.Join("..", Name), find(), "the nearest")
	put("repo", "a", "b", Name)
	assert.Equal(t, Name, find())
	require.NoError(t, os.Remove(filepath.Join(root, "repo", ".git")))
	assert.Equal(t, Name, find())
}
