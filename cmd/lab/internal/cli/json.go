package cli

import (
	"encoding/json"
	"io"
)

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
