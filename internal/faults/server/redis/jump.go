package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/redisclient"
)

// jumpScript brings the expiry of keys forward by ARGV[1] milliseconds, and removes the keys that have no more left. It returns each key and
// the time that it had left.
const jumpScript = `
local answer = {}
local by = tonumber(ARGV[1])
for _, key in ipairs(%s) do
  local left = redis.call('PTTL', key)
  if left >= 0 then
    if left <= by then
      redis.call('DEL', key)
    else
      redis.call('PEXPIRE', key, string.format('%%.0f', left - by))
    end
    table.insert(answer, key)
    table.insert(answer, string.format('%%.0f', left))
  end
end
return answer`

// The keys that a jump is for: all of the database, or those that are named.
const (
	allKeys   = `redis.call('KEYS', '*')`
	namedKeys = `KEYS`
)

// JumpClock does to leases what a jump of the server's clock by d does: one script shortens the TTL of every key of the database by d,
// rounded to milliseconds, and removes the keys that have no more left. A negative d prolongs. It returns the number of keys with a TTL,
// and in evidence their old and new TTLs. The caller makes sure that no command is in flight. It is for servers of the lab's own: others
// may have millions of keys.
func JumpClock(ctx context.Context, addr string, db int, d time.Duration) (moved int, evidence string, err error) {
	return jump(ctx, Endpoint{Addr: addr, DB: db}, allKeys, nil, d)
}

// JumpClockOf is JumpClock for the named keys only, in the endpoint's database.
func JumpClockOf(ctx context.Context, at Endpoint, keys []string, d time.Duration) (moved int, evidence string, err error) {
	if len(keys) == 0 {
		evidence, err = jumpEvidence(nil, d)
		return 0, evidence, err
	}
	return jump(ctx, at, namedKeys, keys, d)
}

func jump(ctx context.Context, at Endpoint, which string, keys []string, d time.Duration) (moved int, evidence string, err error) {
	by := d.Round(time.Millisecond)
	var answer []string
	err = with(ctx, at, func(client redisclient.Client) (err error) {
		answer, err = client.Eval(ctx, fmt.Sprintf(jumpScript, which), keys, by.Milliseconds()).StringSlice()
		return err
	})
	if err != nil {
		return 0, "", fmt.Errorf("jump of the clock at %s: %w", at, err)
	}
	evidence, err = jumpEvidence(answer, by)
	if err != nil {
		return 0, "", fmt.Errorf("jump of the clock at %s: %w", at, err)
	}
	return len(answer) / 2, evidence, nil
}

// jumpNamed bounds the number of keys that the evidence names.
const jumpNamed = 5

func jumpEvidence(answer []string, by time.Duration) (string, error) {
	if len(answer) == 0 {
		return "no key has an expiry", nil
	}
	var parts []string
	for i := 0; i+1 < len(answer); i += 2 {
		milliseconds, err := strconv.ParseInt(answer[i+1], 10, 64)
		if err != nil {
			return "", fmt.Errorf("%q is no remaining time: %w", answer[i+1], err)
		}
		left := time.Duration(milliseconds) * time.Millisecond
		after := "removed"
		if left > by {
			after = (left - by).String()
		}
		parts = append(parts, fmt.Sprintf("%s: %s → %s", answer[i], left, after))
	}
	if more := len(parts) - jumpNamed; more > 0 {
		parts = append(parts[:jumpNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", "), nil
}
