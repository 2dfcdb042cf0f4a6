package server

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Values reads what stands under a key of database 0: the number or text, the elements of a list, those of a set sorted, or the
// fields of a hash, sorted, each followed by its value. An absent key has none.
func Values(ctx context.Context, addr, key string) ([]string, error) {
	var answer []string
	err := patiently(ctx, addr, func(client *redis.Client) (err error) {
		answer, err = client.Eval(ctx, stateScript, []string{key}).StringSlice()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("data of %s at %s: %w", key, addr, err)
	}
	if len(answer) < 2 {
		return nil, nil
	}
	return arranged(answer[0], answer[2:]), nil
}

// Lay carries out commands on database 0, so that data lies there.
func Lay(ctx context.Context, addr string, commands [][]any) error {
	err := patiently(ctx, addr, func(client *redis.Client) error {
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, command := range commands {
				pipe.Do(ctx, command...)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("laying data at %s: %w", addr, err)
	}
	return nil
}
