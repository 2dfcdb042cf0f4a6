package report

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Clean is clean for a line that is printed elsewhere.
func Clean(s string) string { return clean(s) }

// clean makes text from clients, servers and scripts safe to print: what could move a cursor, colour a terminal, break a line or
// turn the direction of writing is shown as an escape instead.
func clean(s string) string {
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

// clip shortens s to at most n runes, one at least; what was cut shows as "…".
func clip(s string, n int) string {
	n = max(1, n)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// pad fills s with blanks to n runes.
func pad(s string, n int) string {
	return s + blanks(n-utf8.RuneCountInString(s))
}

func blanks(n int) string { return strings.Repeat(" ", max(0, n)) }

// Wrap breaks s at blanks into lines of at most n runes; a longer word has a line of its own. It returns at least one line.
func Wrap(s string, n int) []string { return fill(strings.Fields(s), n) }

// wrap is Wrap for where nothing may stick out: it cuts a longer word into pieces.
func wrap(s string, n int) []string {
	var words []string
	for _, word := range strings.Fields(s) {
		words = append(words, pieces(word, n)...)
	}
	return fill(words, n)
}

// wrapWide is wrap, but leaves a text that fits as it is, with all its blanks.
func wrapWide(s string, n int) []string {
	if utf8.RuneCountInString(s) <= n {
		return []string{s}
	}
	return wrap(s, n)
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

func pieces(word string, n int) []string {
	var out []string
	runes := []rune(word)
	for len(runes) > n {
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return append(out, string(runes))
}

// duration writes d with as many digits as a reader wants.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond && d > -10*time.Millisecond:
		return fmt.Sprintf("%.1fms", milliseconds(d))
	case d < time.Second && d > -time.Second:
		return fmt.Sprintf("%.0fms", milliseconds(d))
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}

// stamp writes a time since the start of the cell in milliseconds.
func stamp(d time.Duration) string { return fmt.Sprintf("%.1f", milliseconds(d)) }

// inSeconds writes the same in seconds, as the reasons of anomalies do.
func inSeconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// plural writes a count and its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
