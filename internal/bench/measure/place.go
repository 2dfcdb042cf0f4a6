// Package measure measures: it starts servers and clients, has the clients use locks, and counts and times what they do. Nothing lies between a
// client and its server.
//
// It owns the servers, clients and processes of a measurement. It must not know what the figures mean or how they are shown: package bench
// has them.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/etcd"
	"github.com/locklab/locklab/internal/faults/server/postgres"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/internal/worker"
)

// The servers that Config.Server can name. A measurement floods its servers, so there are none at an address.
const (
	Embedded    = "embedded"
	RedisServer = "redis-server"
)

// Config says where to measure.
type Config struct {
	Guard  []string // the command that runs the guard of processes
	Host   []string // the command that runs server.HostMain
	Client []string // the command that runs ClientMain with the same locks
	Server string   // Embedded or RedisServer; empty: the latter where the machine has it
	// Tell is told how far the measurement has come, one call at a time; nil: nobody is.
	Tell func(Progress)
}

// Progress is how far a measurement has come.
type Progress struct {
	Step, Steps int    // the step under way, from 1, of how many
	What        string // that step
	Took, Left  time.Duration
}

// Place is where measurements take place. One goroutine uses it.
type Place struct {
	cfg     Config
	guard   *process.Guard
	host    *redis.Host
	servers []server.Server
	keeper  *zookeeper.Server // nil: no lock has needed one so far
	etcd    *etcd.Server      // the same
	home    *postgres.Home
	pg      *postgres.Server // the same
	keys    atomic.Int64
}

