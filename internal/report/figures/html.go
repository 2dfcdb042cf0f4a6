package figures

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/report/format"
)

//go:embed page.html
var benchSource string

// HTML writes a measurement as one page that needs nothing else, with its plots as SVG.
func HTML(w io.Writer, r *bench.Record) error {
	tmpl, err := template.New("bench").Parse(benchSource)
	if err != nil {
		return fmt.Errorf("report: bench template: %w", err)
	}
	page := benchPage{Title: titleOf(r), Lab: format.Clean(r.Lab), Facts: conditions(r), Started: r.Started.UTC().Format("2006-01-02 15:04:05 MST"), Command: format.Clean(strings.Join(r.Command, " "))}
	for _, s := range r.Surprises() {
		page.Surprises = append(page.Surprises, format.Clean(s))
	}
	for _, s := range sections(r) {
		part := benchSection{Title: s.Title, Lead: s.Lead, Notes: s.Notes, Table: s.Table}
		for _, p := range s.Plots {
			if len(p.Bars) > 0 {
				part.Plots = append(part.Plots, template.HTML(svg(p))) // every text in it has been escaped
			}
		}
		page.Sections = append(page.Sections, part)
	}
	return tmpl.Execute(w, page)
}

type benchPage struct {
	Title, Started, Command, Lab string
	Facts                        []condition
	Surprises                    []string
	Sections                     []benchSection
}

type benchSection struct {
	Title, Lead string
	Table       figures
	Plots       []template.HTML
	Notes       []string
}

// Class is that of a column's entries.
func (f figures) Class(column int) string {
	if f.text(column) {
		return "text"
	}
	return "number"
}

// Sizes in an SVG, in pixels.
const (
	svgWidth  = 960
	svgRow    = 24
	svgHead   = 34
	svgFoot   = 26
	svgLetter = 7 // about the width of a letter
)

// svg draws a plot.
func svg(p plot) string {
	label, text := 0, 0
	for _, b := range p.Bars {
		label, text = max(label, utf8.RuneCountInString(b.Label)), max(text, utf8.RuneCountInString(b.Text))
	}
	left := label*svgLetter + 16
	room := svgWidth - left - text*svgLetter - 16
	axis := axisOf(p)
	bottom := svgHead + svgRow*len(p.Bars)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="plot" viewBox="0 0 %d %d" role="img" aria-label="%s">`, svgWidth, bottom+svgFoot, escaped(p.Title))
	fmt.Fprintf(&out, `<text class="title" x="0" y="16">%s</text>`, escaped(p.Title))
	for i, part := range p.Parts {
		x := len(p.Title)*svgLetter + 40 + i*70
		fmt.Fprintf(&out, `<rect class="p%d" x="%d" y="6" width="12" height="12"/><text x="%d" y="16">%s</text>`, i, x, x+17, escaped(part))
	}
	for _, v := range ticks(axis) {
		x := left + axis.at(v, room)
		if axis.log && v == axis.least {
			x = left
		}
		fmt.Fprintf(&out, `<line class="tick" x1="%d" y1="%d" x2="%d" y2="%d"/><text class="axis" x="%d" y="%d">%s</text>`,
			x, svgHead-4, x, bottom, x, bottom+16, escaped(decimal(v)+blankBefore(p.Unit)))
	}
	for i, b := range p.Bars {
		y := svgHead + i*svgRow
		fmt.Fprintf(&out, `<text class="label" x="%d" y="%d">%s</text>`, left-8, y+14, escaped(b.Label))
		for part := len(b.Values) - 1; part >= 0; part-- {
			fmt.Fprintf(&out, `<rect class="p%d" x="%d" y="%d" width="%d" height="%d"/>`, part, left, y+3, axis.at(b.Values[part], room), svgRow-8)
		}
		last := 0
		for _, v := range b.Values {
			last = max(last, axis.at(v, room))
		}
		fmt.Fprintf(&out, `<text x="%d" y="%d">%s</text>`, left+last+6, y+14, escaped(b.Text))
	}
	out.WriteString("</svg>")
	return out.String()
}

func escaped(s string) string { return template.HTMLEscapeString(s) }

// ticks are the values named on an axis.
func ticks(a axis) []float64 {
	if a.most == 0 {
		return nil
	}
	if !a.log {
		return []float64{0, a.most / 2, a.most}
	}
	var out []float64
	for power := math.Round(math.Log10(a.least)); power <= math.Round(math.Log10(a.most)); power++ {
		out = append(out, math.Pow(10, power))
	}
	return out
}
