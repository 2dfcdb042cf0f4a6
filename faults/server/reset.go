package server

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Resetter is a server that can be made as good as new, which costs less than to start another.
type Resetter interface {
	// Reset leaves the server without clients, data and scripts. What was sent to it before is not carried out any more.
	Reset(ctx context.Context) error
}

// Reset leaves the process as it was when it had started. A connection that was made before this one is accepted before it, too, and
// so is among those that end here, whatever it has sent.
func (r *Redis) Reset(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := patiently(ctx, r.addr, func(client *redis.Client) error {
		for _, command := range [][]any{
			{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"},
			{"CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes"},
			{"FLUSHALL"},
			{"SCRIPT", "FLUSH"},
			{"CONFIG", "RESETSTAT"},
		} {
			if err := client.Do(ctx, command...).Err(); err != nil {
				return fmt.Errorf("%v: %w", command, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reset %s: %w", binary, err)
	}
	return nil
}
