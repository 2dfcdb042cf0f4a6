package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// Sentinel is a redis-server with two replicas, and three Redis Sentinels with a quorum of two, all processes of the lab. To fail over, the
// lab kills the primary or cuts it off, and waits: the Sentinels notice, agree, promote a replica of their choice and tell clients. Each
// process is known to the others by the address of a link of its own. Replicas have one link each to the primary besides, so that
// replication can be held while the Sentinels see everybody. Its methods may be called by several goroutines at once.
type Sentinel struct {
	guard   *process.Guard
	network *network.Network
	options Options
	*daemon.Fate

	mu      sync.Mutex
	nodes   []*node
	guides  []*guide
	primary *node
	old     *node // another primary, which is cut off; nil: there is none
	started int   // how many processes
	links   int   // how many links for replication
	strict  bool  // the primary requires a replica
	broken  bool  // a failover has failed half-way
	closed  bool
}

// node is a primary or a replica.
type node struct {
	replica                   // its link is to the primary; nil: it is the primary
	front   *network.Link     // to it, from the Sentinels and, after a failover, from replicas
	cut     *network.Injected // what holds the front; nil: nothing does
}

// StartSentinel starts the processes, with their links through the network, and returns once all know each other. The context bounds the
// start only.
func StartSentinel(ctx context.Context, guard *process.Guard, links *network.Network, options Options) (*Sentinel, error) {
	s := &Sentinel{guard: guard, network: links, options: options, Fate: daemon.NewFate()}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a primary with Sentinels: %w", err), s.Close())
	}
	return s, nil
}

