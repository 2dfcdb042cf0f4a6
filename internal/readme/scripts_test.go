package readme

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/scenarios"
)

// scriptsPage is the reference of the language.
const scriptsPage = tables + "/scripts.md"

// example is a script of a page, with the words of the grammar that its heading names, and the verdicts that the page states.
type example struct {
	line     int
	form     string
	words    []string
	text     string
	verdicts []claim
}

// claim is a line such as "- `setpx-lua`: safe" below an example.
type claim struct {
	line          int
	lock, verdict string
}

var (
	formComment = regexp.MustCompile(`^<!-- form: (.+) -->$`)
	quoted      = regexp.MustCompile("`([^`]+)`")
	claimLine   = regexp.MustCompile("^- `([^`]+)`: (.+)$")
)

// readExamples reads the scripts of a page. One without verdicts is an error.
func readExamples(t *testing.T, page string) []*example {
	t.Helper()
	var all []*example
	var open *example
	form, words, inside := "", []string(nil), false
	for i, line := range strings.Split(pageText(t, page), "\n") {
		switch {
		case line == "```lab":
			open, inside = &example{line: i + 1, form: form, words: words}, true
			all = append(all, open)
		case inside && line == "```":
			inside = false
		case inside:
			open.text += line + "\n"
		case strings.HasPrefix(line, "## "):
			form, words, open = "", nil, nil
		case strings.HasPrefix(line, "### "):
			words, open = nil, nil
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				words = append(words, m[1])
			}
		case formComment.MatchString(line):
			form = formComment.FindStringSubmatch(line)[1]
		case open != nil && claimLine.MatchString(line):
			m := claimLine.FindStringSubmatch(line)
			open.verdicts = append(open.verdicts, claim{i + 1, m[1], m[2]})
		}
	}
	for _, e := range all {
		require.NotEmpty(t, e.verdicts, "%s:%d: no verdict is stated below the example", page, e.line)
	}
	return all
}

// parse reads an example; where it has no title, its heading is one.
func (e *example) parse(t *testing.T) *scenarios.Script {
	t.Helper()
	script, err := scenarios.Parse("example.lab", []byte(e.text))
	require.NoError(t, err, "%s:%d", scriptsPage, e.line)
	return script
}

// TestScriptsPageIsComplete holds the headings of docs/tables/scripts.md against the grammar: each word of each form has an example that uses
// it, and no heading names a word that the parser does not know.
func TestScriptsPageIsComplete(t *testing.T) {
	shown := map[string][]string{}
	for _, e := range readExamples(t, scriptsPage) {
		uses := e.parse(t).Uses()
		for _, word := range e.words {
			assert.Contains(t, uses[e.form], word, "%s:%d: the example does not use the %s %q", scriptsPage, e.line, e.form, word)
			shown[e.form] = append(shown[e.form], word)
		}
	}
	for _, form := range scenarios.Grammar() {
		for _, word := range form.Words {
			assert.Contains(t, shown[form.Name], word, "%s has no example of the %s %q", scriptsPage, form.Name, word)
		}
		delete(shown, form.Name)
	}
	assert.Empty(t, shown, "%s has forms that the grammar does not have", scriptsPage)
}

// TestScriptsOfPagesAreTrue plays the scripts of docs in the model and compares the verdicts that their pages state.
func TestScriptsOfPagesAreTrue(t *testing.T) {
	runner := lab.Runner{World: sim.Open(sim.Config{CellTimeout: time.Minute})}
	for _, page := range docPages(t) {
		lines := strings.Split(pageText(t, page), "\n")
		for _, e := range readExamples(t, page) {
			for _, claim := range e.verdicts {
				spec, ok := impls.Find(claim.lock)
				require.True(t, ok, "%s:%d: there is no lock %s", page, claim.line, claim.lock)
				cell := runner.Run(t.Context(), lab.Case{Subject: play.SubjectOf(spec), Script: e.parse(t), Round: 1})
				require.Empty(t, cell.Failure, "%s:%d", page, e.line)
				verdict := cell.Verdict
				if verdict.Kind == checker.NotApplicable {
					verdict.Reason = ""
				}
				if *update {
					lines[claim.line-1] = "- `" + claim.lock + "`: " + verdict.String()
					continue
				}
				assert.Equal(t, claim.verdict, verdict.String(), "%s:%d: %s", page, claim.line, claim.lock)
			}
		}
		if *update {
			require.NoError(t, os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644))
		}
	}
}

// TestReadmeScript plays the README's script with the lock that the README names.
func TestReadmeScript(t *testing.T) {
	_, rest, ok := strings.Cut(pageText(t, readme), "```lab\n")
	require.True(t, ok, "the README has lost its script")
	text, after, _ := strings.Cut(rest, "```\n")
	require.Contains(t, after, "run race.lab --lock getset\n")
	script, err := scenarios.Parse("race.lab", []byte(text))
	require.NoError(t, err)
	spec, _ := impls.Find("getset")
	cell := (lab.Runner{World: sim.Open(sim.Config{CellTimeout: time.Minute})}).Run(t.Context(), lab.Case{Subject: play.SubjectOf(spec), Script: script, Round: 1})
	require.Contains(t, cell.Verdict.Names(), checker.Overwrite)
}

// TestScriptsPageUsesGrammar asserts that what a script is said to use is in the grammar, for the scripts that come with the lab.
func TestScriptsPageUsesGrammar(t *testing.T) {
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	known := map[string][]string{}
	for _, form := range scenarios.Grammar() {
		known[form.Name] = form.Words
	}
	for _, script := range scripts {
		for form, words := range script.Uses() {
			for _, word := range words {
				assert.True(t, slices.Contains(known[form], word), "%s: %s %q", script.Name, form, word)
			}
		}
	}
}
