package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
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
	if !IsGroup(w.cfg.Server) {
		w.resource, err = w.ownServer(ctx, w.host, 0)
		return err
	}
	first, err := w.ownServer(ctx, nil, 0)
	if err != nil {
		return err
	}
	w.first = first.Describe()
	if err = w.spares.putBack(first); err != nil {
		return err
	}
	log, err := w.spares.nextLog(w.cfg.Dir)
	if err != nil {
		return err
	}
	s, err := redis.Start(ctx, w.guard, redis.Options{Log: log})
	if err != nil {
		return err
	}
	w.resource = &spare{s, log}
	return nil
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
		watch := s.cell.IsLock
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
	for _, client := range s.cell.Clients {
		if client.Crashed() {
			continue
		}
		stays := slices.Contains(without, client.Name)
		links := slices.DeleteFunc(s.cell.peers[client.Name].linksTo([]string{s.name}), func(l *lockLink) bool { return (l.member.Addr == old) == stays })
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
	for _, client := range s.cell.Clients {
		links := slices.DeleteFunc(s.cell.peers[client.Name].linksTo([]string{s.name}), func(l *lockLink) bool { return l.apart == nil })
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
	if s.group == nil {
		return s.scheme() + links[0].Addr()
	}
	if s.cell.world.cfg.Server == Cluster {
		addr := protocol.ClusterAddr{Tag: cmp.Or(s.tag, redis.ClusterTag)}
		for _, l := range links {
			addr.Nodes = append(addr.Nodes, protocol.Link{Announced: l.member.Announced, Addr: l.Addr()})
		}
		return addr.String()
	}
	addr := protocol.SentinelAddr{Name: redis.GroupName}
	for _, l := range links {
		link := protocol.Link{Announced: l.member.Announced, Addr: l.Addr()}
		if l.member.guide {
			addr.Sentinels = append(addr.Sentinels, link)
		} else {
			addr.Nodes = append(addr.Nodes, link)
		}
	}
	return addr.String()
}

// leastLease is the shortest lease with which a failover by Sentinels, which takes about five seconds, leaves time for the rest of a script.
const leastLease = 20 * time.Second

// lacksWithSentinels says what a script needs that a primary with Sentinels, or a lock there, does not have, or "".
func lacksWithSentinels(script *scenarios.Script, traits play.Traits) string {
	switch {
	case !traits.Known:
		return "a program that is not the lab's cannot be told which of its links leads to the server that a Sentinel names"
	case traits.Servers > 1:
		return "the lock is on several servers, and Sentinels watch one with its replicas"
	}
	for _, step := range script.Steps {
		switch step.Verb {
		case scenarios.VerbGoesDown:
			return "when a primary goes down the Sentinels fail over"
		case scenarios.VerbRestartSaved, scenarios.VerbTakeOver, scenarios.VerbSplit:
			if script.Lease < leastLease {
				return "a failover by Sentinels takes too long for so short a lease"
			}
		}
	}
	return traits.Lack(script, nil)
}

// lacksOnCluster says what a script needs that a cluster, or a lock there, does not have, or "".
func lacksOnCluster(script *scenarios.Script, traits play.Traits) string {
	switch {
	case !traits.Known:
		return "a program that is not the lab's cannot be told which of its links leads to the node that a cluster names"
	case traits.Servers > 1 && !traits.Library.Masters:
		return "the lock is on several servers, and all of its keys in a cluster would have the same names"
	case traits.Library.Masters && script.Servers != 0 && script.Servers != traits.Servers:
		return "the lab's cluster has three primaries"
	case traits.Replicas:
		return play.NeedsReplicas
	}
	for _, step := range script.Steps {
		switch {
		case step.Verb == scenarios.VerbGoesDown:
			return "the lab stops no node of a cluster for a while"
		case step.Verb == scenarios.VerbRestart && script.Lease < leastLease:
			return "a primary of a cluster refuses writes for two seconds after its restart, too long for so short a lease"
		case step.Verb == scenarios.VerbRestartSaved && script.Lease < leastLease:
			return "that a replica in a cluster takes over takes too long for so short a lease"
		}
	}
	return traits.Lack(script, play.Limits{faults.Replicas: play.NeedsReplicas})
}
