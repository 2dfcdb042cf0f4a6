package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/internal/redisclient"
)

// Identity is what changes if a server at an address restarts, or if another one answers there.
type Identity struct {
	RunID string // anew with each start
	Role  string // "master" or "slave"
	// ReplID names the history of the data: another one after a failover.
	ReplID string
}

// Identity asks the server for its identity. Fields that it does not tell are empty.
func (r *Remote) Identity(ctx context.Context) (Identity, error) {
	var about map[string]string
	err := with(ctx, r.at, func(client redisclient.Client) (err error) {
		about, err = info(ctx, client, "server", "replication")
		return err
	})
	return Identity{RunID: about["run_id"], Role: about["role"], ReplID: about["master_replid"]}, err
}

// ChangedTo says how the server differs from what it was, or "".
func (i Identity) ChangedTo(now Identity) string {
	switch {
	case i.RunID != now.RunID:
		return fmt.Sprintf("restarted, or another one answers: its run_id was %s and is %s", i.RunID, now.RunID)
	case i.Role != now.Role:
		return fmt.Sprintf("failed over: its role was %s and is %s", i.Role, now.Role)
	case i.ReplID != now.ReplID:
		return fmt.Sprintf("failed over: its replication id was %s and is %s", i.ReplID, now.ReplID)
	}
	return ""
}

// unsuited says why a server of this kind cannot be used, or "".
func unsuited(about map[string]string) string {
	switch {
	case about["role"] == "slave":
		return fmt.Sprintf("it is a replica of %s:%s; give the address of the primary", about["master_host"], about["master_port"])
	case about["cluster_enabled"] == "1":
		return "it is a node of a cluster, and would refuse keys of other slots; give the address of a server without cluster mode"
	case about["redis_mode"] == "sentinel":
		return "it is a sentinel, which has no keys; give the address of the primary"
	}
	return ""
}

// info sends INFO for each section; older servers take one section at a time. A server that refuses INFO yields no facts.
func info(ctx context.Context, client redisclient.Client, sections ...string) (map[string]string, error) {
	about := map[string]string{}
	for _, section := range sections {
		text, err := client.Info(ctx, section).Result()
		var refused redis.Error
		if err != nil && !errors.As(err, &refused) {
			return about, err
		}
		readFacts(about, text)
	}
	return about, nil
}

// readFacts reads the lines "name:value" of what a server says of itself.
func readFacts(about map[string]string, text string) {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			about[name] = value
		}
	}
}
