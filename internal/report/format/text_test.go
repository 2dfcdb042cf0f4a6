package format

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ünïcode ✓":  "plain, ünïcode ✓",
		"\x1b[31mred":       `\x1b[31mred`,
		"a\r\nb\tc":         `a\x0d\nb\tc`,
		"\u202eevil":        `\u202eevil`,
		"\x9b2J":            `\x9b2J`,
		"\u009b2J":          `\x9b2J`,
		"bad \xff utf-8":    `bad \xff utf-8`,
		"nul\x00":           `nul\x00`,
		"\U000e0041 hidden": `\ue0041 hidden`,
	} {
		require.Equal(t, want, Clean(in))
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;title\x07")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		require.True(t, utf8.ValidString(got))
		for _, r := range got {
			require.True(t, unicode.IsPrint(r))
		}
		require.Equal(t, got, Clean(got))
	})
}

func TestSentence(t *testing.T) {
	for clause, want := range map[string]string{
		"the lease ends": "The lease ends.", "It ends.": "It ends.", "isLocked asks only local memory": "isLocked asks only local memory.", "é": "É.",
	} {
		require.Equal(t, want, Sentence(clause))
	}
}

func TestWrapKeepsTheWordsAndTheWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a-zü ]{0,80}`).Draw(t, "s")
		n := rapid.IntRange(1, 30).Draw(t, "n")
		lines := Fit(s, n)
		for _, line := range lines {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), n)
		}
		strip := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		assert.Equal(t, strip(s), strip(strings.Join(lines, "")))
	})
}
