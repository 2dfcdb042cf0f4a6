package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/locklab/locklab/internal/faults/jute"
)

// nodeSession is the time-out of a session in which the lab makes or removes nodes.
const nodeSession = time.Minute

// MakeNodes makes nodes on a ZooKeeper, as the places of locks.
func MakeNodes(ctx context.Context, addr string, paths []string) error {
	return withSession(ctx, addr, "make", func(c *jute.Client) error {
		for _, one := range paths {
			if err := settled(c.Ask(jute.OpCreate, one)); err != nil {
				return fmt.Errorf("%s: %w", one, err)
			}
		}
		return nil
	})
}

// RemoveNodes removes nodes with all that is directly below them. A node may be gone already.
func RemoveNodes(ctx context.Context, addr string, paths []string) error {
	return withSession(ctx, addr, "remove", func(c *jute.Client) error {
		for _, one := range paths {
			if err := removeNode(c, one); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeNode removes a node with all that is directly below it.
func removeNode(c *jute.Client, node string) error {
	names, err := c.Children(node)
	if err != nil {
		return fmt.Errorf("%s: %w", node, err)
	}
	for _, name := range names {
		if err := settled(c.Ask(jute.OpDelete, path.Join(node, name))); err != nil && !errors.Is(err, jute.CodeNoNode) {
			return fmt.Errorf("%s: %w", path.Join(node, name), err)
		}
	}
	if err := settled(c.Ask(jute.OpDelete, node)); err != nil && !errors.Is(err, jute.CodeNoNode) {
		return fmt.Errorf("%s: %w", node, err)
	}
	return nil
}

// settled is the error of a request, or of its reply.
func settled(reply jute.Reply, err error) error {
	if err == nil && reply.Code != jute.CodeOK {
		return reply.Code
	}
	return err
}

func withSession(ctx context.Context, addr, what string, use func(*jute.Client) error) error {
	c, err := jute.Dial(ctx, addr, nodeSession)
	if err != nil {
		return fmt.Errorf("%s nodes at %s: %w", what, addr, err)
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := use(c); err != nil {
		return errors.Join(fmt.Errorf("%s nodes at %s: %w", what, addr, err), c.Close())
	}
	return c.End()
}
