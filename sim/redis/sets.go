package redis

func setCommands() map[string]command {
	return map[string]command{
		"SADD":      {arity: -3, run: sadd},
		"SREM":      {arity: -3, run: srem},
		"SISMEMBER": {arity: 3, run: sismember},
		"SCARD":     {arity: 2, run: scard},
		"SMEMBERS":  {arity: 2, run: smembers},
	}
}

func sadd(s *Server, _ *conn, args []string) Reply {
	e, ok := s.aggregate(args[1], aSet)
	if !ok {
		return wrongType()
	}
	if e.set == nil {
		e.set = map[string]bool{}
	}
	before := len(e.set)
	for _, member := range args[2:] {
		e.set[member] = true
	}
	added := len(e.set) - before
	if added > 0 {
		s.changed(args[1])
	}
	return integer(int64(added))
}

func srem(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aSet)
	switch {
	case !ok:
		return wrongType()
	case e == nil:
		return integer(0)
	}
	before := len(e.set)
	for _, member := range args[2:] {
		delete(e.set, member)
	}
	removed := before - len(e.set)
	if removed > 0 {
		s.changed(args[1])
	}
	return integer(int64(removed))
}

func sismember(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aSet)
	if !ok {
		return wrongType()
	}
	return yesNo(e != nil && e.set[args[2]])
}

func scard(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aSet)
	switch {
	case !ok:
		return wrongType()
	case e == nil:
		return integer(0)
	}
	return integer(int64(len(e.set)))
}

// smembers answers in the order of the members; Redis promises none.
func smembers(s *Server, _ *conn, args []string) Reply {
	e, ok := s.value(args[1], aSet)
	if !ok {
		return wrongType()
	}
	if e == nil {
		return bulks(nil)
	}
	return bulks(sortedKeys(e.set))
}
