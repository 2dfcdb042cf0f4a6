package redis

import (
	"slices"
	"strconv"
)

func hashCommands() map[string]command {
	return map[string]command{
		"HSET":    {arity: -4, run: hset},
		"HGET":    {arity: 3, run: hget},
		"HGETALL": {arity: 2, run: hgetall},
		"HDEL":    {arity: -3, run: hdel},
		"HEXISTS": {arity: 3, run: hexists},
		"HLEN":    {arity: 2, run: hlen},
		"HINCRBY": {arity: 4, run: hincrby},
	}
}

func hset(s *Server, _ *conn, args []string) Reply {
	if len(args)%2 != 0 {
		return wrongCount(args[0])
	}
	e, ok := s.aggregate(args[1], aHash)
	if !ok {
		return wrongType()
	}
	if e.hash == nil {
		e.hash = map[string]string{}
	}
	added := int64(0)
	for i := 2; i < len(args); i += 2 {
		if _, there := e.hash[args[i]]; !there {
			added++
		}
		e.hash[args[i]] = args[i+1]
	}
	s.changed(args[1])
	return integer(added)
}

func hget(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aHash)
	if !ok {
		return wrongType()
	}
	if e == nil {
		return Reply{}
	}
	text, there := e.hash[args[2]]
	if !there {
		return Reply{}
	}
	return bulk(text)
}

// hgetall answers in the order of the fields' names; Redis promises none.
func hgetall(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aHash)
	if !ok {
		return wrongType()
	}
	var texts []string
	if e != nil {
		for _, field := range sortedKeys(e.hash) {
			texts = append(texts, field, e.hash[field])
		}
	}
	return bulks(texts)
}

func hdel(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aHash)
	if !ok {
		return wrongType()
	}
	removed := int64(0)
	for _, field := range args[2:] {
		if e == nil {
			break
		}
		if _, there := e.hash[field]; there {
			delete(e.hash, field)
			removed++
		}
	}
	if removed > 0 {
		s.changed(args[1])
	}
	return integer(removed)
}

func hexists(s *Server, c *conn, args []string) Reply {
	reply := hget(s, c, args)
	if reply.Kind == Error {
		return reply
	}
	return yesNo(reply.Kind == Bulk)
}

func hlen(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aHash)
	switch {
	case !ok:
		return wrongType()
	case e == nil:
		return integer(0)
	}
	return integer(int64(len(e.hash)))
}

func hincrby(s *Server, c *conn, args []string) Reply {
	n, isNumber := parseInt(args[3])
	if !isNumber {
		return notAnInteger()
	}
	old := hget(s, c, args[:3])
	if old.Kind == Error {
		return old
	}
	if old.Kind == Nil {
		old = bulk("0")
	}
	sum, wrong := sumOf(old.Text, n, failure("ERR hash value is not an integer"))
	if wrong.Kind == Error {
		return wrong
	}
	hset(s, c, []string{"HSET", args[1], args[2], strconv.FormatInt(sum, 10)})
	return integer(sum)
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
