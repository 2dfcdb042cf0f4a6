package course_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/web/internal/course"
	"github.com/locklab/locklab/web/internal/playground"
)

func read(t *testing.T) []course.Chapter {
	t.Helper()
	all, err := course.Read(os.DirFS("../../../docs/course"))
	require.NoError(t, err)
	return all
}

// TestOrder: the overview is first, the twelve chapters follow, and the summary is last; each language has the same.
func TestOrder(t *testing.T) {
	all := read(t)
	names := map[string][]string{}
	for _, chapter := range all {
		names[chapter.Lang] = append(names[chapter.Lang], chapter.Name)
		assert.NotEmpty(t, chapter.Title)
	}
	english := names["en"]
	require.Len(t, english, 14)
	assert.Equal(t, "README 01-no-lock 12-failover which-lock", strings.Join([]string{english[0], english[1], english[12], english[13]}, " "))
	assert.Equal(t, english, names["zh-CN"])
}

var (
	modelRun = regexp.MustCompile(`(?m)^\$ (.* run .* --world sim)$`)
	played   = regexp.MustCompile(`class="act" href="#play\?lock=([a-z0-9-]+)&amp;scenario=([a-z0-9-]+)&amp;chapter=([a-zA-Z0-9-]+)(&amp;lang=zh-CN)?&amp;at=(c\d+)"`)
	inside   = regexp.MustCompile(`href="#read\?chapter=([^"&]+)(?:&amp;lang=([^"]+))?"`)
	other    = regexp.MustCompile(`^\$ go run \./cmd/lab (list anomalies|run ensemble-leader-killed --server zookeeper-ensemble --lock zookeeper)$`)
)

// TestEachCommandIsPlayed: a command of the model has a place to play each of its cells, which the playground offers, and a way back to where it stands. A new
// kind of command must be played, or said here not to be.
func TestEachCommandIsPlayed(t *testing.T) {
	var offered struct{ Locks, Scenarios []struct{ Name string } }
	require.NoError(t, json.Unmarshal(playground.New().Ask(t.Context(), []byte(`{"do": "catalogue"}`)), &offered))
	has := func(list []struct{ Name string }, name string) bool {
		return slices.ContainsFunc(list, func(x struct{ Name string }) bool { return x.Name == name })
	}
	for _, chapter := range read(t) {
		dir := map[string]string{"en": "", "zh-CN": "zh-CN/"}[chapter.Lang]
		source, err := os.ReadFile("../../../docs/course/" + dir + chapter.Name + ".md")
		require.NoError(t, err)
		var want []string
		for line := range strings.Lines(string(source)) {
			line = strings.TrimSuffix(line, "\n")
			if !strings.HasPrefix(line, "$ ") {
				continue
			}
			run := modelRun.FindStringSubmatch(line)
			if run == nil {
				assert.Regexp(t, other, line, chapter.Name)
				continue
			}
			names, locks, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(run[1], "go run ./cmd/lab run "), " --world sim"), " --lock ")
			for _, scenario := range strings.Fields(names) {
				for _, lock := range strings.Split(locks, ",") {
					want = append(want, scenario+"/"+lock)
					assert.True(t, has(offered.Scenarios, scenario) && has(offered.Locks, lock), "%s: %s with %s", chapter.Name, scenario, lock)
				}
			}
		}
		var got []string
		for _, link := range played.FindAllStringSubmatch(chapter.HTML, -1) {
			got = append(got, link[2]+"/"+link[1])
			assert.Equal(t, chapter.Name, link[3])
			assert.Equal(t, chapter.Lang != "en", link[4] != "")
			assert.Contains(t, chapter.HTML, `id="`+link[5]+`"`)
		}
		assert.Equal(t, want, got, chapter.Name)
		assert.NotContains(t, regexp.MustCompile(`(?s)<details>.*?</details>`).ReplaceAllString(chapter.HTML, ""), "\nby lab ", "%s: what a command prints is folded", chapter.Name)
	}
}

