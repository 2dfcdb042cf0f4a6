package report

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

// The measures of a picture, in units of the SVG's own coordinates. Time runs downwards, and not to scale: each event has a line
// of its own, so that what happened within a millisecond can be read as well as what took a second.
const (
	picTop      = 58
	picGutter   = 92  // time stamps
	picClient   = 150 // width of a client's lane
	picBetween  = 70  // more room for commands between the last client and the first server
	picServer   = 270 // width of a server's lane, most of it for what commands did
	picRow      = 24
	picCommand  = 34
	picHeading  = 34
	picMargin   = 16
	picFlags    = 72   // room on the right for the numbers of anomalies
	picLetter   = 6.1  // width of a rune of other text, on the average
	picClip     = 62   // runes of a label; the whole text is in its tooltip
	picMono     = 6.95 // width of a rune of a command
	picPalettes = 6    // colours of clients; they are told apart by name and place as well
)

// picture draws a timeline as SVG: a lane for each client and each server.
type picture struct {
	b     strings.Builder
	t     *chart
	rows  []row
	tops  []float64 // the middle of each row
	high  float64
	wide  float64
	lanes map[string]float64 // the x of each lane's axis
	shows map[int][]int
	id    string
}

// drawing is the SVG of a cell's history, and how many of its events it leaves out. id makes its names unique within the page.
func drawing(id string, cell record.Cell, events []history.Event, limit int) (svg string, missing int) {
	t := newChart(events)
	p := &picture{t: t, rows: t.rowsOf(cell, limit), shows: shownBy(cell.Verdict.Anomalies), id: id}
	p.layout()
	p.open(cell)
	p.bands()
	p.axes()
	for _, s := range visible(t.faults, p.rows) {
		p.fault(s)
	}
	for _, s := range visible(t.holds, p.rows) {
		p.hold(s)
	}
	p.keyBars()
	for _, s := range visible(t.operations, p.rows) {
		p.operation(s)
	}
	for i := range p.rows {
		p.row(i)
	}
	p.b.WriteString("</svg>\n")
	return p.b.String(), leftOut(p.rows)
}

func (p *picture) layout() {
	p.lanes = make(map[string]float64)
	x := float64(picGutter)
	for _, client := range p.t.clients {
		p.lanes[client] = x + 22
		x += picClient
	}
	x += picBetween
	for _, server := range p.t.servers {
		p.lanes[server] = x + 22
		x += picServer
	}
	p.wide = max(x+picFlags, 480)
	y := float64(picTop)
	for _, r := range p.rows {
		h := p.height(r)
		p.tops = append(p.tops, y+h/2)
		y += h
	}
	p.high = y + picMargin
}

func (p *picture) height(r row) float64 {
	if r.kind != rowEvent {
		return picRow
	}
	switch p.t.events[r.event].Kind {
	case history.KindCommand:
		return picCommand
	case history.KindStep:
		return picHeading
	}
	return picRow
}

// y is the height at which a position of the timeline is drawn.
func (p *picture) y(pos float64) float64 {
	i, exact := slices.BinarySearchFunc(p.rows, pos, func(r row, pos float64) int {
		switch {
		case r.pos < pos && !(r.kind == rowGap && pos < r.pos+float64(r.left)):
			return -1
		case r.pos > pos:
			return 1
		}
		return 0
	})
	switch {
	case exact:
		return p.tops[i]
	case i == len(p.rows):
		return p.high - picMargin/2
	case i == 0:
		return picTop
	}
	return (p.tops[i-1] + p.tops[i]) / 2
}

// client is the palette number of a client.
func (p *picture) client(name string) int {
	return max(0, slices.Index(p.t.clients, name)) % picPalettes
}

func esc(s string) string { return html.EscapeString(clean(s)) }

