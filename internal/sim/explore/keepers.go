package explore

import (
	"path"
	"strconv"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// keepers is what servers know beside their states if they are ZooKeepers.
type keepers struct {
	clients  int       // with sessions
	events   [][]event // that a request or time has caused; number 0 is none
	numbered map[string]uint16
	lapsed   memo[serving]
	ping     uint32 // requests of a client's library: one that only shows that it is alive
	open     uint32 // and one for a new session
}

// event is what a client's library is told unasked.
type event struct {
	client uint8
	path   string // of the node that has changed; empty: the session is over
}

// kept is what is known of a state of a ZooKeeper.
type kept struct {
	left  [mostClients]ms // how long each client's session lasts if it is not heard; 0: it is over
	maker uint8           // the client whose node is the first, plus 1
	top   uint32          // see topNumber
}

// newKeepers are ZooKeepers with a session of each client.
func newKeepers(texts *texts, lockKey string, clients int) *servers {
	s := &servers{texts: texts, lockKey: lockKey, numbers: map[string]uint32{}}
	s.keepers = &keepers{
		clients: clients, events: make([][]event, 1), numbered: map[string]uint16{"": 0},
		ping: texts.addRequest(request{commands: [][]string{{"PING"}}}),
		open: texts.addRequest(request{commands: [][]string{zookeeper.Reconnect(0, Lease)}}),
	}
	s.number(newKeeperServer(lockKey, clients), 0, cause{})
	return s
}

// keep fills in what is known of a state. Whose the lock is is as histories have it: the first node, with its client.
func (s *servers) keep(state *serverState, server keeperServer, text string) {
	k := &state.kept
	for i := range s.clients {
		k.left[i] = ms(server.Left(server.Session(keeperConn(i))).Milliseconds())
	}
	k.top = topNumber(text)
	state.lock.TTL = 0
	if first := state.lock.Value; first != "" {
		k.maker = uint8(server.Maker(path.Join(s.lockKey, first)))
		state.lock.Value = first + " of " + trace.ClientName(int(k.maker)-1)
	}
}

// eventsOf takes the events of all clients off a server, and numbers them.
func (s *servers) eventsOf(server lockServer) uint16 {
	if s.keepers == nil {
		return 0
	}
	var list []event
	text := ""
	for i := range s.clients {
		for m, more := server.Receive(keeperConn(i)); more; m, more = server.Receive(keeperConn(i)) {
			list = append(list, event{uint8(i), m.Channel})
			text += strconv.Itoa(i) + m.Channel + "\n"
		}
	}
	n, known := s.numbered[text]
	if !known {
		n = uint16(len(s.events))
		s.events = append(s.events, list)
		s.numbered[text] = n
	}
	return n
}

// lapse lets time pass on a ZooKeeper. The spared clients keep their sessions as they are.
func (s *servers) lapse(state uint32, d ms, spared uint8) serving {
	key := [2]uint64{uint64(state) + 1, uint64(d)<<8 | uint64(spared)}
	if done := s.lapsed.of(key); done != nil {
		return *done
	}
	server := s.states[state].server.Clone().(keeperServer)
	for i := range s.clients {
		if spared&(1<<i) != 0 {
			server.Spare(keeperConn(i), duration(d))
		}
	}
	server.Advance(duration(d))
	done := serving{events: s.eventsOf(server)}
	done.next = s.number(server, state, cause{passed: d, spared: spared})
	return *s.lapsed.note(key, done)
}

// watchesNode says whether a client is told of the next change of a node.
func (s *servers) watchesNode(state uint32, client int, path string) bool {
	return s.states[state].server.(keeperServer).Watches(keeperConn(client), path)
}

// nodesOf are the nodes of a client below the lock's, in the order of their numbers.
func (s *servers) nodesOf(state uint32, client int) (names []string) {
	server := s.states[state].server.(keeperServer)
	for _, name := range server.Names(s.lockKey) {
		if server.Maker(path.Join(s.lockKey, name)) == keeperConn(client) {
			names = append(names, name)
		}
	}
	return byNumber(names)
}

// numbered is the request as it arrives: that for a sequential node says which number that gets. So numbers that nobody knows any more are given
// again, and states merge that differ by how many nodes there have been. To a lock that only compares numbers it is all the same.
func (x *explorer) numbered(s *state, n uint32) uint32 {
	if x.servers.keepers == nil {
		return n
	}
	r := &x.texts.requests[n]
	if command := r.commands[0]; command[0] != "CREATE" || command[len(command)-1] != zookeeper.Sequential {
		return n
	}
	words := append(r.commands[0][:len(r.commands[0]):len(r.commands[0])], numberWord+strconv.Itoa(int(x.nextNumber(s))))
	return x.texts.addRequest(request{server: r.server, commands: [][]string{words}})
}

// nextNumber is the smallest that is greater than all that a node, a client or a message has, or a fence was made of.
func (x *explorer) nextNumber(s *state) uint32 {
	next := x.servers.states[s.servers[0]].kept.top
	for i := range x.clients {
		c := &s.clients[i]
		if c.phase != crashed {
			next = max(next, x.automaton.nodes[c.node].top)
		}
		for _, r := range c.replies {
			next = max(next, x.texts.replies[r].top)
		}
		for _, r := range c.travel {
			next = max(next, x.texts.requests[r&travelAll].top)
		}
	}
	if s.fence != 0 {
		next = max(next, uint32(x.judge.fences[s.fence-1]))
	}
	return next
}

// headOf is the first node of a lock, and its client, in a state; client is negative if there is none.
func (s *servers) headOf(state uint32) (lock history.State, client int) {
	known := &s.states[state]
	return known.lock, int(known.kept.maker) - 1
}
