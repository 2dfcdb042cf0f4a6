package zookeeper

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/sim/service"
)

// The words of CREATE and of the requests that set a watch.
const (
	Ephemeral  = "ephemeral"
	Sequential = "sequential"
	Watch      = "watch"
)

// digits is the length of the number behind the name of a sequential node.
const digits = 10

// The limits of the time-out of a session, as the lab's own ZooKeeper has them.
const (
	shortest = 100 * time.Millisecond
	longest  = time.Hour
)

// Do carries out a request that has come in on a connection. These are the requests, with what they answer:
//
//	CONNECT session timeout            [session timeout], of which zeros mean that the session has expired; session 0: a new one
//	PING                               OK
//	CLOSESESSION                       OK
//	CREATE path [ephemeral] [sequential] [=data]   the path
//	DELETE path [version]              OK
//	EXISTS path [watch]                the number of times its data were set, or NONODE, which sets the watch, too
//	GETDATA path [watch]               [data version]
//	SETDATA path data [version]        the version
//	GETCHILDREN path [watch]           the names, in order
//	SETWATCHES zxid kind:path …        OK; the kinds are data, exist and child
//	SYNC path                          the path
//
// Times are in milliseconds.
func (s *Server) Do(connection int, args ...string) service.Reply {
	if args[0] == "CONNECT" && len(args) == 3 {
		return s.connect(connection, number(args[1]), time.Duration(number(args[2]))*time.Millisecond)
	}
	if !s.IsOpen(connection) {
		return failure(ConnectionEnd)
	}
	c := s.conns[connection]
	s.touch(s.sessions[c.session])
	switch {
	case args[0] == "PING":
		return done()
	case args[0] == "CLOSESESSION":
		s.end(c.session)
		return done()
	case args[0] == "SETWATCHES" && len(args) > 1:
		s.setWatches(connection, number(args[1]), args[2:])
		return done()
	case len(args) > 1:
		if reply, known := s.about(connection, args); known {
			return reply
		}
	}
	if s.unknown == "" {
		s.unknown = strings.Join(args, " ")
	}
	return failure("UNIMPLEMENTED")
}

// about carries out a request about a node.
func (s *Server) about(connection int, args []string) (reply service.Reply, known bool) {
	path, rest := args[1], args[2:]
	watches := slices.Contains(rest, Watch)
	if args[0] != "CREATE" && !valid(path) {
		return failure(badArguments), true
	}
	switch args[0] {
	case "CREATE":
		return s.create(s.conns[connection].session, path, rest), true
	case "DELETE":
		return s.remove(path, version(rest)), true
	case "SETDATA":
		if len(rest) == 0 {
			return reply, false
		}
		return s.setData(path, rest[0], version(rest[1:])), true
	case "SYNC":
		return service.Reply{Kind: service.Bulk, Text: path}, true
	case "EXISTS":
		if watches {
			s.watch(watch{path: path, conn: connection})
		}
	case "GETDATA", "GETCHILDREN":
		if n := s.nodes[path]; n != nil && watches {
			s.watch(watch{path: path, below: args[0] == "GETCHILDREN", conn: connection})
		}
	default:
		return reply, false
	}
	return s.read(args[0], path), true
}

// read answers a request that changes nothing.
func (s *Server) read(name, path string) service.Reply {
	n := s.nodes[path]
	if n == nil {
		return failure(NoNode)
	}
	switch name {
	case "GETCHILDREN":
		var names []service.Reply
		for _, name := range s.Names(path) {
			names = append(names, service.Reply{Kind: service.Bulk, Text: name})
		}
		return service.Reply{Kind: service.Array, List: names}
	case "GETDATA":
		return service.Reply{Kind: service.Array, List: []service.Reply{{Kind: service.Bulk, Text: n.data}, integer(n.version)}}
	}
	return integer(n.version)
}

// connect gives a connection a session: a new one, or one that had another connection, which ends.
func (s *Server) connect(connection int, id int64, timeout time.Duration) service.Reply {
	life := s.sessions[id]
	switch {
	case id == 0:
		s.made++
		id, life = s.made, &session{timeout: granted(timeout)}
		s.sessions[id] = life
		s.zxid++
	case life == nil:
		s.conns[connection] = &conn{}
		s.cutOff(connection)
		return service.Reply{Kind: service.Array, List: []service.Reply{integer(0), integer(0)}}
	default:
		life.timeout = granted(timeout)
		if life.conn != 0 {
			s.cutOff(life.conn)
		}
	}
	life.conn = connection
	s.conns[connection] = &conn{session: id}
	s.touch(life)
	return service.Reply{Kind: service.Array, List: []service.Reply{integer(id), integer(life.timeout.Milliseconds())}}
}

// touch has a session last for its time-out from now, up to the next tick.
func (s *Server) touch(life *session) {
	life.expires = ((s.now+life.timeout)/s.tick + 1) * s.tick
}

// granted is the time-out that a client gets that asks for one.
func granted(timeout time.Duration) time.Duration { return min(max(timeout, shortest), longest) }

