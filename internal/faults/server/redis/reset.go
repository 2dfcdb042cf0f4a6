package redis

import (
	"context"
	"fmt"

	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// Reset returns the process to the state after its start. The server accepts connections in the order in which they were made, so CLIENT
// KILL meets every older one, whatever that has sent.
func (r *Server) Reset(ctx context.Context) error {
	if r.IsDown() {
		return fmt.Errorf("reset %s: %w", binary, daemon.ErrDown)
	}
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	err := patiently(ctx, r.Addr(), func(client redisclient.Client) error {
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
