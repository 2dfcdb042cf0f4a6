package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/timeline"
)

// How the race goes on: from one beat to the next, what a beat takes to be read, and the end of it all.
const (
	going   = 500 * time.Millisecond
	each    = 160 * time.Millisecond // of what happens several times
	reading = 900 * time.Millisecond
	ending  = 7 * time.Second
)

// The lanes, from left to right and from top to bottom.
const (
	left      = 96.
	right     = width - margin
	top       = bar + 88
	barHeight = 30.
	rowHeight = 21. // of a fault
	laneGap   = 20.
	middle    = barHeight/2 + 5 // the base of a text
	beatRow   = 24.
)

// race draws what the clients had, what the servers had, and a line that goes through time.
func (c *canvas) race(s *shown) {
	beats := diagram.Beats(s.cell, s.events)
	l := newLanes(s, beats)
	c.addf(`<text x="%.0f" y="%.0f" class="title">One race of that run: <tspan class="soft">%s in %s</tspan></text>`, margin, bar+38, escape(s.cell.Lock), escape(s.cell.Scenario))
	bottom := l.draw(c)
	rows := (len(beats) + 1) / 2
	list := bottom + 46
	x, stops := left, []stop{{0, at(left)}}
	move := func(to float64, takes time.Duration) {
		stops = append(stops, stop{c.now, at(x)}, stop{c.now + takes, at(to)})
		x, c.now = to, c.now+takes
	}
	for n, b := range beats {
		c.now += reading
		move(l.x(b.At), going)
		if b.Times > 1 {
			move(l.x(b.Last), time.Duration(b.Times)*each)
		}
		c.beat(n, rows, list, b, s)
	}
	tooLate := c.since() // its words are longer than what had happened then
	c.now += reading
	move(right, going)
	// What has not happened yet is covered. Without motion, the cover is outside.
	c.group("cover "+c.animate(stops...), func() {
		c.rect(0, top-28, width, bottom-top+50, "bg")
		c.addf(`<line y1="%.1f" y2="%.1f" class="head"/>`, top-24, bottom+6)
	})
	l.names(c)
	c.group(tooLate, func() { l.warn(c) })
	y := list + float64(rows)*beatRow + 12
	c.group(c.since(), func() {
		for _, line := range format.Wrap(format.Clean(s.cell.Finding), 90) {
			c.text(margin, y, "bold alarm", line)
			y += 22
		}
	})
	c.now += ending
}

func at(x float64) string { return fmt.Sprintf("transform:translateX(%.1fpx)", x) }

// beat writes what happened, in two columns.
func (c *canvas) beat(n, rows int, y float64, b diagram.Beat, s *shown) {
	x := margin + float64(n/rows)*(width-2*margin)*0.55
	y += float64(n%rows) * beatRow
	c.group(c.since(), func() {
		c.mono(x, y, 7.8, "s soft", fmt.Sprintf("%.3fs", (b.At-s.events[0].At).Seconds()))
		c.text(x+60, y, "", format.Clean(b.String()))
	})
}

// lane is one of a client, or of a key.
type lane struct {
	name, class string
	top, height float64
}

// lanes are a part of a timeline laid out.
type lanes struct {
	*timeline.Timeline
	clients, keys []lane
	late          map[int]bool // events of which an anomaly says that they came too late
	begin, end    time.Duration
	times         []time.Duration // when something happens that is drawn
	xs            []float64
}

// newLanes lays out a race up to its last beat.
func newLanes(s *shown, beats []diagram.Beat) *lanes {
	l := &lanes{Timeline: timeline.Of(s.events), late: map[int]bool{}, begin: s.events[0].At, end: beats[len(beats)-1].Last}
	concerned := map[string]bool{}
	for _, a := range s.cell.Verdict.Anomalies {
		for _, client := range a.Clients {
			concerned[client] = true
		}
		for _, i := range a.Events {
			l.late[i] = l.late[i] || a.Name == checker.StaleWrite
		}
	}
	y := top
	for _, name := range l.Clients {
		if concerned[name] {
			height := barHeight + rowHeight*float64(len(l.faultsOf(name)))
			l.clients = append(l.clients, lane{name, fmt.Sprintf("c%d", len(l.clients)), y, height})
			y += height + laneGap
		}
	}
	for _, k := range l.Keys {
		if k.Began <= l.end && find(l.keys, k.Key) == nil {
			l.keys = append(l.keys, lane{k.Key, "", y, barHeight})
			y += barHeight + laneGap
		}
	}
	l.scale(beats)
	return l
}

