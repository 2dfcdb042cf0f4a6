package redis

import (
	"strconv"
	"strings"

	"github.com/locklab/locklab/internal/sim/service"
)

// setFor is SETEX and PSETEX, by SET.
func setFor(unit string) runner {
	return func(s *Server, c *conn, args []string) service.Reply {
		return set(s, c, []string{args[0], args[1], args[3], unit, args[2]})
	}
}

// getex is GET, and sets when the key expires. It minds the time only if there is a key.
func getex(s *Server, c *conn, args []string) service.Reply {
	persists := len(args) == 3 && strings.EqualFold(args[2], "PERSIST")
	var options setOptions
	var wrong service.Reply
	if !persists {
		options, wrong = s.readSetOptions(args, 2)
		switch {
		case options.absent || options.present || options.answer || options.keep:
			return s.syntaxError(args)
		case wrong.Text == syntaxError:
			return wrong
		}
	}
	reply := get(s, c, args)
	if reply.Kind != service.Bulk {
		return reply
	}
	switch e := s.find(args[1]); {
	case wrong.Kind == service.Error:
		return wrong
	case persists:
		persist(s, c, args)
	case options.expiry:
		e.expires = s.now + options.lasts
		s.changed(args[1])
	}
	return reply
}

// getrange is a part of a text. As in Redis, a range that ends before the text begins has its first character.
func getrange(s *Server, c *conn, args []string) service.Reply {
	from, okFrom := parseInt(args[2])
	to, okTo := parseInt(args[3])
	if !okFrom || !okTo {
		return notAnInteger()
	}
	reply := get(s, c, args)
	if reply.Kind == service.Error {
		return reply
	}
	n := int64(len(reply.Text))
	if to < 0 && (from >= 0 || from <= to) {
		to = max(to, -n)
	}
	first, end := span(n, from, to)
	return bulk(reply.Text[first:end])
}

// appendTo appends to a text. The expiry stays.
func appendTo(s *Server, c *conn, args []string) service.Reply {
	old := get(s, c, args)
	if old.Kind == service.Error {
		return old
	}
	s.write(args[1], old.Text+args[2])
	return integer(int64(len(old.Text) + len(args[2])))
}

// write changes a text. The expiry stays.
func (s *Server) write(name, text string) {
	e := s.find(name)
	if e == nil {
		s.put(name, text, never)
		return
	}
	e.text = text
	s.changed(name)
}

// mostBits is how far into a text the model follows bits.
const mostBits = 1 << 16

func (s *Server) bitAt(args []string) (at int, wrong service.Reply) {
	at, err := strconv.Atoi(args[2])
	if at >= mostBits && at < 1<<32 {
		s.meet(strings.Join(args, " "))
	}
	if err != nil || at < 0 || at >= mostBits {
		return 0, failure("ERR bit offset is not an integer or out of range")
	}
	return at, service.Reply{}
}

func getbit(s *Server, c *conn, args []string) service.Reply {
	at, wrong := s.bitAt(args)
	if wrong.Kind == service.Error {
		return wrong
	}
	old := get(s, c, args)
	if old.Kind == service.Error {
		return old
	}
	return yesNo(at/8 < len(old.Text) && old.Text[at/8]&(0x80>>(at%8)) != 0)
}

func setbit(s *Server, c *conn, args []string) service.Reply {
	at, wrong := s.bitAt(args)
	if wrong.Kind == service.Error {
		return wrong
	}
	if args[3] != "0" && args[3] != "1" {
		return failure("ERR bit is not an integer or out of range")
	}
	old := get(s, c, args)
	if old.Kind == service.Error {
		return old
	}
	text := []byte(old.Text)
	for len(text) <= at/8 {
		text = append(text, 0)
	}
	mask := byte(0x80 >> (at % 8))
	was := text[at/8]&mask != 0
	text[at/8] &^= mask
	if args[3] == "1" {
		text[at/8] |= mask
	}
	s.write(args[1], string(text))
	return yesNo(was)
}
