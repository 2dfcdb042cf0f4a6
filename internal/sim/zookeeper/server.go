// Package zookeeper is a small explicit model of a ZooKeeper: nodes, sessions and watches in one total order, as far as locks use them.
//
// It owns what a request does and answers, in the words by which histories name requests. It is plain data: it must not know a real
// clock, a socket or chance. Its user says how much time passes (Advance), and on which connection a request comes in.
package zookeeper

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/service"
)

// The errors of requests, by the names that histories have for them.
const (
	NoNode        = "NONODE"
	NodeExists    = "NODEEXISTS"
	BadVersion    = "BADVERSION"
	NotEmpty      = "NOTEMPTY"
	NoChildren    = "NOCHILDRENFOREPHEMERALS"
	badArguments  = "BADARGUMENTS"
	ConnectionEnd = "CONNECTIONLOSS"
)

// The texts of messages: what happened to the node that is the message's channel, or to the connection.
const (
	Created         = "created"
	Deleted         = "deleted"
	Changed         = "changed"
	ChildrenChanged = "children"
	// Closed is the last message of a connection: the server has closed it. It has no channel.
	Closed = "closed"
)

// Server is one server. It is used by one goroutine.
type Server struct {
	tick     time.Duration
	now      time.Duration
	zxid     int64 // of the latest change
	sessions map[int64]*session
	made     int64 // sessions
	conns    map[int]*conn
	nodes    map[string]*node
	watches  []watch
	unknown  string // see Unknown
}

// session is one client's. Its connection may change.
type session struct {
	timeout time.Duration
	expires time.Duration // when it ends, unless the server gets something before
	conn    int           // 0: none
}

// conn is what the server knows of a connection.
type conn struct {
	session int64
	closed  bool
	inbox   service.Inbox
}

// node is one node.
type node struct {
	data    string
	owner   int64 // the session that it ends with; 0: it stays
	version int64 // how often its data have been set
	creates int64 // how many nodes have been created below it: the next number
	changed int64 // the zxid of the latest change of its data
	below   int64 // the zxid of the latest change of what is below it
}

// watch is a connection's wish to be told of the next change of a node, or of what is below it.
type watch struct {
	path  string
	below bool
	conn  int
}

// New returns a server whose only node is the root. Sessions end at multiples of tick by its clock.
func New(tick time.Duration) *Server {
	return &Server{tick: tick, sessions: map[int64]*session{}, conns: map[int]*conn{}, nodes: map[string]*node{"/": {}}}
}

// Now is the server's clock.
func (s *Server) Now() time.Duration { return s.now }

// Advance lets time pass, and ends sessions, each when its time has come.
func (s *Server) Advance(d time.Duration) {
	end := s.now + d
	for {
		id, first := s.first()
		if id == 0 || first > end {
			s.now = end
			return
		}
		s.now = max(s.now, first)
		s.end(id)
	}
}

// first is the session that ends first, and when.
func (s *Server) first() (id int64, at time.Duration) {
	for _, other := range slices.Sorted(maps.Keys(s.sessions)) {
		if ends := s.sessions[other].expires; id == 0 || ends < at {
			id, at = other, ends
		}
	}
	return id, at
}

// Next is when the next session ends, unless the server gets something of it before; ok: there is one.
func (s *Server) Next() (at time.Duration, ok bool) {
	id, at := s.first()
	return at, id != 0
}

// Close ends a connection. Its session goes on.
func (s *Server) Close(connection int) {
	if c := s.conns[connection]; c != nil {
		s.hangUp(connection)
		delete(s.conns, connection)
	}
}

// hangUp has a connection be of no more use.
func (s *Server) hangUp(connection int) {
	c := s.conns[connection]
	c.closed = true
	s.watches = slices.DeleteFunc(s.watches, func(w watch) bool { return w.conn == connection })
	if owner := s.sessions[c.session]; owner != nil && owner.conn == connection {
		owner.conn = 0
	}
}

// cutOff ends a connection, and tells its client.
func (s *Server) cutOff(connection int) {
	s.hangUp(connection)
	c := s.conns[connection]
	c.inbox = append(c.inbox, service.Message{Text: Closed})
}

// IsOpen says whether a connection has a session and has not been closed.
func (s *Server) IsOpen(connection int) bool {
	c := s.conns[connection]
	return c != nil && !c.closed
}

// Session is the session of a connection; 0: it has none.
func (s *Server) Session(connection int) int64 {
	if c := s.conns[connection]; c != nil {
		return c.session
	}
	return 0
}

// Left is how long a session lasts if the server gets nothing more of it; 0: it has ended.
func (s *Server) Left(id int64) time.Duration {
	if life := s.sessions[id]; life != nil {
		return life.expires - s.now
	}
	return 0
}

// Receive takes the oldest message of a connection, if any.
func (s *Server) Receive(connection int) (service.Message, bool) {
	c := s.conns[connection]
	if c == nil {
		return service.Message{}, false
	}
	return c.inbox.Take()
}

// Unknown is the first request that the model has met and does not know; empty: none.
func (s *Server) Unknown() string { return s.unknown }

// Zxid is the number of the latest change.
func (s *Server) Zxid() int64 { return s.zxid }

// State is whose the lock at a path is: the first node below it, with how long its session lasts.
func (s *Server) State(path string) history.State {
	names := s.Names(path)
	if len(names) == 0 {
		return history.State{}
	}
	first := slices.MinFunc(names, ByNumber)
	return history.State{Type: "znode", Value: first, TTL: s.Left(s.nodes[join(path, first)].owner)}
}

// ByNumber orders nodes by the number behind their names.
func ByNumber(a, b string) int {
	number := func(name string) string { return name[max(0, len(name)-digits):] }
	if n := strings.Compare(number(a), number(b)); n != 0 {
		return n
	}
	return strings.Compare(a, b)
}

// TopNumber is one more than the greatest number of a sequential node in a text.
func TopNumber(text string) (top int) {
	for at := 0; at < len(text); at++ {
		end := at
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if end-at >= digits {
			if n, err := strconv.ParseUint(text[at:at+digits], 10, 31); err == nil {
				top = max(top, int(n)+1)
			}
		}
		at = end
	}
	return top
}

// Clone is a server in the same state, from which it goes on by itself.
func (s *Server) Clone() *Server {
	twin := *s
	twin.sessions, twin.conns, twin.nodes = make(map[int64]*session), make(map[int]*conn), make(map[string]*node)
	for id, life := range s.sessions {
		copied := *life
		twin.sessions[id] = &copied
	}
	for id, c := range s.conns {
		copied := *c
		copied.inbox = slices.Clone(c.inbox)
		twin.conns[id] = &copied
	}
	for path, n := range s.nodes {
		copied := *n
		twin.nodes[path] = &copied
	}
	twin.watches = slices.Clone(s.watches)
	return &twin
}

func parent(path string) string {
	above := path[:max(0, strings.LastIndexByte(path, '/'))]
	if above == "" {
		return "/"
	}
	return above
}

func join(path, name string) string { return strings.TrimSuffix(path, "/") + "/" + name }

// Names are the names of the nodes below one, in order, without a request of any client.
func (s *Server) Names(path string) []string {
	var names []string
	for other := range s.nodes {
		if other != "/" && parent(other) == path {
			names = append(names, other[strings.LastIndexByte(other, '/')+1:])
		}
	}
	slices.Sort(names)
	return names
}

// valid says whether a path may name a node.
func valid(path string) bool {
	return path == "/" || strings.HasPrefix(path, "/") && !strings.HasSuffix(path, "/") && !strings.Contains(path, "//") &&
		!slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return part == "." || part == ".." })
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