// scale finds the moments, and a place for each. A longer wait is wider, but not in proportion: one of two seconds would hide the rest.
func (l *lanes) scale(beats []diagram.Beat) {
	note := func(times ...time.Duration) {
		for _, t := range times {
			l.times = append(l.times, min(max(t, l.begin), l.end))
		}
	}
	note(l.begin, l.end)
	for _, b := range beats {
		note(b.At, b.Last)
	}
	for _, k := range l.Keys {
		note(k.Began, k.Ended)
	}
	slices.Sort(l.times)
	l.times = slices.Compact(l.times)
	l.xs = make([]float64, len(l.times))
	for i := 1; i < len(l.times); i++ {
		wait := float64(l.times[i]-l.times[i-1]) / float64(time.Millisecond)
		l.xs[i] = l.xs[i-1] + 0.4 + math.Log10(1+wait)
	}
	whole := l.xs[len(l.xs)-1] + 1 // what lasts is seen to go on
	for i := range l.xs {
		l.xs[i] = left + (right-left)*l.xs[i]/whole
	}
}

// x is where a time is.
func (l *lanes) x(at time.Duration) float64 {
	i, found := slices.BinarySearch(l.times, at)
	switch {
	case found:
		return l.xs[i]
	case i == 0:
		return left
	case i == len(l.times):
		return right
	}
	part := float64(at-l.times[i-1]) / float64(l.times[i]-l.times[i-1])
	return l.xs[i-1] + part*(l.xs[i]-l.xs[i-1])
}

// to is where a span ends.
func (l *lanes) to(s timeline.Span) float64 {
	if s.Open || s.Ended > l.end {
		return right
	}
	return l.x(s.Ended)
}

