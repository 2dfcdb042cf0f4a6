package states

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// Keepers is what servers know beside their states if they are ZooKeepers.
type Keepers struct {
	clients  int       // with sessions
	Events   [][]event // that a request or time has caused; number 0 is none
	numbered map[string]uint16
	lapsed   learn.Memo[Serving]
	Ping     uint32 // requests of a client's library: one that only shows that it is alive
	Open     uint32 // and one for a new session
}

// event is what a client's library is told unasked.
type event struct {
	Client uint8
	Path   string // of the node that has changed; empty: the session is over
}

// kept is what is known of a state of a ZooKeeper.
type kept struct {
	Left  [learn.MostClients]learn.MS // how long each client's session lasts if it is not heard; 0: it is over
	maker uint8                       // the client whose node is the first, plus 1
	Top   uint32                      // see topNumber
}

// NewKeepers are ZooKeepers with a session of each client.
func NewKeepers(texts *learn.Texts, lockKey string, clients int) *Servers {
	s := &Servers{Texts: texts, LockKey: lockKey, numbers: map[string]uint32{}}
	s.Keepers = &Keepers{
		clients: clients, Events: make([][]event, 1), numbered: map[string]uint16{"": 0},
		Ping: texts.AddRequest(learn.Request{Commands: [][]string{{"PING"}}}),
		Open: texts.AddRequest(learn.Request{Commands: [][]string{zookeeper.Reconnect(0, learn.Lease)}}),
	}
	s.number(newKeeperServer(lockKey, clients), 0, cause{})
	return s
}

// keep fills in what is known of a state. Whose the lock is is as histories have it: the first node, with its client.
func (s *Servers) keep(state *serverState, server keeperServer, text string) {
	k := &state.Kept
	for i := range s.clients {
		k.Left[i] = learn.MS(server.Left(server.Session(keeperConn(i))).Milliseconds())
	}
	k.Top = learn.TopNumber(text)
	state.Lock.TTL = 0
	if first := state.Lock.Value; first != "" {
		k.maker = uint8(server.Maker(path.Join(s.LockKey, first)))
		state.Lock.Value = first + " of " + trace.ClientName(int(k.maker)-1)
	}
}

// eventsOf takes the events of all clients off a server, and numbers them.
func (s *Servers) eventsOf(server lockServer) uint16 {
	if s.Keepers == nil {
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
		n = uint16(len(s.Events))
		s.Events = append(s.Events, list)
		s.numbered[text] = n
	}
	return n
}

// Lapse lets time pass on a ZooKeeper. The spared clients keep their sessions as they are.
func (s *Servers) Lapse(state uint32, d learn.MS, spared uint8) Serving {
	key := [2]uint64{uint64(state) + 1, uint64(d)<<8 | uint64(spared)}
	if done := s.lapsed.Of(key); done != nil {
		return *done
	}
	server := s.States[state].Server.Clone().(keeperServer)
	for i := range s.clients {
		if spared&(1<<i) != 0 {
			server.Spare(keeperConn(i), learn.Duration(d))
		}
	}
	server.Advance(learn.Duration(d))
	done := Serving{Events: s.eventsOf(server)}
	done.Next = s.number(server, state, cause{passed: d, spared: spared})
	return *s.lapsed.Note(key, done)
}

// WatchesNode says whether a client is told of the next change of a node.
func (s *Servers) WatchesNode(state uint32, client int, path string) bool {
	return s.States[state].Server.(keeperServer).Watches(keeperConn(client), path)
}

// NodesOf are the nodes of a client below the lock's, in the order of their numbers.
func (s *Servers) NodesOf(state uint32, client int) (names []string) {
	server := s.States[state].Server.(keeperServer)
	for _, name := range server.Names(s.LockKey) {
		if server.Maker(path.Join(s.LockKey, name)) == keeperConn(client) {
			names = append(names, name)
		}
	}
	return byNumber(names)
}

// HeadOf is the first node of a lock, and its client, in a state; client is negative if there is none.
func (s *Servers) HeadOf(state uint32) (lock history.State, client int) {
	known := &s.States[state]
	return known.Lock, int(known.Kept.maker) - 1
}

func byNumber(names []string) []string {
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(numberOf(a), numberOf(b)) })
	return names
}
