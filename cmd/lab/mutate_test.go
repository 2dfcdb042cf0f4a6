package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// mutator damages files as disks, editors and people do, and as somebody who wants to do harm does.
type mutator struct{ *rand.Rand }

func newMutator(seed uint64) mutator { return mutator{rand.New(rand.NewPCG(seed, 0))} }

func pick[T any](m mutator, all []T) T { return all[m.IntN(len(all))] }

// bytes damages a text without knowing what it says.
func (m mutator) bytes(whole []byte) []byte {
	text := bytes.Clone(whole)
	for range 1 + m.IntN(3) {
		if len(text) == 0 {
			return text
		}
		at := m.IntN(len(text))
		switch m.IntN(6) {
		case 0:
			text[at] ^= 1 << m.IntN(8)
		case 1:
			text = text[:at]
		case 2:
			text = m.lines(text)
		case 3:
			text = m.number(text, at)
		case 4:
			text = renameField(text, at)
		case 5:
			text = slices.Insert(text, at, text[at:min(len(text), at+1+m.IntN(64))]...)
		}
	}
	return text
}

// lines swaps, removes, repeats or moves a line.
func (m mutator) lines(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	a, b := m.IntN(len(lines)), m.IntN(len(lines))
	switch m.IntN(4) {
	case 0:
		lines[a], lines[b] = lines[b], lines[a]
	case 1:
		lines = slices.Delete(lines, a, a+1)
	case 2:
		lines = slices.Insert(lines, b, lines[a])
	case 3:
		moved := lines[a]
		lines = slices.Insert(slices.Delete(lines, a, a+1), min(b, len(lines)-1), moved)
	}
	return bytes.Join(lines, nil)
}

// extremes are numbers that break arithmetic.
func extremes() []int64 {
	return []int64{0, -1, 1, 2, 1 << 16, 1 << 31, 1 << 62, -1 << 63, 1<<63 - 1, 1_000_000_000, -1_000_000_000, 10 * 365 * 24 * 3600 * 1_000_000_000}
}

// number puts another number in place of the next one.
func (m mutator) number(text []byte, at int) []byte {
	from := at + max(0, bytes.IndexAny(text[at:], "0123456789"))
	to := from
	for to < len(text) && text[to] >= '0' && text[to] <= '9' {
		to++
	}
	return bytes.Join([][]byte{text[:from], strconv.AppendInt(nil, pick(m, extremes()), 10), text[to:]}, nil)
}

// renameField makes the next field one that is not known, so that it is missing.
func renameField(text []byte, at int) []byte {
	i := bytes.Index(text[at:], []byte(`":`))
	if i > 0 {
		text[at+i-1] = '_'
	}
	return text
}

// words exchanges, repeats, removes and replaces words of a text of lines; vocabulary has those that may come in.
func (m mutator) words(whole []byte, vocabulary []string) []byte {
	lines := strings.SplitAfter(string(whole), "\n")
	for range 1 + m.IntN(4) {
		n := m.IntN(len(lines))
		words := strings.Fields(lines[n])
		if len(words) == 0 {
			continue
		}
		at := m.IntN(len(words))
		switch m.IntN(6) {
		case 0, 1:
			words[at] = pick(m, vocabulary)
		case 2:
			words = slices.Insert(words, at, pick(m, vocabulary))
		case 3:
			words = slices.Delete(words, at, at+1)
		case 4:
			words[at] = string(m.number([]byte(words[at]+" "), 0))
		case 5:
			return m.lines([]byte(strings.Join(lines, "")))
		}
		lines[n] = strings.Join(words, " ") + "\n"
	}
	return []byte(strings.Join(lines, ""))
}

// json damages a JSON text so that it stays one: values are changed, removed, and exchanged with others of the same text.
func (m mutator) json(whole []byte) []byte {
	tree := decoded(whole)
	for range 1 + m.IntN(3) {
		tree = m.edit(tree)
	}
	return marshal(tree)
}

func decoded(text []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // times do not fit into a float64
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// edit changes one value below v, or v itself.
func (m mutator) edit(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || m.IntN(24) == 0 {
			return m.value(v)
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names) // the order of a map is not the seed's
		name := pick(m, names)
		switch m.IntN(12) {
		case 0:
			delete(v, name)
		case 1:
			other := pick(m, names)
			v[name], v[other] = v[other], v[name]
		default:
			v[name] = m.edit(v[name])
		}
		return v
	case []any:
		if len(v) == 0 || m.IntN(24) == 0 {
			return m.value(v)
		}
		at, other := m.IntN(len(v)), m.IntN(len(v))
		switch m.IntN(8) {
		case 0:
			return slices.Delete(v, at, at+1)
		case 1:
			return slices.Insert(v, other, v[at])
		case 2:
			v[at], v[other] = v[other], v[at]
		default:
			v[at] = m.edit(v[at])
		}
		return v
	}
	return m.value(v)
}

