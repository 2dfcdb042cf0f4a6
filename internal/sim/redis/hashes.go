package redis

import (
	"maps"
	"slices"
	"strconv"

	"github.com/locklab/locklab/internal/sim/service"
)

func hashCommands() map[string]command {
	return map[string]command{
		"HSET":    {arity: -4, run: hset},
		"HSETNX":  {arity: 4, run: hsetnx},
		"HGET":    {arity: 3, run: on(aHash, service.Reply{}, hget)},
		"HGETALL": {arity: 2, run: on(aHash, bulks(nil), hgetall)},
		"HDEL":    {arity: -3, run: removal(aHash)},
		"HEXISTS": {arity: 3, run: on(aHash, integer(0), hexists)},
		"HLEN":    {arity: 2, run: size(aHash)},
		"HINCRBY": {arity: 4, run: hincrby},
	}
}

func hset(s *Server, _ *conn, args []string) service.Reply {
	if len(args)%2 != 0 {
		return wrongCount(args[0])
	}
	e, ok := s.aggregate(args[1], aHash)
	if !ok {
		return wrongType()
	}
	before := len(e.hash)
	for i := 2; i < len(args); i += 2 {
		e.hash[args[i]] = args[i+1]
	}
	s.changed(args[1])
	return integer(int64(len(e.hash) - before))
}

func hsetnx(s *Server, c *conn, args []string) service.Reply {
	old := on(aHash, service.Reply{}, hget)(s, c, args)
	switch old.Kind {
	case service.Error:
		return old
	case service.Bulk:
		return integer(0)
	}
	return hset(s, c, args)
}

func hget(_ *Server, e *entry, args []string) service.Reply {
	text, there := e.hash[args[2]]
	if !there {
		return service.Reply{}
	}
	return bulk(text)
}

// hgetall answers in the order of the fields' names; Redis promises none.
func hgetall(_ *Server, e *entry, _ []string) service.Reply {
	var texts []string
	for _, field := range sortedKeys(e.hash) {
		texts = append(texts, field, e.hash[field])
	}
	return bulks(texts)
}

func hexists(_ *Server, e *entry, args []string) service.Reply {
	_, there := e.hash[args[2]]
	return yesNo(there)
}

func hincrby(s *Server, c *conn, args []string) service.Reply {
	n, isNumber := parseInt(args[3])
	if !isNumber {
		return notAnInteger()
	}
	old := on(aHash, service.Reply{}, hget)(s, c, args)
	if old.Kind == service.Error {
		return old
	}
	if old.Kind == service.Nil {
		old = bulk("0")
	}
	sum, wrong := sumOf(old.Text, n, failure("ERR hash value is not an integer"))
	if wrong.Kind == service.Error {
		return wrong
	}
	hset(s, c, []string{"HSET", args[1], args[2], strconv.FormatInt(sum, 10)})
	return integer(sum)
}

func sortedKeys[V any](m map[string]V) []string {
	names := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m)) // slices.Sorted makes room for each name by itself
	slices.Sort(names)
	return names
}
