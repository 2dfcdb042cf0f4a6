package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/redisclient"
)

// Limit sets the TTL of a key in the endpoint's database. It returns false if there is no such key.
func Limit(ctx context.Context, at Endpoint, key string, d time.Duration) (limited bool, err error) {
	err = with(ctx, at, func(client redisclient.Client) (err error) {
		limited, err = client.PExpire(ctx, key, d).Result()
		return err
	})
	if err != nil {
		return false, fmt.Errorf("limit %s at %s: %w", key, at, err)
	}
	return limited, nil
}

// scanCount is the COUNT of each SCAN: small enough not to delay other clients of the server.
const scanCount = 1000

// deleteBatch is the number of keys of each UNLINK: small enough not to delay other clients of the server.
const deleteBatch = 100

// DeleteKeys deletes keys of the endpoint's database by name, and returns how many there were.
func DeleteKeys(ctx context.Context, at Endpoint, keys []string) (deleted int64, err error) {
	if len(keys) == 0 {
		return 0, nil
	}
	err = with(ctx, at, func(client redisclient.Client) error {
		for batch := range slices.Chunk(keys, deleteBatch) {
			n, err := unlink(ctx, client, batch)
			if err != nil {
				return err
			}
			deleted += n
		}
		return nil
	})
	if err != nil {
		return deleted, fmt.Errorf("delete %d keys at %s: %w", len(keys), at, err)
	}
	return deleted, nil
}

// unlink deletes keys without delaying other clients of the server, or with DEL where there is no UNLINK, as before Redis 4.
func unlink(ctx context.Context, client redisclient.Client, keys []string) (deleted int64, err error) {
	deleted, err = client.Unlink(ctx, keys...).Result()
	if err != nil && strings.HasPrefix(err.Error(), "ERR unknown command") {
		return client.Del(ctx, keys...).Result()
	}
	return deleted, err
}

// DeletePrefix deletes the keys of a database that begin with the prefix, which must not be empty, and returns their number. It looks at
// every key of the database, so it is for servers of the lab's own.
func DeletePrefix(ctx context.Context, addr string, db int, prefix string) (deleted int64, err error) {
	if prefix == "" {
		return 0, fmt.Errorf("delete keys at %s: an empty prefix would delete everybody's", addr)
	}
	err = with(ctx, Endpoint{Addr: addr, DB: db}, func(client redisclient.Client) error {
		var cursor uint64
		for {
			keys, next, err := client.Scan(ctx, cursor, pattern(prefix), scanCount).Result()
			if err != nil {
				return err
			}
			keys = slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, prefix) })
			if len(keys) > 0 {
				n, err := client.Del(ctx, keys...).Result()
				if err != nil {
					return err
				}
				deleted += n
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
	if err != nil {
		return deleted, fmt.Errorf("delete keys below %q at %s: %w", prefix, addr, err)
	}
	return deleted, nil
}

// pattern matches the keys that begin with the prefix.
func pattern(prefix string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(prefix) + "*"
}
