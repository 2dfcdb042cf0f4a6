package live

import (
	"cmp"
	"context"
	"fmt"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/live/service"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// member is a process of a group, behind a tap of its own. In the history the primary has the name of the group.
type member struct {
	server.Member
	what string // in names of links
	tap  *tap.Tap
	// server is the ensemble that it is a part of, which has one tap; nil: it is part of a group.
	server *lockServer
}

// startResource starts the server of the data. It is no group, since clients are told where it is. Then the first group of a cell shows that this
// machine can have one.
func (w *World) startResource(ctx context.Context) (err error) {
	if !w.kind.Slots {
		w.resource, err = w.ownServer(ctx, w.machine.Host, 0)
		return err
	}
	first, err := w.ownLockServer(ctx)
	if err != nil {
		return err
	}
	w.first = first.Describe()
	if err = w.spares.PutBack(first); err != nil {
		return err
	}
	w.resource, err = w.start(ctx, service.Of(RedisServer, false), w.machine, 0)
	return err
}

// meetGroup has a tap before each process of the group.
func (s *lockServer) meetGroup(ctx context.Context) error {
	for i, m := range s.group.Nodes() {
		s.members = append(s.members, &member{Member: m, what: fmt.Sprintf("node-%d", i+1)})
	}
	for i, m := range s.members {
		var err error
		if m.tap, err = s.cell.newTap(ctx, s.name, m.Addr, s.cell.run.IsLock, nil, false); err != nil {
			s.members = s.members[:i]
			return err
		}
	}
	s.rename()
	return nil
}

// rename gives the taps of a group their names in the history: which one is the primary may have changed.
func (s *lockServer) rename() {
	if s.group == nil {
		return
	}
	at := s.Addr()
	for _, m := range s.members {
		if m.Addr == at {
			s.tap = m.tap
			m.tap.Call(s.name, true)
		} else {
			m.tap.Call(history.OldPrimary, false)
		}
	}
}

// ends are the taps to which a client of the server has links, each with the name of the link.
func (s *lockServer) ends(several bool) []end {
	what := "lock"
	if several {
		what += "-" + s.name
	}
	if s.group == nil && s.ensemble == nil {
		return []end{{what: what, tap: s.tap}}
	}
	var all []end
	for _, m := range s.members {
		all = append(all, end{what + "-" + m.what, m.tap, m})
	}
	return all
}

// end is where a link of a client ends.
type end struct {
	what   string
	tap    *tap.Tap
	member *member // of a group; nil: the server is one process
}

// listen opens a listener of the tap for a client.
func (e end) listen(handle string) (string, error) {
	if e.member != nil && e.member.server != nil {
		return e.tap.ListenTo(handle, e.member.Addr)
	}
	return e.tap.Listen(handle)
}

// address is the address of a server as a client gets it, with the client's links to it.
func (s *lockServer) address(links []*lockLink) string {
	if s.group == nil {
		return s.cell.world.kind.Scheme + links[0].Addr()
	}
	at := protocol.ClusterAddr{Tag: cmp.Or(s.tag, redis.ClusterTag)}
	for _, l := range links {
		at.Nodes = append(at.Nodes, protocol.Link{Announced: l.member.Announced, Addr: l.Addr()})
	}
	return at.String()
}
