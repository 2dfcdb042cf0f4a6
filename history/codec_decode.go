package history

import (
	"errors"
	"slices"
	"time"
)

// maxNames bounds the strings that a decoder interns at a time: tokens and values of counters come in any number, but each for a while only.
const maxNames = 1 << 15

// decoder turns lines into events. It is written by hand because encoding/json takes four times as long as the checker.
type decoder struct {
	cursor
	names  map[string]string
	older  map[string]string // the names that were full before
	packer packer
	// What the last line had, whose room the next one takes: see keep.
	last struct {
		detail  Detail
		command Command
		args    []string
		changes []Change
	}
}

// keep makes an event good for ever that was decoded last, and is admitted.
func (d *decoder) keep(e *Event) {
	if e.Detail == nil {
		return
	}
	if e.Kind == KindCommand && *e.Detail == (Detail{Command: e.Detail.Command}) && e.Detail.Command != nil {
		e.in, e.at = d.packer.add(e.Detail.Command)
		e.Detail = nil
		return
	}
	detail := *e.Detail
	e.Detail = &detail
	if c := detail.Command; c != nil {
		own := *c
		own.Args, own.Changes = slices.Clone(c.Args), slices.Clone(c.Changes)
		e.Detail.Command = &own
	}
}

var errNoKind = errors.New(`no "kind"`)

// event decodes a line into e, which must be zero. Fields may come in any order; unknown ones are skipped. What e refers to is good until
// the next one, unless it is kept.
func (d *decoder) event(line []byte, e *Event) error {
	d.cursor = cursor{text: line}
	d.object(func(key []byte) {
		switch string(key) {
		case "at":
			e.At = time.Duration(d.int())
		case "kind":
			e.Kind = named(d, "kind of event", ParseKind)
		case "client":
			e.Client = d.name()
		case "op":
			e.Op = named(d, "operation", ParseOp)
		case "id":
			e.ID = d.int()
		case "lock":
			e.Lock = d.name()
		case "outcome":
			e.Outcome = named(d, "outcome", ParseOutcome)
		case "valid":
			e.Valid = time.Duration(d.int())
		case "fence":
			e.Fence = d.int()
		case "detail":
			e.Detail = d.detail()
		default:
			d.skip(0)
		}
	})
	d.end()
	if d.err == nil && e.Kind == 0 {
		return errNoKind
	}
	return d.err
}

func (d *decoder) detail() *Detail {
	if d.null() {
		return nil
	}
	v := &d.last.detail
	*v = Detail{}
	d.object(func(key []byte) {
		switch string(key) {
		case "bound":
			v.Bound = time.Duration(d.int())
		case "gave_up":
			v.GaveUp = d.bool()
		case "error":
			v.Error = d.string()
		case "why":
			v.Why = d.string()
		case "read":
			v.Read = d.int()
		case "wrote":
			v.Wrote = d.int()
		case "value":
			v.Value = d.int()
		case "line":
			v.Line = int(d.int())
		case "text":
			v.Text = d.name()
		case "command":
			v.Command = d.command()
		case "fault":
			v.Fault = d.fault()
		case "work":
			v.Work = d.work()
		default:
			if !d.opened(v, key) {
				d.skip(0)
			}
		}
	})
	return v
}

// opened reads what an open says of its lock. It returns false for another key.
func (d *decoder) opened(v *Detail, key []byte) bool {
	switch string(key) {
	case "lease":
		v.Lease = time.Duration(d.int())
	case "leaseless":
		v.Leaseless = d.bool()
	case "permits":
		v.Permits = int(d.int())
	case "session":
		v.Session = d.bool()
	case "servers":
		v.Servers = int(d.int())
	case "need":
		v.Need = int(d.int())
	case "local":
		d.unseen(v, Local)
	case "opaque":
		d.unseen(v, Opaque)
	case "reentrant":
		v.Reentrant = d.bool()
	case "fair":
		v.Fair = d.bool()
	case "renews":
		v.Renews = d.bool()
	case "ends_with_connection":
		v.EndsWithConnection = d.bool()
	default:
		return false
	}
	return true
}

