package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// Split holds the links to the replicas, moves the primary to another address and promotes a replica at the old one. Nothing tells the old
// primary: it goes on, without replicas.
func (r *Replicated) Split(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.split(ctx); err != nil {
		return "", fmt.Errorf("split: %w", err)
	}
	return r.old.Addr(), nil
}

func (r *Replicated) split(ctx context.Context) error {
	if r.old != nil {
		return errors.New("there are two primaries already")
	}
	if err := r.save(ctx, replicaCount); err != nil {
		return err
	}
	if err := r.primary.giveWay(ctx); err != nil {
		return err
	}
	r.old = r.primary
	return r.promote(ctx, r.replicas[0])
}

// Demote kills the old primary: as a replica of the new one it would lose its data, too, and serve no writes.
func (r *Replicated) Demote(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return wrapped("demote the old primary", r.demote())
}

func (r *Replicated) demote() error {
	old := r.old
	r.old = nil
	if old == nil {
		return nil
	}
	return old.Close()
}

// giveWay has the process listen at another address, and breaks the connections of its clients. Those of replicas stay.
func (r *Server) giveWay(ctx context.Context) error {
	var addr string
	err := daemon.OnFreePort(func(port int) (taken bool, err error) {
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		return r.listenAt(ctx, port)
	})
	if err != nil {
		return fmt.Errorf("leave its address: %w", err)
	}
	if err := r.Relocate(ctx, addr); err != nil {
		return fmt.Errorf("leave its address: %w", err)
	}
	return patiently(ctx, addr, func(client redisclient.Client) error {
		for _, kind := range []string{"normal", "pubsub"} {
			if err := client.Do(ctx, "CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes").Err(); err != nil {
				return err
			}
		}
		return nil
	})
}
