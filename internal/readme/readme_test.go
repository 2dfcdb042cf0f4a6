// Package readme keeps what the README and the pages in docs show true. It has tests only.
package readme

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/scenarios"
)

var update = flag.Bool("update", false, "rewrite what is generated in the README and in docs")

const (
	readme = "../../README.md"
	begin  = "<!-- generated from scenarios/expected.txt by go test ./internal/readme -update -->\n"
	end    = "<!-- end of what is generated -->\n"
)

// holdPart holds the generated part of a page against what it should be, or rewrites it.
func holdPart(t *testing.T, path, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has lost the line %q", path, begin)
	got, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has lost the line %q", path, end)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
		return
	}
	require.Equal(t, want, got, "%s does not show the reviewed matrix; run: go test ./internal/readme -update", path)
}

// TestScript holds the README's example against the parser.
func TestScript(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "```\n# Two clients judge")
	require.True(t, ok, "the README has lost its example of a script")
	script, _, _ := strings.Cut(rest, "```")
	_, err = scenarios.Parse("README.md", []byte("# Two clients judge"+script))
	require.NoError(t, err)
}

// TestFilledIn asserts that every place left open for the output of a run has got it.
func TestFilledIn(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	for i, line := range strings.Split(string(text), "\n") {
		require.NotContains(t, line, "RUN-", "README.md:%d", i+1)
	}
}