// Open starts a server. After an error nothing is left running.
func Open(ctx context.Context, cfg Config) (_ *Place, err error) {
	p := &Place{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.guard, err = process.StartGuard(cfg.Guard); err != nil {
		return nil, err
	}
	switch cmp.Or(cfg.Server, usual()) {
	case Embedded:
		p.host, err = redis.StartHost(p.guard, cfg.Host, 0)
	case RedisServer:
	default:
		err = fmt.Errorf("unknown server %q; a measurement takes %s or %s", cfg.Server, Embedded, RedisServer)
	}
	if err != nil {
		return nil, err
	}
	_, err = p.addrs(ctx, 1)
	return p, err
}

// usual is the best server that this machine has.
func usual() string {
	if _, _, err := redis.Find(); err == nil {
		return RedisServer
	}
	return Embedded
}

// Describe says what the servers are that have been needed so far.
func (p *Place) Describe() string {
	what := p.servers[0].Describe()
	for _, s := range p.services() {
		what += "; " + s.Describe()
	}
	return what
}

// services are the servers of other kinds that have been needed so far.
func (p *Place) services() (all []server.Server) {
	if p.keeper != nil {
		all = append(all, p.keeper)
	}
	if p.etcd != nil {
		all = append(all, p.etcd)
	}
	if p.pg != nil {
		all = append(all, p.pg)
	}
	return all
}

// Lacks says why a lock cannot be measured on this machine, or "".
func Lacks(spec impls.Spec) string {
	switch spec.Needs {
	case impls.Replicas, impls.Masters:
		return "the lab measures locks on servers without replicas"
	case impls.OneZooKeeper:
		if _, _, err := zookeeper.Find(); err != nil {
			return err.Error()
		}
	case impls.OneEtcd:
		if _, _, err := etcd.Find(); err != nil {
			return err.Error()
		}
	case impls.OnePostgres:
		if _, _, err := postgres.Find(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Close ends everything that was started.
func (p *Place) Close() error {
	var errs []error
	for _, s := range slices.Concat(p.servers, p.services()) {
		errs = append(errs, s.Close())
	}
	if p.home != nil {
		errs = append(errs, p.home.Close())
	}
	if p.host != nil {
		errs = append(errs, p.host.Close())
	}
	if p.guard != nil {
		errs = append(errs, p.guard.Close())
	}
	return errors.Join(errs...)
}

// addrs are the addresses of n servers, which it starts as needed.
func (p *Place) addrs(ctx context.Context, n int) ([]string, error) {
	for len(p.servers) < n {
		s, err := p.start(ctx)
		if err != nil {
			return nil, err
		}
		p.servers = append(p.servers, s)
	}
	var addrs []string
	for _, s := range p.servers[:n] {
		addrs = append(addrs, s.Addr())
	}
	return addrs, nil
}

func (p *Place) start(ctx context.Context) (server.Server, error) {
	if p.host == nil {
		s, err := redis.Start(ctx, p.guard, redis.Options{})
		if err != nil {
			return nil, err // s is a nil pointer, and as a Server would not be nil
		}
		return s, nil
	}
	s, err := p.host.Start(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// site is where a lock is: nothing else uses its key.
type site struct {
	addrs []string
	key   string
}

// siteOf finds a place for a lock, on servers that it starts as needed.
func (p *Place) siteOf(ctx context.Context, spec impls.Spec, what string) (site, error) {
	switch spec.Needs {
	case impls.OneZooKeeper:
		return p.node(ctx, what)
	case impls.OneEtcd:
		return p.prefix(ctx, what)
	case impls.OnePostgres:
		return p.row(ctx, what)
	}
	addrs, err := p.addrs(ctx, max(1, spec.Servers))
	return site{addrs, p.newKey(what)}, err
}

// node makes a node for a lock.
func (p *Place) node(ctx context.Context, what string) (site, error) {
	if p.keeper == nil {
		keeper, err := zookeeper.Start(ctx, p.guard, "")
		if err != nil {
			return site{}, err
		}
		p.keeper = keeper
	}
	key := fmt.Sprintf("/bench-%s-%d", what, p.keys.Add(1))
	err := zookeeper.MakeNodes(ctx, p.keeper.Addr(), []string{key})
	return site{[]string{worker.ZooKeeperAddr(p.keeper.Addr())}, key}, err
}

// prefix finds a prefix of keys for a lock on an etcd.
func (p *Place) prefix(ctx context.Context, what string) (site, error) {
	if p.etcd == nil {
		etcd, err := etcd.Start(ctx, p.guard, "")
		if err != nil {
			return site{}, err
		}
		p.etcd = etcd
	}
	return site{[]string{worker.EtcdAddr(p.etcd.Addr())}, p.newKey(what)}, nil
}

// row finds a name for a lock in a PostgreSQL.
func (p *Place) row(ctx context.Context, what string) (_ site, err error) {
	if p.home == nil {
		if p.home, err = postgres.Open(ctx, p.guard); err != nil {
			return site{}, err
		}
	}
	if p.pg == nil {
		if p.pg, err = p.home.Start(ctx, ""); err != nil {
			return site{}, err
		}
	}
	return site{[]string{worker.PostgresAddr(p.pg.Addr())}, p.newKey(what)}, nil
}

// newKey is a key that nothing else uses: what a cell leaves behind does not disturb the next.
func (p *Place) newKey(what string) string { return fmt.Sprintf("bench:%s:%d", what, p.keys.Add(1)) }

// dial connects n clients, each with connections of its own. The caller closes them, also after an error.
func dial(ctx context.Context, n int, addrs []string) ([]*worker.Client, error) {
	var clients []*worker.Client
	for range n {
		c, err := worker.Dial(ctx, addrs...)
		if err != nil {
			return clients, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func hangUp(clients []*worker.Client) error {
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// find is a built-in lock.
func find(name string) (impls.Spec, error) {
	spec, found := impls.Find(name)
	if !found {
		return spec, fmt.Errorf("unknown lock %q", name)
	}
	return spec, nil
}

// wayOf is the way to wait of a name, for the client of a number: each backs off from a seed of its own, or else all would do so in step. The
// empty name is the lock's own way.
func wayOf(name string, lock impls.Lock, client int) (waiting.Way, error) {
	way, why := waiting.For(ownSeed(name, client), lock)
	if why != "" {
		return nil, fmt.Errorf("waiting by %q: %s", name, why)
	}
	return way, nil
}

// ownSeed adds the number of a client to the seed of a back-off.
func ownSeed(way string, client int) string {
	last := strings.LastIndex(way, ",")
	if !strings.HasPrefix(way, "backoff:") || last < 0 {
		return way
	}
	seed, err := strconv.ParseUint(way[last+1:], 10, 64)
	if err != nil {
		return way // waiting.For says what is wrong with it
	}
	return way[:last+1] + strconv.FormatUint(seed+uint64(client), 10)
}

// CannotWait says why a lock cannot be waited for in a way, or "".
func CannotWait(spec impls.Spec, way string) string {
	_, why := waiting.For(way, spec.New(nil, impls.Options{}))
	return why
}

// lease is long enough that none ends during a measurement without pauses.
const lease = time.Minute
