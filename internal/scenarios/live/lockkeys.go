package live

import (
	"context"
	"errors"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
)

var errKeysOnServers = errors.New("names several keys of a lock on several servers; a lock has one key on each of several servers, or several on one")

// opened takes in the keys that a client names when it opens the lock of a handle.
func (c *cell) opened(h *play.Handle, answer protocol.Message) error {
	switch {
	case len(answer.Keys) == 0:
	case c.run.Traits.ZooKeeper || c.run.Traits.Opaque != "":
		return errors.New("names keys, and its lock server is no Redis")
	case len(answer.Keys) > 1 && len(c.stage.servers) > 1:
		return errKeysOnServers
	}
	return c.run.NameKeys(h, answer.Keys, answer.Need == protocol.Majority)
}

// stateOf reads the state of a lock on the server.
func (s *lockServer) stateOf(ctx context.Context, lock string) (history.State, error) {
	set := s.cell.run.LockKeys.Of(lock)
	states := make([]history.State, len(set.Keys))
	for i, key := range set.Keys {
		var err error
		if states[i], err = s.tap.State(ctx, s.tag+key); err != nil {
			return history.State{}, err
		}
	}
	return set.Whole(states), nil
}

// limit has a lock end soon, as an operator does who sets an expiry on its keys.
func (s *lockServer) limit(ctx context.Context, lock string, by time.Duration) (evidence string, err error) {
	var limited bool
	for _, key := range s.cell.run.LockKeys.Of(lock).Keys {
		is, err := redis.Limit(ctx, s.endpoint(), s.tag+key, by)
		if err != nil {
			return "", wrap("limiting the lock", err)
		}
		limited = limited || is
	}
	if !limited {
		return "", play.PremiseMissed("an operator would limit the lock while there is none on the server")
	}
	return "the lock ends in " + by.String(), nil
}
