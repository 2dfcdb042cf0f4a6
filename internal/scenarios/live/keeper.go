package live

import (
	"context"
	"fmt"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/server/etcd"
	"github.com/locklab/locklab/internal/faults/server/postgres"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// findKeeper starts the ZooKeeper of a run, or makes sure that the one at an address answers. All cells share it, each with nodes of its own: to
// start one takes longer than most cells.
func (w *World) findKeeper(ctx context.Context) error {
	if addr, remote := zookeeper.Addr(w.cfg.Server); remote {
		return w.approachKeeper(ctx, addr)
	}
	if w.cfg.Server == Ensemble {
		first, err := w.ownEnsemble(ctx)
		if err == nil {
			w.keeper = first.Server
		}
		return err
	}
	log, err := w.spares.nextLog(w.cfg.Dir)
	if err != nil {
		return err
	}
	keeper, err := zookeeper.Start(ctx, w.guard, log)
	if err != nil {
		return err // keeper is a nil pointer, and as a Server would not be nil
	}
	w.keeper = keeper
	return nil
}

// approachKeeper makes the node below which all others of the run are, on a ZooKeeper at an address. The guard knows it before it is there.
func (w *World) approachKeeper(ctx context.Context, addr string) error {
	keeper, err := zookeeper.At(ctx, addr)
	if err != nil {
		return err
	}
	w.root = "/" + strings.ReplaceAll(strings.TrimSuffix(w.prefix, ":"), ":", "-")
	if err := w.guard.Undo(undoNodes, addr+" "+w.root); err != nil {
		return err
	}
	w.keeper = keeper
	return zookeeper.MakeNodes(ctx, addr, []string{w.root})
}

// leaveKeeper ends the ZooKeeper, or removes what the run has left on the one at an address.
func (w *World) leaveKeeper() error {
	if w.root == "" {
		return w.keeper.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), clearTime)
	defer cancel()
	if _, err := zookeeper.RemoveTree(ctx, w.keeper.Addr(), w.root); err != nil { // the guard tries once more
		return fmt.Errorf("nodes of the lab may be left: %w\nto delete: zkCli.sh -server %s deleteall %s", err, w.keeper.Addr(), w.root)
	}
	return w.guard.ForgetUndo(undoNodes)
}

// lacksAtKeeper says what a script needs that a lock on a ZooKeeper, its client or the lab does not have, or "".
func (w *World) lacksAtKeeper(script *scenarios.Script, traits play.Traits) string {
	if !traits.ZooKeeper {
		return play.NeedsRedis
	}
	if remote, is := w.keeper.(*zookeeper.Remote); is {
		shortest, longest := remote.Sessions()
		if script.Lease < shortest || script.Lease > longest {
			return fmt.Sprintf("the ZooKeeper at the address has sessions of %v to %v, and the lease is %v", shortest, longest, script.Lease)
		}
	}
	limits := play.KeeperLimits()
	if traits.Library.Ensemble {
		delete(limits, faults.ServerState)
		delete(limits, faults.Ensemble)
		if why := lacksWithEnsemble(script); why != "" {
			return why
		}
	}
	return traits.LackOnKeeper(script, limits)
}

// lockNodes are the places of the cell's locks on a ZooKeeper; none: the lock servers are Redis.
func (c *cell) lockNodes() []string {
	if c.world.keeper == nil {
		return nil
	}
	nodes := []string{c.LockKey}
	if c.OtherKey != "" {
		nodes = append(nodes, c.OtherKey)
	}
	return nodes
}

// makeNodes makes the places of the cell's locks.
func (c *cell) makeNodes(ctx context.Context) error {
	if c.world.keeper == nil {
		return nil
	}
	return zookeeper.MakeNodes(ctx, c.servers[0].Addr(), c.lockNodes())
}

// removeNodes removes them, with what the clients have left there.
func (c *cell) removeNodes() error {
	if c.world.keeper == nil || len(c.servers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), clearTime)
	defer cancel()
	if any(c.servers[0].Server) != any(c.world.keeper) {
		return nil // an ensemble of the cell's own is emptied, or ended
	}
	return zookeeper.RemoveNodes(ctx, c.world.keeper.Addr(), c.lockNodes())
}

// scheme says in an address what the server is.
func (s *lockServer) scheme() string {
	switch s.Server.(type) {
	case *zookeeper.Server, *zookeeper.Ensemble, *zookeeper.Remote:
		return protocol.ZooKeeperScheme
	case *etcd.Server:
		return protocol.EtcdScheme
	case *postgres.Server:
		return protocol.PostgresScheme
	}
	return ""
}
