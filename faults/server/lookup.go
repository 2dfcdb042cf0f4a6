package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/history"
)

// stateScript returns nothing for an absent key, else the type, the remaining milliseconds (-1: no expiry), and the value's
// parts. The embedded server's clock goes on while a script runs, so that a key may expire in the middle.
const stateScript = `
local key = KEYS[1]
local kind = redis.call('TYPE', key)['ok']
if kind == 'none' then return {} end
local answer = {kind, string.format('%.0f', redis.call('PTTL', key))}
local parts = {}
if kind == 'string' then
	local value = redis.call('GET', key)
	if not value then return {} end
	parts = {value}
elseif kind == 'hash' then parts = redis.call('HGETALL', key)
elseif kind == 'list' then parts = redis.call('LRANGE', key, 0, -1)
elseif kind == 'set' then parts = redis.call('SMEMBERS', key)
elseif kind == 'zset' then parts = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
end
for _, part in ipairs(parts) do table.insert(answer, part) end
return answer`

// State asks for the state of a key in database 0.
func State(ctx context.Context, addr, key string) (history.State, error) {
	var answer []string
	err := with(ctx, addr, 0, func(client *redis.Client) (err error) {
		answer, err = client.Eval(ctx, stateScript, []string{key}).StringSlice()
		return err
	})
	if err != nil {
		return history.State{}, fmt.Errorf("state of %s at %s: %w", key, addr, err)
	}
	return readState(answer)
}

func readState(answer []string) (history.State, error) {
	if len(answer) == 0 {
		return history.State{}, nil
	}
	if len(answer) < 2 {
		return history.State{}, fmt.Errorf("%q is no state of a key", answer)
	}
	left, err := strconv.ParseInt(answer[1], 10, 64)
	if err != nil {
		return history.State{}, fmt.Errorf("%q is no remaining time: %w", answer[1], err)
	}
	state := history.State{Type: answer[0], Value: render(answer[0], answer[2:])}
	if left >= 0 {
		// Less than a millisecond is answered as 0, which in a State means that there is no expiry.
		state.TTL = max(time.Duration(left)*time.Millisecond, time.Millisecond)
	}
	return state, nil
}

// render makes one text of a value's parts, the same for equal values.
func render(kind string, parts []string) string { return strings.Join(arranged(kind, parts), " ") }

// arranged puts a value's parts into an order that is the same for equal values.
func arranged(kind string, parts []string) []string {
	switch kind {
	case "set":
		parts = slices.Sorted(slices.Values(parts))
	case "hash":
		fields := map[string]string{}
		for i := 0; i+1 < len(parts); i += 2 {
			fields[parts[i]] = parts[i+1]
		}
		parts = parts[:0]
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			parts = append(parts, name, fields[name])
		}
	}
	return parts
}

// Counter reads the number at a key in database 0; an absent key counts as 0.
func Counter(ctx context.Context, addr, key string) (int64, error) {
	var n int64
	err := with(ctx, addr, 0, func(client *redis.Client) (err error) {
		n, err = client.Get(ctx, key).Int64()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("counter %s at %s: %w", key, addr, err)
	}
	return n, nil
}

// Limit sets the remaining time of a key in database 0. It returns false if there is no such key.
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

// scanCount is how many keys the server looks at in one step of a SCAN: few enough not to hold up anybody else.
const scanCount = 1000

// DeletePrefix deletes the keys of a database that begin with the prefix, which must not be empty, and no others. It returns how
// many there were.
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