// TestLinks: those between chapters lead to one that there is, and all others are text.
func TestLinks(t *testing.T) {
	all := read(t)
	there := map[string]bool{}
	for _, chapter := range all {
		there[chapter.Lang+"/"+chapter.Name] = true
	}
	for _, chapter := range all {
		found := inside.FindAllStringSubmatch(chapter.HTML, -1)
		for _, link := range found {
			lang := link[2]
			if lang == "" {
				lang = "en"
			}
			assert.True(t, there[lang+"/"+link[1]], "%s: %s", chapter.Name, link[0])
		}
		assert.Equal(t, strings.Count(chapter.HTML, "href="), len(found)+strings.Count(chapter.HTML, `class="act"`), chapter.Name)
	}
	assert.Contains(t, all[0].HTML, `<a href="#read?chapter=README&amp;lang=zh-CN">中文</a>`)
	assert.Contains(t, all[0].HTML, `<code>docs/teaching.md</code>`)
	assert.Contains(t, all[1].HTML, `<code>docs/tables/sources.md</code>`)
}

// TestText: what the chapters' text may have, and nothing of it becomes markup.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"a <b> & `*x* <i>`":                     "<p>a &lt;b&gt; &amp; <code>*x* &lt;i&gt;</code></p>\n",
		"**a `b`** and *c*, 2 * 3 * 4":          "<p><strong>a <code>b</code></strong> and <em>c</em>, 2 * 3 * 4</p>\n",
		"one\ntwo":                              "<p>one\ntwo</p>\n",
		"- a\n  b\n- c":                         "<ul>\n<li>a\n  b</li>\n<li>c</li>\n</ul>\n",
		"|a|b|\n|-|-|\n|1|*2*|":                 "<div class=\"wide\" tabindex=\"0\"><table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td><em>2</em></td></tr>\n</table></div>\n",
		"## B":                                  "<h3 id=\"s1\" tabindex=\"-1\">B</h3>\n",
		"```go\nif a < b {\n\n}\n```":           "<pre tabindex=\"0\">if a &lt; b {\n\n}</pre>\n",
		"[it](a.md), [choose.md](../choose.md)": `<p><a href="#read?chapter=a">it</a>, <code>docs/choose.md</code></p>` + "\n",
		"[the *b*](../choose.md), [x](y.go)":    `<p>the <em>b</em> (<code>docs/choose.md</code>), x (<code>docs/course/y.go</code>)</p>` + "\n",
	} {
		all, err := course.Read(fstest.MapFS{"zh-CN/a.md": {Data: []byte("# A")}, "a.md": {Data: []byte("# A\n\n" + text + "\n")}})
		require.NoError(t, err)
		assert.Equal(t, "<h2 tabindex=\"-1\">A</h2>\n"+want, all[0].HTML, text)
	}
	for text, want := range map[string]string{
		"1. one":         "course/a.md: line 3: chapters have headings",
		"```\nno end":    "line 3: this code does not end",
		"[x](gone.md)":   "course/gone.md, which is no chapter",
		"|a|\n|1|":       "a table without its heading",
		"![a](b.png)":    "this is none: ![a](b.png)",
		"- a\n\n### Sub": "line 5",
	} {
		_, err := course.Read(fstest.MapFS{"zh-CN/a.md": {Data: []byte("# A")}, "a.md": {Data: []byte("# A\n\n" + text + "\n")}})
		assert.ErrorContains(t, err, want)
	}
}

// TestPlays: several commands of a block are played one by one, and what the model does not have is not played.
func TestPlays(t *testing.T) {
	text := "# A\n\n```\n$ lab run s --lock=a,b --world=sim\n1\n$ lab run s --lock a\n$ go run ./cmd/lab run s --lock a --world sim --seed 1\n2\n$ go run ./cmd/lab list locks\n```\n"
	all, err := course.Read(fstest.MapFS{"zh-CN/a.md": {Data: []byte("# A")}, "a.md": {Data: []byte(text)}})
	require.NoError(t, err)
	a := all[0]
	assert.Equal(t, 2, strings.Count(a.HTML, `class="act"`))
	assert.Equal(t, 4, strings.Count(a.HTML, `class="command"`))
	assert.Equal(t, 2, strings.Count(a.HTML, `<details>`))
}
