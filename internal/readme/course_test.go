package readme

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A course is its chapters in one language.
type course struct {
	dir      string
	parts    []string // the headings of each chapter, in this order
	from, to int      // the number of words
	words    func(text string) int
}

var courses = []course{
	{"../../docs/course", []string{"A lock that looks right", "Predict", "Run", "Watch", "Understand", "Repair", "Next"}, 300, 500, func(text string) int { return len(strings.Fields(text)) }},
	{"../../docs/course/zh-CN", []string{"看起来正确的锁", "预测", "运行", "观看", "理解", "修复", "下一步"}, 400, 700, hanCharacters},
}

const lastChapter = "which-lock.md"

var (
	codeBlock  = regexp.MustCompile("(?ms)^```.*?^```\n")
	goBlock    = regexp.MustCompile("(?s)`([a-z]+/[a-z_/]+\\.go)`[^`]*(?:`[a-z-]+`[^`]*)*?\n\n```go\n(.*?)```")
	h2         = regexp.MustCompile(`(?m)^## (.*)$`)
	runCommand = regexp.MustCompile(`(?m)^\$ go run \./cmd/lab run (.*)$`)
	viewerURL  = regexp.MustCompile(`report\.html#/([^/` + "`" + `]+)/([^/?` + "`" + `]+)(?:\?beside=([^` + "`" + `]+))?`)
)

func (c course) chapters(t *testing.T) []string {
	t.Helper()
	chapters, err := filepath.Glob(c.dir + "/[01]*.md")
	require.NoError(t, err)
	require.Len(t, chapters, 12)
	return append(chapters, filepath.Join(c.dir, lastChapter))
}

// TestChapters: each chapter has its parts in their order, one idea's length, and a page to watch that its own commands make.
func TestChapters(t *testing.T) {
	for _, c := range courses {
		for _, path := range c.chapters(t) {
			text := pageText(t, path)
			var parts []string
			for _, found := range h2.FindAllStringSubmatch(text, -1) {
				parts = append(parts, found[1])
			}
			want := c.parts
			if filepath.Base(path) == lastChapter {
				want = want[1:] // it has no lock of its own
			}
			assert.Equal(t, want, parts, path)
			n := c.words(codeBlock.ReplaceAllString(text, ""))
			assert.True(t, n >= c.from && n <= c.to, "%s has %d words, which should be %d to %d", path, n, c.from, c.to)

			played := strings.Fields(strings.NewReplacer(",", " ").Replace(runCommand.FindString(text)))
			places := viewerURL.FindAllStringSubmatch(text, -1)
			assert.NotEmpty(t, places, path)
			for _, at := range places {
				for _, name := range at[1:] {
					assert.True(t, name == "" || slices.Contains(played, name), "%s: its first run has no %s", path, name)
				}
			}
		}
	}
}

var bugComment = regexp.MustCompile(`(?m) // the bug.*$`)

// TestCodeOfChapters: the lines that a chapter shows of a lock are the lock's own. A line with … stands for those left out, and the reader is to find the bug,
// so the source's comment on it is left out as well.
func TestCodeOfChapters(t *testing.T) {
	for _, c := range courses {
		for _, path := range c.chapters(t) {
			text := pageText(t, path)
			blocks := goBlock.FindAllStringSubmatch(text, -1)
			assert.Len(t, blocks, strings.Count(text, "```go\n"), "%s: code without the file that it is from", path)
			for _, block := range blocks {
				source := bugComment.ReplaceAllString(pageText(t, filepath.Join("../..", block[1])), "")
				for line := range strings.Lines(block[2]) {
					if strings.TrimSpace(line) != "…" && strings.TrimSpace(line) != "" {
						_, after, found := strings.Cut(source, "\n"+line)
						if assert.True(t, found, "%s shows what %s does not have, or not there: %s", path, block[1], line) {
							source = "\n" + after
						}
					}
				}
			}
		}
	}
}

// TestCourseInOtherLanguages: a translation has the same commands, outputs and code, chapter by chapter.
func TestCourseInOtherLanguages(t *testing.T) {
	for _, c := range courses[1:] {
		for i, path := range c.chapters(t) {
			original := courses[0].chapters(t)[i]
			assert.Equal(t, filepath.Base(original), filepath.Base(path))
			assert.Equal(t, codeBlock.FindAllString(pageText(t, original), -1), codeBlock.FindAllString(pageText(t, path), -1), path)
		}
	}
}

// hanCharacters counts a Chinese text as its readers do.
func hanCharacters(text string) (n int) {
	for _, r := range text {
		if unicode.Is(unicode.Han, r) {
			n++
		}
	}
	return n
}
