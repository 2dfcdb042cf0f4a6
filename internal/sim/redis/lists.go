package redis

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/service"
)

func listCommands() map[string]command {
	return map[string]command{
		"RPUSH":  {arity: -3, run: into(aList, rpush)},
		"LPUSH":  {arity: -3, run: into(aList, lpush)},
		"LPOP":   {arity: 2, run: on(aList, service.Reply{}, func(s *Server, e *entry, args []string) service.Reply { return pop(s, e, args, 0) })},
		"RPOP":   {arity: 2, run: on(aList, service.Reply{}, func(s *Server, e *entry, args []string) service.Reply { return pop(s, e, args, len(e.list)-1) })},
		"LLEN":   {arity: 2, run: size(aList)},
		"LRANGE": {arity: 4, run: rangeOf(aList, func(e *entry) []string { return e.list })},
		"LINDEX": {arity: 3, run: on(aList, service.Reply{}, lindex)},
		"LREM":   {arity: 4, run: lrem},
	}
}

func rpush(s *Server, e *entry, args []string) service.Reply {
	e.list = append(e.list, args[2:]...)
	s.changed(args[1])
	return integer(int64(len(e.list)))
}

func lpush(s *Server, e *entry, args []string) service.Reply {
	for _, element := range args[2:] {
		e.list = slices.Insert(e.list, 0, element)
	}
	s.changed(args[1])
	return integer(int64(len(e.list)))
}

func pop(s *Server, e *entry, args []string, at int) service.Reply {
	popped := e.list[at]
	e.list = slices.Delete(e.list, at, at+1)
	s.changed(args[1])
	return bulk(popped)
}

// rangeOf answers a range of the elements of an aggregate.
func rangeOf(kind valueKind, elements func(e *entry) []string) runner {
	return func(s *Server, c *conn, args []string) service.Reply {
		from, okFrom := parseInt(args[2])
		to, okTo := parseInt(args[3])
		if !okFrom || !okTo {
			return notAnInteger()
		}
		return on(kind, bulks(nil), func(_ *Server, e *entry, _ []string) service.Reply {
			list := elements(e)
			first, end := span(int64(len(list)), from, to)
			return bulks(list[first:end])
		})(s, c, args)
	}
}

// span is where a range of n elements begins and ends that is given by its first and its last index; negative ones count from the end.
func span(n, from, to int64) (first, end int64) {
	if from < 0 {
		from = max(0, from+n)
	}
	if to < 0 {
		to += n
	}
	if to = min(to, n-1); from > to {
		return 0, 0
	}
	return from, to + 1
}

func lindex(_ *Server, e *entry, args []string) service.Reply {
	at, isNumber := parseInt(args[2])
	if !isNumber {
		return notAnInteger()
	}
	if at < 0 {
		at += int64(len(e.list))
	}
	if at < 0 || at >= int64(len(e.list)) {
		return service.Reply{}
	}
	return bulk(e.list[at])
}

// lrem removes elements: as many as it is told, from the front, or from the back if the number is negative; all if it is zero.
func lrem(s *Server, c *conn, args []string) service.Reply {
	most, isNumber := parseInt(args[2])
	if !isNumber {
		return notAnInteger()
	}
	return on(aList, integer(0), func(s *Server, e *entry, args []string) service.Reply {
		fromBack := most < 0
		if fromBack {
			slices.Reverse(e.list)
			most = -most
		}
		removed := int64(0)
		e.list = slices.DeleteFunc(e.list, func(element string) bool {
			if element != args[3] || most > 0 && removed == most {
				return false
			}
			removed++
			return true
		})
		if fromBack {
			slices.Reverse(e.list)
		}
		if removed > 0 {
			s.changed(args[1])
		}
		return integer(removed)
	})(s, c, args)
}
