package encode

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/locklab/locklab/history"
)

// comma separates a value from the one before, if there is one.
func (e *encoder) comma() {
	if n := len(e.b); n > 0 && e.b[n-1] != '[' && e.b[n-1] != ':' && e.b[n-1] != '{' {
		e.b = append(e.b, ',')
	}
}

func (e *encoder) open() {
	e.comma()
	e.b = append(e.b, '[')
}

// close ends an array.
func (e *encoder) close() { e.b = append(e.b, ']') }

func (e *encoder) int(n int64) {
	e.comma()
	e.b = strconv.AppendInt(e.b, n, 10)
}

func (e *encoder) bool(on bool) {
	if on {
		e.int(1)
		return
	}
	e.int(0)
}

func (e *encoder) strings(list []string) {
	e.b = append(e.b, '[')
	for _, s := range list {
		e.string(s)
	}
	e.b = append(e.b, ']')
}

func (e *encoder) string(s string) {
	e.comma()
	e.b = String(e.b, s)
}

// String writes a string as JSON.
func String(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, err := json.Marshal(s)
			if err != nil { // no string makes it fail
				panic(err)
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// detail writes the details of an event that is no command, as far as there are any.
func (e *encoder) detail(d *history.Detail) {
	if d == nil {
		return
	}
	e.comma()
	e.b = append(e.b, '{')
	text := func(key, value string) {
		if value != "" {
			e.field(key)
			e.b = String(e.b, value)
		}
	}
	number := func(key string, n int64) {
		if n != 0 {
			e.field(key)
			e.b = strconv.AppendInt(e.b, n, 10)
		}
	}
	length := func(key string, d time.Duration) {
		if d != 0 {
			e.field(key)
			e.float(float64(d) / float64(time.Millisecond))
		}
	}
	flag := func(key string, on bool) {
		if on {
			number(key, 1)
		}
	}
	length("lease", d.Lease)
	flag("leaseless", d.Leaseless)
	flag("session", d.Session)
	flag("reentrant", d.Reentrant)
	flag("fair", d.Fair)
	flag("gave up", d.GaveUp)
	number("permits", int64(d.Permits))
	number("servers", int64(d.Servers))
	number("need", int64(d.Need))
	length("bound", d.Bound)
	text("error", d.Error)
	text("why", d.Why)
	number("read", d.Read)
	number("wrote", d.Wrote)
	number("value", d.Value)
	number("line", int64(d.Line))
	text("text", d.Text)
	if f := d.Fault; f != nil {
		text("fault", f.Name)
		text("target", f.Target)
		text("phase", string(f.Phase))
		text("what", f.What)
	}
	e.work(d.Work)
	e.b = append(e.b, '}')
}

// work writes the data that were found.
func (e *encoder) work(w *history.Work) {
	if w == nil {
		return
	}
	e.field("data")
	e.b = append(e.b, '[')
	for _, datum := range w.Data {
		e.open()
		e.string(datum.Name)
		for _, value := range datum.Values {
			e.string(value)
		}
		e.close()
	}
	e.b = append(e.b, ']')
}

func (e *encoder) field(key string) {
	e.comma()
	e.b = append(append(append(e.b, '"'), key...), `":`...)
}
