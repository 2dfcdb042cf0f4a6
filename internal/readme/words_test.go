package readme

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/scenarios"
)

// wordTexts is the file from which lab explain knows the words of scripts.
const wordTexts = "../reasons/texts/words.txt"

// TestWordsAreThoseOfTheScriptsPage: what lab explain says of a word is what the reference of the language says below its heading.
func TestWordsAreThoseOfTheScriptsPage(t *testing.T) {
	said := wordsOfPage(t)
	var b strings.Builder
	b.WriteString("# What the reference of the script language says of each word. Generated from it by go test ./internal/readme -update\n")
	for _, form := range scenarios.Grammar() {
		for _, word := range form.Words {
			text, described := said[[2]string{form.Name, word}]
			_, asLab := said[[2]string{"lab verb", "server " + word}] // what is said there holds for one server, too
			assert.True(t, described || form.Name == "server verb" && asLab, "%s says nothing of the %s %q", scriptsPage, form.Name, word)
			if text != "" {
				b.WriteString("\n[" + form.Name + " " + word + "]\n" + text + "\n")
			}
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(wordTexts, []byte(b.String()), 0o644))
	}
	held, err := os.ReadFile(wordTexts)
	require.NoError(t, err)
	assert.Equal(t, b.String(), string(held), "go test ./internal/readme -update")
}

var (
	pageLink  = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	pageSigns = regexp.MustCompile("[`*]")
)

// wordsOfPage is the first paragraph below the heading of each word, by form and word.
func wordsOfPage(t *testing.T) map[[2]string]string {
	t.Helper()
	said := map[[2]string]string{}
	form, open := "", []string(nil) // the words whose paragraph is being read
	for _, line := range strings.Split(pageText(t, scriptsPage), "\n") {
		switch m := formComment.FindStringSubmatch(line); {
		case m != nil:
			form = m[1]
		case strings.HasPrefix(line, "### "):
			open = nil
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				open = append(open, m[1])
			}
		case strings.HasPrefix(line, "## "), strings.HasPrefix(line, "```"):
			open = nil
		case line == "":
			if len(open) > 0 && said[[2]string{form, open[0]}] != "" {
				open = nil
			}
		}
		if open == nil || line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range open {
			key := [2]string{form, word}
			said[key] = strings.TrimSpace(said[key] + " " + pageSigns.ReplaceAllString(pageLink.ReplaceAllString(line, "$1"), ""))
		}
	}
	return said
}