func (p *picture) open(cell record.Cell) {
	fmt.Fprintf(&p.b, `<svg class="pic" xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="%s-t %s-d" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+"\n",
		p.id, p.id, p.wide, p.high, p.wide, p.high)
	fmt.Fprintf(&p.b, `<title id="%s-t">Timeline of %s</title>`+"\n", p.id, esc(cellName(cell)))
	fmt.Fprintf(&p.b, `<desc id="%s-d">%s</desc>`+"\n", p.id, esc(p.inWords(cell)))
	fmt.Fprintf(&p.b, `<defs><marker id="%s-a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker>`, p.id)
	fmt.Fprintf(&p.b, `<pattern id="%s-h" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch" width="2.2" height="7"/></pattern></defs>`+"\n", p.id)
}

// inWords is the picture for those who do not see it.
func (p *picture) inWords(cell record.Cell) string {
	text := fmt.Sprintf("Time runs downwards. Lanes: %s. %s.", strings.Join(slices.Concat(p.t.clients, p.t.servers), ", "), outcome(cell))
	for i, a := range cell.Verdict.Anomalies {
		if i == maxWhys {
			return text + " And more."
		}
		text += fmt.Sprintf(" %d, %s: %s", i+1, a.Name, reason(a))
	}
	return text
}

// bands puts a tint behind the events that show an anomaly, and behind the lines of the script.
func (p *picture) bands() {
	for i, r := range p.rows {
		if r.kind != rowEvent {
			continue
		}
		h := p.height(r)
		class := ""
		switch {
		case len(p.shows[r.event]) > 0:
			class = "shows"
		case p.t.events[r.event].Kind == history.KindStep:
			class, h = "step", h-12
		default:
			continue
		}
		offset := 0.0
		if class == "step" {
			offset = 2
		}
		fmt.Fprintf(&p.b, `<rect class="%s" x="0" y="%.1f" width="%.0f" height="%.1f"/>`+"\n", class, p.tops[i]-h/2+offset, p.wide, h)
	}
}

func (p *picture) axes() {
	for _, name := range p.t.clients {
		p.axis(name, fmt.Sprintf("client c%d", p.client(name)))
	}
	for _, name := range p.t.servers {
		p.axis(name, "server")
	}
}

func (p *picture) axis(name, class string) {
	x := p.lanes[name]
	fmt.Fprintf(&p.b, `<g class="lane %s"><line x1="%.1f" y1="%d" x2="%.1f" y2="%.1f"/><rect x="%.1f" y="14" width="92" height="26" rx="6"/><text x="%.1f" y="31.5" text-anchor="middle">%s</text></g>`+"\n",
		class, x, 40, x, p.high-picMargin/2, x-18, x+28, esc(clip(name, 12)))
}

// bar draws a span as an upright bar, with what it is about and its positions as data; it returns its y and height.
func (p *picture) bar(s span, class string, x, width float64, tip string) (y, h float64) {
	y = p.y(s.From)
	h = max(3, p.y(s.To)-y)
	fmt.Fprintf(&p.b, `<rect class="%s" data-lane="%s" data-key="%s" data-from="%v" data-to="%v" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"><title>%s</title></rect>`+"\n",
		class, esc(s.Lane), esc(s.Key), s.From, s.To, x, y, width, h, esc(clip(tip, 2*maxWords)))
	return y, h
}

func (p *picture) hold(s span) {
	p.bar(s, fmt.Sprintf("hold c%d", p.client(s.Lane)), p.lanes[s.Lane]-8, 16, fmt.Sprintf("%s holds %s, %s", s.Lane, s.Key, p.period(s)))
}

func (p *picture) operation(s span) {
	x := p.lanes[s.Lane]
	class := "op"
	if s.Open {
		class = "op open"
	}
	fmt.Fprintf(&p.b, `<path class="%s" d="M%.1f %.1fh-5V%.1fh5"><title>%s</title></path>`+"\n", class, x-9, p.y(s.From), p.y(s.To), esc(s.Lane+" "+s.Label+", "+p.period(s)))
}

func (p *picture) fault(s span) {
	x, ok := p.lanes[s.Lane]
	if !ok {
		return
	}
	word := faultWord(s.Label)
	tip := fmt.Sprintf("%s: %s, %s", s.Lane, word, p.period(s))
	y, h := p.bar(s, "fault", x-20, picClient-12, tip)
	fmt.Fprintf(&p.b, `<rect fill="url(#%s-h)" x="%.1f" y="%.1f" width="%.0f" height="%.1f" pointer-events="none"/>`+"\n", p.id, x-20, y, float64(picClient-12), h)
}

// period says when something was.
func (p *picture) period(s span) string {
	if s.Open {
		return "from " + stamp(s.Began) + "ms to the end"
	}
	return fmt.Sprintf("from %sms to %sms", stamp(s.Began), stamp(s.Ended))
}

// keyBars draws the lives of the keys beside the axes of the servers, in the colours of their owners.
func (p *picture) keyBars() {
	const most = 3
	slots := make(map[string][]string)
	for _, s := range visible(p.t.keys, p.rows) {
		if !slices.Contains(slots[s.Lane], s.Key) && len(slots[s.Lane]) < most {
			slots[s.Lane] = append(slots[s.Lane], s.Key)
		}
		slot := slices.Index(slots[s.Lane], s.Key)
		if slot < 0 {
			continue
		}
		p.key(s, p.lanes[s.Lane]-11-24*float64(slot))
	}
}

func (p *picture) key(s span, x float64) {
	class, label, tip := "key", s.Label, fmt.Sprintf("%s = %s, %s", s.Key, s.Label, p.period(s))
	if s.Owner != "" {
		class, label, tip = fmt.Sprintf("key owned c%d", p.client(s.Owner)), s.Owner, s.Owner+"'s "+tip
	}
	y, h := p.bar(s, class, x, 22, tip)
	if h >= 18 {
		fmt.Fprintf(&p.b, `<text class="inbar" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x+11, y+14, esc(clip(label, 3)))
	}
}
