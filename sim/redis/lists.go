package redis

import "slices"

func listCommands() map[string]command {
	return map[string]command{
		"RPUSH":  {arity: -3, run: rpush},
		"LPUSH":  {arity: -3, run: lpush},
		"LPOP":   {arity: 2, run: lpop},
		"LLEN":   {arity: 2, run: llen},
		"LRANGE": {arity: 4, run: lrange},
		"LINDEX": {arity: 3, run: lindex},
		"LREM":   {arity: 4, run: lrem},
	}
}

func rpush(s *Server, _ *conn, args []string) Reply {
	e, ok := s.aggregate(args[1], aList)
	if !ok {
		return wrongType()
	}
	e.list = append(e.list, args[2:]...)
	s.changed(args[1])
	return integer(int64(len(e.list)))
}

func lpush(s *Server, _ *conn, args []string) Reply {
	e, ok := s.aggregate(args[1], aList)
	if !ok {
		return wrongType()
	}
	for _, element := range args[2:] {
		e.list = slices.Insert(e.list, 0, element)
	}
	s.changed(args[1])
	return integer(int64(len(e.list)))
}

func lpop(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aList)
	switch {
	case !ok:
		return wrongType()
	case e == nil:
		return Reply{}
	}
	first := e.list[0]
	e.list = slices.Delete(e.list, 0, 1)
	s.changed(args[1])
	return bulk(first)
}

func llen(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aList)
	switch {
	case !ok:
		return wrongType()
	case e == nil:
		return integer(0)
	}
	return integer(int64(len(e.list)))
}

func lrange(s *Server, _ *conn, args []string) Reply {
	from, okFrom := parseInt(args[2])
	to, okTo := parseInt(args[3])
	if !okFrom || !okTo {
		return notAnInteger()
	}
	e, ok := s.value(args[1], aList)
	switch {
	case !ok:
		return wrongType()
	case e == nil:
		return bulks(nil)
	}
	return bulks(part(e.list, from, to))
}

// part is the elements from one index to another, both included; negative ones count from the end.
func part(list []string, from, to int64) []string {
	n := int64(len(list))
	if from < 0 {
		from = max(0, from+n)
	}
	if to < 0 {
		to += n
	}
	to = min(to, n-1)
	if from > to {
		return nil
	}
	return list[from : to+1]
}

func lindex(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aList)
	switch {
	case !ok:
		return wrongType()
	case e == nil:
		return Reply{}
	}
	at, isNumber := parseInt(args[2])
	if !isNumber {
		return notAnInteger()
	}
	if at < 0 {
		at += int64(len(e.list))
	}
	if at < 0 || at >= int64(len(e.list)) {
		return Reply{}
	}
	return bulk(e.list[at])
}

// lrem removes elements: as many as it is told, from the front, or from the back if the number is negative; all if it is zero.
func lrem(s *Server, _ *conn, args []string) Reply {
	most, isNumber := parseInt(args[2])
	if !isNumber {
		return notAnInteger()
	}
	e, ok := s.value(args[1], aList)
	switch {
	case !ok:
		return wrongType()
	case e == nil:
		return integer(0)
	}
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
}
