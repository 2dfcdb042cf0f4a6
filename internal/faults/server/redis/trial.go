package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// The trials of commands on one key, which lives a minute if nobody deletes it.
const (
	trialSeconds = 60
	trialScript  = `redis.call('GET', KEYS[1]) redis.call('PEXPIRE', KEYS[1], 60000) return redis.call('DEL', KEYS[1])`
)

// trialOf is how the server is asked whether it carries out a command, on a key that is a string or absent; nil: the command has no trial.
func trialOf(command, key string) [][]any {
	switch command {
	case "SET":
		return [][]any{{"SET", key, "trial", "EX", trialSeconds}}
	case "SETNX", "GETSET":
		return [][]any{{command, key, "trial"}, {"PEXPIRE", key, trialSeconds * 1000}}
	case "EXPIRE":
		return [][]any{{"EXPIRE", key, trialSeconds}}
	case "GET", "TTL", "PTTL", "TYPE", "PERSIST", "DEL":
		return [][]any{{command, key}}
	case "PEXPIRE":
		return [][]any{{"PEXPIRE", key, trialSeconds * 1000}}
	case "WATCH":
		return [][]any{{"WATCH", key}, {"UNWATCH"}}
	case "EXEC":
		return [][]any{{"MULTI"}, {"GET", key}, {"EXEC"}}
	case "EVAL":
		return [][]any{{"EVAL", trialScript, 1, key}}
	case "SCRIPT":
		return [][]any{{"SCRIPT", "EXISTS", strings.Repeat("0", 40)}}
	}
	return nil
}

// ownCommands are those by which the lab itself follows a cell's keys.
func ownCommands() []string {
	return []string{"SET", "GET", "PTTL", "TYPE", "PERSIST", "PEXPIRE", "SCRIPT"}
}

// Try says why the server cannot be used, in one line: a replica, a node of a cluster, one that refuses writes, or a command of those that locks send.
// It writes the key, which the caller must own, and deletes it.
func (r *Remote) Try(ctx context.Context, key string, sends []string) error {
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	err := with(ctx, r.at, func(client redisclient.Client) error {
		about, err := info(ctx, client, "server", "replication", "cluster")
		if err != nil {
			return r.at.describe(err)
		}
		if why := unsuited(about); why != "" {
			return errors.New(why)
		}
		return errors.Join(r.try(ctx, client, key, sends), r.clean(ctx, client, key))
	})
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n") // what refuses a command may refuse its end, too
		return fmt.Errorf("redis at %s: %s", r.at, first)
	}
	return nil
}

func (r *Remote) try(ctx context.Context, client redisclient.Client, key string, sends []string) error {
	for _, command := range ownCommands() {
		if err := tryOne(ctx, client, command, key); err != nil {
			return r.at.refusing(command, "the lab", err)
		}
	}
	for _, command := range sends {
		if err := tryOne(ctx, client, command, key); err != nil {
			return r.at.refusing(command, "a lock of this run", err)
		}
	}
	return nil
}

func tryOne(ctx context.Context, client redisclient.Client, command, key string) error {
	for _, args := range trialOf(command, key) {
		if err := client.Do(ctx, args...).Err(); err != nil && err != redis.Nil {
			return err
		}
	}
	return nil
}

// clean deletes the key of the trials, as those of cells are deleted.
func (r *Remote) clean(ctx context.Context, client redisclient.Client, key string) error {
	if _, err := unlink(ctx, client, []string{key}); err != nil {
		return r.at.refusing("UNLINK", "the lab", err)
	}
	return nil
}

// refusing says in words that the server does not carry out a command that somebody sends.
func (e Endpoint) refusing(command, whose string, err error) error {
	if !strings.HasPrefix(err.Error(), "NOPERM") {
		return e.describe(err)
	}
	user := e.User
	if user == "" {
		user = "default"
	}
	return fmt.Errorf("its user %s may not send %s as %s does: %w; give it the rights in docs/your-server.md, or leave the locks out that need them (--lock)",
		user, command, whose, err)
}
