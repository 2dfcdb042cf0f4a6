package live

import (
	"context"
	"time"

	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/live/ledger"
)

// clearTime bounds the deletion of a cell's data on a server of the lab's own.
const clearTime = 10 * time.Second

// store holds the workload's data.
type store struct {
	at     redis.Endpoint
	prefix string       // of every key
	keys   *ledger.Keys // at an address; nil: the server is the lab's own
	tap    *tap.Tap     // made after Do wrote the initial data
}

func (s *store) Do(ctx context.Context, commands [][]any) error {
	if s.keys != nil {
		for _, command := range commands {
			if err := s.keys.Note([]string{command[1].(string)}); err != nil {
				return err
			}
		}
	}
	return redis.Lay(ctx, s.at, commands)
}

func (s *store) Values(ctx context.Context, key string) ([]string, error) {
	values, err := s.tap.Values(ctx, key)
	return values, atServer(err)
}

// clear deletes the data. The embedded server scans all of its keys at each command, so leftover keys would slow later cells.
func (s *store) clear() error {
	if s.keys != nil {
		s.keys.Delete()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), clearTime)
	defer cancel()
	_, err := redis.DeletePrefix(ctx, s.at.Addr, 0, s.prefix)
	return err
}
