// Package readme keeps what the README and the pages in docs show true. It has tests only.
package readme

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
)

var update = flag.Bool("update", false, "rewrite what is generated in the README and in docs")

const (
	readme = "../../README.md"
	end    = "<!-- end of what is generated -->\n"

	// What is generated, and from which reviewed file.
	fromMatrix      = "scenarios/expected.txt"
	fromRuns        = "runs in the model"
	fromPoints      = "internal/sim/points/breaking.txt"
	fromSources     = "scenarios/sources.go"
	fromChecker     = "checker/verdict.go"
	fromCatalogue   = "faults/catalogue.go"
	fromAssumptions = "internal/sim/explore/assumptions.go"
	fromAttacks     = "internal/hostile/hostile.go"
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

// TestLength holds the README to what a reader takes in: at most 200 lines, of which the first 40 have the commands and the picture of a race.
func TestLength(t *testing.T) {
	lines := strings.Split(pageText(t, readme), "\n")
	require.LessOrEqual(t, len(lines), 201)
	begin := strings.Join(lines[:40], "\n")
	for _, needed := range []string{"$ go run ./cmd/lab run\n", "setpx-lua, pause: C1 was paused", "go run ./cmd/lab explore setpx-lua --clients 2 --pauses 1"} {
		require.Contains(t, begin, needed)
	}
}

// docPages are the pages of docs and of what is below it.
func docPages(t *testing.T) (pages []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	}))
	return pages
}

// TestPagesAreListed asserts that each page is in the list of its directory, if there is one, and that every link between pages leads somewhere.
func TestPagesAreListed(t *testing.T) {
	pages := docPages(t)
	for _, page := range pages {
		list, err := os.ReadFile(filepath.Join(filepath.Dir(page), "README.md"))
		if name := filepath.Base(page); err == nil && name != "README.md" {
			require.Contains(t, string(list), "]("+name+")", "the README.md beside it does not list %s", page)
		}
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#([^)]*))?\)`)
	for _, page := range append(pages, readme, "../../README.zh-CN.md", "../../ARCHITECTURE.md", "../../CONTRIBUTING.md", "../../SECURITY.md", "../../CHANGELOG.md") {
		for _, m := range link.FindAllStringSubmatch(pageText(t, page), -1) {
			target := filepath.Join(filepath.Dir(page), m[1])
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", page, m[1])
			if line, err := strconv.Atoi(strings.TrimPrefix(m[2], "L")); err == nil { // a line of a file that is no page
				require.LessOrEqual(t, line, strings.Count(pageText(t, target), "\n"), "%s links to %s", page, m[0])
			} else if m[2] != "" {
				require.Contains(t, headings(pageText(t, target)), m[2], "%s links to %s", page, m[0])
			}
		}
	}
}

// TestNamedFilesExist: a page that sends its reader to a file of the code names it by its path from the top of the repository.
func TestNamedFilesExist(t *testing.T) {
	pages := slices.DeleteFunc(docPages(t), func(page string) bool {
		return filepath.Base(filepath.Dir(page)) == "found" // reports to others, which name files of theirs
	})
	named := regexp.MustCompile("`((?:[a-z]+/)+[a-z_]+\\.(?:go|txt|lab))[:`]")
	files := 0
	for _, page := range append(pages, readme, "../../ARCHITECTURE.md", "../../CONTRIBUTING.md", "../../SECURITY.md") {
		for _, m := range named.FindAllStringSubmatch(pageText(t, page), -1) {
			if top, _, _ := strings.Cut(m[1], "/"); slices.Contains([]string{"runtime", "time"}, top) {
				continue // Go's own
			}
			require.FileExists(t, filepath.Join("../..", m[1]), page)
			files++
		}
	}
	require.Greater(t, files, 40)
}

// headings are the anchors of a page.
func headings(page string) (anchors []string) {
	other := regexp.MustCompile(`[^a-z0-9 -]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		anchors = append(anchors, strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return anchors
}

// TestConcepts holds the anomalies of docs/concepts.md against the checker.
func TestConcepts(t *testing.T) {
	text := "| anomaly | meaning |\n| --- | --- |\n"
	for _, d := range checker.Definitions() {
		text += fmt.Sprintf("| %s | %s |\n", d.Name, d.Meaning)
	}
	holdPart(t, "../../docs/concepts.md", fromChecker, text)
}

// TestFaults holds docs/faults.md against the catalogue.
func TestFaults(t *testing.T) {
	text := "| fault | what it is | script | explorer | history |\n| --- | --- | --- | --- | --- |\n"
	for _, f := range faults.All() {
		script, flag := code(f.Begins), ""
		if f.Ends != "" {
			script += " … " + code(f.Ends)
		}
		if f.Flag != "" {
			flag = code("--" + f.Flag)
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", f.Kind, f.Meaning, script, flag, f.Recorded)
	}
	holdPart(t, "../../docs/faults.md", fromCatalogue, text)
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func pageText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
