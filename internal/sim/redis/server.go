// Package redis is a small explicit model of a Redis server: strings, hashes, lists, sets and sorted sets that expire by the server's own
// clock, transactions, scripts and published messages, as far as locks use them.
//
// It owns what a command does and answers, in the words of Redis 7.0. It is plain data: it must not know a real clock, a
// socket or chance. Its user says how much time passes (Advance), and on which connection a command comes in.
package redis

import (
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/locklab/locklab/internal/sim/service"
)

// Server is one server. It is used by one goroutine.
type Server struct {
	now     time.Duration // by its clock, in whole milliseconds
	epoch   time.Duration // what its wall clock shows when its clock stands at zero, since 1970; zero: it has none
	keys    map[string]*entry
	conns   map[int]*conn
	scripts map[string]string // by SHA
	library *library
	unknown string // see Unknown
}

// conn is what the server knows of a connection.
type conn struct {
	multi   bool
	queue   [][]string
	spoilt  bool // a command could not be queued: EXEC will refuse
	watched map[string]bool
	dirty   bool     // a watched key has changed: EXEC will do nothing
	topics  []string // channels subscribed to
	inbox   service.Inbox
}

// New returns a server without data. Its clock stands at zero.
func New() *Server {
	return &Server{keys: map[string]*entry{}, conns: map[int]*conn{}, scripts: map[string]string{}, library: newLibrary()}
}

// SetWallClock has the server know what time it is: it was since1970 when its clock stood at zero.
func (s *Server) SetWallClock(since1970 time.Duration) {
	s.epoch = since1970.Truncate(time.Millisecond)
}

// wallClock is what its wall clock shows, since 1970, for a command that depends on it.
func (s *Server) wallClock(args []string) time.Duration {
	if s.epoch == 0 {
		s.meet(strings.Join(args, " "))
	}
	return s.epoch + s.now
}

// Now is the server's clock.
func (s *Server) Now() time.Duration { return s.now }

// Advance lets time pass, in whole milliseconds. If d is negative, the clock is set back: what expires does so later.
func (s *Server) Advance(d time.Duration) {
	s.now += d
	for name := range s.keys {
		s.find(name)
	}
}

// Restart is a restart: all connections are broken, the scripts are forgotten, and so is the data unless it is kept.
func (s *Server) Restart(keepData bool) {
	s.conns, s.scripts = map[int]*conn{}, map[string]string{}
	if !keepData {
		s.keys = map[string]*entry{}
	}
}

// Promoted is a replica that has received all that made this state, and no more, when it takes over. It has the data, which end when they
// would have ended here, but no connections and no scripts. Replication is asynchronous: what a replica lacks when it takes over
// is what had been answered and had not reached it yet.
func (s *Server) Promoted() *Server {
	replica := s.Clone()
	replica.Restart(true)
	return replica
}

// Close ends a connection, with its subscriptions and an unfinished transaction.
func (s *Server) Close(connection int) { delete(s.conns, connection) }

// Renumber gives a connection a number that no other has.
func (s *Server) Renumber(connection, other int) {
	if c := s.conns[connection]; c != nil {
		s.conns[other] = c
		s.Close(connection)
	}
}

// Receive takes the oldest message that a connection has received, if any.
func (s *Server) Receive(connection int) (service.Message, bool) {
	c := s.conns[connection]
	if c == nil {
		return service.Message{}, false
	}
	return c.inbox.Take()
}

// Do carries out a command that has come in on a connection, and returns its reply. A connection begins with its first command.
func (s *Server) Do(connection int, args ...string) service.Reply {
	if len(args) == 0 {
		return failure("ERR empty command")
	}
	c := s.conns[connection]
	if c == nil {
		c = &conn{}
		s.conns[connection] = c
	}
	command, wrong := s.library.find(args)
	switch {
	case wrong.Kind == service.Error:
		s.meet(strings.Join(args, " "))
		c.spoilt = c.spoilt || c.multi
		return wrong
	case c.multi && !command.immediate:
		c.queue = append(c.queue, args)
		return status("QUEUED")
	}
	return command.run(s, c, args)
}

// Unknown is the first command, or part of one, that the model has met and does not know; empty: none. A real server may know it, so nothing
// follows from the error that it was answered with.
func (s *Server) Unknown() string { return s.unknown }

// meet notes what the model does not know.
func (s *Server) meet(what string) {
	if s.unknown == "" {
		s.unknown = what
	}
}

const syntaxError = "ERR syntax error"

// syntaxError is the answer to words that the model does not understand.
func (s *Server) syntaxError(args []string) service.Reply {
	s.meet(strings.Join(args, " "))
	return failure(syntaxError)
}

// command is one that the model knows.
type command struct {
	// arity is the number of words; negative: at least so many.
	arity int
	// immediate commands are carried out also between MULTI and EXEC.
	immediate bool
	// outside: it is not allowed in scripts.
	outside bool
	run     runner
}

// runner is what a command does.
type runner func(s *Server, c *conn, args []string) service.Reply

// library is what servers share: the commands, the scripts that have been compiled, and what runs them. No server sees of it what another did.
type library struct {
	commands map[string]command // by their names in upper and in lower case
	compiled compiled
	state    *lua.LState  // made when the first script is run
	current  *interpreter // until a script ends with an error
	// What all scripts have, made with it; see textFunction.
	text, refuseChange *lua.LFunction
}

func newLibrary() *library {
	l := &library{commands: map[string]command{}, compiled: compiled{}}
	for _, family := range []map[string]command{
		keyCommands(), stringCommands(), hashCommands(), listCommands(), zsetCommands(), setCommands(), txCommands(), channelCommands(), scriptCommands(), clientCommands(),
	} {
		for name, command := range family {
			l.commands[name], l.commands[strings.ToLower(name)] = command, command
		}
	}
	return l
}

// find looks a command up and counts its arguments.
func (l *library) find(args []string) (found command, wrong service.Reply) {
	found, ok := l.commands[args[0]]
	if !ok {
		found, ok = l.commands[strings.ToUpper(args[0])]
	}
	if !ok {
		return found, unknownCommand(args)
	}
	if found.arity >= 0 && len(args) != found.arity || len(args) < -found.arity {
		return found, wrongCount(args[0])
	}
	return found, service.Reply{}
}

func unknownCommand(args []string) service.Reply {
	text := "ERR unknown command '" + args[0] + "', with args beginning with: "
	for _, arg := range args[1:] {
		text += "'" + arg + "' "
	}
	return failure(text)
}