// value takes the place of a value: mostly one of the same type.
func (m mutator) value(v any) any {
	if m.IntN(12) == 0 {
		return pick(m, []any{nil, true, "", 0, -1, []any{}, map[string]any{}, []any{map[string]any{}}, "x"})
	}
	switch v := v.(type) {
	case bool:
		return !v
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return 0
		}
		switch m.IntN(3) {
		case 0:
			return pick(m, extremes())
		case 1:
			return n + pick(m, []int64{-1, 1, -1_000_000, 1_000_000, -1_000_000_000, 1_000_000_000})
		}
		return n * pick(m, []int64{2, -1, 10, 0})
	case string:
		return pick(m, []string{
			"", v + v, v[:len(v)/2], v + "x", "../" + v, "\x00" + v, strings.Repeat(v, 40), "\u202e" + v, "C1", "C1.b", "C9.b.c", "lock", "redis", "S2", "S9",
			"resource", "counter1", "SET", "DEL", "string", "hash", "ok", "no", "unknown", "complete", "stall", "machine", "inject", "recover", "effective", "1", "-5",
			"acquire", "release", "storm", "broken", "safe", "n/a", "pause", "crash", "restart", "clock-jump", "hold-reply", "cut-off", "skew", "failover",
		})
	}
	return v
}

// history damages a history so that much of it can still be read: single events are changed, and events are removed, repeated and moved.
// Mostly, times are put in order again, since a history is not read on where they are not.
func (m mutator) history(whole []byte) []byte {
	h := historyOf(whole)
	if len(h) < 10 {
		return m.bytes(whole)
	}
	for range 1 + m.IntN(4) {
		h = m.event(h)
	}
	if m.IntN(8) > 0 {
		h.inOrder()
	}
	return h.text()
}

// lineOf is a line of a history. It is decoded when it is changed.
type lineOf struct {
	raw   []byte
	event map[string]any // nil: not decoded
}

type lines []lineOf

func historyOf(whole []byte) lines {
	var out lines
	for raw := range bytes.SplitSeq(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n")) {
		out = append(out, lineOf{raw: raw})
	}
	return out
}

func (h lines) text() []byte {
	var out []byte
	for _, l := range h {
		if l.event != nil {
			l.raw = marshal(l.event)
		}
		out = append(append(out, l.raw...), '\n')
	}
	return out
}

// at is the nth line for those who change it.
func (h lines) at(n int) map[string]any {
	if h[n].event == nil {
		h[n].event = decoded(h[n].raw).(map[string]any)
	}
	return h[n].event
}

// event changes an event, or the order of events.
func (m mutator) event(h lines) lines {
	if len(h) < 3 {
		return h
	}
	a, b := 1+m.IntN(len(h)-1), 1+m.IntN(len(h)-1) // not the header
	switch m.IntN(10) {
	case 0:
		return slices.Delete(h, a, a+1)
	case 1:
		again := h[a]
		if again.event != nil {
			again = lineOf{raw: marshal(again.event)}
		}
		return slices.Insert(h, b, again)
	case 2:
		h[a], h[b] = h[b], h[a]
	case 3: // what another event has
		field := pick(m, []string{"id", "client", "lock", "op", "kind", "outcome", "detail", "valid", "at"})
		if other, ok := h.at(b)[field]; ok {
			h.at(a)[field] = decoded(marshal(other))
		} else {
			delete(h.at(a), field)
		}
	case 4:
		m.rename(h, h.at(a)["client"])
	case 5: // without its beginning
		return slices.Delete(h, 1, 1+m.IntN(len(h)/2))
	default:
		if edited, ok := m.edit(h.at(a)).(map[string]any); ok {
			h[a].event = edited
		}
	}
	return h
}

// rename gives all that a client did to another one.
func (m mutator) rename(h lines, from any) {
	to := pick(m, []string{"C1", "C2", "C1.b", "C77", ""})
	name, ok := from.(string)
	for n := 1; ok && n < len(h); n++ {
		if h[n].event != nil || bytes.Contains(h[n].raw, []byte(`"client":"`+name+`"`)) {
			if h.at(n)["client"] == name {
				h.at(n)["client"] = to
			}
		}
	}
}

// inOrder makes times that would go backwards those of the events before.
func (h lines) inOrder() {
	last := int64(0)
	for n := 1; n < len(h); n++ {
		now, ok := h[n].time()
		if ok && now < last {
			h.at(n)["at"] = last
		}
		if ok {
			last = max(last, now)
		}
	}
}

// time is the time of an event, if it has one.
func (l lineOf) time() (int64, bool) {
	text := fmt.Sprint(l.event["at"])
	if l.event == nil {
		_, rest, _ := bytes.Cut(l.raw, []byte(`"at":`))
		text = string(rest[:max(0, bytes.IndexByte(rest, ','))])
	}
	at, err := strconv.ParseInt(text, 10, 64)
	return at, err == nil
}
