package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/internal/redisclient"
)

// Lay writes data: it runs commands in the endpoint's database.
func Lay(ctx context.Context, at Endpoint, commands [][]any) error {
	err := within(ctx, at, -1, func(client redisclient.Client) error {
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, command := range commands {
				pipe.Do(ctx, command...)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("laying data at %s: %w", at, err)
	}
	return nil
}
