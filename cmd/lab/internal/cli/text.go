package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Enumerate joins names for people: "a, b or c".
func Enumerate(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}

// List joins names for a sentence.
func List[T ~string](names []T) string {
	return strings.Join(Each(names, func(name T) string { return string(name) }), ", ")
}

// Each is what of says of each entry.
func Each[T, U any](all []T, of func(T) U) (out []U) {
	for _, entry := range all {
		out = append(out, of(entry))
	}
	return out
}

// WriteUntil writes what may take long. When ctx ends first, which may be in the middle of it, the error is its cause, and nothing is written.
func WriteUntil(ctx context.Context, w io.Writer, write func(io.Writer) error) error {
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- write(&out) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		_, err = out.WriteTo(w)
	}
	return err
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

// FoldCommand continues a command that is wider than the room on further lines, as a shell reads it.
func FoldCommand(command string, room int) string {
	if room <= 0 || utf8.RuneCountInString(command) <= room {
		return command
	}
	command = strings.ReplaceAll(command, " --", " \\\n      --")
	var lines []string
	for line := range strings.SplitSeq(command, "\n") {
		if utf8.RuneCountInString(line) > room-4 {
			line = strings.Replace(line, ",", " \\\n      --lock ", 1)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// WriteJSON writes a value for programs, in one line.
func WriteJSON(w io.Writer, v any) error { return writeJSON(w, v, "") }

// WriteIndented writes JSON for people, too.
func WriteIndented(w io.Writer, v any) error { return writeJSON(w, v, "  ") }

func writeJSON(w io.Writer, v any, indent string) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	return encoder.Encode(v)
}
