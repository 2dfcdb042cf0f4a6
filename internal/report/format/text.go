// Package format writes text for people: made printable, broken to a width, coloured, times and counts in words, commands as a shell reads them.
//
// It owns widths, colours and escapes. It must not know what a text says.
package format

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from clients, servers and scripts safe to print: what could move a cursor, colour a terminal, break a line or
// turn the direction of writing is shown as an escape instead.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return b.String()
}

func isClean(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// LeastBeside is into how few columns text is squeezed that stands beside other things.
const LeastBeside = 32

// Clip shortens s to at most n runes, one at least; what was cut shows as "…".
func Clip(s string, n int) string {
	n = max(1, n)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// Pad fills s with blanks to n runes.
func Pad(s string, n int) string {
	return s + Blanks(n-utf8.RuneCountInString(s))
}

func Blanks(n int) string { return strings.Repeat(" ", max(0, n)) }

// Wrap breaks s at blanks into lines of at most n runes; a longer word has a line of its own. It returns at least one line.
func Wrap(s string, n int) []string { return fill(strings.Fields(s), n) }

// Fit is Wrap for where nothing may stick out: it cuts a longer word into pieces.
func Fit(s string, n int) []string {
	var words []string
	for _, word := range strings.Fields(s) {
		words = append(words, Pieces(word, n)...)
	}
	return fill(words, n)
}

// FitSpaced is Fit, but leaves a text that fits as it is, with all its blanks.
func FitSpaced(s string, n int) []string {
	if utf8.RuneCountInString(s) <= n {
		return []string{s}
	}
	return Fit(s, n)
}

// Hang is a text after a head, and what does not fit below its beginning.
func Hang(head, text string, width int) string {
	indent := utf8.RuneCountInString(head)
	return head + strings.Join(FitSpaced(text, max(LeastBeside, width-indent)), "\n"+Blanks(indent)) + "\n"
}

func fill(words []string, n int) []string {
	lines := []string{""}
	for _, word := range words {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= n:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

func Pieces(word string, n int) []string {
	var out []string
	runes := []rune(word)
	for len(runes) > n {
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return append(out, string(runes))
}

// Duration writes d with as many digits as a reader wants.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond && d > -10*time.Millisecond:
		return fmt.Sprintf("%.1fms", Milliseconds(d))
	case d < time.Second && d > -time.Second:
		return fmt.Sprintf("%.0fms", Milliseconds(d))
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}

// Seconds writes a time since the start of the cell in seconds, as the reasons of anomalies do.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Plural writes a count and its noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Sentence writes a clause as a sentence, but for a name in it that begins with a small letter: "isLocked asks only …".
func Sentence(clause string) string {
	first, size := utf8.DecodeRuneInString(clause)
	word, _, _ := strings.Cut(clause, " ")
	if !strings.ContainsFunc(word[size:], unicode.IsUpper) {
		clause = string(unicode.ToUpper(first)) + clause[size:]
	}
	return strings.TrimSuffix(clause, ".") + "."
}

// After joins s to what is before it, if there is an s.
func After(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

// Widths of a terminal in columns.
const (
	UsualWidth = 80 // of one that nobody has asked for its own
	LeastWidth = 60 // below which reports are not squeezed further
)