// unseen reads whether a reason why no command is on record holds.
func (d *decoder) unseen(v *Detail, why Unseen) {
	if d.bool() {
		v.Unseen = why
	}
}

func (d *decoder) command() *Command {
	if d.null() {
		return nil
	}
	v := &d.last.command
	*v = Command{}
	d.object(func(key []byte) {
		switch string(key) {
		case "server":
			v.Server = d.name()
		case "conn":
			v.Conn = d.int()
		case "args":
			d.last.args = appendList(d, d.last.args[:0], d.name)
			v.Args = d.last.args
		case "reply":
			v.Reply = d.name()
		case "sent":
			v.Sent = time.Duration(d.int())
		case "asked":
			v.Asked = time.Duration(d.int())
		case "late":
			v.Late = d.bool()
		case "again":
			v.Again = d.bool()
		case "reply_dropped":
			v.ReplyDropped = d.bool()
		case "changes":
			d.last.changes = appendList(d, d.last.changes[:0], d.change)
			v.Changes = d.last.changes
		default:
			d.skip(0)
		}
	})
	return v
}

func (d *decoder) change() (v Change) {
	d.object(func(key []byte) {
		switch string(key) {
		case "key":
			v.Key = d.name()
		case "before":
			v.Before = d.state()
		case "after":
			v.After = d.state()
		default:
			d.skip(0)
		}
	})
	return v
}

func (d *decoder) state() (v State) {
	d.object(func(key []byte) {
		switch string(key) {
		case "type":
			v.Type = d.name()
		case "value":
			v.Value = d.name()
		case "ttl":
			v.TTL = time.Duration(d.int())
		default:
			d.skip(0)
		}
	})
	return v
}

func (d *decoder) fault() *Fault {
	if d.null() {
		return nil
	}
	v := new(Fault)
	d.object(func(key []byte) {
		switch string(key) {
		case "name":
			v.Name = d.name()
		case "target":
			v.Target = d.name()
		case "phase":
			v.Phase = Phase(d.name())
		case "what":
			v.What = d.string()
		default:
			d.skip(0)
		}
	})
	return v
}

func (d *decoder) work() *Work {
	if d.null() {
		return nil
	}
	v := new(Work)
	d.object(func(key []byte) {
		switch string(key) {
		case "workload":
			v.Workload = Workload(d.name())
		case "data":
			v.Data = list(d, d.datum)
		default:
			d.skip(0)
		}
	})
	return v
}

func (d *decoder) datum() (v Datum) {
	d.object(func(key []byte) {
		switch string(key) {
		case "name":
			v.Name = d.name()
		case "values":
			v.Values = list(d, d.string)
		default:
			d.skip(0)
		}
	})
	return v
}

// list takes an array of at most maxList elements. It keeps no room for more.
func list[T any](d *decoder, element func() T) []T {
	var few [8]T
	all := appendList(d, few[:0], element)
	if len(all) == 0 {
		return nil
	}
	return append(make([]T, 0, len(all)), all...)
}

func appendList[T any](d *decoder, all []T, element func() T) []T {
	d.array(func() {
		if len(all) == maxList {
			d.fail("a list of more than %d elements", maxList)
			return
		}
		all = append(all, element())
	})
	return all
}

// named takes a name that the schema defines.
func named[T any](d *decoder, what string, parse func(string) (T, bool)) (v T) {
	if d.null() {
		return v
	}
	word := d.quoted()
	if d.err != nil {
		return v
	}
	v, ok := parse(string(word))
	if !ok {
		d.fail("no %s is called %q", what, word)
	}
	return v
}

// string takes a string without interning it.
func (d *decoder) string() string {
	if d.null() {
		return ""
	}
	return string(d.quoted())
}

// name takes a string and interns it.
func (d *decoder) name() string {
	if d.null() {
		return ""
	}
	word := d.quoted()
	if s, ok := d.names[string(word)]; ok {
		return s
	}
	s, ok := d.older[string(word)]
	if !ok {
		s = string(word)
	}
	if len(d.names) == maxNames {
		d.names, d.older = make(map[string]string, maxNames), d.names
	}
	d.names[s] = s
	return s
}
