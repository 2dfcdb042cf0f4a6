package tap

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	clipBytes = 200 // of an argument, a reply or a value in the record
	clipArgs  = 64  // arguments of one command in the record
)

// clipArguments renders a command for the record.
func clipArguments(args [][]byte) []string {
	shown := make([]string, 0, min(len(args), clipArgs+1))
	for i, arg := range args {
		if i == clipArgs {
			return append(shown, "…")
		}
		shown = append(shown, clip(string(arg[:min(len(arg), clipBytes+1)])))
	}
	return shown
}

// clip renders a text for the record: quoted if it has bytes that cannot be printed, and ending in "…" if it is long.
func clip(text string) string {
	if len(text) <= clipBytes {
		return printable(text)
	}
	cut := clipBytes
	for cut > clipBytes-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return printable(text[:cut]) + "…"
}

// clipValue is clip for values that are compared: two long ones that differ behind the cut stay different.
func clipValue(text string) string {
	if len(text) <= clipBytes {
		return printable(text)
	}
	sum := fnv.New64a()
	sum.Write([]byte(text))
	return fmt.Sprintf("%s (%d bytes, %016x)…", strings.TrimSuffix(clip(text), "…"), len(text), sum.Sum64())
}

func printable(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	return strconv.Quote(text)
}
