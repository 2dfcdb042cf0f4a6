// Package service is the kinds of server that a run can be on: how the lab starts each, what a script needs that it does not have, and what its clients
// must know of it.
//
// It owns the table of kinds, and the servers that no cell uses. It must not know cells, clients or taps at work.
package service

import (
	"context"
	"slices"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/etcd"
	"github.com/locklab/locklab/internal/faults/server/postgres"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// The names of the kinds that the lab starts.
const (
	Embedded    = "embedded"
	RedisServer = "redis-server"
	Replicated  = play.OnReplicas // a redis-server with replicas
	Cluster     = play.OnCluster  // a Redis Cluster
	ZooKeeper   = play.OnZooKeeper
	Ensemble    = play.OnEnsemble // a ZooKeeper of three servers
	Etcd        = "etcd"          // for clients of one's own
	Postgres    = "postgres"      // the same
)

// Kind is a kind of lock server. Whatever a kind does not say, a redis-server by itself does.
type Kind struct {
	Name string
	// Start starts one. nil: it runs at an address.
	Start func(ctx context.Context, on Machine, options redis.Options) (server.Server, error)
	// Lacks says what a script needs that a lock on it, its client or the lab does not have, or "".
	Lacks func(script *scenarios.Script, traits play.Traits) string
	// Scheme is before its address where clients get that, since it is no Redis.
	Scheme string
	// Embeds: the data that locks protect are on an embedded Redis.
	Embeds bool
	// Linked: its processes reach each other by links of the lab.
	Linked bool
	// Slots: its keys are in slots, of which the lab uses that of redis.ClusterTag, and clients find by themselves who has it.
	Slots bool
	// Members: scripts can name its servers, and each has a log of its own.
	Members bool
	// Prepare looks for what is not a Redis before the first cell, and says what it is.
	Prepare func(ctx context.Context, on *Machine) (described string, err error)
}

// Machine is what servers are started with.
type Machine struct {
	Guard *process.Guard
	Links *network.Network // from replicas to primaries; nil: the kind has none
	Host  *redis.Host      // of embedded servers; nil: there are none
	Home  *postgres.Home   // of PostgreSQL; nil: there is none
}

// Close ends what Prepare and its owner have opened, but for the guard.
func (m *Machine) Close() []error {
	var errs []error
	if m.Links != nil {
		errs = append(errs, m.Links.Close())
	}
	if m.Host != nil {
		errs = append(errs, m.Host.Close())
	}
	if m.Home != nil {
		errs = append(errs, m.Home.Close())
	}
	return errs
}

// kinds are those that the lab starts, in the order in which users read them.
func kinds() []Kind {
	return []Kind{
		{Name: Embedded, Start: startEmbedded, Lacks: lacksReplicas, Embeds: true},
		{Name: RedisServer, Start: startRedis, Lacks: lacksReplicas},
		{Name: Replicated, Start: startReplicated, Lacks: func(script *scenarios.Script, traits play.Traits) string { return traits.Lack(script, nil) }, Linked: true},
		{Name: Cluster, Start: startCluster, Lacks: lacksOnCluster, Linked: true, Slots: true},
		{Name: ZooKeeper, Start: startZooKeeper, Lacks: lacksOnKeeper, Scheme: protocol.ZooKeeperScheme, Embeds: true},
		{Name: Ensemble, Start: startEnsemble, Lacks: lacksOnKeeper, Scheme: protocol.ZooKeeperScheme, Embeds: true, Linked: true, Members: true},
		{Name: Etcd, Start: startEtcd, Lacks: unread(Etcd), Scheme: protocol.EtcdScheme, Embeds: true, Prepare: findEtcd},
		{Name: Postgres, Start: startPostgres, Lacks: unread(Postgres), Scheme: protocol.PostgresScheme, Embeds: true, Prepare: openPostgres},
	}
}

func unread(what string) func(*scenarios.Script, play.Traits) string {
	return func(script *scenarios.Script, traits play.Traits) string { return lacksUnread(what, script, traits) }
}

// Names are those of the kinds that the lab starts.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Of is the kind that has a name, or that runs at an address. restarts: the user has a command that restarts a Redis there.
func Of(name string, restarts bool) Kind {
	all := kinds()
	if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return all[i]
	}
	if _, is := zookeeper.Addr(name); is {
		return Kind{Lacks: lacksOnKeeper, Scheme: protocol.ZooKeeperScheme, Embeds: true}
	}
	return Kind{Embeds: restarts, Lacks: func(script *scenarios.Script, traits play.Traits) string {
		return lacksAtAddress(restarts, script, traits)
	}}
}

// Own says whether the lab starts it.
func (k Kind) Own() bool { return k.Start != nil }

// OnZooKeeper says whether it is a ZooKeeper.
func (k Kind) OnZooKeeper() bool { return k.Scheme == protocol.ZooKeeperScheme }

// Unread says whether the tap does not read what clients send to it.
func (k Kind) Unread() bool { return k.Prepare != nil }

// started is what a kind's own type becomes: a nil pointer with its error would be no nil Server.
func started[S server.Server](s S, err error) (server.Server, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func startEmbedded(ctx context.Context, on Machine, _ redis.Options) (server.Server, error) {
	return started(on.Host.Start(ctx))
}

func startRedis(ctx context.Context, on Machine, options redis.Options) (server.Server, error) {
	return started(redis.Start(ctx, on.Guard, options))
}

func startReplicated(ctx context.Context, on Machine, options redis.Options) (server.Server, error) {
	return started(redis.StartReplicated(ctx, on.Guard, on.Links, options))
}

func startCluster(ctx context.Context, on Machine, options redis.Options) (server.Server, error) {
	return started(redis.StartCluster(ctx, on.Guard, on.Links, options))
}

func startZooKeeper(ctx context.Context, on Machine, options redis.Options) (server.Server, error) {
	return started(zookeeper.Start(ctx, on.Guard, options.Log))
}

func startEnsemble(ctx context.Context, on Machine, options redis.Options) (server.Server, error) {
	return started(zookeeper.StartEnsemble(ctx, on.Guard, on.Links, options.Log))
}

func startEtcd(ctx context.Context, on Machine, options redis.Options) (server.Server, error) {
	return started(etcd.Start(ctx, on.Guard, options.Log))
}

func startPostgres(ctx context.Context, on Machine, options redis.Options) (server.Server, error) {
	return started(on.Home.Start(ctx, options.Log))
}

func findEtcd(context.Context, *Machine) (string, error) {
	_, version, err := etcd.Find()
	return "etcd " + version + " (started by the lab)", err
}

func openPostgres(ctx context.Context, on *Machine) (_ string, err error) {
	if on.Home, err = postgres.Open(ctx, on.Guard); err != nil {
		return "", err
	}
	return on.Home.Describe(), nil
}
