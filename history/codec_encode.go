package history

import (
	"strconv"
	"unicode/utf8"
)

// appendEvent appends e as a JSON object without zero fields. It is written by hand because a run writes while it measures.
func appendEvent(b []byte, e *Event) []byte {
	b = append(b, `{"at":`...)
	b = strconv.AppendInt(b, int64(e.At), 10)
	b = appendName(b, "kind", e.Kind != 0, e.Kind.String())
	b = appendString(b, "client", e.Client)
	b = appendName(b, "op", e.Op != 0, e.Op.String())
	b = appendInt(b, "id", e.ID)
	b = appendString(b, "lock", e.Lock)
	b = appendName(b, "outcome", e.Outcome != 0, e.Outcome.String())
	b = appendInt(b, "valid", int64(e.Valid))
	b = appendInt(b, "fence", e.Fence)
	detail := e.Detail
	if e.in != nil {
		detail = &Detail{Command: e.Command()}
	}
	if detail != nil {
		b = append(b, `,"detail":`...)
		b = appendDetail(b, detail)
	}
	return append(b, '}')
}

func appendDetail(b []byte, d *Detail) []byte {
	start := len(b)
	b = appendInt(b, "lease", int64(d.Lease))
	b = appendBool(b, "leaseless", d.Leaseless)
	b = appendInt(b, "permits", int64(d.Permits))
	b = appendBool(b, "session", d.Session)
	b = appendInt(b, "servers", int64(d.Servers))
	b = appendInt(b, "need", int64(d.Need))
	b = appendBool(b, "local", d.Unseen == Local)
	b = appendBool(b, "opaque", d.Unseen == Opaque)
	b = appendBool(b, "reentrant", d.Reentrant)
	b = appendBool(b, "fair", d.Fair)
	b = appendBool(b, "renews", d.Renews)
	b = appendBool(b, "ends_with_connection", d.EndsWithConnection)
	b = appendInt(b, "bound", int64(d.Bound))
	b = appendBool(b, "gave_up", d.GaveUp)
	b = appendString(b, "error", d.Error)
	b = appendString(b, "why", d.Why)
	b = appendInt(b, "read", d.Read)
	b = appendInt(b, "wrote", d.Wrote)
	b = appendInt(b, "value", d.Value)
	b = appendInt(b, "line", int64(d.Line))
	b = appendString(b, "text", d.Text)
	if d.Command != nil {
		b = append(b, `,"command":`...)
		b = appendCommand(b, d.Command)
	}
	if d.Fault != nil {
		b = append(b, `,"fault":`...)
		b = appendFault(b, d.Fault)
	}
	if d.Work != nil {
		b = append(b, `,"work":`...)
		b = appendWork(b, d.Work)
	}
	return closeObject(b, start)
}

func appendCommand(b []byte, c *Command) []byte {
	start := len(b)
	b = appendString(b, "server", c.Server)
	b = appendInt(b, "conn", c.Conn)
	if len(c.Args) > 0 {
		b = appendArray(append(b, `,"args":`...), c.Args, appendQuoted)
	}
	b = appendString(b, "reply", c.Reply)
	b = appendInt(b, "sent", int64(c.Sent))
	b = appendInt(b, "asked", int64(c.Asked))
	b = appendBool(b, "late", c.Late)
	b = appendBool(b, "again", c.Again)
	b = appendBool(b, "reply_dropped", c.ReplyDropped)
	if len(c.Changes) > 0 {
		b = appendArray(append(b, `,"changes":`...), c.Changes, appendChange)
	}
	return closeObject(b, start)
}

func appendChange(b []byte, c Change) []byte {
	start := len(b)
	b = appendString(b, "key", c.Key)
	b = append(b, `,"before":`...)
	b = appendState(b, c.Before)
	b = append(b, `,"after":`...)
	b = appendState(b, c.After)
	return closeObject(b, start)
}

func appendState(b []byte, s State) []byte {
	start := len(b)
	b = appendString(b, "type", s.Type)
	b = appendString(b, "value", s.Value)
	b = appendInt(b, "ttl", int64(s.TTL))
	return closeObject(b, start)
}

func appendFault(b []byte, f *Fault) []byte {
	start := len(b)
	b = appendString(b, "name", f.Name)
	b = appendString(b, "target", f.Target)
	b = appendString(b, "phase", string(f.Phase))
	b = appendString(b, "what", f.What)
	return closeObject(b, start)
}

func appendWork(b []byte, w *Work) []byte {
	start := len(b)
	b = appendString(b, "workload", string(w.Workload))
	if len(w.Data) > 0 {
		b = appendArray(append(b, `,"data":`...), w.Data, appendDatum)
	}
	return closeObject(b, start)
}

func appendDatum(b []byte, d Datum) []byte {
	start := len(b)
	b = appendString(b, "name", d.Name)
	if len(d.Values) > 0 {
		b = appendArray(append(b, `,"values":`...), d.Values, appendQuoted)
	}
	return closeObject(b, start)
}

func appendArray[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, list[i])
	}
	return append(b, ']')
}

// closeObject makes an object of the fields appended since start, each of which begins with a comma.
func closeObject(b []byte, start int) []byte {
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}

func appendKey(b []byte, key string) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	return append(b, `":`...)
}

func appendInt(b []byte, key string, v int64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(appendKey(b, key), v, 10)
}

func appendBool(b []byte, key string, v bool) []byte {
	if !v {
		return b
	}
	return append(appendKey(b, key), "true"...)
}

func appendString(b []byte, key, v string) []byte {
	if v == "" {
		return b
	}
	return appendQuoted(appendKey(b, key), v)
}

// appendName appends a name of ours, which needs no escapes.
func appendName(b []byte, key string, set bool, name string) []byte {
	if !set {
		return b
	}
	b = append(appendKey(b, key), '"')
	b = append(b, name...)
	return append(b, '"')
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends s as a JSON string.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			b = appendASCII(b, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			// JSON has no bytes. Two values that differ must still differ when read back.
			b = append(b, '\\', '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			i++
			continue
		}
		b = append(b, s[i:i+size]...)
		i += size
	}
	return append(b, '"')
}

func appendASCII(b []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c < ' ':
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(b, c)
}
