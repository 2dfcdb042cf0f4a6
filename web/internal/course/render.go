package course

import (
	"fmt"
	"html"
	"path"
	"regexp"
	"strings"
)

// page renders one chapter: the Markdown that chapters use, and an error for any other, so that nothing is shown as it was not meant.
type page struct {
	Chapter
	file     string
	exists   func(file string) bool
	out      strings.Builder
	sections int
	commands int
}

var (
	pipes   = regexp.MustCompile(`^\|(.*)\|$`)
	rule    = regexp.MustCompile(`^[-| :]+$`)
	unknown = regexp.MustCompile(`^(#{3}|>|\d+[.)] |[*+] |!\[|    |\t|---)`)
)

func render(file, lang, text string, exists func(string) bool) (Chapter, error) {
	p := &page{Chapter: Chapter{Name: nameOf(file), Lang: lang}, file: file, exists: exists}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for n := 0; n < len(lines); {
		from := n
		used, err := p.block(lines[n:])
		if err != nil {
			return p.Chapter, fmt.Errorf("line %d: %w", from+1, err)
		}
		n += used
	}
	p.HTML = p.out.String()
	return p.Chapter, nil
}

// block renders what begins here, and says how many lines it has.
func (p *page) block(lines []string) (int, error) {
	line := lines[0]
	switch {
	case line == "":
		return 1, nil
	case strings.HasPrefix(line, "```"):
		return p.fence(lines)
	case strings.HasPrefix(line, "# "):
		p.Title = strings.TrimPrefix(line, "# ")
		return 1, p.wrapped(`<h2 tabindex="-1">`, p.Title, "</h2>\n")
	case strings.HasPrefix(line, "## "):
		p.sections++
		return 1, p.wrapped(fmt.Sprintf(`<h3 id="s%d" tabindex="-1">`, p.sections), strings.TrimPrefix(line, "## "), "</h3>\n")
	case unknown.MatchString(line):
		return 0, fmt.Errorf("chapters have headings, paragraphs, lists with -, tables and code, and this is none: %s", line)
	case pipes.MatchString(line):
		return p.table(taken(lines, pipes.MatchString))
	case strings.HasPrefix(line, "- "):
		return p.list(taken(lines, func(s string) bool { return strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "  ") }))
	}
	text := taken(lines, func(s string) bool { return s != "" && !strings.HasPrefix(s, "```") && !strings.HasPrefix(s, "- ") })
	return len(text), p.wrapped("<p>", strings.Join(text, "\n"), "</p>\n")
}

// taken are the first lines that are alike.
func taken(lines []string, alike func(string) bool) []string {
	n := 0
	for n < len(lines) && alike(lines[n]) {
		n++
	}
	return lines[:n]
}

func (p *page) list(lines []string) (int, error) {
	items := strings.Split("\n"+strings.Join(lines, "\n"), "\n- ")
	p.out.WriteString("<ul>\n")
	for _, item := range items[1:] {
		if err := p.wrapped("<li>", item, "</li>\n"); err != nil {
			return 0, err
		}
	}
	p.out.WriteString("</ul>\n")
	return len(lines), nil
}

func (p *page) table(lines []string) (int, error) {
	if len(lines) < 2 || !rule.MatchString(lines[1]) {
		return 0, fmt.Errorf("a table without its heading: %s", lines[0])
	}
	p.out.WriteString("<div class=\"wide\" tabindex=\"0\"><table>\n")
	for n, line := range lines {
		cell := "td"
		switch n {
		case 0:
			cell = "th"
		case 1:
			continue
		}
		p.out.WriteString("<tr>")
		for _, text := range strings.Split(pipes.FindStringSubmatch(line)[1], "|") {
			if err := p.wrapped("<"+cell+">", strings.TrimSpace(text), "</"+cell+">"); err != nil {
				return 0, err
			}
		}
		p.out.WriteString("</tr>\n")
	}
	p.out.WriteString("</table></div>\n")
	return len(lines), nil
}

func (p *page) fence(lines []string) (int, error) {
	code := taken(lines[1:], func(s string) bool { return s != "```" })
	if len(code)+1 == len(lines) {
		return 0, fmt.Errorf("this code does not end")
	}
	for rest := code; len(rest) > 0; {
		text := rest[:1+len(taken(rest[1:], func(s string) bool { return !strings.HasPrefix(s, "$ ") }))]
		rest = rest[len(text):]
		if command, is := strings.CutPrefix(text[0], "$ "); is {
			p.command(command, strings.Join(text[1:], "\n"))
		} else {
			p.code(strings.Join(text, "\n"))
		}
	}
	return len(code) + 2, nil
}

