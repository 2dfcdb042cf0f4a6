package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docPages are the pages below docs.
func docPages(t *testing.T) (pages []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	}))
	return pages
}

// TestCommandsInDocs asserts that each command line in the README and in docs is one that the lab knows, with flags that it has.
func TestCommandsInDocs(t *testing.T) {
	pages := docPages(t)
	line := regexp.MustCompile("(?m)(?:^|`|\\$ |&& |compose run --rm )(?:lab|go run ./cmd/lab) ([a-z]+)([^`#|&\n]*)")
	flag := regexp.MustCompile(`\s--([a-z-]+)`)
	seen := 0
	for _, page := range append(pages, "../../README.md", "../../ARCHITECTURE.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			seen++
			cmd, _, err := newRoot().Find(append([]string{m[1]}, strings.Fields(m[2])...))
			if !assert.NoError(t, err, "%s: %s", page, m[0]) || !assert.Contains(t, cmd.CommandPath()+" ", " "+m[1]+" ", "%s: %s", page, m[0]) {
				continue
			}
			for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
				assert.NotNil(t, cmd.Flags().Lookup(f[1]), "%s: --%s in %s", page, f[1], strings.TrimSpace(m[0]))
			}
		}
	}
	assert.Greater(t, seen, 50)
}

// TestCounterexampleInReadme: the README shows what the command above it prints, but for how long it took.
func TestCounterexampleInReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)\n\\$ go run ./cmd/lab (explore [^\n]*)\n(setpx-lua: .*?)```").FindStringSubmatch(string(text))
	require.NotNil(t, shown)
	var stdout, stderr bytes.Buffer
	run(t.Context(), strings.Fields(shown[1]), strings.NewReader(""), &stdout, &stderr)
	require.Empty(t, stderr.String())
	took := regexp.MustCompile(`in \S+ \(\d+/s\)`)
	assert.Equal(t, took.ReplaceAllString(stdout.String(), "in T"), took.ReplaceAllString(shown[2], "in T"), "put what %s prints into README.md", shown[1])
}

// TestOutputInDocs runs the commands of docs/first-hour.md that begin with a dollar sign, in their order in one directory, and compares what they print. A line
// "…" stands for the rest.
func TestOutputInDocs(t *testing.T) {
	const path = "../../docs/first-hour.md"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	page, err := filepath.Abs(path)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	took := regexp.MustCompile(`[0-9.]+m?s\n`)
	seen := 0
	text = regexp.MustCompile("(?s)```\n\\$ lab ([^\n]+)\n(.*?)…\n```").ReplaceAllFunc(text, func(block []byte) []byte {
		seen++
		shown := regexp.MustCompile("(?s)```\n\\$ lab ([^\n]+)\n(.*?)…\n```").FindSubmatch(block)
		var stdout, stderr bytes.Buffer
		run(t.Context(), strings.Fields(string(shown[1])), strings.NewReader(""), &stdout, &stderr)
		require.Empty(t, stderr.String())
		lines := strings.SplitAfter(stdout.String(), "\n")
		printed := strings.Join(lines[:min(len(lines), bytes.Count(shown[2], []byte("\n")))], "")
		if !*update {
			assert.Equal(t, took.ReplaceAllString(printed, "T\n"), took.ReplaceAllString(string(shown[2]), "T\n"), "lab %s; run go test ./cmd/lab -run TestOutputInDocs -update", shown[1])
		}
		return []byte("```\n$ lab " + string(shown[1]) + "\n" + printed + "…\n```")
	})
	assert.Equal(t, 3, seen)
	if *update {
		require.NoError(t, os.WriteFile(page, text, 0o644))
	}
}
