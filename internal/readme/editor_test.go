package readme

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/scenarios"
)

// tmGrammar is a TextMate grammar, as far as the one of scripts goes. Its expressions are such that Go reads them, too.
type tmGrammar struct {
	Comment   string      `json:"comment"`
	Name      string      `json:"name"`
	ScopeName string      `json:"scopeName"`
	FileTypes []string    `json:"fileTypes"`
	Patterns  []tmPattern `json:"patterns"`
}

type tmPattern struct {
	Match    string             `json:"match"`
	Name     string             `json:"name,omitempty"`
	Captures map[string]tmScope `json:"captures,omitempty"`
}

type tmScope struct {
	Name string `json:"name"`
}

const illegal = "invalid.illegal.locklab"

// anyOf is an expression for one of several phrases, the longest first.
func anyOf(phrases ...string) string {
	phrases = slices.Clone(phrases)
	slices.SortFunc(phrases, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var all []string
	for _, phrase := range slices.Compact(phrases) {
		all = append(all, strings.Join(strings.Fields(regexp.QuoteMeta(phrase)), `\s+`))
	}
	return "(" + strings.Join(all, "|") + ")"
}

// scriptGrammar is the grammar of scripts, from the parser's tables.
func scriptGrammar() tmGrammar {
	words := map[string][]string{}
	for _, form := range scenarios.Grammar() {
		words[form.Name] = form.Words
	}
	var anomalies []string
	for _, d := range checker.Definitions() {
		anomalies = append(anomalies, string(d.Name))
	}
	requests := slices.DeleteFunc(slices.Clone(words["request"]), func(word string) bool { return strings.Contains(word, " ") })
	headers := slices.DeleteFunc(slices.Clone(words["header"]), func(word string) bool { return word == "source" })
	const end = `(?:[\s,]|$)`
	one := func(scope string) map[string]tmScope { return map[string]tmScope{"1": {scope + ".locklab"}} }
	two := func(first, second string) map[string]tmScope {
		return map[string]tmScope{"1": {first + ".locklab"}, "2": {second + ".locklab"}}
	}
	lab := slices.Concat(words["lab verb"], []string{"wait"})
	for _, verb := range words["server verb"] {
		lab = append(lab, "server "+verb, words["server"][0]+" "+verb)
	}
	return tmGrammar{
		Comment: "Generated from the tables of the parser by go test ./internal/readme -run TestEditorGrammar -update",
		Name:    "Lock Lab script", ScopeName: "source.locklab", FileTypes: []string{"lab"},
		Patterns: []tmPattern{
			{Match: `(?:^|\s)(#.*)$`, Captures: one("comment.line.number-sign")},
			{Match: `^\s*(source)\s+(.*?)(?:\s+#.*)?$`, Captures: two("keyword.control.header", "string.unquoted")},
			{Match: `^\s*(expect)\s+([\w/,+-]+)`, Captures: two("keyword.control.header", "entity.name.type")},
			{Match: `^\s*` + anyOf(headers...) + end, Captures: one("keyword.control.header")},
			{Match: `^\s*` + anyOf(words["block"]...) + end, Captures: one("keyword.control.repeat")},
			{Match: `^\s*` + anyOf(lab...) + end, Captures: one("support.function.lab")},
			{Match: `^\s*(S[1-9])\s+` + anyOf(words["server verb"]...) + end, Captures: two("variable.other.server", "support.function.lab")},
			{Match: `^\s*([A-Za-z][\w./-]*)\s+` + anyOf(words["client verb"]...) + end, Captures: two("variable.parameter.client", "keyword.other.verb")},
			{Match: `(=>)\s*(` + anyOf(words["result"]...) + `(?:\s*\|\s*` + anyOf(words["result"]...) + `)*)`, Captures: two("keyword.operator", "constant.language.result")},
			{Match: `\b` + anyOf(words["breakpoint"]...) + `\s+(?:` + anyOf(words["count"]...) + `\s+)?(` + anyOf(requests...) + `|[A-Z]+)` + end,
				Captures: map[string]tmScope{"1": {"keyword.control.breakpoint.locklab"}, "2": {"constant.numeric.ordinal.locklab"}, "3": {"entity.name.function.request.locklab"}}},
			{Match: `\b([0-9.]+\s+leases?|(?:[0-9.]+(?:h|m|s|ms|us|ns))+|[0-9.]+)` + end, Captures: one("constant.numeric")},
			{Match: `\b` + anyOf(slices.Concat(words["option"], words["clock setting"], words["direction"], words["replica"], []string{"from", "to", "on", "without", "back", "ago"})...) + end,
				Captures: one("keyword.other.option")},
			{Match: `\b` + anyOf(slices.Concat(words["need"], words["workload"], anomalies)...) + end, Captures: one("constant.language")},
			{Match: `\b(S[1-9])` + end, Captures: one("variable.other.server")},
			{Match: `\b([A-Z][\w./-]*)` + end, Captures: one("variable.parameter.client")},
			{Match: `[^\s,]+`, Name: illegal},
		},
	}
}

// scopes are the scopes of a line's parts, as an editor finds them: of the patterns that match next, the first one.
func (g tmGrammar) scopes(expressions []*regexp.Regexp, line string) map[string][]string {
	found := map[string][]string{}
	for at := 0; at < len(line); {
		var best []int
		var pattern tmPattern
		for i, p := range g.Patterns {
			if at > 0 && strings.HasPrefix(p.Match, "^") {
				continue
			}
			if m := expressions[i].FindStringSubmatchIndex(line[at:]); m != nil && (best == nil || m[0] < best[0]) {
				best, pattern = m, p
			}
		}
		if best == nil {
			break
		}
		if pattern.Name != "" {
			found[pattern.Name] = append(found[pattern.Name], line[at+best[0]:at+best[1]])
		}
		for number, scope := range pattern.Captures {
			if n, _ := strconv.Atoi(number); best[2*n] >= 0 {
				found[scope.Name] = append(found[scope.Name], line[at+best[2*n]:at+best[2*n+1]])
			}
		}
		at += max(best[1], 1)
	}
	return found
}

// TestEditorGrammar: the grammar for editors has the words of the language, and colours every built-in script.
func TestEditorGrammar(t *testing.T) {
	const path = "../../editors/vscode/locklab.tmLanguage.json"
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(scriptGrammar()))
	if *update {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o644))
	}
	require.Equal(t, want.String(), pageText(t, path), "run go test ./internal/readme -run TestEditorGrammar -update")

	var grammar tmGrammar
	require.NoError(t, json.Unmarshal([]byte(pageText(t, path)), &grammar))
	var expressions []*regexp.Regexp
	for _, p := range grammar.Patterns {
		expressions = append(expressions, regexp.MustCompile(p.Match))
	}
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	for _, script := range scripts {
		for line := range strings.Lines(pageText(t, "../../scenarios/scripts/"+script.Path)) {
			assert.Empty(t, grammar.scopes(expressions, strings.TrimSuffix(line, "\n"))[illegal], "%s: %s", script.Path, line)
		}
	}
	for _, fault := range faults.All() {
		for _, words := range []string{fault.Begins, fault.Ends} {
			if words == "" {
				continue
			}
			var all []string
			for _, line := range []string{"C1 " + words, "S1 " + words, "server " + words, words, "C1 acquire " + words + " first DEL"} {
				for scope, texts := range grammar.scopes(expressions, line) {
					if strings.HasPrefix(scope, "keyword.") || strings.HasPrefix(scope, "support.") {
						all = append(all, strings.TrimPrefix(strings.Join(texts, " "), "server "))
					}
				}
			}
			assert.True(t, slices.ContainsFunc(all, func(text string) bool { return strings.HasPrefix(words, text) && text != "" }), "%s: %q %v", fault.Kind, words, all)
		}
	}
	for _, line := range []string{"C1 acquier", "C1 acquire hold befor first DEL", "C1 acquire => okay", "leas 2s", "server melts"} {
		assert.NotEmpty(t, grammar.scopes(expressions, line)[illegal], line)
	}
}

// TestEditorPackage: the package for VS Code names the files that are there.
func TestEditorPackage(t *testing.T) {
	var manifest struct {
		Contributes struct {
			Languages []struct{ ID, Configuration string }
			Grammars  []struct{ Language, ScopeName, Path string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(pageText(t, "../../editors/vscode/package.json")), &manifest))
	require.Len(t, manifest.Contributes.Languages, 1)
	require.Len(t, manifest.Contributes.Grammars, 1)
	language, grammar := manifest.Contributes.Languages[0], manifest.Contributes.Grammars[0]
	assert.Equal(t, language.ID, grammar.Language)
	assert.Equal(t, scriptGrammar().ScopeName, grammar.ScopeName)
	for _, path := range []string{language.Configuration, grammar.Path} {
		assert.True(t, json.Valid([]byte(pageText(t, "../../editors/vscode/"+path))), path)
	}
}
