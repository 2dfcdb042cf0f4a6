package zookeeper

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/service"
)

// AppendState appends all that the future of the server depends on, but for two numbers that only grow: that of the next sequential node, which
// its user chooses by Number, and the zxid, by which SETWATCHES alone goes. Sessions go by their connections. Times count from now, so that it
// does not matter when a state was reached.
func (s *Server) AppendState(b []byte) []byte {
	return AppendUnder(b, s, func(connection int) int { return connection })
}

// AppendUnder appends the same as it would be if each connection had another number. Nodes come in the order of their numbers, which does not
// depend on their names.
func AppendUnder(b []byte, s *Server, called func(connection int) int) []byte {
	for _, id := range slices.SortedFunc(maps.Keys(s.conns), func(i, k int) int { return called(i) - called(k) }) {
		c := s.conns[id]
		if c.closed && len(c.inbox) == 0 {
			continue
		}
		b = binary.AppendVarint(b, int64(called(id)))
		b = binary.AppendVarint(b, int64(s.Left(c.session)))
		b = c.inbox.Append(b)
	}
	b = append(b, '/')
	for _, path := range slices.SortedFunc(maps.Keys(s.nodes), ByNumber) {
		n := s.nodes[path]
		owner := s.connOf(n.owner)
		if owner > 0 {
			owner = int64(called(int(owner)))
		}
		b = service.AppendText(service.AppendText(b, path), n.data)
		b = binary.AppendVarint(binary.AppendVarint(b, owner), n.version)
	}
	b = append(b, '/')
	watches := make([]string, 0, len(s.watches))
	for _, w := range s.watches {
		kind := byte('d')
		if w.below {
			kind = 'c'
		}
		watches = append(watches, string(service.AppendText(append(binary.AppendVarint(nil, int64(called(w.conn))), kind), w.path)))
	}
	slices.Sort(watches)
	for _, w := range watches {
		b = append(b, w...)
	}
	return b
}

// connOf is the connection of a session; -1: it has none, 0: there is no session.
func (s *Server) connOf(session int64) int64 {
	switch life := s.sessions[session]; {
	case session == 0:
		return 0
	case life == nil || life.conn == 0:
		return -1
	default:
		return int64(life.conn)
	}
}

// Maker is the connection of the session that a node ends with; 0: it has none.
func (s *Server) Maker(path string) int {
	if n := s.nodes[path]; n != nil {
		return int(max(0, s.connOf(n.owner)))
	}
	return 0
}

// Watches says whether a connection is told of the next change of a node.
func (s *Server) Watches(connection int, path string) bool {
	return slices.Contains(s.watches, watch{path: path, conn: connection})
}

// Number makes a number that of the next sequential node below a path. It may be smaller than numbers that were given before, as long as nobody
// knows of these any more.
func (s *Server) Number(path string, next int64) {
	if n := s.nodes[path]; n != nil {
		n.creates = next
	}
}

// Spare has the session of a connection end so much later than it would.
func (s *Server) Spare(connection int, d time.Duration) {
	if c := s.conns[connection]; c != nil {
		if life := s.sessions[c.session]; life != nil {
			life.expires += d
		}
	}
}
