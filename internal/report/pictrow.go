package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/history"
)

// row writes the line of an event, a moment or a gap.
func (p *picture) row(i int) {
	r, y := p.rows[i], p.tops[i]
	switch r.kind {
	case rowGap:
		p.text("gap", picGutter, y+4, fmt.Sprintf("… %s left out …", plural(r.left, "event", "events")))
		return
	case rowMoment:
		m := p.t.moments[r.moment]
		p.stamp(stamp(r.at), y)
		x := p.lanes[m.Lane]
		fmt.Fprintf(&p.b, `<line class="tick" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x-12, y, x+12, y)
		p.text("moment", x+17, y+4, m.Text)
		return
	}
	e := p.t.events[r.event]
	switch {
	case e.Kind == history.KindStep:
		p.text("steptext", 8, y+6, p.t.describe(r.event))
		p.flags(r.event, y)
		return
	case e.Command() != nil:
		p.command(r.event, y)
	default:
		p.event(r.event, y)
	}
	p.stamp(stamp(e.At), y)
	p.flags(r.event, y)
}

func (p *picture) stamp(text string, y float64) {
	fmt.Fprintf(&p.b, `<text class="stamp" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", picGutter-32, y+4, text)
}

// flags puts the numbers of the anomalies that an event shows beside it.
func (p *picture) flags(event int, y float64) {
	numbers := p.shows[event]
	if len(numbers) == 0 {
		return
	}
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
	text = clip(text, 12)
	width := 12 + 6.5*float64(utf8.RuneCountInString(text))
	fmt.Fprintf(&p.b, `<g class="flag"><rect x="%.1f" y="%.1f" width="%.1f" height="18" rx="9"/><text x="%.1f" y="%.1f">%s</text></g>`+"\n",
		p.wide-8-width, y-9, width, p.wide-8-width+6, y+4, text)
}

func (p *picture) event(i int, y float64) {
	e := p.t.events[i]
	x, ok := p.lanes[p.t.laneOf(e)]
	if !ok {
		p.text("event", picGutter, y+4, p.t.describe(i))
		return
	}
	fmt.Fprintf(&p.b, `<circle class="dot" cx="%.1f" cy="%.1f" r="3.2"/>`+"\n", x, y)
	p.text(eventClass(e), x+14, y+4, p.t.describe(i))
}

func eventClass(e history.Event) string {
	switch {
	case e.Kind == history.KindFault:
		return "event faulttext"
	case e.Kind == history.KindReturn || e.Kind == history.KindLost || e.Kind == history.KindExit:
		return "event strong"
	}
	return "event"
}

// command draws an arrow from the client to the server, what was sent above it, and what came of it beside the server.
func (p *picture) command(i int, y float64) {
	e := p.t.events[i]
	c := e.Command()
	to, fromServer := p.lanes[c.Server], false
	from, ok := p.lanes[e.Client]
	if !ok {
		from, fromServer = to-60, true
	}
	class := "arrow"
	if c.ReplyDropped {
		class = "arrow lost"
	}
	fmt.Fprintf(&p.b, `<path class="%s" d="M%.1f %.1fH%.1f" marker-end="url(#%s-a)"/>`+"\n", class, from+9, y+7, to-12, p.id)
	if !fromServer {
		room := int((to - from - 30) / picMono)
		p.clipped("cmd", from+14, y+2, commandWords(c), max(3, room))
	}
	x := to + 17
	p.text("reply", x, y+1, strings.TrimPrefix(replyWords(c), " → "))
	if note := p.t.notes[i]; note != "" {
		p.text("note", x, y+14, note)
	}
}

// text writes a label with a halo, as long as there is room for it.
func (p *picture) text(class string, x, y float64, s string) {
	room := int((p.wide - picFlags - x) / picLetter)
	p.clipped(class, x, y, s, min(picClip, room))
}

// clipped writes a label of at most n runes; what it leaves out can be read in its tooltip.
func (p *picture) clipped(class string, x, y float64, s string, n int) {
	if s == "" {
		return
	}
	tip := ""
	if short := clip(clean(s), n); short != clean(s) {
		tip = "<title>" + esc(clip(clean(s), 4*maxWords)) + "</title>"
		s = short
	}
	fmt.Fprintf(&p.b, `<text class="%s" x="%.1f" y="%.1f">%s%s</text>`+"\n", class, x, y, tip, esc(s))
}
