// Package states learns what servers do: the states that a Redis, its replica or a ZooKeeper can be in, by number, and what requests and time lead to.
//
// It owns these states, and what a client of a ZooKeeper is told unasked. It must not know who asks, nor why.
package states

import (
	"fmt"
	"path"
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/internal/sim/service"
)

// Servers are the states that servers have been in, and what leads from one to the next. All servers are alike. Number 0 is the
// empty server.
type Servers struct {
	Texts    *learn.Texts
	LockKey  string
	States   []serverState
	numbers  map[string]uint32
	served   learn.Memo[Serving]
	ticked   learn.Memo[uint32]
	Seen     bool  // there has been something under it
	Lives    bool  // somebody has asked how long a key lives
	Unknown  error // something that the model of a server does not know was asked of one
	*Keepers       // nil: they are no ZooKeepers
}

type serverState struct {
	Server   lockServer
	Tokens   learn.Tokens
	personal bool // something in it is one client's
	Expiries []learn.MS
	Lock     history.State // what it has under the lock's key
	value    uint32        // see servers.value
	Count    int           // the number that it has there, if it may be a count
	Kept     kept          // of a ZooKeeper
	// What led to it, so that the same can be done with the clients in another order:
	before  uint32
	by      cause
	renamed []uint32 // by order; the number of the state plus 1
}

// cause is what leads from one state of a server to the next: a request of a client, the end of a connection, or else time, a jump, a restart or a fail-over.
type cause struct {
	request uint32
	client  uint8
	passed  learn.MS
	spared  uint8 // see lapse
	restart bool
	promote bool
	// left is a connection that the client has left, and other what it is from then on; see servers.leave.
	left, other uint8
}

// Serving is what a request did.
type Serving struct {
	Next   uint32
	Reply  uint32
	Effect history.Effect // on the lock
	Named  bool           // it names the lock
	Events uint16         // the number of those that it caused; see keepers
}

// NewServers are servers without data. They have no wall clocks, or they would never be the same again.
func NewServers(texts *learn.Texts, lockKey string) *Servers {
	s := &Servers{Texts: texts, LockKey: lockKey, numbers: map[string]uint32{}}
	s.number(redisServer{redis.New()}, 0, cause{})
	return s
}

// number finds the number of a state, or gives it one.
func (s *Servers) number(server lockServer, before uint32, by cause) uint32 {
	text := string(server.AppendState(nil))
	if n, known := s.numbers[text]; known {
		return n
	}
	state := serverState{
		Server: server, Tokens: learn.Mentioned(text), personal: learn.Mentioned(text) != 0 || server.Connected(), Lock: server.State(s.LockKey), before: before, by: by,
		renamed: make([]uint32, len(s.Texts.Orders)),
	}
	state.Count, _ = state.Lock.Count()
	if s.Keepers != nil {
		s.keep(&state, server.(keeperServer), text)
	}
	s.Seen = s.Seen || state.Lock.Exists()
	for _, left := range server.Expiries() {
		state.Expiries = append(state.Expiries, learn.FullMS(left))
	}
	n := uint32(len(s.States))
	s.States = append(s.States, state)
	s.numbers[text] = n
	return n
}

// Serve has a server in a state execute a request of a client.
func (s *Servers) Serve(state, request uint32, client int) Serving {
	key := [2]uint64{uint64(request), uint64(state)<<32 | uint64(client)}
	if done := s.served.Of(key); done != nil {
		return *done
	}
	server := s.States[state].Server.Clone()
	change := history.Change{Key: s.LockKey, Before: s.States[state].Lock}
	r := s.Texts.Requests[request]
	s.Lives = s.Lives || r.Life
	var replies []service.Reply
	for _, command := range r.Commands {
		replies = append(replies, server.Do(s.connection(client, r.Conn), command...))
	}
	if r.Conn >= FirstLate {
		server.Close(s.connection(client, r.Conn))
	}
	s.learn(server, &r)
	done := Serving{Reply: s.Texts.Reply(replies), Named: s.Names(r.Commands), Events: s.eventsOf(server)}
	done.Next = s.number(server, state, cause{request: request, client: uint8(client)})
	change.After = s.States[done.Next].Lock
	done.Effect = change.Effect(0)
	s.served.Note(key, done)
	return done
}

// Value is the number of what a server in a state has under the lock's key, as a reply; 0: it has nothing.
func (s *Servers) Value(state uint32) uint32 {
	known := &s.States[state]
	if known.value == 0 && known.Lock.Exists() {
		known.value = s.Texts.Reply([]service.Reply{{Kind: service.Bulk, Text: known.Lock.Value}})
	}
	return known.value
}

