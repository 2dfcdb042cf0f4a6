package redis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// marker is the key, in a database that no client uses, whose write tells how far the replica is.
const (
	markerDB  = 15
	markerKey = "locklab:replicated"
)

// noReplicas begins the error of a primary that lacks a replica that it requires.
const noReplicas = "NOREPLICAS"

// caughtUp waits until so many replicas have all that the primary at an address has acknowledged.
func caughtUp(ctx context.Context, addr string, count int) error {
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	return within(ctx, Endpoint{Addr: addr, DB: markerDB}, -1, func(client redisclient.Client) error {
		for {
			// WAIT is about what its own connection has written.
			err := client.Set(ctx, markerKey, "", time.Second).Err()
			if err != nil && strings.HasPrefix(err.Error(), noReplicas) { // until one has reported again
				if err := daemon.Pause(ctx); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			replicas, err := client.Wait(ctx, count, 100*time.Millisecond).Result()
			if err != nil {
				return fmt.Errorf("the replicas do not catch up: %w", err)
			}
			if replicas >= int64(count) {
				return client.Del(ctx, markerKey).Err()
			}
		}
	})
}

// requireReplica sets min-replicas-to-write, and returns once the primary has a replica that counts.
func requireReplica(ctx context.Context, primary *Server) error {
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	err := primary.do(ctx, "CONFIG", "SET", "min-replicas-to-write", 1, "min-replicas-max-lag", int(faults.MaxLag.Seconds()))
	for err == nil {
		var refuses bool
		if refuses, err = refusesWrites(ctx, primary.Addr()); err == nil && !refuses {
			return nil
		}
		if err == nil {
			err = daemon.Pause(ctx)
		}
	}
	return err
}

// refusesWrites says whether a primary that requires a replica has none, by its own account.
func refusesWrites(ctx context.Context, addr string) (bool, error) {
	about, err := replication(ctx, addr)
	return about["min_slaves_good_slaves"] == "0", err
}

// replication is what a server says of its replication.
func replication(ctx context.Context, addr string) (about map[string]string, err error) {
	err = patiently(ctx, addr, func(client redisclient.Client) (err error) {
		about, err = info(ctx, client, "replication")
		return err
	})
	return about, err
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
