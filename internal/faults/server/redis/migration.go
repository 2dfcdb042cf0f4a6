package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// migration is that of ClusterTag's slot.
type migration struct {
	slot     int64
	from, to *clusterNode
}

// migrated is the most keys that one MIGRATE takes along; those of a cell are a few.
const migrated = 1000

// Migrate moves the slot's keys, or some of them, to another primary, as an operator does who reshards: SETSLOT at both, then MIGRATE. It returns
// how many have moved, and how many are left. Until Migrated the old primary answers ASK to whoever asks for a key that it does not have, and the
// other one takes commands after ASKING only. Either answers TRYAGAIN to a command for several keys of which it has some.
func (c *Cluster) Migrate(ctx context.Context, moves func(key string) bool) (moved, left int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, server.SettleTime, server.ErrSlow)
	defer cancel()
	if c.moving != nil {
		return 0, 0, errors.New("migrate a slot: it is migrating")
	}
	m, err := c.migration(ctx)
	if err == nil {
		c.moving = &m
		moved, left, err = m.move(ctx, moves)
	}
	c.broken = c.broken || err != nil
	return moved, left, wrapped("migrate a slot", err)
}

// migration has a migration begin.
func (c *Cluster) migration(ctx context.Context) (m migration, err error) {
	if m.from, err = c.primary(ctx, ClusterTag); err != nil {
		return m, err
	}
	if m.to, err = c.otherPrimary(ctx, m.from); err != nil {
		return m, err
	}
	err = patiently(ctx, m.from.Addr(), func(client redisclient.Client) error {
		m.slot, err = client.ClusterKeySlot(ctx, ClusterTag).Result()
		return err
	})
	if err == nil {
		err = m.to.do(ctx, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.from.id)
	}
	if err == nil {
		err = m.from.do(ctx, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.to.id)
	}
	return m, err
}

// move moves keys that are still with the old primary.
func (m migration) move(ctx context.Context, moves func(key string) bool) (moved, left int, err error) {
	err = patiently(ctx, m.from.Addr(), func(client redisclient.Client) error {
		keys, err := client.ClusterGetKeysInSlot(ctx, int(m.slot), migrated).Result()
		if err != nil {
			return err
		}
		if len(keys) == migrated {
			return fmt.Errorf("the slot has %d keys or more", migrated)
		}
		left = len(keys)
		keys = slices.DeleteFunc(keys, func(key string) bool { return !moves(key) })
		moved = len(keys)
		left -= moved
		if moved == 0 {
			return nil
		}
		return client.Do(ctx, migrateKeys(m.to.Addr(), keys)...).Err()
	})
	return moved, left, err
}

// otherPrimary is a primary that has other slots.
func (c *Cluster) otherPrimary(ctx context.Context, than *clusterNode) (*clusterNode, error) {
	for _, n := range c.nodes {
		about, err := replication(ctx, n.Addr())
		if err != nil {
			return nil, err
		}
		if about["role"] == "master" && n != than {
			return n, nil
		}
	}
	return nil, errors.New("the cluster has no other primary")
}

// migrateKeys is the command that moves keys, with their expiries, to a server.
func migrateKeys(addr string, keys []string) []any {
	host, port, _ := net.SplitHostPort(addr)
	command := []any{"MIGRATE", host, port, "", 0, daemon.Patience.Milliseconds(), "KEYS"}
	for _, key := range keys {
		command = append(command, key)
	}
	return command
}

// Migrated moves the keys that are left and has the other primary own the slot. It returns once all nodes say so.
func (c *Cluster) Migrated(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, server.SettleTime, server.ErrSlow)
	defer cancel()
	if c.moving == nil {
		return errors.New("end the migration of a slot: none is migrating")
	}
	_, _, err := c.moving.move(ctx, func(string) bool { return true })
	if err == nil {
		err = c.moving.own(ctx)
	}
	c.moving = nil
	if err == nil {
		err = c.settle(ctx, ClusterTag)
	}
	c.broken = c.broken || err != nil
	return wrapped("end the migration of a slot", err)
}

// own has the other primary own the slot: it first, so that at no time nobody does.
func (m migration) own(ctx context.Context) error {
	for _, n := range []*clusterNode{m.to, m.from} {
		if err := n.do(ctx, "CLUSTER", "SETSLOT", m.slot, "NODE", m.to.id); err != nil {
			return err
		}
	}
	return nil
}
