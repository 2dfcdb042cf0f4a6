package redis

import "github.com/locklab/locklab/internal/sim/service"

func txCommands() map[string]command {
	return map[string]command{
		"WATCH":   {arity: -2, immediate: true, outside: true, run: watch},
		"UNWATCH": {arity: 1, outside: true, run: unwatch},
		"MULTI":   {arity: 1, immediate: true, outside: true, run: multi},
		"DISCARD": {arity: 1, immediate: true, outside: true, run: discard},
		"EXEC":    {arity: 1, immediate: true, outside: true, run: execute},
	}
}

func watch(_ *Server, c *conn, args []string) service.Reply {
	if c.multi {
		return failure("ERR WATCH inside MULTI is not allowed")
	}
	if c.watched == nil {
		c.watched = map[string]bool{}
	}
	for _, name := range args[1:] {
		c.watched[name] = true
	}
	return status("OK")
}

func unwatch(_ *Server, c *conn, _ []string) service.Reply {
	c.watched, c.dirty = nil, false
	return status("OK")
}

func multi(_ *Server, c *conn, _ []string) service.Reply {
	if c.multi {
		return failure("ERR MULTI calls can not be nested")
	}
	c.multi = true
	return status("OK")
}

func discard(_ *Server, c *conn, _ []string) service.Reply {
	if !c.multi {
		return failure("ERR DISCARD without MULTI")
	}
	c.endTransaction()
	return status("OK")
}

func (c *conn) endTransaction() {
	c.multi, c.spoilt, c.queue = false, false, nil
	c.watched, c.dirty = nil, false
}

// execute carries out what was queued, unless a watched key has changed: then it answers nil.
func execute(s *Server, c *conn, _ []string) service.Reply {
	if !c.multi {
		return failure("ERR EXEC without MULTI")
	}
	queue, spoilt, dirty := c.queue, c.spoilt, c.dirty
	c.endTransaction()
	switch {
	case spoilt:
		return failure("EXECABORT Transaction discarded because of previous errors.")
	case dirty:
		return service.Reply{}
	}
	replies := make([]service.Reply, len(queue))
	for i, args := range queue {
		command, _ := s.library.find(args) // it was found when it was queued
		replies[i] = command.run(s, c, args)
	}
	return array(replies)
}
