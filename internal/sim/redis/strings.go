package redis

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/sim/service"
)

func stringCommands() map[string]command {
	return map[string]command{
		"GET":      {arity: 2, run: get},
		"GETEX":    {arity: -2, run: getex},
		"SETEX":    {arity: 4, run: setFor("EX")},
		"PSETEX":   {arity: 4, run: setFor("PX")},
		"STRLEN":   {arity: 2, run: on(aString, integer(0), func(_ *Server, e *entry, _ []string) service.Reply { return integer(int64(len(e.text))) })},
		"GETRANGE": {arity: 4, run: getrange},
		"APPEND":   {arity: 3, run: appendTo},
		"GETBIT":   {arity: 3, run: getbit},
		"SETBIT":   {arity: 4, run: setbit},
		"SET":      {arity: -3, run: set},
		"SETNX":    {arity: 3, run: setnx},
		"GETSET":   {arity: 3, run: getset},
		"GETDEL":   {arity: 2, run: getdel},
		"INCR":     {arity: 2, run: add(false)},
		"DECR":     {arity: 2, run: add(true)},
		"INCRBY":   {arity: 3, run: add(false)},
		"DECRBY":   {arity: 3, run: add(true)},
	}
}

func get(s *Server, c *conn, args []string) service.Reply {
	return on(aString, service.Reply{}, func(_ *Server, e *entry, _ []string) service.Reply { return bulk(e.text) })(s, c, args)
}

// setOptions are what may follow SET key value.
type setOptions struct {
	absent, present bool // only if the key is absent, or present
	answer          bool // answer the old value
	keep            bool // keep the expiry
	expiry          bool // lasts is given
	lasts           time.Duration
}

func set(s *Server, c *conn, args []string) service.Reply {
	options, wrong := s.readSetOptions(args, 3)
	if wrong.Kind == service.Error {
		return wrong
	}
	reply := status("OK")
	if options.answer {
		if reply = get(s, c, args); reply.Kind == service.Error {
			return reply
		}
	}
	e := s.find(args[1])
	if options.absent && e != nil || options.present && e == nil {
		if options.answer {
			return reply
		}
		return service.Reply{}
	}
	expires := never
	switch {
	case options.expiry:
		expires = s.now + options.lasts
	case options.keep && e != nil:
		expires = e.expires
	}
	s.put(args[1], args[2], expires)
	return reply
}

// readSetOptions reads the words of a command from one on.
func (s *Server) readSetOptions(words []string, from int) (options setOptions, wrong service.Reply) {
	for i := from; i < len(words); i++ {
		switch word := strings.ToUpper(words[i]); {
		case word == "NX" && !options.present:
			options.absent = true
		case word == "XX" && !options.absent:
			options.present = true
		case word == "GET":
			options.answer = true
		case word == "KEEPTTL" && !options.expiry:
			options.keep = true
		case slices.Contains([]string{"EX", "PX", "EXAT", "PXAT"}, word) && !options.expiry && !options.keep && i+1 < len(words):
			i++
			unit := time.Second
			if word[0] == 'P' {
				unit = time.Millisecond
			}
			n, ok := parseInt(words[i])
			if !ok {
				return options, notAnInteger()
			}
			if n <= 0 || tooLong(n, unit) {
				return options, badExpiry(words[0])
			}
			options.expiry, options.lasts = true, time.Duration(n)*unit
			if strings.HasSuffix(word, "AT") {
				options.lasts = s.fromNow(words, n, unit)
			}
		default:
			return options, s.syntaxError(words)
		}
	}
	return options, service.Reply{}
}

func setnx(s *Server, _ *conn, args []string) service.Reply {
	if s.find(args[1]) != nil {
		return integer(0)
	}
	s.put(args[1], args[2], never)
	return integer(1)
}

func getset(s *Server, c *conn, args []string) service.Reply {
	old := get(s, c, args)
	if old.Kind != service.Error {
		s.put(args[1], args[2], never)
	}
	return old
}

func getdel(s *Server, c *conn, args []string) service.Reply {
	old := get(s, c, args)
	if old.Kind == service.Bulk {
		s.remove(args[1])
	}
	return old
}

// add adds to a number, or takes from it: one, or as many as the command says. The expiry stays.
func add(negative bool) runner {
	return func(s *Server, c *conn, args []string) service.Reply {
		n, ok := int64(1), true
		if len(args) > 2 {
			n, ok = parseInt(args[2])
		}
		switch {
		case !ok:
			return notAnInteger()
		case negative && n == math.MinInt64:
			return failure("ERR decrement would overflow")
		case negative:
			n = -n
		}
		old := get(s, c, args)
		switch old.Kind {
		case service.Error:
			return old
		case service.Nil:
			old.Text = "0"
		}
		sum, wrong := sumOf(old.Text, n, notAnInteger())
		if wrong.Kind == service.Error {
			return wrong
		}
		s.write(args[1], strconv.FormatInt(sum, 10))
		return integer(sum)
	}
}

// sumOf adds a number to one that is stored as text.
func sumOf(text string, n int64, noNumber service.Reply) (sum int64, wrong service.Reply) {
	old, ok := parseInt(text)
	if !ok {
		return 0, noNumber
	}
	if n > 0 && old > math.MaxInt64-n || n < 0 && old < math.MinInt64-n {
		return 0, failure("ERR increment or decrement would overflow")
	}
	return old + n, service.Reply{}
}
