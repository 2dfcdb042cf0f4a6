package scenarios

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Reformat lays a script out in its canonical form, and keeps its comments, its blank lines and the order of its lines. Parsed again it yields the same script,
// but for the Line and Text of its steps. The error is that of Parse.
func Reformat(path string, src []byte) ([]byte, error) {
	script, err := Parse(path, src)
	if err != nil {
		return nil, err
	}
	layout := newLayout(script)
	for _, l := range splitLines(src, &complaints{}) {
		layout.add(l)
	}
	return layout.bytes(), nil
}

// layout is a script that is being laid out.
type layout struct {
	headers map[string]string
	steps   map[int]string // by line
	name    int            // width of the names of headers
	lines   []laidOut
}

// laidOut is a line: what it says, then a comment; both are empty in a blank line.
type laidOut struct {
	says, comment string
	raw           string // as it was
	column        *int   // of comments, shared by the headers, and by the steps
}

// commentGap is how far comments stand from the longest line that has one.
const commentGap = 2

func newLayout(s *Script) *layout {
	l := &layout{headers: map[string]string{}, steps: map[int]string{}, name: len("clients")}
	for _, h := range s.headerLines() {
		l.headers[h[0]] = h[1]
	}
	if l.headers["workload"] != "" || l.headers["other-key"] != "" {
		l.name = len("workload")
	}
	width := 0
	for _, name := range s.Actors() {
		width = max(width, len(name))
	}
	for _, step := range s.Steps {
		l.steps[step.Line] = pad(step.Subject(), width) + "  " + step.says()
	}
	return l
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-len(text)))
}

// add lays out the next line. Of several blank ones in a row one stays, and none at the beginning.
func (l *layout) add(at line) {
	text := withoutComment(at.text)
	out := laidOut{comment: commentIn(strings.TrimSpace(at.text[len(text):])), raw: at.text, column: new(int)}
	if text == "" && out.comment == "" {
		if n := len(l.lines); n > 0 && l.lines[n-1].raw != "" {
			l.lines = append(l.lines, out)
		}
		return
	}
	if words := fields(text); len(words) > 0 {
		out.says = l.says(at.number, words)
		for i := len(l.lines) - 1; i >= 0; i-- {
			if before := l.lines[i]; before.says != "" {
				if l.isHeader(before.says) == l.isHeader(out.says) {
					out.column = before.column
				}
				break
			}
		}
		if out.comment != "" {
			*out.column = max(*out.column, utf8.RuneCountInString(out.says)+commentGap)
		}
	}
	l.lines = append(l.lines, out)
}

// says is a header, a step, or the beginning or end of a block.
func (l *layout) says(number int, words []string) string {
	if value, known := l.headers[words[0]]; known {
		if value == "" { // one that says what is so without it
			value = strings.Join(words[1:], " ")
		}
		return pad(words[0], l.name) + "  " + value
	}
	if step, known := l.steps[number]; known {
		return step
	}
	if len(words) == 2 { // repeat 3
		if n, err := strconv.Atoi(words[1]); err == nil {
			words[1] = strconv.Itoa(n)
		}
	}
	return strings.Join(words, " ")
}

func (l *layout) isHeader(says string) bool {
	name, _, _ := strings.Cut(says, " ")
	_, known := l.headers[name]
	return known
}

// commentIn is a comment with a blank after its sign, unless that is followed by another sign.
func commentIn(text string) string {
	rest := strings.TrimPrefix(text, "#")
	if rest == "" || strings.HasPrefix(rest, "#") || strings.TrimSpace(rest) != rest {
		return text
	}
	return "# " + rest
}

// bytes are all lines. One that has become longer than a line may be stays as it was.
func (l *layout) bytes() []byte {
	for n := len(l.lines); n > 0 && l.lines[n-1].raw == ""; n-- {
		l.lines = l.lines[:n-1]
	}
	var out bytes.Buffer
	for _, line := range l.lines {
		text := line.says
		if line.comment != "" && line.says != "" {
			text += strings.Repeat(" ", *line.column-utf8.RuneCountInString(line.says))
		}
		if text += line.comment; len(text) > maxLine {
			text = line.raw
		}
		out.WriteString(text + "\n")
	}
	return out.Bytes()
}
