package live

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/locklab/locklab/internal/scenarios/live/service"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// member is a process of a group, behind a tap of its own. In the history the primary has the name of the group.
type member struct {
	server.Member
	what  string // in names of links
	guide bool   // it has no data, and names the primary
	tap   *tap.Tap
	// server is the ensemble that it is a part of, which has one tap; nil: it is part of a group.
	server *lockServer
}

// startResource starts the server of the data. It is no group, since clients are told where it is. Then the first group of a cell shows that this
// machine can have one.
func (w *World) startResource(ctx context.Context) (err error) {
	if w.kind.GroupAddr == nil {
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
	for i, m := range s.group.Guides() {
		s.members = append(s.members, &member{Member: m, what: fmt.Sprintf("sentinel-%d", i+1), guide: true})
	}
	for i, m := range s.members {
		watch := s.cell.run.IsLock
		if m.guide {
			watch = nil
		}
		var err error
		if m.tap, err = s.cell.newTap(ctx, s.name, m.Addr, watch, nil, false); err != nil {
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

// separate parts the primary and some clients from all others. Links to the other side refuse: what a client sends there would only wait.
func (s *lockServer) separate(ctx context.Context, without []string) error {
	old := s.Addr()
	for _, client := range s.cell.run.Clients {
		if client.Crashed() {
			continue
		}
		stays := slices.Contains(without, client.Name)
		links := slices.DeleteFunc(s.cell.peers[client.Name].links.to([]string{s.name}), func(l *lockLink) bool { return (l.member.Addr == old) == stays })
		_, err := atLinks(links, func(l *lockLink) (_ string, err error) {
			l.apart, err = l.Inject(ctx, faults.LinkFault{Kind: faults.Refuse})
			return "", err
		})
		if err != nil {
			return fmt.Errorf("parting %s: %w", client.Name, err)
		}
	}
	return nil
}

// join ends what separate has begun.
func (s *lockServer) join(ctx context.Context) error {
	for _, client := range s.cell.run.Clients {
		links := slices.DeleteFunc(s.cell.peers[client.Name].links.to([]string{s.name}), func(l *lockLink) bool { return l.apart == nil })
		_, err := atLinks(links, func(l *lockLink) (string, error) {
			apart := l.apart
			l.apart = nil
			return apart.Recover(ctx)
		})
		if err != nil {
			return fmt.Errorf("joining %s: %w", client.Name, err)
		}
	}
	return nil
}

// ofGroup is how a cell ends whose Sentinels have not done what the script needs.
func ofGroup(err error) error {
	switch {
	case errors.Is(err, server.ErrChoice):
		return play.Undecided("%v", err)
	case errors.Is(err, server.ErrSlow):
		return play.Stalled("the host was slow: %v", err)
	}
	return atServer(err)
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
	kind := s.cell.world.kind
	if s.group == nil {
		return kind.Scheme + links[0].Addr()
	}
	var nodes, guides []protocol.Link
	for _, l := range links {
		link := protocol.Link{Announced: l.member.Announced, Addr: l.Addr()}
		if l.member.guide {
			guides = append(guides, link)
		} else {
			nodes = append(nodes, link)
		}
	}
	return kind.GroupAddr(s.tag, nodes, guides)
}
