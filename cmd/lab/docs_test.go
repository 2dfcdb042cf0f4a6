package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestFirstHour carries out the commands of docs/first-hour.md in their order in one directory, but for those that start processes. What a command that
// begins with a dollar sign prints is on the page; a line "…" stands for the rest.
func TestFirstHour(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	page := filepath.Join(root, "docs", "first-hour.md")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	took := regexp.MustCompile(`[0-9.]+m?s\n`)
	ran, shown := 0, 0
	text = regexp.MustCompile("(?s)```\n.*?\n```").ReplaceAllFunc(text, func(block []byte) []byte {
		lines := strings.Split(strings.Trim(string(block), "`\n"), "\n")
		for i, line := range lines {
			command, _, _ := strings.Cut(strings.TrimPrefix(line, "$ "), " #")
			words := strings.Fields(command)
			switch command = strings.TrimSpace(command); {
			case command == "lab run", command == "lab doctor", strings.HasPrefix(command, "go install"):
				continue
			case strings.HasPrefix(command, "cp "):
				require.NoError(t, os.CopyFS(".", os.DirFS(filepath.Join(root, filepath.Dir(words[1])))))
				require.NoError(t, os.Rename(filepath.Base(words[1]), words[2]))
				continue
			case !strings.HasPrefix(command, "lab "):
				continue
			}
			ran++
			var stdout, stderr bytes.Buffer
			assert.Zero(t, run(t.Context(), words[1:], strings.NewReader(""), &stdout, &stderr), command)
			require.Empty(t, stderr.String(), command)
			if line[0] != '$' {
				continue
			}
			shown++
			rest := slices.Index(lines, "…")
			require.Positive(t, rest, command)
			printed := strings.Split(stdout.String(), "\n")[:rest-i-1]
			if !*update {
				want, got := strings.Join(lines[i+1:rest], "\n")+"\n", strings.Join(printed, "\n")+"\n"
				assert.Equal(t, took.ReplaceAllString(got, "T\n"), took.ReplaceAllString(want, "T\n"), "%s: run go test ./cmd/lab -run TestFirstHour -update", command)
			}
			copy(lines[i+1:rest], printed)
		}
		return []byte("```\n" + strings.Join(lines, "\n") + "\n```")
	})
	assert.GreaterOrEqual(t, ran, 7)
	assert.Equal(t, 3, shown)
	if *update {
		require.NoError(t, os.WriteFile(page, text, 0o644))
	}
}
