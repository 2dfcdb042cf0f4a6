package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// The actions of a command that restarts a server at an address.
const (
	ActionStop  = "stop"
	ActionStart = "start"
)

// How long the server may take to be down, and up, after the command has ended.
const (
	downTime = 10 * time.Second
	upTime   = 30 * time.Second
)

// Restartable is a server at an address that a command of the user's stops and starts, in a cell. What the server keeps meanwhile does not matter: the
// keys of the cell then become those that the fault leaves, and no other key is touched. No command of a client may be in flight.
type Restartable struct {
	*Remote
	Run  func(action string) error // runs the command
	Keys func() []string           // of the cell
	// Expiring are those of the keys whose expiry is their own; the lab has put one on the others.
	Expiring func(keys []string) []string
	// Up is told who answers again.
	Up func(Identity)

	saved []copied
	kept  []copied // while it is down
	down  bool
}

// copied is a key as it was.
type copied struct {
	key, dump string
	ends      time.Time // zero: never
}

// Save keeps a copy of the cell's keys.
func (r *Restartable) Save(ctx context.Context) (err error) {
	r.saved, err = r.copy(ctx)
	return err
}

// RestartEmpty restarts the server, and deletes the cell's keys.
func (r *Restartable) RestartEmpty(ctx context.Context) error { return r.restart(ctx, nil) }

// RestartSaved restarts the server, and puts the cell's keys back as they were saved.
func (r *Restartable) RestartSaved(ctx context.Context) error { return r.restart(ctx, r.saved) }

func (r *Restartable) restart(ctx context.Context, left []copied) error {
	if err := r.stop(ctx); err != nil {
		return err
	}
	return r.start(ctx, left)
}

// Stop ends the server. What the cell's keys were they will be again.
func (r *Restartable) Stop(ctx context.Context) (err error) {
	if r.kept, err = r.copy(ctx); err != nil {
		return err
	}
	return r.stop(ctx)
}

// StartAgain starts it.
func (r *Restartable) StartAgain(ctx context.Context) error {
	if !r.down {
		return daemon.ErrNotDown
	}
	return r.start(ctx, r.kept)
}

// Close starts a server that is down, and leaves it alone otherwise.
func (r *Restartable) Close() error {
	if !r.down {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), daemon.Patience+upTime)
	defer cancel()
	return r.start(ctx, nil)
}

// stop runs the command, and waits until nobody answers.
func (r *Restartable) stop(ctx context.Context) error {
	r.down = true // whatever comes of it: the command may have got half-way
	if err := r.Run(ActionStop); err != nil {
		return err
	}
	// An ask must not end by this bound: a connection whose time is over may report it before the context does, as if nobody answered.
	for until := time.Now().Add(downTime); r.at.Answers(ctx); {
		if time.Now().After(until) {
			return fmt.Errorf("redis at %s: %v after the command to stop it has ended well, it still answers", r.at, downTime)
		}
		if err := daemon.Pause(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// start runs the command, waits until another process answers than before, and gives the cell's keys what is left of them.
func (r *Restartable) start(ctx context.Context, left []copied) error {
	if err := r.Run(ActionStart); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	var now Identity
	for {
		_, err := ask(ctx, r.at)
		if err == nil {
			if now, err = r.Identity(ctx); err == nil && now.RunID == "" {
				err = errors.New("INFO server tells no run_id")
			}
		}
		if err == nil {
			break
		}
		if daemon.Pause(ctx) != nil {
			return fmt.Errorf("redis at %s: %v after the command to start it has ended well, it does not answer: %w", r.at, upTime, err)
		}
	}
	r.down = false
	if err := r.replace(ctx, left); err != nil {
		return err
	}
	r.Up(now)
	return nil
}

// Answers says whether a Redis answers there, be it with an error. A proxy before one that is down may take connections.
func (e Endpoint) Answers(ctx context.Context) bool {
	_, err := ask(ctx, e)
	var (
		refused redis.Error
		out     *DeniedError
	)
	return err == nil || errors.As(err, &refused) || errors.As(err, &out)
}

// copy reads the cell's keys.
func (r *Restartable) copy(ctx context.Context) (all []copied, err error) {
	keys := r.Keys()
	own := map[string]bool{}
	for _, key := range r.Expiring(keys) {
		own[key] = true
	}
	err = with(ctx, r.at, func(client redisclient.Client) error {
		for _, key := range keys {
			dump, err := client.Dump(ctx, key).Result()
			if err == redis.Nil {
				continue
			}
			if err != nil {
				return r.at.refusing("DUMP", "the lab", err)
			}
			left, err := client.PTTL(ctx, key).Result()
			if err != nil {
				return err
			}
			one := copied{key: key, dump: dump}
			if left > 0 && own[key] {
				one.ends = time.Now().Add(left)
			}
			all = append(all, one)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("copying the cell's keys at %s: %w", r.at, err)
	}
	return all, nil
}

// replace makes the cell's keys what they were in a copy. Time has gone on for them.
func (r *Restartable) replace(ctx context.Context, by []copied) error {
	if _, err := DeleteKeys(ctx, r.at, r.Keys()); err != nil {
		return err
	}
	err := with(ctx, r.at, func(client redisclient.Client) error {
		for _, one := range by {
			var left time.Duration
			if !one.ends.IsZero() {
				if left = time.Until(one.ends); left <= 0 {
					continue
				}
			}
			if err := client.Restore(ctx, one.key, left, one.dump).Err(); err != nil {
				return r.at.refusing("RESTORE", "the lab", err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("putting the cell's keys back at %s: %w", r.at, err)
	}
	return nil
}

// RunCommand runs the command that starts a server at an address.
func RunCommand(ctx context.Context, command string) error {
	stderr, err := process.Shell(ctx, command)
	if err != nil && stderr != "" {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	return err
}
