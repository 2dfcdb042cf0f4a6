// Package reasons has the texts about names, each once, and says by a table of verdicts which locks stop what goes wrong, and which only seem to.
//
// It owns the texts, how long the story of a cell is, and what counts as a repair. It must not know what else there is to say of a name, or a screen.
package reasons

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed texts/*.txt
var files embed.FS

// Text is what is written about a name. Everything else about it is computed.
type Text struct {
	Lines []string
	// Hints name the cell to show where the shortest one would not do, and how it is run; see the heads of the files.
	Hints map[string]string
}

// Paragraph are the lines but the first skip, as one.
func (t Text) Paragraph(skip int) string {
	if skip > len(t.Lines) {
		return ""
	}
	return strings.Join(t.Lines[skip:], " ")
}

// Line is the first line.
func (t Text) Line() string {
	if len(t.Lines) == 0 {
		return ""
	}
	return t.Lines[0]
}

// ReadTexts reads a file: a name in brackets, its hints, and lines up to the next one. names are in the order of the file.
func ReadTexts(file string) (all map[string]Text, names []string, err error) {
	content, err := files.ReadFile("texts/" + file + ".txt")
	if err != nil {
		return nil, nil, err
	}
	all = map[string]Text{}
	name := ""
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			var rest string
			name, rest, _ = strings.Cut(line[1:], "]")
			if _, twice := all[name]; twice {
				return nil, nil, fmt.Errorf("texts/%s.txt has %q twice", file, name)
			}
			t := Text{Hints: map[string]string{}}
			for hint := range strings.FieldsSeq(rest) {
				key, value, _ := strings.Cut(hint, "=")
				t.Hints[key] = value
			}
			all[name] = t
			names = append(names, name)
		default:
			t := all[name]
			t.Lines = append(t.Lines, line)
			all[name] = t
		}
	}
	return all, names, nil
}

// Why says why things happen, by their names: the texts of a file without their hints.
func Why(file string) map[string]string {
	texts, names, _ := ReadTexts(file) // that they can be read, a test says
	all := map[string]string{}
	for _, name := range names {
		all[name] = texts[name].Paragraph(0)
	}
	return all
}
