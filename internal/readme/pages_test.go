package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	docs   = "../../docs"
	tables = docs + "/tables"

	mostWords = 25_000 // in all pages together, without the tables, code, and what commands print
	mostLines = 150    // in a page
)

// docPages are the pages below docs, tables included.
func docPages(t *testing.T) (pages []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(docs, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	}))
	return pages
}

// TestPagesAreShort holds pages for people to a length, and their beginning to saying for whom a page is and what it enables its reader to do. Tables are
// looked up, not read.
func TestPagesAreShort(t *testing.T) {
	fenced := regexp.MustCompile("(?ms)^```[a-z]*\n.*?^```$")
	begin := regexp.MustCompile(`^# .+\n\nFor [^\n]+\. After this page you [^\n]+\n`)
	words := 0
	for _, page := range docPages(t) {
		if strings.HasPrefix(page, tables+"/") {
			continue
		}
		text := pageText(t, page)
		for _, field := range strings.Fields(fenced.ReplaceAllString(text, "")) {
			if strings.ContainsFunc(field, isWordRune) {
				words++
			}
		}
		assert.LessOrEqual(t, strings.Count(text, "\n"), mostLines, "%s has too many lines: split it by its readers, or move a table to docs/tables", page)
		if filepath.Dir(page) == docs { // a chapter of the course begins with its question
			assert.Regexp(t, begin, text, `%s: the third line says "For WHOM. After this page you can WHAT."`, page)
		}
	}
	assert.LessOrEqual(t, words, mostWords, "docs has too many words: shorten a page, or generate a table into docs/tables")
}

// isWordRune says whether a rune makes a field a word: the bar between two cells of a table is none.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// TestPagesAreListed: the README of a directory of docs lists the pages there and in directories without one, and every link between pages leads somewhere.
func TestPagesAreListed(t *testing.T) {
	pages := docPages(t)
	for _, page := range pages {
		dir := filepath.Dir(page)
		for dir != docs && !slices.Contains(pages, filepath.Join(dir, "README.md")) {
			dir = filepath.Dir(dir)
		}
		list := filepath.Join(dir, "README.md")
		if name, err := filepath.Rel(dir, page); assert.NoError(t, err) && page != list {
			assert.Contains(t, pageText(t, list), "]("+filepath.ToSlash(name)+")", "%s does not list %s", list, page)
		}
	}
	reports, err := filepath.Glob("../../adapters/reports/*.md")
	require.NoError(t, err)
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	checked := map[string]bool{} // the scorecard links to a thousand lines of one table
	anchors := map[string][]string{}
	for _, page := range append(append(pages, reports...), readme, "../../ARCHITECTURE.md", "../../CONTRIBUTING.md", "../../SECURITY.md", "../../CHANGELOG.md", "../../adapters/README.md",
		"../../adapters/etcd/README.md", "../../adapters/postgres/README.md") {
		for _, m := range link.FindAllStringSubmatch(pageText(t, page), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if checked[target+"#"+m[2]] {
				continue
			}
			checked[target+"#"+m[2]] = true
			if _, err := os.Stat(target); !assert.NoError(t, err, "%s links to %s", page, m[1]) || m[2] == "" {
				continue
			}
			if anchors[target] == nil {
				anchors[target] = headings(pageText(t, target))
			}
			assert.Contains(t, anchors[target], m[2], "%s links to %s", page, m[0])
		}
	}
}

// TestNamedFilesExist: a page that sends its reader to a file of the code names it by its path from the top of the repository.
func TestNamedFilesExist(t *testing.T) {
	named := regexp.MustCompile("`((?:[a-z]+/)+[a-z_]+\\.(?:go|txt|lab))[:`]")
	files := 0
	for _, page := range append(docPages(t), readme, "../../ARCHITECTURE.md", "../../CONTRIBUTING.md", "../../SECURITY.md") {
		for _, m := range named.FindAllStringSubmatch(pageText(t, page), -1) {
			if top, _, _ := strings.Cut(m[1], "/"); top == "runtime" || top == "time" {
				continue // Go's own
			}
			require.FileExists(t, filepath.Join("../..", m[1]), page)
			files++
		}
	}
	require.Greater(t, files, 40)
}

// headings are the anchors of a page: those of its headings, as GitHub makes them, and those of its lines, L1 and so on, in a file that is no page.
func headings(page string) (anchors []string) {
	other, times := regexp.MustCompile(`[^\p{L}\p{N} _-]`), map[string]int{}
	for i, line := range strings.Split(page, "\n") {
		anchors = append(anchors, "L"+strconv.Itoa(i+1))
		_, heading, found := strings.Cut(line, "# ")
		if !found || !strings.HasPrefix(line, "#") {
			continue
		}
		anchor := strings.ReplaceAll(other.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
		if again := times[anchor]; again > 0 {
			anchors = append(anchors, anchor+"-"+strconv.Itoa(again))
		} else {
			anchors = append(anchors, anchor)
		}
		times[anchor]++
	}
	return anchors
}

// TestCodeNamesPagesThatExist: a screen, a comment or a job that sends its reader to a page of docs names one that there is.
func TestCodeNamesPagesThatExist(t *testing.T) {
	named := regexp.MustCompile(`docs/[a-z/-]+\.(?:md|json)`)
	seen := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "testdata", "runs"}, d.Name()):
			return filepath.SkipDir
		case !slices.Contains([]string{".go", ".txt", ".lab", ".yml", ".yaml", ".py", ".rb", ".js"}, filepath.Ext(path)):
			return nil
		}
		for line := range strings.Lines(pageText(t, path)) {
			if !strings.Contains(line, "docs/") || strings.Contains(line, "http") || strings.Contains(line, "../docs/") {
				continue
			}
			for _, page := range named.FindAllString(line, -1) {
				seen++
				assert.FileExists(t, filepath.Join("../..", page), path)
			}
		}
		return nil
	}))
	assert.Greater(t, seen, 20)
}
