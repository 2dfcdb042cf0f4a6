package redis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/internal/sim/service"
)

// clientCommands are what client libraries send of their own accord when they connect.
func clientCommands() map[string]command {
	return map[string]command{
		"HELLO":  {arity: -1, outside: true, run: hello},
		"CLIENT": {arity: -2, outside: true, run: clientInfo},
		"SELECT": {arity: 2, run: selectDatabase},
		"ECHO":   {arity: 2, run: func(_ *Server, _ *conn, args []string) service.Reply { return bulk(args[1]) }},
	}
}

// hello speaks RESP2 only.
func hello(s *Server, _ *conn, args []string) service.Reply {
	if len(args) > 1 && args[1] != "2" {
		return failure("NOPROTO unsupported protocol version")
	}
	if len(args) > 2 {
		return s.syntaxError(args)
	}
	return array([]service.Reply{
		bulk("server"), bulk("redis"), bulk("version"), bulk("7.0.0"), bulk("proto"), integer(2), bulk("id"), integer(1),
		bulk("mode"), bulk("standalone"), bulk("role"), bulk("master"), bulk("modules"), array(nil),
	})
}

// clientInfo takes in what a library says of itself.
func clientInfo(s *Server, _ *conn, args []string) service.Reply {
	about := strings.ToUpper(args[1])
	if !slices.Contains([]string{"SETNAME", "SETINFO", "NO-EVICT", "NO-TOUCH"}, about) {
		s.meet(strings.Join(args, " "))
		return failure("ERR unknown subcommand '" + args[1] + "'. Try CLIENT HELP.")
	}
	return status("OK")
}

// selectDatabase knows one database.
func selectDatabase(s *Server, _ *conn, args []string) service.Reply {
	n, err := strconv.Atoi(args[1])
	switch {
	case err != nil:
		return notAnInteger()
	case n != 0:
		return s.syntaxError(args)
	}
	return status("OK")
}
