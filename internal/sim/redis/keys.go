package redis

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/sim/service"
)

// entry is the value of a key: exactly one of its kinds is in use.
type entry struct {
	expires time.Duration // by the server's clock; never: it does not
	kind    valueKind
	text    string
	hash    map[string]string
	list    []string
	scores  map[string]float64
	set     map[string]bool
}

const never = time.Duration(math.MaxInt64)

type valueKind uint8

const (
	aString valueKind = iota
	aHash
	aList
	aSortedSet
	aSet
)

func (k valueKind) String() string {
	return []string{"string", "hash", "list", "zset", "set"}[k]
}

// empty says whether nothing is left in an aggregate; such a key is removed.
func (e *entry) empty() bool {
	return e.kind != aString && e.size() == 0
}

// size is the number of elements of an aggregate.
func (e *entry) size() int { return len(e.hash) + len(e.list) + len(e.scores) + len(e.set) }

// find returns the entry of a key; nil if there is none. One whose time is over is removed on the way.
func (s *Server) find(name string) *entry {
	e := s.keys[name]
	if e == nil {
		return nil
	}
	if s.now > e.expires { // a key that expires now is still there, as in Redis
		delete(s.keys, name)
		s.touch(name)
		return nil
	}
	return e
}

// value returns the entry of a key, nil if there is none; ok is false if it is of another kind.
func (s *Server) value(name string, kind valueKind) (e *entry, ok bool) {
	e = s.find(name)
	return e, e == nil || e.kind == kind
}

// aggregate is value, but makes the entry if there is none.
func (s *Server) aggregate(name string, kind valueKind) (e *entry, ok bool) {
	e, ok = s.value(name, kind)
	if ok && e == nil {
		e = &entry{expires: never, kind: kind, hash: map[string]string{}, scores: map[string]float64{}, set: map[string]bool{}}
		s.keys[name] = e
	}
	return e, ok
}

// on is what a command does to a key of a kind. It answers missing where there is no key, and an error where it is of another kind.
func on(kind valueKind, missing service.Reply, do func(s *Server, e *entry, args []string) service.Reply) runner {
	return func(s *Server, _ *conn, args []string) service.Reply {
		e, ok := s.value(args[1], kind)
		switch {
		case !ok:
			return wrongType()
		case e == nil:
			return missing
		}
		return do(s, e, args)
	}
}

// into is on for a command that makes the key if there is none.
func into(kind valueKind, do func(s *Server, e *entry, args []string) service.Reply) runner {
	return func(s *Server, _ *conn, args []string) service.Reply {
		e, ok := s.aggregate(args[1], kind)
		if !ok {
			return wrongType()
		}
		return do(s, e, args)
	}
}

// size answers how many elements an aggregate has.
func size(kind valueKind) runner {
	return on(kind, integer(0), func(_ *Server, e *entry, _ []string) service.Reply { return integer(int64(e.size())) })
}

// removal removes fields or members, and answers how many there were.
func removal(kind valueKind) runner {
	return on(kind, integer(0), func(s *Server, e *entry, args []string) service.Reply {
		before := e.size()
		for _, name := range args[2:] {
			delete(e.hash, name)
			delete(e.set, name)
			delete(e.scores, name)
		}
		removed := before - e.size()
		if removed > 0 {
			s.changed(args[1])
		}
		return integer(int64(removed))
	})
}

// changed notes that the value of a key has changed.
func (s *Server) changed(name string) {
	if e := s.keys[name]; e != nil && e.empty() {
		delete(s.keys, name)
	}
	s.touch(name)
}

// put gives a key a string for a value, whatever it had before.
func (s *Server) put(name, text string, expires time.Duration) {
	s.keys[name] = &entry{text: text, expires: expires}
	s.touch(name)
}

func (s *Server) remove(name string) bool {
	if s.find(name) == nil {
		return false
	}
	delete(s.keys, name)
	s.touch(name)
	return true
}

// touch spoils the transactions that watch a key.
func (s *Server) touch(name string) {
	for _, c := range s.conns {
		c.dirty = c.dirty || c.watched[name]
	}
}

func keyCommands() map[string]command {
	return map[string]command{
		"PING":      {arity: -1, run: func(*Server, *conn, []string) service.Reply { return status("PONG") }},
		"DEL":       {arity: -2, run: each((*Server).remove)},
		"UNLINK":    {arity: -2, run: each((*Server).remove)},
		"RENAME":    {arity: 3, run: rename},
		"RENAMENX":  {arity: 3, run: renamenx},
		"COPY":      {arity: -3, run: copyKey},
		"EXISTS":    {arity: -2, run: each(func(s *Server, name string) bool { return s.find(name) != nil })},
		"TYPE":      {arity: 2, run: typeOf},
		"TTL":       {arity: 2, run: timeToLive(time.Second)},
		"PTTL":      {arity: 2, run: timeToLive(time.Millisecond)},
		"EXPIRE":    {arity: -3, run: expire(time.Second, false)},
		"PEXPIRE":   {arity: -3, run: expire(time.Millisecond, false)},
		"EXPIREAT":  {arity: -3, run: expire(time.Second, true)},
		"PEXPIREAT": {arity: -3, run: expire(time.Millisecond, true)},
		"PERSIST":   {arity: 2, run: persist},
		"TIME":      {arity: 1, run: timeOfDay},
		"FLUSHALL":  {arity: 1, run: flushAll},
	}
}

