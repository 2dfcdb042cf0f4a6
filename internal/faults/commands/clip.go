package commands

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Shown is more than a history shows of a value, in bytes, and so in elements and in bytes of each.
const Shown = clipBytes + utf8.UTFMax

const (
	clipBytes = 200 // of an argument, a reply or a value in the record
	clipArgs  = 64  // arguments of one command in the record
	clipMark  = "…"
)

// ClipArguments renders a command for the history. All its strings share one allocation.
func ClipArguments(args [][]byte) []string {
	var room [256]byte
	var ends [clipArgs]int
	few := args[:min(len(args), clipArgs)]
	text := room[:0]
	for i, arg := range few {
		text = AppendClipped(text, arg)
		ends[i] = len(text)
	}
	whole, from := string(text), 0
	shown := make([]string, len(few), len(few)+1)
	for i := range few {
		shown[i] = whole[from:ends[i]]
		from = ends[i]
	}
	if len(args) > len(few) {
		shown = append(shown, clipMark)
	}
	return shown
}

// Clip renders a text for the history: quoted if it has unprintable bytes, and cut with "…" if it is long.
func Clip(text string) string {
	if len(text) <= clipBytes && isASCII(text) {
		return text
	}
	return string(AppendClipped(nil, []byte(text)))
}

// isASCII says whether a text has printable ASCII characters only.
func isASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// ClipValue is Clip for values that are compared: a hash keeps long ones different that differ behind the cut.
func ClipValue(text string) string {
	if len(text) <= clipBytes {
		return Clip(text)
	}
	whole := []byte(text)
	sum := fnv.New64a()
	sum.Write(whole)
	head := appendPrintable(nil, whole[:cutAt(whole)])
	return fmt.Sprintf("%s (%d bytes, %016x)%s", head, len(whole), sum.Sum64(), clipMark)
}

// AppendClipped is Clip, appended.
func AppendClipped(to, text []byte) []byte {
	if len(text) <= clipBytes {
		return appendPrintable(to, text)
	}
	return append(appendPrintable(to, text[:cutAt(text)]), clipMark...)
}

// cutAt is where to cut a long text, outside characters.
func cutAt(text []byte) int {
	cut := clipBytes
	for cut > clipBytes-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return cut
}

func appendPrintable(to, text []byte) []byte {
	for rest := text; len(rest) > 0; {
		if c := rest[0]; ' ' <= c && c <= '~' {
			rest = rest[1:]
			continue
		}
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			return strconv.AppendQuote(to, string(text))
		}
		rest = rest[size:]
	}
	return append(to, text...)
}
