// Package encode writes a history in the form in which the viewer's scripts read it.
//
// It owns that form. It must not know a page, or what a verdict is.
package encode

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// A history is an object with these fields, short because there are thousands. 20-history.js reads them.
//
//	n  names: clients, servers, locks and keys; elsewhere they are their numbers
//	c  clients, s servers, in the order of their lanes
//	e  events, or how many were left out. An event is [milliseconds since the one before, kind, client, lock, op, id, …]; of a command there follow server, connection,
//	   arguments, reply, milliseconds since it was let through, milliseconds between the probes, flags, and changes [key, before, after]; of others
//	   outcome, valid, fence, and the details
//	h  holds [client, lock, from, to, end, end's time, [event, until] …]
//	k  keys [server, key, value, owner, from, to, expired, end's time]
//	f  faults [kind, target, what, from, to, lanes]
//	t  what commands did to keys [event, server, key, effect, owner]

// History is a history for the page, but for the events that are not kept.
type History struct {
	all  *timeline.Timeline
	keep []bool
	kept []int // how many of the events before each are kept
}

// NewHistory is a history of which some events are kept.
func NewHistory(t *timeline.Timeline, keep []bool) *History {
	h := &History{t, keep, make([]int, len(keep)+1)}
	for i, on := range keep {
		h.kept[i+1] = h.kept[i]
		if on {
			h.kept[i+1]++
		}
	}
	return h
}

// AppendHistory writes a history as the page reads it, but for the events that are not kept.
func AppendHistory(b []byte, t *timeline.Timeline, keep []bool) []byte {
	return NewHistory(t, keep).Append(b, Piece{To: len(keep)})
}

// Piece is a part of a history: the events from From on, up to To.
type Piece struct {
	From, To int
	// Before are earlier events, in order, without which a reader does not know what is so when the piece begins.
	Before []int
}

// encoder writes a piece of a history.
type encoder struct {
	*History
	Piece
	b     []byte
	names map[string]int
	list  []string
	room  history.Room
	at    time.Duration // of the event before
}

// Append writes a piece as the page reads it. What is left out between its last event and the next piece is not counted.
func (h *History) Append(b []byte, p Piece) []byte {
	e, t := &encoder{History: h, Piece: p, b: b, names: map[string]int{}}, h.all
	e.b = append(e.b, `{"e":`...)
	e.events()
	e.spans(t)
	e.lanes("c", e.shown(t.Clients))
	e.lanes("s", t.Servers)
	e.key("n")
	e.strings(e.list)
	return append(e.b, '}')
}

// shown are those clients that take part in what was written so far.
func (e *encoder) shown(clients []string) []string {
	return slices.DeleteFunc(slices.Clone(clients), func(name string) bool { return e.names[name] == 0 })
}

func (e *encoder) key(name string) {
	e.b = append(append(append(e.b, `,"`...), name...), `":`...)
}

func (e *encoder) lanes(key string, names []string) {
	e.key(key)
	e.open()
	for _, name := range names {
		e.name(name)
	}
	e.close()
}

func (e *encoder) events() {
	e.open()
	next := 0 // the event after those that are written or left out
	skip := func(to int) {
		if to > next {
			e.int(int64(to - next))
		}
		next = to
	}
	write := func(i int) {
		skip(i)
		e.event(&e.all.Events[i])
		next++
	}
	for _, i := range e.Before {
		write(i)
	}
	skip(e.From)
	for i := e.From; i < e.To; i++ {
		if e.keep[i] {
			write(i)
		}
	}
	if e.To == len(e.keep) {
		skip(e.To)
	}
	e.close()
}

func (e *encoder) event(v *history.Event) {
	e.open()
	e.ms(v.At - e.at)
	e.at = v.At
	e.int(int64(v.Kind))
	e.name(v.Client)
	e.name(v.Lock)
	e.int(int64(v.Op))
	e.int(v.ID)
	if c := v.CommandIn(&e.room); c != nil {
		e.command(v, c)
	} else {
		e.int(int64(v.Outcome))
		e.ms(v.Valid)
		e.int(v.Fence)
		e.detail(v.Detail)
	}
	e.close()
}

