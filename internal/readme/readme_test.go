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
	end    = "<!-- end of what is generated -->\n"

	// What is generated, and from which reviewed file.
	fromMatrix  = "scenarios/expected.txt"
	fromPoints  = "sim/points/breaking.txt"
	fromSources = "scenarios/sources.go"
)

// holdPart holds the part of a page that is generated from a reviewed file against what it should be, or rewrites it.
func holdPart(t *testing.T, path, from, want string) {
	t.Helper()
	begin := "<!-- generated from " + from + " by go test ./internal/readme -update -->\n"
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
	require.Equal(t, want, got, "%s does not show %s; run: go test ./internal/readme -update", path, from)
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

func pageText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
