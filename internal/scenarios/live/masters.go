package live

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// startMasters starts a cluster. Each lock server is the part of it that has one of the lock's keys.
func (c *cell) startMasters(ctx context.Context, names []string) error {
	whole, part, err := c.world.startServer(ctx, filepath.Join(c.dir, serverLog("cluster")), true)
	if err != nil {
		return err
	}
	for i, name := range names {
		tag := play.MasterTag(i)
		c.stage.servers = append(c.stage.servers, &lockServer{Server: whole.(*redis.Cluster).Shard(tag), name: name, tag: tag, cell: c, part: func() error { return nil }})
	}
	c.stage.servers[len(names)-1].part = part // it is called last
	for _, s := range c.stage.servers {
		c.mind(ctx, s.name, s.Server)
		s.group = s.Server.(server.Group)
		if err := s.meetGroup(ctx); err != nil {
			return err
		}
	}
	return nil
}

// serverCalled is the lock server of that name, or nil.
func (c *cell) serverCalled(name string) *lockServer {
	i := slices.IndexFunc(c.stage.servers, func(s *lockServer) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return c.stage.servers[i]
}

// retag has a tap watch the keys with the tag. In the history a lock has one name, whichever of its keys a command names.
func (s *lockServer) retag(cfg *tap.Config) {
	watch, record := cfg.Watch, cfg.Record
	cfg.Watch = func(key string) bool {
		bare, ok := strings.CutPrefix(key, s.tag)
		return ok && watch != nil && watch(bare)
	}
	cfg.Record = func(e history.Event) {
		e.Lock = strings.TrimPrefix(e.Lock, s.tag)
		for i := range e.Command().Changes {
			change := &e.Command().Changes[i]
			change.Key = strings.TrimPrefix(change.Key, s.tag)
		}
		record(e)
	}
}
