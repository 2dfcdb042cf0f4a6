package cli

import (
	"encoding/json"
	"io"
	"strings"
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
	return strings.Join(Map(names, func(name T) string { return string(name) }), ", ")
}

// Map applies f to each entry.
func Map[T, U any](all []T, f func(T) U) (out []U) {
	for _, entry := range all {
		out = append(out, f(entry))
	}
	return out
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
