package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// jumpScript brings every expiry below a prefix forward by ARGV[2] milliseconds. A key that has no more left than that is
// removed. It returns key, remaining time before and after, for each.
const jumpScript = `
local answer = {}
local by = tonumber(ARGV[2])
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local left = redis.call('PTTL', key)
  if left >= 0 then
    if left <= by then
      redis.call('DEL', key)
    else
      redis.call('PEXPIRE', key, string.format('%.0f', left - by))
    end
    table.insert(answer, key)
    table.insert(answer, string.format('%.0f', left))
  end
end
return answer`

// JumpClock does what a jump of the server's clock by d does to leases: the remaining time of every key of the database that
// begins with the prefix is shortened by d, rounded to milliseconds, in one script; what has no more left than d is removed. A
// negative d prolongs. It returns how many keys had a remaining time, and in evidence what became of them. The caller sees to
// it that no command is in flight.
func JumpClock(ctx context.Context, addr string, db int, prefix string, d time.Duration) (moved int, evidence string, err error) {
	by := d.Round(time.Millisecond)
	var answer []string
	err = with(ctx, addr, db, func(client *redis.Client) (err error) {
		answer, err = client.Eval(ctx, jumpScript, nil, pattern(prefix), by.Milliseconds()).StringSlice()
		return err
	})
	if err != nil {
		return 0, "", fmt.Errorf("jump of the clock at %s: %w", addr, err)
	}
	evidence, err = jumpEvidence(answer, by)
	if err != nil {
		return 0, "", fmt.Errorf("jump of the clock at %s: %w", addr, err)
	}
	return len(answer) / 2, evidence, nil
}

// jumpNamed is how many keys the evidence names.
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