// end ends a session: its nodes go, in one change, and its connection is closed. In which order its nodes go a real server leaves open;
// here it is that of their paths.
func (s *Server) end(id int64) {
	life := s.sessions[id]
	delete(s.sessions, id)
	s.zxid++
	for _, path := range slices.Sorted(maps.Keys(s.nodes)) {
		if s.nodes[path].owner == id {
			s.drop(path)
		}
	}
	if life.conn != 0 {
		s.cutOff(life.conn)
	}
}

func (s *Server) create(owner int64, path string, words []string) service.Reply {
	sequential := slices.Contains(words, Sequential)
	above := s.nodes[parent(path)]
	if above == nil {
		return failure(NoNode)
	}
	if sequential {
		path += fmt.Sprintf("%0*d", digits, above.creates)
	}
	switch {
	case !valid(path):
		return failure(badArguments)
	case s.nodes[path] != nil:
		return failure(NodeExists)
	case above.owner != 0:
		return failure(NoChildren)
	}
	s.zxid++
	made := &node{changed: s.zxid, below: s.zxid}
	for _, word := range words {
		if data, is := strings.CutPrefix(word, "="); is {
			made.data = data
		}
	}
	if slices.Contains(words, Ephemeral) {
		made.owner = owner
	}
	s.nodes[path] = made
	above.creates++
	above.below = s.zxid
	s.tell(path, Created)
	return service.Reply{Kind: service.Bulk, Text: path}
}

func (s *Server) remove(path string, version int64) service.Reply {
	n := s.nodes[path]
	switch {
	case path == "/":
		return failure(badArguments)
	case n == nil:
		return failure(NoNode)
	case version >= 0 && version != n.version:
		return failure(BadVersion)
	case len(s.Names(path)) > 0:
		return failure(NotEmpty)
	}
	s.zxid++
	s.drop(path)
	return done()
}

// drop removes a node as part of a change.
func (s *Server) drop(path string) {
	delete(s.nodes, path)
	s.nodes[parent(path)].below = s.zxid
	s.tell(path, Deleted)
}

func (s *Server) setData(path, data string, version int64) service.Reply {
	n := s.nodes[path]
	switch {
	case n == nil:
		return failure(NoNode)
	case version >= 0 && version != n.version:
		return failure(BadVersion)
	}
	s.zxid++
	n.data, n.changed = data, s.zxid
	n.version++
	s.tell(path, Changed)
	return integer(n.version)
}

// watch sets a watch, unless it is set.
func (s *Server) watch(w watch) {
	if !slices.Contains(s.watches, w) {
		s.watches = append(s.watches, w)
	}
}

// tell tells those who watch a node, or what is below the one above it, what has happened to it. Each watch is good for one change. Who watches
// a node and what is below it learns of its end once.
func (s *Server) tell(path, what string) {
	var told []int
	s.fire(path, what, &told, func(w watch) bool { return w.path == path && (!w.below || what == Deleted) })
	if what != Changed {
		told = nil
		s.fire(parent(path), ChildrenChanged, &told, func(w watch) bool { return w.path == parent(path) && w.below })
	}
}

func (s *Server) fire(path, what string, told *[]int, concerns func(watch) bool) {
	s.watches = slices.DeleteFunc(s.watches, func(w watch) bool {
		if !concerns(w) {
			return false
		}
		if !slices.Contains(*told, w.conn) {
			*told = append(*told, w.conn)
			s.notify(w.conn, path, what)
		}
		return true
	})
}

func (s *Server) notify(connection int, path, what string) {
	c := s.conns[connection]
	c.inbox = append(c.inbox, service.Message{Channel: path, Text: what})
}

// setWatches sets the watches that a session had on another connection, or tells at once what has happened since the change that its client has
// seen last.
func (s *Server) setWatches(connection int, seen int64, watches []string) {
	for _, wanted := range watches {
		kind, path, _ := strings.Cut(wanted, ":")
		n := s.nodes[path]
		switch {
		case kind == "exist" && n != nil:
			s.notify(connection, path, Created)
		case kind != "exist" && n == nil:
			s.notify(connection, path, Deleted)
		case kind == "data" && n.changed > seen:
			s.notify(connection, path, Changed)
		case kind == "child" && n.below > seen:
			s.notify(connection, path, ChildrenChanged)
		default:
			s.watch(watch{path: path, below: kind == "child", conn: connection})
		}
	}
}

// version is the version that a request minds; -1: any.
func version(words []string) int64 {
	if len(words) == 0 {
		return -1
	}
	return number(words[0])
}

func failure(text string) service.Reply { return service.Reply{Kind: service.Error, Text: text} }
func done() service.Reply               { return service.Reply{Kind: service.Status, Text: "OK"} }
func integer(n int64) service.Reply     { return service.Reply{Kind: service.Integer, Int: n} }

// SessionIn is what the reply to CONNECT says.
func SessionIn(r service.Reply) (id int64, timeout time.Duration) {
	if len(r.List) != 2 {
		return 0, 0
	}
	return r.List[0].Int, time.Duration(r.List[1].Int) * time.Millisecond
}

// Reconnect is the request of a client for a session that it has, or 0 for a new one.
func Reconnect(id int64, timeout time.Duration) []string {
	return []string{"CONNECT", strconv.FormatInt(id, 10), strconv.FormatInt(timeout.Milliseconds(), 10)}
}