func (e *encoder) command(v *history.Event, c *history.Command) {
	e.name(c.Server)
	e.int(c.Conn)
	e.comma()
	e.strings(c.Args)
	e.string(c.Reply)
	e.ms(v.At - c.Sent)
	e.ms(c.Asked)
	flags := 0
	for n, on := range []bool{c.Late, c.Again, c.ReplyDropped} {
		if on {
			flags |= 1 << n
		}
	}
	e.int(int64(flags))
	e.open()
	for _, change := range c.Changes {
		e.open()
		e.name(change.Key)
		e.state(change.Before, history.State{})
		e.state(change.After, change.Before)
		e.close()
	}
	e.close()
}

// state writes a key's state: 0 for none, its time left if it is another one only by that, else type, value and time left.
func (e *encoder) state(s, before history.State) {
	switch {
	case !s.Exists():
		e.int(0)
	case before.Exists() && s.Type == before.Type && s.Value == before.Value:
		e.open()
		e.ms(s.TTL)
		e.close()
	default:
		e.open()
		e.ms(s.TTL)
		e.string(s.Value)
		if s.Type != "string" {
			e.string(s.Type)
		}
		e.close()
	}
}

// spans writes what lasts.
func (e *encoder) spans(t *timeline.Timeline) {
	e.key("h")
	e.open()
	for _, h := range t.Holds {
		if !e.shows(h.Span) {
			continue
		}
		e.open()
		e.name(h.Client)
		e.name(h.Lock)
		e.span(h.Span)
		e.int(int64(h.End))
		e.ms(h.Ended)
		for _, u := range h.Until {
			e.int(int64(u.Event))
			e.until(u.Ends)
		}
		e.close()
	}
	e.close()
	e.key("k")
	e.open()
	for _, k := range t.Keys {
		if !e.shows(k.Span) {
			continue
		}
		e.open()
		e.name(k.Server)
		e.name(k.Key)
		e.string(k.Value)
		e.name(k.Owner)
		e.span(k.Span)
		e.bool(k.Expired)
		e.ms(k.Ended)
		e.close()
	}
	e.close()
	e.key("f")
	e.open()
	clients := e.shown(t.Clients)
	for n := range t.Faults {
		if f := &t.Faults[n]; e.shows(f.Span) {
			e.fault(f, clients)
		}
	}
	e.close()
	e.key("t")
	e.open()
	for _, touch := range t.Touches {
		if i := touch.Event; touch.Effect != history.EffectNone && e.From <= i && i < e.To && e.keep[i] {
			e.open()
			e.int(int64(i))
			e.name(touch.Server)
			e.name(touch.Key)
			e.int(int64(touch.Effect))
			e.name(touch.Owner)
			e.close()
		}
	}
	e.close()
}

// shows says whether an event that is kept lies within a span, or beside one of its ends.
func (e *encoder) shows(s timeline.Span) bool {
	from, to := max(e.From, int(s.From)-1), min(e.To, int(math.Ceil(s.To))+1)
	return from < to && e.kept[to] > e.kept[from]
}

func (e *encoder) fault(f *timeline.FaultSpan, clients []string) {
	e.open()
	e.string(string(f.Kind))
	e.string(f.Target)
	e.string(f.What)
	e.span(f.Span)
	e.open()
	for _, client := range clients {
		if f.Hits(client) {
			e.name(client)
		}
	}
	e.close()
	e.close()
}

func (e *encoder) span(s timeline.Span) {
	e.float(s.From)
	e.float(s.To)
}

// until writes the end of a hold; -1: none.
func (e *encoder) until(ends time.Duration) {
	if ends == timeline.Never {
		e.int(-1)
		return
	}
	e.ms(ends)
}

// name writes the number of a name, which is 0 for none.
func (e *encoder) name(name string) {
	if name == "" {
		e.int(0)
		return
	}
	id, known := e.names[name]
	if !known {
		e.list = append(e.list, name)
		id = len(e.list)
		e.names[name] = id
	}
	e.int(int64(id))
}

func (e *encoder) ms(d time.Duration) { e.float(float64(d) / float64(time.Millisecond)) }

func (e *encoder) float(f float64) {
	e.comma()
	e.b = strconv.AppendFloat(e.b, f, 'f', -1, 64)
}
