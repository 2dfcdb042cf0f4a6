package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// Shard is the part of a cluster that has the slot of a tag: a primary and its replica.
type Shard struct {
	c   *Cluster
	tag string
}

// Shard is the part of the cluster that has the slot of a tag.
func (c *Cluster) Shard(tag string) *Shard { return &Shard{c, tag} }

// Addr is where the primary listens.
func (s *Shard) Addr() string {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), daemon.Patience)
	defer cancel()
	if n, err := s.c.primary(ctx, s.tag); err == nil {
		return n.Addr()
	}
	return s.c.nodes[0].Addr() // whoever asks there learns what is wrong
}

// Save holds the replication of the primary, once its replica has caught up: what is written from now on does not reach it.
func (s *Shard) Save(ctx context.Context) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return wrapped("hold the link to the replica", s.save(ctx))
}

func (s *Shard) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	primary, err := s.c.primary(ctx, s.tag)
	if err != nil {
		return err
	}
	if err := primary.letGo(ctx); err != nil {
		return err
	}
	replica, err := s.c.replicaOf(ctx, primary)
	if err != nil {
		return err
	}
	for {
		has, err := replication(ctx, primary.Addr())
		if err != nil {
			return err
		}
		got, err := replication(ctx, replica.Addr())
		if err != nil {
			return err
		}
		if got["master_link_status"] == "up" && got["slave_repl_offset"] == has["master_repl_offset"] {
			break
		}
		if err := daemon.Pause(ctx); err != nil {
			return fmt.Errorf("the replica does not catch up: %w", err)
		}
	}
	primary.held, err = primary.front.Inject(ctx, faults.LinkFault{Kind: faults.Partition})
	return err
}

// RestartSaved kills the primary, has its replica take over, and starts the old primary again, which becomes a replica.
func (s *Shard) RestartSaved(ctx context.Context) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, server.SettleTime, server.ErrSlow)
	defer cancel()
	if !slices.ContainsFunc(s.c.nodes, func(n *clusterNode) bool { return n.held != nil }) {
		return errors.New("fail over: nothing is saved: the link to the replica is not held")
	}
	err := s.failOver(ctx)
	s.c.broken = s.c.broken || err != nil
	return wrapped("fail over", err)
}

func (s *Shard) failOver(ctx context.Context) error {
	old, err := s.c.primary(ctx, s.tag)
	if err != nil {
		return err
	}
	next, err := s.c.replicaOf(ctx, old)
	if err != nil {
		return err
	}
	if err := old.Daemon.Stop(ctx); err != nil {
		return err
	}
	if err := next.do(ctx, "CLUSTER", "FAILOVER", "TAKEOVER"); err != nil {
		return err
	}
	if err := old.letGo(ctx); err != nil {
		return err
	}
	if err := old.StartAgain(ctx); err != nil {
		return err
	}
	return s.c.settle(ctx, s.tag)
}

// RestartEmpty kills the primary and starts it again without data. It takes writes two seconds later, and its replica empties itself.
func (s *Shard) RestartEmpty(ctx context.Context) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, server.SettleTime, server.ErrSlow)
	defer cancel()
	primary, err := s.c.primary(ctx, s.tag)
	if err == nil {
		err = primary.RestartEmpty(ctx)
	}
	if err == nil {
		err = errors.Join(primary.letGo(ctx), s.c.settle(ctx, s.tag))
	}
	s.c.broken = s.c.broken || err != nil
	return err
}

// Nodes are the processes of the cluster: any of them may become the primary.
func (s *Shard) Nodes() []server.Member { return s.c.Nodes() }

// Describe says what the cluster is.
func (s *Shard) Describe() string { return s.c.Describe() }

// Died is that of the cluster.
func (s *Shard) Died() <-chan struct{} { return s.c.Died() }

// End is that of the cluster.
func (s *Shard) End() string { return s.c.End() }

// Close leaves the cluster alone, which has other parts.
func (s *Shard) Close() error { return nil }
