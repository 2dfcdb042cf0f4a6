package export

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/locklab/locklab/history"
)

// ednMap is a map of EDN, in this order.
type ednMap []ednEntry

type ednEntry struct {
	key   keyword
	value any // nil, bool, int64, string, keyword, []any or ednMap
}

type keyword string

// writeEDN writes the history as Jepsen does: a map for each event, one a line. Processes are numbered; one whose operation ended with :info
// is not used again, and its client goes on as another. What is no operation has the process :nemesis.
func writeEDN(w io.Writer, c *Cell) error {
	out := bufio.NewWriter(w)
	p := processes{clients: c.timeline().Clients, latest: map[string]int64{}, used: map[string]bool{}, of: map[operation]int64{}}
	index := int64(0)
	for i := range c.Events {
		op := p.op(&c.Events[i])
		if op == nil {
			continue
		}
		op = append(ednMap{{"index", index}, {"time", int64(c.Events[i].At)}}, op...)
		index++
		fmt.Fprintln(out, ednText(op))
	}
	return out.Flush()
}

// processes numbers the processes of clients.
type processes struct {
	clients []string
	latest  map[string]int64 // by client
	used    map[string]bool  // clients whose latest process has an operation that has not ended, or that ended with :info
	of      map[operation]int64
}

type operation struct {
	client string
	id     int64
}

// op is the map of an event; nil: it is none of Jepsen's.
func (p *processes) op(e *history.Event) ednMap {
	d := e.Detail
	if d == nil {
		d = &history.Detail{}
	}
	switch e.Kind {
	case history.KindCall:
		return append(ednMap{{"type", keyword("invoke")}, {"process", p.begin(e)}, {"f", keyword(e.Op.String())}, {"value", nil}}, ednOf(e, d)...)
	case history.KindReturn:
		return append(ednMap{{"type", keyword(completion(e.Outcome))}, {"process", p.end(e)}, {"f", keyword(e.Op.String())}, {"value", workOf(e, d)}}, ednOf(e, d)...)
	case history.KindFault:
		f := e.Fault()
		return ednMap{{"type", keyword("info")}, {"process", keyword("nemesis")}, {"f", nameOf(f.Name)},
			{"value", ednMap{{"target", f.Target}, {"phase", keyword(f.Phase)}, {"what", f.What}}}}
	case history.KindLost, history.KindValid, history.KindExit:
		return append(ednMap{{"type", keyword("info")}, {"process", keyword("nemesis")}, {"f", keyword(e.Kind.String())}, {"value", d.Why}}, ednOf(e, d)...)
	}
	return nil
}

// begin is the process by which a client calls an operation.
func (p *processes) begin(e *history.Event) int64 {
	n, known := p.latest[e.Client]
	switch {
	case !known:
		n = int64(slices.Index(p.clients, e.Client))
	case p.used[e.Client]:
		n += int64(len(p.clients))
	}
	p.latest[e.Client], p.used[e.Client], p.of[operation{e.Client, e.ID}] = n, true, n
	return n
}

// end is the process in which an operation of a client ends.
func (p *processes) end(e *history.Event) int64 {
	n := p.of[operation{e.Client, e.ID}]
	if n == p.latest[e.Client] {
		p.used[e.Client] = e.Outcome == history.Unknown
	}
	return n
}

// completion is Jepsen's word for an outcome.
func completion(o history.Outcome) string {
	switch o {
	case history.OK:
		return "ok"
	case history.No:
		return "fail"
	}
	return "info"
}

// workOf is what the work under the lock read and wrote.
func workOf(e *history.Event, d *history.Detail) any {
	switch {
	case e.Op != history.OpWork || e.Outcome != history.OK:
		return nil
	case d.Text != "":
		return d.Text
	}
	return []any{d.Read, d.Wrote}
}

// ednOf is what the lab knows of an event beyond what Jepsen does.
func ednOf(e *history.Event, d *history.Detail) (m ednMap) {
	m = ednMap{{"client", e.Client}, {"lock", e.Lock}}
	if e.ID != 0 {
		m = append(m, ednEntry{"id", e.ID})
	}
	for _, n := range []struct {
		key   keyword
		value int64
	}{{"valid", int64(e.Valid)}, {"fence", e.Fence}, {"bound", int64(d.Bound)}} {
		if n.value != 0 {
			m = append(m, ednEntry{n.key, n.value})
		}
	}
	if d.GaveUp {
		m = append(m, ednEntry{"gave-up", true})
	}
	if d.Error != "" {
		m = append(m, ednEntry{"error", d.Error})
	}
	return m
}

// nameOf is a keyword, if the name can be one: that of a fault comes from a file.
func nameOf(name string) any {
	odd := func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') }
	if strings.IndexFunc(name, odd) >= 0 || name == "" {
		return name
	}
	return keyword(name)
}

// ednText writes a value.
func ednText(value any) string {
	switch v := value.(type) {
	case nil:
		return "nil"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case keyword:
		return ":" + string(v)
	case string:
		return ednString(v)
	case []any:
		words := make([]string, len(v))
		for i, element := range v {
			words[i] = ednText(element)
		}
		return "[" + strings.Join(words, " ") + "]"
	case ednMap:
		words := make([]string, len(v))
		for i, entry := range v {
			words[i] = ednText(entry.key) + " " + ednText(entry.value)
		}
		return "{" + strings.Join(words, ", ") + "}"
	}
	panic(fmt.Sprintf("no EDN of %T", value))
}

// ednString quotes a text as Clojure reads it: what cannot be printed is in UTF-16, and what is no UTF-8 is U+FFFD.
func ednString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
