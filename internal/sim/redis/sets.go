package redis

import "github.com/locklab/locklab/internal/sim/service"

func setCommands() map[string]command {
	return map[string]command{
		"SADD":      {arity: -3, run: into(aSet, sadd)},
		"SREM":      {arity: -3, run: removal(aSet)},
		"SISMEMBER": {arity: 3, run: on(aSet, integer(0), sismember)},
		"SCARD":     {arity: 2, run: size(aSet)},
		"SMEMBERS":  {arity: 2, run: on(aSet, bulks(nil), smembers)},
	}
}

func sadd(s *Server, e *entry, args []string) service.Reply {
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

func sismember(_ *Server, e *entry, args []string) service.Reply { return yesNo(e.set[args[2]]) }

// smembers answers in the order of the members; Redis promises none.
func smembers(_ *Server, e *entry, _ []string) service.Reply { return bulks(sortedKeys(e.set)) }