// learn notes what a server was asked that its model does not know. Which scripts it has met makes no difference to a lock that does not name them by their
// hashes.
func (s *Servers) learn(server lockServer, r *learn.Request) {
	what := server.Unknown()
	if redis, ok := server.(redisServer); ok {
		redis.ForgetScripts()
	}
	if r.NamesScripts() {
		what = "which scripts a server has met: Eval sends them as they are"
	}
	if what != "" && s.Unknown == nil {
		s.Unknown = fmt.Errorf("the model of %s does not know %s", s.service(), what)
	}
}

func (s *Servers) service() string {
	if s.Keepers != nil {
		return "ZooKeeper"
	}
	return "Redis"
}

// connection numbers the connections of all clients; those that are shared are all one.
func (s *Servers) connection(client, conn int) int {
	if s.Keepers != nil {
		return keeperConn(client)
	}
	return client*100 + conn
}

// Names says whether commands name the lock.
func (s *Servers) Names(commands [][]string) bool {
	for _, command := range commands {
		if slices.Contains(command, s.LockKey) || s.Keepers != nil && len(command) > 1 && path.Dir(command[1]) == s.LockKey {
			return true
		}
	}
	return false
}

// Tick lets time pass on a server, or its clock jump, also back: to its keys that is the same. They expire at times of that clock.
func (s *Servers) Tick(state uint32, d learn.MS) uint32 {
	if len(s.States[state].Expiries) == 0 {
		return state
	}
	key := [2]uint64{uint64(state) + 1, uint64(d)}
	if next := s.ticked.Of(key); next != nil {
		return *next
	}
	server := s.States[state].Server.Clone()
	server.Advance(learn.Duration(d))
	return *s.ticked.Note(key, s.number(server, state, cause{passed: d}))
}

// Restart is the state of a server without its data.
func (s *Servers) Restart(state uint32) uint32 {
	server := s.States[state].Server.(redisServer).Server.Clone()
	server.Restart(false)
	return s.number(redisServer{server}, state, cause{restart: true})
}

// Promote is the state of a replica that takes over, having received what the server had in a state.
func (s *Servers) Promote(state uint32) uint32 {
	return s.number(redisServer{s.States[state].Server.(redisServer).Promoted()}, state, cause{promote: true})
}

// Rename is the state that a server would be in if the clients had changed places from the start.
func (s *Servers) Rename(o int, state uint32) uint32 {
	if !s.States[state].personal || o == 0 || state == 0 {
		return state
	}
	if renamed := s.States[state].renamed[o]; renamed != 0 {
		return renamed - 1
	}
	by, before := s.States[state].by, s.Rename(o, s.States[state].before)
	var renamed uint32
	switch {
	case by.request != 0:
		renamed = s.Serve(before, s.Texts.RenameRequest(o, by.request), int(s.Texts.Orders[o][by.client])).Next
	case by.left != 0:
		renamed = s.Leave(before, int(s.Texts.Orders[o][by.client]), int(by.left), int(by.other))
	case by.restart:
		renamed = s.Restart(before)
	case by.promote:
		renamed = s.Promote(before)
	case s.Keepers != nil:
		renamed = s.Lapse(before, by.passed, s.Texts.Orders[o].Set(by.spared)).Next
	default:
		renamed = s.Tick(before, by.passed)
	}
	s.States[state].renamed[o] = renamed + 1
	return renamed
}

// Watches says whether a client has a connection of its own to a server in a state, by which it watches keys.
func (s *Servers) Watches(state uint32, client int) bool {
	for conn := 1; conn <= learn.MostSlots; conn++ {
		if s.WatchesBy(state, client, conn) {
			return true
		}
	}
	return false
}

func (s *Servers) WatchesBy(state uint32, client, conn int) bool {
	return s.States[state].Server.(redisServer).Watching(s.connection(client, conn))
}

// Leave is the state of a server after a client has left a connection, to what is still on its way by it, as another one; 0: to nothing.
func (s *Servers) Leave(state uint32, client, conn, other int) uint32 {
	r, ok := s.States[state].Server.(redisServer)
	if !ok || !r.Watching(s.connection(client, conn)) {
		return state
	}
	server := r.Server.Clone()
	if other == 0 {
		server.Close(s.connection(client, conn))
	} else {
		server.Renumber(s.connection(client, conn), s.connection(client, other))
	}
	return s.number(redisServer{server}, state, cause{client: uint8(client), left: uint8(conn), other: uint8(other)})
}

// FirstLate is the first of the numbers of connections that clients have given up, of which each request on its way may have one.
const FirstLate = learn.MostSlots + 1
