package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Limit sets the TTL of a key in database 0. It returns false if there is no such key.
func Limit(ctx context.Context, addr, key string, d time.Duration) (limited bool, err error) {
	err = with(ctx, addr, 0, func(client *redis.Client) (err error) {
		limited, err = client.PExpire(ctx, key, d).Result()
		return err
	})
	if err != nil {
		return false, fmt.Errorf("limit %s at %s: %w", key, addr, err)
	}
	return limited, nil
}

// scanCount is the COUNT of each SCAN: small enough not to delay other clients of the server.
const scanCount = 1000

// DeletePrefix deletes the keys of a database that begin with the prefix, which must not be empty, and returns their number.
func DeletePrefix(ctx context.Context, addr string, db int, prefix string) (deleted int64, err error) {
	if prefix == "" {
		return 0, fmt.Errorf("delete keys at %s: an empty prefix would delete everybody's", addr)
	}
	err = with(ctx, addr, db, func(client *redis.Client) error {
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
