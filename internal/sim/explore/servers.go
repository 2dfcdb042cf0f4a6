package explore

import (
	"fmt"
	"math"
	"path"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/internal/sim/service"
)

// ms is a time in milliseconds, mostly one from now.
type ms = int32

// never does not come.
const never ms = math.MaxInt32

func duration(t ms) time.Duration { return time.Duration(t) * time.Millisecond }

// servers are the states that servers have been in, and what leads from one to the next. All servers are alike. Number 0 is the
// empty server.
type servers struct {
	texts    *texts
	lockKey  string
	states   []serverState
	numbers  map[string]uint32
	served   memo[serving]
	ticked   memo[uint32]
	seen     bool  // there has been something under it
	lives    bool  // somebody has asked how long a key lives
	unknown  error // something that the model of a server does not know was asked of one
	*keepers       // nil: they are no ZooKeepers
}

type serverState struct {
	server   lockServer
	tokens   tokens
	personal bool // something in it is one client's
	expiries []ms
	lock     history.State // what it has under the lock's key
	value    uint32        // see servers.value
	count    int           // the number that it has there, if it may be a count
	kept     kept          // of a ZooKeeper
	// What led to it, so that the same can be done with the clients in another order:
	before  uint32
	by      cause
	renamed []uint32 // by order; the number of the state plus 1
}

// cause is what leads from one state of a server to the next: a request of a client, the end of a connection, or else time, a jump, a restart or a fail-over.
type cause struct {
	request uint32
	client  uint8
	passed  ms
	spared  uint8 // see lapse
	restart bool
	promote bool
	// left is a connection that the client has left, and other what it is from then on; see servers.leave.
	left, other uint8
}

// serving is what a request did.
type serving struct {
	next   uint32
	reply  uint32
	effect history.Effect // on the lock
	named  bool           // it names the lock
	events uint16         // the number of those that it caused; see keepers
}

// newServers are servers without data. They have no wall clocks, or they would never be the same again.
func newServers(texts *texts, lockKey string) *servers {
	s := &servers{texts: texts, lockKey: lockKey, numbers: map[string]uint32{}}
	s.number(redisServer{redis.New()}, 0, cause{})
	return s
}

// number finds the number of a state, or gives it one.
func (s *servers) number(server lockServer, before uint32, by cause) uint32 {
	text := string(server.AppendState(nil))
	if n, known := s.numbers[text]; known {
		return n
	}
	state := serverState{
		server: server, tokens: mentioned(text), personal: mentioned(text) != 0 || server.Connected(), lock: server.State(s.lockKey), before: before, by: by,
		renamed: make([]uint32, len(s.texts.orders)),
	}
	state.count, _ = state.lock.Count()
	if s.keepers != nil {
		s.keep(&state, server.(keeperServer), text)
	}
	s.seen = s.seen || state.lock.Exists()
	for _, left := range server.Expiries() {
		state.expiries = append(state.expiries, fullMS(left))
	}
	n := uint32(len(s.states))
	s.states = append(s.states, state)
	s.numbers[text] = n
	return n
}

// serve has a server in a state execute a request of a client.
func (s *servers) serve(state, request uint32, client int) serving {
	key := [2]uint64{uint64(request), uint64(state)<<32 | uint64(client)}
	if done := s.served.of(key); done != nil {
		return *done
	}
	server := s.states[state].server.Clone()
	change := history.Change{Key: s.lockKey, Before: s.states[state].lock}
	r := s.texts.requests[request]
	s.lives = s.lives || r.life
	var replies []service.Reply
	for _, command := range r.commands {
		replies = append(replies, server.Do(s.connection(client, r.conn), command...))
	}
	if r.conn >= firstLate {
		server.Close(s.connection(client, r.conn))
	}
	s.learn(server, &r)
	done := serving{reply: s.texts.reply(replies), named: s.names(r.commands), events: s.eventsOf(server)}
	done.next = s.number(server, state, cause{request: request, client: uint8(client)})
	change.After = s.states[done.next].lock
	done.effect = change.Effect(0)
	s.served.note(key, done)
	return done
}

// value is the number of what a server in a state has under the lock's key, as a reply; 0: it has nothing.
func (s *servers) value(state uint32) uint32 {
	known := &s.states[state]
	if known.value == 0 && known.lock.Exists() {
		known.value = s.texts.reply([]service.Reply{{Kind: service.Bulk, Text: known.lock.Value}})
	}
	return known.value
}

// learn notes what a server was asked that its model does not know. Which scripts it has met makes no difference to a lock that does not name them by their
// hashes.
func (s *servers) learn(server lockServer, r *request) {
	what := server.Unknown()
	if redis, ok := server.(redisServer); ok {
		redis.ForgetScripts()
	}
	if r.namesScripts() {
		what = "which scripts a server has met: Eval sends them as they are"
	}
	if what != "" && s.unknown == nil {
		s.unknown = fmt.Errorf("the model of %s does not know %s", s.service(), what)
	}
}

func (s *servers) service() string {
	if s.keepers != nil {
		return "ZooKeeper"
	}
	return "Redis"
}

// connection numbers the connections of all clients; those that are shared are all one.
func (s *servers) connection(client, conn int) int {
	if s.keepers != nil {
		return keeperConn(client)
	}
	return client*100 + conn
}

// names says whether commands name the lock.
func (s *servers) names(commands [][]string) bool {
	for _, command := range commands {
		if slices.Contains(command, s.lockKey) || s.keepers != nil && len(command) > 1 && path.Dir(command[1]) == s.lockKey {
			return true
		}
	}
	return false
}

// tick lets time pass on a server, or its clock jump, also back: to its keys that is the same. They expire at times of that clock.
func (s *servers) tick(state uint32, d ms) uint32 {
	if len(s.states[state].expiries) == 0 {
		return state
	}
	key := [2]uint64{uint64(state) + 1, uint64(d)}
	if next := s.ticked.of(key); next != nil {
		return *next
	}
	server := s.states[state].server.Clone()
	server.Advance(duration(d))
	return *s.ticked.note(key, s.number(server, state, cause{passed: d}))
}

// restart is the state of a server without its data.
func (s *servers) restart(state uint32) uint32 {
	server := s.states[state].server.(redisServer).Server.Clone()
	server.Restart(false)
	return s.number(redisServer{server}, state, cause{restart: true})
}

// promote is the state of a replica that takes over, having received what the server had in a state.
func (s *servers) promote(state uint32) uint32 {
	return s.number(redisServer{s.states[state].server.(redisServer).Promoted()}, state, cause{promote: true})
}

// rename is the state that a server would be in if the clients had changed places from the start.
func (s *servers) rename(o int, state uint32) uint32 {
	if !s.states[state].personal || o == 0 || state == 0 {
		return state
	}
	if renamed := s.states[state].renamed[o]; renamed != 0 {
		return renamed - 1
	}
	by, before := s.states[state].by, s.rename(o, s.states[state].before)
	var renamed uint32
	switch {
	case by.request != 0:
		renamed = s.serve(before, s.texts.renameRequest(o, by.request), int(s.texts.orders[o][by.client])).next
	case by.left != 0:
		renamed = s.leave(before, int(s.texts.orders[o][by.client]), int(by.left), int(by.other))
	case by.restart:
		renamed = s.restart(before)
	case by.promote:
		renamed = s.promote(before)
	case s.keepers != nil:
		renamed = s.lapse(before, by.passed, s.texts.orders[o].set(by.spared)).next
	default:
		renamed = s.tick(before, by.passed)
	}
	s.states[state].renamed[o] = renamed + 1
	return renamed
}
