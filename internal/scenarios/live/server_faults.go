package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// serverEffect is what a fault does to a server, while no command is in flight there. It returns when that has been observed, with what the
// catalogue does not say of it; an Ending if this server cannot have it.
type serverEffect struct {
	begin func(context.Context, *lockServer, play.ServerFault) (evidence string, err error)
	end   func(context.Context, *lockServer) error
}

// serverEffects are the faults that a server can have.
func serverEffects() map[faults.Kind]serverEffect {
	return map[faults.Kind]serverEffect{
		faults.ClockJump:     {begin: jumpClock},
		faults.Operator:      {begin: limitLock},
		faults.Restart:       {begin: restartEmpty},
		faults.FailOver:      {begin: restartSaved},
		faults.TakeOver:      {begin: takeOver},
		faults.SplitBrain:    {begin: split, end: demote},
		faults.SlotMigration: {begin: migrate, end: migrated},
		faults.Down:          {begin: stop, end: startAgain},
		faults.SlowServer: {
			begin: func(ctx context.Context, s *lockServer, f play.ServerFault) (string, error) {
				return "", s.slow(ctx, f.By)
			},
			end: func(ctx context.Context, s *lockServer) error { return s.slow(ctx, 0) },
		},
	}
}

// Cause causes a fault of the server while no command is in flight there.
func (s *lockServer) Cause(ctx context.Context, f play.ServerFault) (evidence string, err error) {
	effect, can := serverEffects()[f.Kind]
	if !can {
		return "", fmt.Errorf("%s is no fault of a server", f.Kind)
	}
	do := func() error {
		evidence, err = effect.begin(ctx, s, f)
		return err
	}
	defer s.rename()
	if !f.Kind.Of().Breaks {
		err = s.tap.Exclusively(ctx, do)
	} else if err = s.breaking(ctx, s.tap, s.Addr(), do); err == nil && f.Kind != faults.Down {
		err = s.adopt()
	}
	return evidence, atServer(err)
}

// Recover ends a fault of the server.
func (s *lockServer) Recover(ctx context.Context, kind faults.Kind) error {
	end := serverEffects()[kind].end
	if end == nil {
		return fmt.Errorf("no server recovers from %s", kind)
	}
	defer s.rename()
	if err := s.tap.Exclusively(ctx, func() error { return end(ctx, s) }); err != nil || kind != faults.Down {
		return atServer(err)
	}
	return atServer(s.adopt())
}

func jumpClock(ctx context.Context, s *lockServer, f play.ServerFault) (string, error) {
	_, evidence, err := s.jump(ctx, f.By)
	return evidence, wrap("the server's clock", err)
}

// jump has the clock jump for the cell's keys.
func (s *lockServer) jump(ctx context.Context, by time.Duration) (moved int, evidence string, err error) {
	if s.keys == nil {
		return redis.JumpClock(ctx, s.Addr(), 0, by)
	}
	return redis.JumpClockOf(ctx, s.endpoint(), s.tap.Expiring(s.keys.All()), by)
}

func limitLock(ctx context.Context, s *lockServer, f play.ServerFault) (string, error) {
	return s.limit(ctx, f.Key, f.By)
}

func restartEmpty(ctx context.Context, s *lockServer, _ play.ServerFault) (string, error) {
	restarter, ok := s.Server.(server.Restarter)
	if !ok {
		return "", play.NotApplicable("%s cannot be restarted", s.Describe())
	}
	return "", wrap("restarting the server", restarter.RestartEmpty(ctx))
}

func restartSaved(ctx context.Context, s *lockServer, _ play.ServerFault) (string, error) {
	saver, err := s.saver()
	if err != nil {
		return "", err
	}
	return "", wrap("restarting the server", saver.RestartSaved(ctx))
}

func takeOver(ctx context.Context, s *lockServer, f play.ServerFault) (string, error) {
	replicator, err := s.replicator()
	if err != nil {
		return "", err
	}
	return "", wrap("failing over", replicator.TakeOver(ctx, f.Held))
}

func split(ctx context.Context, s *lockServer, f play.ServerFault) (string, error) {
	replicator, err := s.replicator()
	if err != nil {
		return "", err
	}
	old, err := replicator.Split(ctx)
	if err != nil {
		return "", wrap("splitting", err)
	}
	s.tap.Divert(func(client string) bool { return slices.Contains(f.Without, history.ProcessOf(client)) }, old, history.OldPrimary)
	return "", nil
}

// demote has the old primary answer nobody any more.
func demote(ctx context.Context, s *lockServer) error {
	replicator, err := s.replicator()
	if err != nil {
		return err
	}
	s.tap.Divert(nil, "", "")
	return wrap("the old primary", replicator.Demote(ctx))
}

func migrate(ctx context.Context, s *lockServer, f play.ServerFault) (string, error) {
	migrator, err := s.migrator()
	if err != nil {
		return "", err
	}
	moved, left, err := migrator.Migrate(ctx, func(key string) bool { return !f.LockOnly || s.cell.run.IsLock(key) })
	s.rename() // before a client can follow the slot
	return fmt.Sprintf("of the slot's keys %d are on another primary and %d on the old one, which answers ASK", moved, left), wrap("migrating the slot", err)
}

// migrated has the primary that has the keys own their slot.
func migrated(ctx context.Context, s *lockServer) error {
	migrator, err := s.migrator()
	if err != nil {
		return err
	}
	return wrap("migrating the slot", migrator.Migrated(ctx))
}

func stop(ctx context.Context, s *lockServer, _ play.ServerFault) (string, error) {
	stopper, err := s.stopper()
	if err != nil {
		return "", err
	}
	return "", wrap("stopping the server", stopper.Stop(ctx))
}

// slow has the server, or each process of a group, take so long for each request.
func (s *lockServer) slow(ctx context.Context, each time.Duration) error {
	err := s.tap.Slow(ctx, each)
	for _, m := range s.members {
		err = errors.Join(err, m.tap.Slow(ctx, each))
	}
	return err
}

func startAgain(ctx context.Context, s *lockServer) error {
	stopper, err := s.stopper()
	if err != nil {
		return err
	}
	return wrap("starting the server again", stopper.StartAgain(ctx))
}
