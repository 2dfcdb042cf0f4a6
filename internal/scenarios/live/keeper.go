package live

import (
	"context"
	"fmt"
	"strings"

	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/scenarios"
)

// findKeeper starts the ZooKeeper of a run, or makes sure that the one at an address answers. All cells share it, each with nodes of its own: to
// start one takes longer than most cells.
func (w *World) findKeeper(ctx context.Context) error {
	if addr, remote := zookeeper.Addr(w.cfg.Server); remote {
		return w.approachKeeper(ctx, addr)
	}
	first, err := w.ownLockServer(ctx)
	if err == nil {
		w.keeper = first.Server
	}
	return err
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

// lacksSessions says why a ZooKeeper at an address cannot give the sessions of a script, or "".
func (w *World) lacksSessions(script *scenarios.Script) string {
	remote, is := w.keeper.(*zookeeper.Remote)
	if !is {
		return ""
	}
	shortest, longest := remote.Sessions()
	if shortest <= script.Lease && script.Lease <= longest {
		return ""
	}
	return fmt.Sprintf("the ZooKeeper at the address has sessions of %v to %v, and the lease is %v", shortest, longest, script.Lease)
}

// lockNodes are the places of the cell's locks on a ZooKeeper; none: the lock servers are Redis.
func (c *cell) lockNodes() []string {
	if c.world.keeper == nil {
		return nil
	}
	nodes := []string{c.run.LockKey}
	if c.run.OtherKey != "" {
		nodes = append(nodes, c.run.OtherKey)
	}
	return nodes
}

// makeNodes makes the places of the cell's locks.
func (c *cell) makeNodes(ctx context.Context) error {
	if c.world.keeper == nil {
		return nil
	}
	return zookeeper.MakeNodes(ctx, c.stage.servers[0].Addr(), c.lockNodes())
}

// removeNodes removes them, with what the clients have left there.
func (c *cell) removeNodes() error {
	if c.world.keeper == nil || len(c.stage.servers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), clearTime)
	defer cancel()
	if any(c.stage.servers[0].Server) != any(c.world.keeper) {
		return nil // an ensemble of the cell's own is emptied, or ended
	}
	return zookeeper.RemoveNodes(ctx, c.world.keeper.Addr(), c.lockNodes())
}