func (s *Sentinel) start(ctx context.Context) error {
	for range 1 + replicaCount {
		if err := s.addNode(ctx); err != nil {
			return err
		}
	}
	s.primary = s.nodes[0]
	if err := s.route(ctx); err != nil {
		return err
	}
	if err := s.caughtUp(ctx, replicaCount); err != nil {
		return err
	}
	for range guideCount {
		if err := s.addGuide(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	return s.awaitCalm(ctx)
}

// process starts a process. Each has a log of its own, which tells why it has ended.
func (s *Sentinel) process(ctx context.Context, options Options) (*Server, error) {
	options.Log, options.Memory, options.fate = s.options.Log, s.options.Memory, s.Fate
	if s.started++; s.started > 1 && options.Log != "" {
		options.Log = daemon.Numbered(options.Log, s.started)
	}
	return Start(ctx, s.guard, options)
}

// announced is the address by which others know a process, as its link has it.
func announced(front *network.Link) (host, port string) {
	host, port, _ = net.SplitHostPort(front.Addr())
	return host, port
}

func (s *Sentinel) addNode(ctx context.Context) (err error) {
	n := &node{}
	if n.Server, err = s.process(ctx, Options{Args: ofReplication}); err != nil {
		return err
	}
	s.nodes = append(s.nodes, n)
	if n.front, err = s.network.Link(ctx, "node-"+portOf(n.Addr()), n.Addr(), nil); err != nil {
		return err
	}
	host, port := announced(n.front)
	n.options.Args = append(n.options.Args[:len(n.options.Args):len(n.options.Args)], "--replica-announce-ip", host, "--replica-announce-port", port) // once it starts again
	return n.do(ctx, "CONFIG", "SET", "replica-announce-ip", host, "replica-announce-port", port)
}

// route has each replica follow the primary through a new link of its own.
func (s *Sentinel) route(ctx context.Context) error {
	for _, n := range s.followers() {
		if err := n.unlink(); err != nil {
			return err
		}
		s.links++
		var err error
		name := fmt.Sprintf("replication-%s-%d", portOf(n.Addr()), s.links)
		if n.link, err = s.network.Link(ctx, name, s.primary.Addr(), nil); err != nil {
			return err
		}
		host, port := announced(n.link)
		if err = n.do(ctx, "REPLICAOF", host, port); err != nil {
			return err
		}
	}
	return nil
}

// unlink closes a replica's link to the primary, with what that holds.
func (n *node) unlink() error {
	if n.link == nil {
		return nil
	}
	link := n.link
	n.link, n.held = nil, nil
	return link.Close()
}

// followers are the nodes that are neither the primary nor another one.
func (s *Sentinel) followers() []*node {
	var all []*node
	for _, n := range s.nodes {
		if n != s.primary && n != s.old {
			all = append(all, n)
		}
	}
	return all
}

// caughtUp waits until so many replicas have all that the primary has acknowledged.
func (s *Sentinel) caughtUp(ctx context.Context, count int) error {
	return caughtUp(ctx, s.primary.Addr(), count)
}

// Save holds the replicas' links, once they have caught up: what is written from now on does not reach them.
func (s *Sentinel) Save(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return wrapped("hold the links to the replicas", s.save(ctx, replicaCount))
}

// save has all replicas catch up, and holds the links of the first count of them.
func (s *Sentinel) save(ctx context.Context, count int) error {
	if s.closed || s.old != nil {
		return errors.New("the server is closed, or has two primaries")
	}
	if err := s.letGo(ctx); err != nil {
		return err
	}
	if err := s.caughtUp(ctx, replicaCount); err != nil {
		return err
	}
	for _, n := range s.followers()[:count] {
		if err := n.hold(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sentinel) letGo(ctx context.Context) error {
	for _, n := range s.nodes {
		if err := n.letGo(ctx); err != nil {
			return err
		}
	}
	return nil
}

// HoldBack holds the link of one replica, once both have caught up.
func (s *Sentinel) HoldBack(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return wrapped("hold a replica back", s.save(ctx, 1))
}

// parted are the followers whose links are held, and the others.
func (s *Sentinel) parted() (held, other []*node) {
	for _, n := range s.followers() {
		if n.held != nil {
			held = append(held, n)
		} else {
			other = append(other, n)
		}
	}
	return held, other
}

// RestartSaved kills the primary, and waits until the Sentinels have promoted a replica.
func (s *Sentinel) RestartSaved(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.New("nothing is saved: the links to the replicas are not held")
	if held, _ := s.parted(); len(held) == replicaCount {
		err = s.failOver(ctx, held, s.primary)
	}
	return wrapped("fail over", err)
}

// TakeOver kills the primary. The Sentinels prefer the replica that has more, so that the one that is held back takes over only if the other one dies, too.
func (s *Sentinel) TakeOver(ctx context.Context, heldBack bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.New("no replica is held back")
	if held, other := s.parted(); len(held) == 1 {
		if heldBack {
			err = s.failOver(ctx, held, s.primary, other[0])
		} else if err = s.caughtUp(ctx, 1); err == nil {
			err = s.failOver(ctx, other, s.primary)
		}
	}
	return wrapped("fail over", err)
}

// failOver kills nodes, the primary among them, and waits until the Sentinels have promoted one of those that may take over. Then the dead
// are started again: the Sentinels make them replicas.
func (s *Sentinel) failOver(ctx context.Context, may []*node, dead ...*node) error {
	return s.timely(ctx, func(ctx context.Context) error {
		for _, n := range dead {
			if err := n.Daemon.Stop(ctx); err != nil {
				return err
			}
		}
		if err := s.awaitSwitch(ctx, may); err != nil {
			return err
		}
		for _, n := range dead {
			if err := n.StartAgain(ctx); err != nil {
				return err
			}
		}
		return s.settle(ctx)
	})
}

// timely bounds what has the Sentinels act. After an error nobody knows what they will do.
func (s *Sentinel) timely(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, server.SwitchTime, server.ErrSlow)
	defer cancel()
	err := do(ctx)
	s.broken = s.broken || err != nil
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// Split cuts the primary off from its replicas and the Sentinels, and waits until they have promoted a replica. Nothing tells the old primary:
// it goes on, without replicas.
func (s *Sentinel) Split(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.timely(ctx, s.split); err != nil {
		return "", fmt.Errorf("split: %w", err)
	}
	return s.old.Addr(), nil
}

func (s *Sentinel) split(ctx context.Context) (err error) {
	if err = s.save(ctx, replicaCount); err != nil {
		return err
	}
	old := s.primary
	if old.cut, err = old.front.Inject(ctx, faults.LinkFault{Kind: faults.Partition}); err != nil {
		return err
	}
	if err = s.awaitSwitch(ctx, s.followers()); err != nil {
		return err
	}
	s.old = old
	return s.settle(ctx)
}

// Demote ends the partition, and waits until the Sentinels have made the old primary a replica, which loses what it has.
func (s *Sentinel) Demote(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.old
	if old == nil {
		return nil
	}
	err := s.timely(ctx, func(ctx context.Context) error {
		_, err := old.cut.Recover(ctx)
		s.old, old.cut = nil, nil
		if err != nil {
			return err
		}
		return s.settle(ctx)
	})
	return wrapped("demote the old primary", err)
}

// RequireReplica sets min-replicas-to-write, and returns once the primary has a replica that counts.
func (s *Sentinel) RequireReplica(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strict = true
	return wrapped("require a replica", requireReplica(ctx, s.primary.Server))
}

// RefusesWrites says whether the primary requires a replica that it does not have, by its own account.
func (s *Sentinel) RefusesWrites(ctx context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.strict {
		return false, nil
	}
	refuses, err := refusesWrites(ctx, s.primary.Addr())
	return refuses, wrapped("ask for its replicas", err)
}

// RestartEmpty kills the primary and starts it again without data, sooner than the Sentinels would fail over. The replicas empty themselves.
func (s *Sentinel) RestartEmpty(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.primary.RestartEmpty(ctx); err != nil {
		return err
	}
	s.strict = false
	return s.letGo(ctx)
}

// Reset returns the primary to the state after its start, as Replicated does.
func (s *Sentinel) Reset(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, _ := s.parted(); len(held) > 0 || s.strict || s.old != nil || s.broken {
		return errors.New("reset a server with replicas: a link to one is held, it requires one, there is another primary, or a failover has failed")
	}
	return s.primary.Reset(ctx)
}

// Addr is where the primary listens.
func (s *Sentinel) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.primary.Addr()
}

// Nodes are the primary and the replicas, in an order that does not change.
func (s *Sentinel) Nodes() []server.Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]server.Member, len(s.nodes))
	for i, n := range s.nodes {
		all[i] = server.Member{Addr: n.Addr(), Announced: n.front.Addr()}
	}
	return all
}

// Guides are the Sentinels.
func (s *Sentinel) Guides() []server.Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]server.Member, len(s.guides))
	for i, g := range s.guides {
		all[i] = server.Member{Addr: g.Addr(), Announced: g.front.Addr()}
	}
	return all
}

// Describe says what it is, with its version.
func (s *Sentinel) Describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s %s with two replicas and three Sentinels (started by the lab)", binary, s.primary.version)
}

// Close ends all processes and their links. Later calls do nothing.
func (s *Sentinel) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, g := range s.guides {
		errs = append(errs, g.close())
	}
	for _, n := range s.nodes {
		errs = append(errs, n.unlink(), n.Server.Close())
		if n.front != nil {
			errs = append(errs, n.front.Close())
		}
	}
	return errors.Join(errs...)
}
