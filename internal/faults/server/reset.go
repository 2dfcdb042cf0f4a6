package server

import (
	"context"
	"fmt"

	"github.com/locklab/locklab/internal/redisclient"
)

// Resetter is a server that can be emptied, which costs less than to start another.
type Resetter interface {
	// Reset leaves the server without clients, data and scripts. A command sent before has no effect after.
	Reset(ctx context.Context) error
}

// Reset returns the process to the state after its start. The server accepts connections in the order in which they were made, so CLIENT
// KILL meets every older one, whatever that has sent.
func (r *Redis) Reset(ctx context.Context) error {
	if r.isDown() {
		return fmt.Errorf("reset %s: %w", binary, errDown)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := patiently(ctx, r.addr, func(client redisclient.Client) error {
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

func (r *Redis) isDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down != nil
}
