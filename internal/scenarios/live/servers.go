package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/live/ledger"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// lockServer is one of a cell's lock servers, behind its tap.
type lockServer struct {
	server.Server
	name string       // "redis", or S1 and so on where there are several
	keys *ledger.Keys // of the cell; nil: the server is the lab's own
	tag  string       // the hash tag of the locks' keys, if the server is a part of a cluster; see play.MasterTag
	part func() error
	tap  *tap.Tap // of the primary, if the server is a group

	cell    *cell
	group   server.Group // nil: the server is one process
	members []*member    // of the group, or of the ensemble
	// ensemble is one of a ZooKeeper, with one tap before all of its servers; nil: it is none.
	ensemble *zookeeper.Ensemble
}

func (s *lockServer) Name() string { return s.name }

// State reads a key on the server.
func (s *lockServer) State(ctx context.Context, key string) (history.State, error) {
	if observable, is := s.Server.(server.Observable); is {
		state, err := observable.State(ctx, key)
		return state, atServer(err)
	}
	state, err := s.stateOf(ctx, key)
	return state, atServer(err)
}

// adopt has the keys that the lab has put back at an address expire again.
func (s *lockServer) adopt() error {
	if s.keys == nil {
		return nil
	}
	return s.tap.Adopt(s.keys.All())
}

func (s *lockServer) replicator() (server.Replicator, error) {
	replicator, ok := s.Server.(server.Replicator)
	if !ok {
		return nil, play.NotApplicable(play.NeedsReplicas)
	}
	return replicator, nil
}

// HoldBack has one of the server's replicas get nothing more.
func (s *lockServer) HoldBack(ctx context.Context) error {
	replicator, err := s.replicator()
	if err != nil {
		return err
	}
	return atServer(s.tap.Exclusively(ctx, func() error { return replicator.HoldBack(ctx) }))
}

// RequireReplica has the server refuse writes while no replica reports.
func (s *lockServer) RequireReplica(ctx context.Context) error {
	replicator, err := s.replicator()
	if err != nil {
		return err
	}
	return atServer(replicator.RequireReplica(ctx))
}

// RefusesWrites says whether the server does.
func (s *lockServer) RefusesWrites(ctx context.Context) (bool, error) {
	replicator, err := s.replicator()
	if err != nil {
		return false, err
	}
	refuses, err := replicator.RefusesWrites(ctx)
	return refuses, atServer(err)
}

func (s *lockServer) migrator() (server.Migrator, error) {
	migrator, ok := s.Server.(server.Migrator)
	if !ok {
		return nil, play.NotApplicable(play.NeedsSlots)
	}
	return migrator, nil
}

func (s *lockServer) stopper() (server.Stopper, error) {
	stopper, ok := s.Server.(server.Stopper)
	if !ok {
		return nil, play.NotApplicable("%s cannot be stopped", s.Describe())
	}
	return stopper, nil
}

// endpoint is how the lab itself gets to the server.
func (s *lockServer) endpoint() redis.Endpoint {
	if remote, is := s.Server.(interface{ Endpoint() redis.Endpoint }); is {
		return remote.Endpoint()
	}
	return redis.Plain(s.Addr())
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (s *lockServer) saver() (server.Saver, error) {
	saver, ok := s.Server.(server.Saver)
	if !ok {
		return nil, play.NotApplicable("%s cannot save its data", s.Describe())
	}
	return saver, nil
}

// Save has the server keep a copy of its data.
func (s *lockServer) Save(ctx context.Context) error {
	saver, err := s.saver()
	if err != nil {
		return err
	}
	return atServer(s.tap.Exclusively(ctx, func() error { return saver.Save(ctx) }))
}

// startResource has the resource at hand: that of the world, or one of the cell's own.
func (c *cell) startResource(ctx context.Context) error {
	if c.own == nil {
		if c.world.resource != nil {
			c.mind(ctx, history.Resource, c.world.resource.Server)
		}
		return nil
	}
	if err := c.own.open(); err != nil {
		return err
	}
	s, part, err := c.startOwn(ctx, filepath.Join(c.dir, serverLog(history.Resource)))
	if err != nil {
		return err
	}
	c.store.at, c.partResource = redis.Plain(s.Addr()), part
	c.mind(ctx, history.Resource, s)
	return nil
}

// startOwn starts a server that only this cell uses. part ends it; embedded ones end with their process.
func (c *cell) startOwn(ctx context.Context, log string) (_ server.Server, part func() error, err error) {
	s, err := c.own.start(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	if c.own.host != nil {
		return s.Server, func() error { return nil }, nil
	}
	return s.Server, s.Close, nil
}

// startUnread starts a lock server whose protocol the tap does not read: no other cell uses it. log is the path at which to link its log.
func (w *World) startUnread(ctx context.Context, log string) (_ server.Server, part func() error, err error) {
	s, err := w.ownLockServer(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := s.LinkLog(log); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s.Server, s.Close, nil
}

// startServers starts the lock servers all at once, each with a tap. The taps share their breakpoints.
func (c *cell) startServers(ctx context.Context) error {
	names := play.ServerNames(c.run.Script, c.run.Traits)
	if c.run.Traits.Library.Masters {
		return c.startMasters(ctx, names)
	}
	servers := make([]*lockServer, len(names))
	errs := atOnce(len(names), func(i int) (err error) {
		s := &lockServer{name: names[i], keys: c.keys, cell: c}
		log := filepath.Join(c.dir, serverLog(s.name))
		switch {
		case c.world.kind.Unread():
			s.Server, s.part, err = c.world.startUnread(ctx, log)
		case c.world.remote != nil && c.world.cfg.Restart != "":
			remote := s.restartable()
			s.Server, s.part = remote, remote.Close
		case c.own != nil && c.world.keeper == nil:
			s.Server, s.part, err = c.startOwn(ctx, log)
		default:
			s.Server, s.part, err = c.world.startServer(ctx, log, faultsServers(c.run.Script))
		}
		if err == nil {
			servers[i] = s
		}
		return err
	})
	c.stage.servers = slices.DeleteFunc(servers, func(s *lockServer) bool { return s == nil })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := c.makeNodes(ctx); err != nil {
		return err
	}
	for _, s := range c.stage.servers {
		var err error
		c.mind(ctx, s.name, s.Server)
		if s.ensemble, _ = s.Server.(*zookeeper.Ensemble); s.ensemble != nil {
			if err = s.meetEnsemble(ctx); err != nil {
				return err
			}
			continue
		}
		if s.group, _ = s.Server.(server.Group); s.group != nil {
			if err = s.meetGroup(ctx); err != nil {
				return err
			}
			continue
		}
		if s.tap, err = c.newTap(ctx, s.name, s.Addr(), c.run.IsLock, c.keys, false); err != nil {
			return err
		}
	}
	return nil
}

// serverLog is the name of the link to a redis-server's log.
func serverLog(name string) string {
	if name == "redis" {
		return "redis-server.log"
	}
	return name + ".log"
}

// stopServers closes taps and servers.
func (c *cell) stopServers() error {
	var errs []error
	for _, s := range c.stage.servers {
		if s.tap != nil && s.group == nil {
			errs = append(errs, s.tap.Close())
		}
		for _, m := range s.members {
			if s.group != nil {
				errs = append(errs, m.tap.Close())
			}
		}
	}
	errs = append(errs, c.removeNodes())
	for _, s := range c.stage.servers {
		errs = append(errs, s.part())
	}
	if c.partResource != nil {
		errs = append(errs, c.partResource())
	}
	return errors.Join(errs...)
}
