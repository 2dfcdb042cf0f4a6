package main

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// The picture's size, in pixels at its natural width: that of a README on GitHub.
const (
	width  = 840.
	height = 548.
	margin = 24.
	bar    = 34. // the height of the window's title
)

// style has the colours of the lab's page. Without its animations the picture shows the race as it ended: for readers who want no motion, and for
// programs that know none. What is still lies below that, and the cover beside it.
const style = `
svg{--bg:#fff;--bar:#eceff4;--ink:#18202c;--soft:#545e6d;--line:#d4d9e2;--safe:#125d34;--broken:#7a4300;--odd:#5f2b92;--alarm:#a4121f;--tint:#fde2e4;--c0:#1a5fd0;--c1:#a54507;--c2:#15703f}
@media(prefers-color-scheme:dark){svg{--bg:#10141b;--bar:#212935;--ink:#e6eaf0;--soft:#a7b1bf;--line:#343d4b;--safe:#7ddba1;--broken:#f2c06b;--odd:#d0a8f5;--alarm:#ff9a9f;--tint:#4b1b20;--c0:#6ea8ff;--c1:#f0965a;--c2:#5fcf93}}
text{fill:var(--ink);font:15px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.m{font-size:16px;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.s{font-size:12.5px}.title{font-size:17px;font-weight:700}.halo{paint-order:stroke;stroke:var(--bg);stroke-width:5;stroke-linejoin:round}.mid{text-anchor:middle}.end{text-anchor:end}
.bold{font-weight:700}.dim,.soft{fill:var(--soft)}.safe{fill:var(--safe)}.broken{fill:var(--broken)}.odd{fill:var(--odd)}.alarm{fill:var(--alarm)}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.late{--c:var(--alarm)}
.of{fill:var(--c)}.hold{fill:var(--c);fill-opacity:.2;stroke:var(--c);stroke-width:1.5}.line{stroke:var(--line)}.arrow{stroke:var(--c);stroke-width:1.5;fill:none}.late.arrow{stroke-width:3}
.fault{fill:url(#hatch);stroke:var(--soft);stroke-width:1}.tint{fill:var(--tint)}.ring{fill:none;stroke:var(--alarm);stroke-width:2}.head{stroke:var(--ink);stroke-width:1.5}
.bg{fill:var(--bg)}.bar{fill:var(--bar)}.frame{fill:none;stroke:var(--line)}.cursor{fill:var(--soft)}.still{opacity:0}.cover{transform:translateX(840px)}
`

// canvas is a picture in the making: elements, and the animations that they name by class.
type canvas struct {
	strings.Builder
	now   time.Duration // when what is drawn next happens
	moves []move
}

// move is an animation of one property, once round the loop.
type move struct{ stops []stop }

// stop is a property at a time; between two stops it changes evenly.
type stop struct {
	at  time.Duration
	css string
}

// animate returns the class of an animation.
func (c *canvas) animate(stops ...stop) string {
	c.moves = append(c.moves, move{stops})
	return fmt.Sprintf("a%d", len(c.moves))
}

// fade is how long it takes to appear or to leave.
const fade = 250 * time.Millisecond

// during is the class of what is there from one time to another; zero: to the end.
func (c *canvas) during(from, to time.Duration) string {
	stops := []stop{{0, "opacity:0"}, {from, "opacity:0"}, {from + fade, "opacity:1"}}
	if from == 0 {
		stops = []stop{{0, "opacity:1"}}
	}
	if to > 0 {
		stops = append(stops, stop{to - fade, "opacity:1"}, stop{to, "opacity:0"})
	}
	return c.animate(stops...)
}

// since is the class of what appears now, and stays.
func (c *canvas) since() string { return c.during(c.now, 0) }

func (c *canvas) addf(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

// text writes a text in the reader's own font.
func (c *canvas) text(x, y float64, class, text string) {
	c.addf(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, escape(text))
}

// mono writes a text of which each letter is as wide as each, whatever font the reader has.
func (c *canvas) mono(x, y, each float64, class, text string) {
	if text != "" {
		c.addf(`<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs" class="m %s">%s</text>`, x, y, each*float64(len([]rune(text))), class, escape(text))
	}
}

func (c *canvas) rect(x, y, w, h float64, class string) {
	c.addf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" class="%s"/>`, x, y, max(w, 0), h, class)
}

func (c *canvas) group(class string, draw func()) {
	c.addf(`<g class="%s">`, class)
	draw()
	c.addf("</g>")
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

// css has the animations, for readers who want motion.
func (c *canvas) css() string {
	var b strings.Builder
	b.WriteString("@media(prefers-reduced-motion:no-preference){\n")
	for n, m := range c.moves {
		fmt.Fprintf(&b, ".a%d{animation:a%d %.2fs linear infinite}@keyframes a%d{", n+1, n+1, c.now.Seconds(), n+1)
		for i, s := range m.stops {
			fmt.Fprintf(&b, "%.2f%%{%s}", 100*s.at.Seconds()/c.now.Seconds(), s.css)
			if i == len(m.stops)-1 && s.at < c.now {
				fmt.Fprintf(&b, "100%%{%s}", s.css)
			}
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return b.String()
}