func (p *page) code(text string) {
	fmt.Fprintf(&p.out, "<pre tabindex=\"0\">%s</pre>\n", html.EscapeString(text))
}

// command renders a command: a place to play each cell of it, and what it prints, which stays closed until the reader has made a guess.
func (p *page) command(command, output string) {
	p.commands++
	at := fmt.Sprintf("c%d", p.commands)
	fmt.Fprintf(&p.out, "<div class=\"command\" id=\"%s\" tabindex=\"-1\">\n<pre tabindex=\"0\"><b>$</b> %s</pre>\n", at, html.EscapeString(command))
	p.plays(cells(command), "&"+strings.TrimPrefix(place(p.Name, p.Lang), "#read?")+"&at="+at)
	if output != "" {
		fmt.Fprintf(&p.out, "<details><summary>%s</summary>\n", words[p.Lang].prints)
		p.code(output)
		p.out.WriteString("</details>\n")
	}
	p.out.WriteString("</div>\n")
}

// plays renders one link for one cell, and a row of them for each scenario if there are several.
func (p *page) plays(all []cell, back string) {
	link := func(c cell, label string) {
		fmt.Fprintf(&p.out, "<a class=\"act\" href=\"%s\">▶ %s</a>\n", html.EscapeString("#play?lock="+c.lock+"&scenario="+c.scenario+back), html.EscapeString(label))
	}
	if len(all) == 1 {
		link(all[0], words[p.Lang].play)
		return
	}
	for n, c := range all {
		if n == 0 || all[n-1].scenario != c.scenario {
			fmt.Fprintf(&p.out, "<p class=\"row\"><code>%s</code>\n", html.EscapeString(c.scenario))
		}
		link(c, c.lock)
		if n+1 == len(all) || all[n+1].scenario != c.scenario {
			p.out.WriteString("</p>\n")
		}
	}
}

func (p *page) wrapped(begin, text, end string) error {
	text, err := p.inline(text)
	p.out.WriteString(begin + text + end)
	return err
}

// span is what may stand in a line: code, a link, and strong or emphasized text, in this order of precedence.
var span = regexp.MustCompile("`([^`]+)`" + `|\[([^\]]+)\]\(([^)\s]+)\)|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*`)

func (p *page) inline(text string) (string, error) {
	var out strings.Builder
	for {
		at := span.FindStringSubmatchIndex(text)
		if at == nil {
			out.WriteString(html.EscapeString(text))
			return out.String(), nil
		}
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		out.WriteString(html.EscapeString(text[:at[0]]))
		begin, inner, end := "<em>", group(5), "</em>"
		switch {
		case group(1) != "":
			out.WriteString("<code>" + html.EscapeString(group(1)) + "</code>")
			inner, begin, end = "", "", ""
		case group(3) != "":
			target, err := p.target(group(3))
			if err != nil {
				return "", err
			}
			inner = group(2)
			switch begin, end = `<a href="`+html.EscapeString(target)+`">`, "</a>"; {
			case strings.HasPrefix(target, "#"):
			case path.Base(target) == inner: // the name is enough
				inner, begin, end = "", "<code>"+html.EscapeString(target), "</code>"
			default:
				begin, end = "", " (<code>"+html.EscapeString(target)+"</code>)"
			}
		case group(4) != "":
			begin, inner, end = "<strong>", group(4), "</strong>"
		}
		inner, err := p.inline(inner)
		if err != nil {
			return "", err
		}
		out.WriteString(begin + inner + end)
		text = text[at[1]:]
	}
}

// target is where a link leads: to a chapter by its place in the page, elsewhere by its path in the repository, which the page does not have.
func (p *page) target(link string) (string, error) {
	if strings.Contains(link, "://") {
		return link, nil
	}
	file := path.Join("docs/course", path.Dir(p.file), link)
	to, inside := strings.CutPrefix(file, "docs/course/")
	if !inside || path.Ext(to) != ".md" {
		return file, nil
	}
	if !p.exists(to) {
		return "", fmt.Errorf("it links to %s, which is no chapter", file)
	}
	lang := original
	if dir := path.Dir(to); dir != "." {
		lang = dir
	}
	return place(nameOf(to), lang), nil
}
