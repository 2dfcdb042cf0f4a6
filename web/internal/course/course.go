// Package course makes pages of the playground from the chapters of the course, with a place to play each command that the model can play.
//
// It owns which chapters there are, how they link to each other, and what of a command is played. It must not know what a scenario or a lock is.
package course

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Chapter is one page. HTML has no markup but the renderer's own.
type Chapter struct {
	Name  string `json:"name"`
	Lang  string `json:"lang"`
	Title string `json:"title"`
	HTML  string `json:"html"`
}

// cell is a scenario with a lock.
type cell struct{ scenario, lock string }

const (
	first, last = "README", "which-lock"
	original    = "en"
)

var languages = []string{original, "zh-CN"}

// words are what the pages say besides the chapters' own text.
var words = map[string]struct{ play, prints string }{
	original: {"Play it here", "What it prints"},
	"zh-CN":  {"在这里运行", "它的输出"},
}

// Read reads the chapters in a directory, in the order in which they are read. A chapter in another language, from the directory named by it, follows at
// once: it has the same commands and outputs, so both take little more space than one.
func Read(dir fs.FS) ([]Chapter, error) {
	files, err := fs.Glob(dir, "*.md")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(files, func(a, b string) int { return rank(a) - rank(b) })
	var all []Chapter
	for _, file := range files {
		for _, lang := range languages {
			chapter, err := read(dir, path.Join(within(lang), file), lang)
			if err != nil {
				return nil, fmt.Errorf("docs/course/%s: %w", path.Join(within(lang), file), err)
			}
			all = append(all, chapter)
		}
	}
	return all, nil
}

func read(dir fs.FS, file, lang string) (Chapter, error) {
	text, err := fs.ReadFile(dir, file)
	if err != nil {
		return Chapter{}, err
	}
	return render(file, lang, string(text), func(to string) bool { _, err := fs.Stat(dir, to); return err == nil })
}

// within is the directory of a language.
func within(lang string) string {
	if lang == original {
		return "."
	}
	return lang
}

// rank orders files: the overview first, and the summary last.
func rank(file string) int {
	switch nameOf(file) {
	case first:
		return 0
	case last:
		return 2
	}
	return 1
}

func nameOf(file string) string { return strings.TrimSuffix(path.Base(file), ".md") }

// place is where a chapter is in the page.
func place(name, lang string) string {
	if lang == original {
		return "#read?chapter=" + name
	}
	return "#read?chapter=" + name + "&lang=" + lang
}

// cells are what a command plays in the model; none: the model cannot play it.
func cells(command string) (all []cell) {
	command, runs := strings.CutPrefix(strings.TrimPrefix(command, "go run ./cmd/"), "lab run ")
	if !runs {
		return nil
	}
	var scenarios, locks []string
	inModel, args := false, strings.Fields(strings.ReplaceAll(command, "=", " "))
	for len(args) > 0 {
		switch arg := args[0]; {
		case !strings.HasPrefix(arg, "-"):
			scenarios, args = append(scenarios, arg), args[1:]
			continue
		case len(args) > 1 && arg == "--lock":
			locks = append(locks, strings.Split(args[1], ",")...)
		case len(args) > 1 && arg == "--world":
			inModel = args[1] == "sim"
		default: // what the page does not have
			return nil
		}
		args = args[2:]
	}
	if !inModel {
		return nil
	}
	for _, scenario := range scenarios {
		for _, lock := range locks {
			all = append(all, cell{scenario, lock})
		}
	}
	return all
}