// find is the lane of a name; nil: there is none.
func find(of []lane, name string) *lane {
	i := slices.IndexFunc(of, func(a lane) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return &of[i]
}

// faultsOf are the faults that a client's lane shows.
func (l *lanes) faultsOf(client string) (all []timeline.FaultSpan) {
	for _, f := range l.Faults {
		if f.Hits(client) && f.Began <= l.end && f.Ended > f.Began {
			all = append(all, f)
		}
	}
	return all
}

// draw draws what the lanes show, and returns where they end.
func (l *lanes) draw(c *canvas) (bottom float64) {
	l.together(c)
	for _, a := range slices.Concat(l.clients, l.keys) {
		bottom = a.top + a.height
		c.addf(`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="line"/>`, left, right, a.top+barHeight/2, a.top+barHeight/2)
	}
	for i := 1; i < len(l.times); i++ {
		if wait := l.times[i] - l.times[i-1]; wait > time.Second {
			c.text((l.xs[i-1]+l.xs[i])/2, top-10, "s mid soft", fmt.Sprintf("⟵  %.1f s  ⟶", wait.Seconds()))
		}
	}
	for _, h := range l.Holds {
		if a := find(l.clients, h.Client); a != nil && h.Began <= l.end {
			x := l.x(h.Began)
			c.rect(x, a.top, l.to(h.Span)-x, barHeight, "hold "+a.class)
			c.text(x+10, a.top+middle, "s bold of "+a.class, "holds the lock")
		}
	}
	for _, a := range l.clients {
		for n, f := range l.faultsOf(a.name) {
			x, y := l.x(f.Began), a.top+barHeight+3+float64(n)*rowHeight
			c.rect(x, y, l.to(f.Span)-x, rowHeight-3, "fault")
			label := f.Kind.Of().State
			if f.Kind.Holds() {
				label = f.What + ": " + label
			}
			c.text(x+10, y+13, "s halo", label)
		}
	}
	for _, t := range l.Touches {
		l.touch(c, t)
	}
	for _, k := range l.Keys {
		l.key(c, k)
	}
	return bottom
}

// together marks the times at which two clients hold a lock.
func (l *lanes) together(c *canvas) {
	for n, h := range l.Holds {
		for _, other := range l.Holds[:n] {
			from, to := max(h.From, other.From), min(h.To, other.To)
			if h.Lock != other.Lock || from >= to || h.Began > l.end || len(l.clients) == 0 {
				continue
			}
			x, last := l.x(max(h.Began, other.Began)), l.clients[len(l.clients)-1]
			end := min(l.to(h.Span), l.to(other.Span))
			c.rect(x, top-28, end-x, last.top+last.height-top+34, "tint")
			c.text((x+end)/2, top-10, "s mid bold alarm", "2 holders")
		}
	}
}

// key draws a key while it has a value.
func (l *lanes) key(c *canvas, k timeline.KeySpan) {
	if k.Began > l.end {
		return
	}
	a, class := find(l.keys, k.Key), ""
	if by := l.writer(k); by >= 0 {
		class = l.by(by)
	}
	x := l.x(k.Began)
	end := l.to(k.Span)
	c.rect(x, a.top, end-x, barHeight, "bg") // commands to other keys pass behind it
	c.rect(x, a.top, end-x, barHeight, "hold "+class)
	c.text((x+end)/2, a.top+middle, "s m mid bold of "+class, k.Value)
	if k.Expired && k.Ended <= l.end {
		c.text(end-4, a.top-5, "s end soft", "the lease ends")
	}
}

// writer is the event of the command that gave a key its value; negative: none is known.
func (l *lanes) writer(k timeline.KeySpan) int {
	for _, t := range l.Touches {
		if float64(t.Event) == k.From && t.Key == k.Key && t.Server == k.Server {
			return t.Event
		}
	}
	return -1
}

// by is the colour of what a command did.
func (l *lanes) by(event int) string {
	if l.late[event] {
		return "late"
	}
	if a := find(l.clients, l.Events[event].Client); a != nil {
		return a.class
	}
	return ""
}

// touch draws a command from its client to the key that it changed.
func (l *lanes) touch(c *canvas, t timeline.Touch) {
	e := l.Events[t.Event]
	from, to := find(l.clients, e.Client), find(l.keys, t.Key)
	if from == nil || to == nil || e.At > l.end || t.Effect == history.EffectNone {
		return
	}
	x, y, class := l.x(e.At), from.top+barHeight/2, l.by(t.Event)
	if slices.ContainsFunc(l.Holds, func(h timeline.HoldSpan) bool { return h.Client == e.Client && h.At(float64(t.Event)) }) {
		y = from.top + barHeight - 5 // below the words in the bar
	}
	c.addf(`<path d="M%.1f %.1fV%.1fm-3.5-6l3.5 6 3.5-6" class="arrow %s"/><circle cx="%.1f" cy="%.1f" r="3" class="of %s"/>`, x, y, to.top, class, x, y, class)
}

// warn names the commands that came too late.
func (l *lanes) warn(c *canvas) {
	for _, t := range l.Touches {
		if to := find(l.keys, t.Key); to != nil && l.late[t.Event] {
			e := l.Events[t.Event]
			c.text(right, to.top+barHeight+16, "s end bold alarm", e.Client+", too late: "+strings.Join(e.Command().Args, " "))
		}
	}
}

// names writes the names of the lanes, beside what is covered.
func (l *lanes) names(c *canvas) {
	for _, a := range l.clients {
		c.text(margin, a.top+middle, "bold of "+a.class, a.name)
	}
	for _, a := range l.keys {
		c.text(margin, a.top+middle, "bold", a.name)
	}
}
