package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// migration is that of ClusterTag's slot.
type migration struct {
	slot     int64
	from, to *clusterNode
}

// migrated is the most keys that one MIGRATE takes along; those of a cell are a few.
const migrated = 1000

// Migrate moves the slot's keys to another primary, as an operator does who reshards: SETSLOT at both, then MIGRATE. Until Migrated the old
// primary answers ASK to whoever asks for one of them, and the other one takes commands after ASKING only.
func (c *Cluster) Migrate(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, switchTime, ErrSlow)
	defer cancel()
	if c.moving != nil {
		return errors.New("migrate a slot: it is migrating")
	}
	err := c.migrate(ctx)
	c.broken = c.broken || err != nil
	return wrapped("migrate a slot", err)
}

func (c *Cluster) migrate(ctx context.Context) error {
	from, err := c.primary(ctx, ClusterTag)
	if err != nil {
		return err
	}
	to, err := c.otherPrimary(ctx, from)
	if err != nil {
		return err
	}
	return patiently(ctx, from.addr, func(client *redis.Client) error {
		slot, err := client.ClusterKeySlot(ctx, ClusterTag).Result()
		if err != nil {
			return err
		}
		if err := to.do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.id); err != nil {
			return err
		}
		if err := client.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.id).Err(); err != nil {
			return err
		}
		keys, err := client.ClusterGetKeysInSlot(ctx, int(slot), migrated).Result()
		if err != nil {
			return err
		}
		if len(keys) == migrated {
			return fmt.Errorf("the slot has %d keys or more", migrated)
		}
		if len(keys) > 0 {
			err = client.Do(ctx, migrateKeys(to.addr, keys)...).Err()
		}
		c.moving = &migration{slot, from, to}
		return err
	})
}

// otherPrimary is a primary that has other slots.
func (c *Cluster) otherPrimary(ctx context.Context, than *clusterNode) (*clusterNode, error) {
	for _, n := range c.nodes {
		about, err := replication(ctx, n.addr)
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
	command := []any{"MIGRATE", host, port, "", 0, patience.Milliseconds(), "KEYS"}
	for _, key := range keys {
		command = append(command, key)
	}
	return command
}

// Migrated has the other primary own the slot, and returns once all nodes say so.
func (c *Cluster) Migrated(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, switchTime, ErrSlow)
	defer cancel()
	if c.moving == nil {
		return errors.New("end the migration of a slot: none is migrating")
	}
	err := c.own(ctx, *c.moving)
	c.moving = nil
	if err == nil {
		err = c.settle(ctx, ClusterTag)
	}
	c.broken = c.broken || err != nil
	return wrapped("end the migration of a slot", err)
}

// own has the other primary own the slot: it first, so that at no time nobody does.
func (c *Cluster) own(ctx context.Context, m migration) error {
	for _, n := range []*clusterNode{m.to, m.from} {
		if err := n.do(ctx, "CLUSTER", "SETSLOT", m.slot, "NODE", m.to.id); err != nil {
			return err
		}
	}
	return nil
}