// each does something with each of a command's keys, and answers of how many it was true.
func each(do func(s *Server, name string) bool) runner {
	return func(s *Server, _ *conn, args []string) service.Reply {
		n := int64(0)
		for _, name := range args[1:] {
			if do(s, name) {
				n++
			}
		}
		return integer(n)
	}
}

func typeOf(s *Server, _ *conn, args []string) service.Reply {
	e := s.find(args[1])
	if e == nil {
		return status("none")
	}
	return status(e.kind.String())
}

// timeToLive answers the remaining time of a key in units, rounded as Redis does; −2 without the key, −1 without an expiry.
func timeToLive(unit time.Duration) runner {
	return func(s *Server, _ *conn, args []string) service.Reply {
		e := s.find(args[1])
		switch {
		case e == nil:
			return integer(-2)
		case e.expires == never:
			return integer(-1)
		case unit == time.Second:
			return integer(int64((e.expires - s.now + unit/2) / unit))
		}
		return integer(int64((e.expires - s.now) / unit))
	}
}

// expire sets when a key expires: in so many units, or at that time of the wall clock. A time that is not in the future removes the key at once.
func expire(unit time.Duration, dated bool) runner {
	return func(s *Server, _ *conn, args []string) service.Reply {
		n, ok := parseInt(args[2])
		if !ok {
			return notAnInteger()
		}
		unit := unit
		if dated {
			n, unit = int64(s.fromNow(args, n, unit)/time.Millisecond), time.Millisecond
		}
		condition, known := expiryConditionOf(args)
		switch {
		case tooLong(n, unit):
			return badExpiry(args[0])
		case !known:
			return s.syntaxError(args)
		}
		e, expires := s.find(args[1]), s.now+time.Duration(n)*unit
		switch {
		case e == nil || !condition.allows(e.expires, expires):
			return integer(0)
		case n <= 0:
			s.remove(args[1])
			return integer(1)
		}
		e.expires = expires
		s.changed(args[1])
		return integer(1)
	}
}

// fromNow is how far in the future a time of the wall clock is.
func (s *Server) fromNow(args []string, at int64, unit time.Duration) time.Duration {
	return time.Duration(at)*unit - s.wallClock(args)
}

// timeOfDay is what the server's wall clock shows: the seconds since 1970, and the microseconds of the second.
func timeOfDay(s *Server, _ *conn, args []string) service.Reply {
	shows := s.wallClock(args)
	return array([]service.Reply{
		bulk(strconv.FormatInt(int64(shows/time.Second), 10)), bulk(strconv.FormatInt(int64(shows%time.Second/time.Microsecond), 10)),
	})
}

// expiryCondition is what may follow EXPIRE key time.
type expiryCondition string

func expiryConditionOf(args []string) (c expiryCondition, known bool) {
	if len(args) == 3 {
		return "", true
	}
	c = expiryCondition(strings.ToUpper(args[3]))
	return c, len(args) == 4 && slices.Contains([]expiryCondition{"NX", "XX", "GT", "LT"}, c)
}

// allows says whether an expiry may become another one.
func (c expiryCondition) allows(old, expires time.Duration) bool {
	switch c {
	case "NX":
		return old == never
	case "XX":
		return old != never
	case "GT":
		return expires > old
	case "LT":
		return expires < old
	}
	return true
}

// rename gives a key another name, with its expiry. A key of that name is gone.
func rename(s *Server, _ *conn, args []string) service.Reply {
	e := s.find(args[1])
	if e == nil {
		return failure("ERR no such key")
	}
	delete(s.keys, args[1])
	s.keys[args[2]] = e
	s.touch(args[1])
	s.touch(args[2])
	return status("OK")
}

func renamenx(s *Server, c *conn, args []string) service.Reply {
	if s.find(args[1]) != nil && s.find(args[2]) != nil {
		return integer(0)
	}
	if reply := rename(s, c, args); reply.Kind == service.Error {
		return reply
	}
	return integer(1)
}

func copyKey(s *Server, _ *conn, args []string) service.Reply {
	replaces := len(args) == 4 && strings.EqualFold(args[3], "REPLACE")
	e := s.find(args[1])
	switch {
	case len(args) > 3 && !replaces:
		return s.syntaxError(args)
	case args[1] == args[2]:
		return failure("ERR source and destination objects are the same")
	case e == nil || !replaces && s.find(args[2]) != nil:
		return integer(0)
	}
	s.keys[args[2]] = e.clone()
	s.touch(args[2])
	return integer(1)
}

// longest is the longest time that the model can count.
const longest = 100 * 365 * 24 * time.Hour

func tooLong(n int64, unit time.Duration) bool {
	return n > int64(longest/unit) || n < -int64(longest/unit)
}

func persist(s *Server, _ *conn, args []string) service.Reply {
	e := s.find(args[1])
	if e == nil || e.expires == never {
		return integer(0)
	}
	e.expires = never
	s.changed(args[1])
	return integer(1)
}

func flushAll(s *Server, _ *conn, _ []string) service.Reply {
	for name := range s.keys {
		s.remove(name)
	}
	return status("OK")
}

func parseInt(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && !strings.HasPrefix(text, "+")
}
