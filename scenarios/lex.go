package scenarios

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a script or matrix. They reject other files, such as binaries and logs.
const (
	maxSource = 1 << 20 // bytes
	maxLine   = 500     // bytes
)

// line is one line of a file with the surrounding blanks removed.
type line struct {
	number int
	text   string
}

// isComment says whether the whole line is a comment.
func (l line) isComment() bool { return strings.HasPrefix(l.text, "#") }

// splitLines splits a file into lines and reports those that are not text.
func splitLines(src []byte, wrong *complaints) []line {
	if len(src) > maxSource {
		wrong.add(1, "the file is too long; at most %d bytes are read", maxSource)
		return nil
	}
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	lines := make([]line, 0, bytes.Count(src, []byte("\n"))+1)
	number := 0
	for text := range strings.SplitSeq(string(src), "\n") {
		if wrong.full {
			break
		}
		number++
		text = strings.TrimSuffix(text, "\r")
		switch {
		case len(text) > maxLine:
			wrong.add(number, "a line of %d bytes is too long; at most %d are read", len(text), maxLine)
		case !isText(text):
			wrong.add(number, "this is no text: it has control characters or is not UTF-8")
		default:
			lines = append(lines, line{number: number, text: strings.TrimSpace(text)})
		}
	}
	return lines
}

func isText(s string) bool {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return true
	}
	if !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) // what would show other words than there are
	})
}

// withoutComment removes a comment: a # at the start or after a blank, and all that follows. So "go-redis#2985" stays whole.
func withoutComment(text string) string {
	before := ' '
	for at, r := range text {
		if r == '#' && unicode.IsSpace(before) {
			return strings.TrimSpace(text[:at])
		}
		before = r
	}
	return text
}

// fields splits a line into words at blanks and commas.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// reader reads the words of a line.
type reader struct{ words []string }

func (r *reader) done() bool { return len(r.words) == 0 }

// peek is the next word, or "" at the end.
func (r *reader) peek() string {
	if r.done() {
		return ""
	}
	return r.words[0]
}

// next takes a word, or "" at the end.
func (r *reader) next() string {
	word := r.peek()
	if !r.done() {
		r.words = r.words[1:]
	}
	return word
}

// accept takes the words of the phrase, with single blanks between them, if they come next.
func (r *reader) accept(phrase string) bool {
	rest := r.words
	for word := range strings.SplitSeq(phrase, " ") {
		if len(rest) == 0 || rest[0] != word {
			return false
		}
		rest = rest[1:]
	}
	r.words = rest
	return true
}
