package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// Cluster is a Redis Cluster of three primaries with a replica each, all processes of the lab. The primary that it is asked for is the one
// that has the slot of ClusterTag, and so all keys with that tag. To save its data is to hold the replication of that primary, and to restart as
// saved is to kill it and have its replica take over (CLUSTER FAILOVER TAKEOVER); the old primary comes back as a replica. Its methods may be
// called by several goroutines at once.
type Cluster struct {
	guard   *process.Guard
	network *network.Network
	options Options
	*daemon.Fate

	mu      sync.Mutex
	nodes   []*clusterNode
	started int
	broken  bool       // a failover or a migration has failed half-way
	moving  *migration // of the slot; nil: it is where all nodes say
}

// clusterNode is a process. Others know it by the address of its link.
type clusterNode struct {
	*Server
	id    string
	front *network.Link     // to it, from replicas
	held  *network.Injected // what holds the front; nil: nothing does
}

// ClusterTag is the hash tag of the keys that clients use: they are all on one primary.
const ClusterTag = "{lab}"

// The nodes of a cluster: the primaries come first.
const (
	clusterPrimaries = 3
	clusterNodes     = 2 * clusterPrimaries
	slots            = 16384
)

// ofCluster are the arguments of a node. No replica takes over by itself: on a busy machine one would.
var ofCluster = slices.Concat(ofReplication, []string{
	"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-replica-no-failover", "yes", "--cluster-replica-validity-factor", "0",
	"--cluster-require-full-coverage", "no",
})

// StartCluster starts the processes, with links through the network, and returns once each knows the others and takes writes. The context
// bounds the start only.
func StartCluster(ctx context.Context, guard *process.Guard, links *network.Network, options Options) (*Cluster, error) {
	c := &Cluster{guard: guard, network: links, options: options, Fate: daemon.NewFate()}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a cluster: %w", err), c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, server.SettleTime)
	defer cancel()
	for range clusterNodes {
		if err := c.addNode(ctx); err != nil {
			return err
		}
	}
	for i, n := range c.nodes[:clusterPrimaries] {
		from, to := i*slots/clusterPrimaries, (i+1)*slots/clusterPrimaries-1
		if err := n.do(ctx, "CLUSTER", "ADDSLOTSRANGE", from, to); err != nil {
			return fmt.Errorf("which Redis can since version 7: %w", err)
		}
	}
	// Two primaries of one epoch settle that between them, whenever they meet: one takes an epoch above all others. A primary that comes back from a
	// failover would so get its slots back. With epochs of their own from the start, none has a reason to.
	for i, n := range c.nodes {
		if err := n.do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1); err != nil {
			return err
		}
	}
	first := c.nodes[0]
	host, port, _ := net.SplitHostPort(first.Addr())
	for _, n := range c.nodes[1:] {
		if err := n.do(ctx, "CLUSTER", "MEET", host, port, busPort(port)); err != nil {
			return err
		}
	}
	if err := c.await(ctx, func(about map[string]string) bool { return about["cluster_known_nodes"] == strconv.Itoa(clusterNodes) }); err != nil {
		return err
	}
	for i, n := range c.nodes[clusterPrimaries:] {
		if err := n.do(ctx, "CLUSTER", "REPLICATE", c.nodes[i].id); err != nil {
			return err
		}
	}
	return c.settle(ctx, ClusterTag)
}

// busPort is the port of a node's cluster bus.
func busPort(port string) string {
	n, _ := strconv.Atoi(port)
	return strconv.Itoa(n + 2*daemon.PortCount)
}

// announced is the address by which others know a process, as its link has it.
func announced(front *network.Link) (host, port string) {
	host, port, _ = net.SplitHostPort(front.Addr())
	return host, port
}

func (c *Cluster) addNode(ctx context.Context) (err error) {
	n := &clusterNode{}
	options := c.options
	options.Args, options.cluster, options.fate = ofCluster, true, c.Fate
	if c.started++; c.started > 1 && options.Log != "" {
		options.Log = daemon.Numbered(options.Log, c.started)
	}
	if n.Server, err = Start(ctx, c.guard, options); err != nil {
		return err
	}
	c.nodes = append(c.nodes, n)
	if n.front, err = c.network.Link(ctx, "cluster-"+portOf(n.Addr()), n.Addr(), nil); err != nil {
		return err
	}
	host, port := announced(n.front)
	bus := busPort(portOf(n.Addr()))
	n.options.Args = append(slices.Clone(n.options.Args), "--cluster-announce-ip", host, "--cluster-announce-port", port, "--cluster-announce-bus-port", bus)
	if err = n.do(ctx, "CONFIG", "SET", "cluster-announce-ip", host, "cluster-announce-port", port, "cluster-announce-bus-port", bus); err != nil {
		return err
	}
	return patiently(ctx, n.Addr(), func(client redisclient.Client) error {
		n.id, err = client.Do(ctx, "CLUSTER", "MYID").Text()
		return err
	})
}

// await waits until all nodes say so of the cluster.
func (c *Cluster) await(ctx context.Context, done func(map[string]string) bool) error {
	for _, n := range c.nodes {
		for {
			about := map[string]string{}
			err := patiently(ctx, n.Addr(), func(client redisclient.Client) error {
				text, err := client.ClusterInfo(ctx).Result()
				readFacts(about, text)
				return err
			})
			if err == nil && done(about) {
				break
			}
			if ended := daemon.Pause(ctx); ended != nil {
				return fmt.Errorf("a node of the cluster is not ready: %v: %w", about, errors.Join(ended, err))
			}
		}
	}
	return nil
}

// settle waits until all nodes agree on who has the slots, each primary has a replica that follows, and all take commands.
func (c *Cluster) settle(ctx context.Context, tag string) error {
	if err := c.await(ctx, func(about map[string]string) bool {
		return about["cluster_state"] == "ok" && about["cluster_slots_ok"] == strconv.Itoa(slots)
	}); err != nil {
		return err
	}
	for {
		primary, err := c.primary(ctx, tag)
		if err != nil {
			return err
		}
		following, agreed := 0, true
		for _, n := range c.nodes {
			about, err := replication(ctx, n.Addr())
			if err == nil && about["role"] == "slave" && about["master_link_status"] == "up" {
				following++
			}
			owner, err := c.ownerBy(ctx, n, tag)
			agreed = agreed && err == nil && owner == primary.front.Addr()
		}
		if agreed && following == clusterPrimaries {
			return nil
		}
		if err := daemon.Pause(ctx); err != nil {
			return fmt.Errorf("%d replicas of the cluster follow, and all nodes name the same primary: %v: %w", following, agreed, err)
		}
	}
}

// ownerBy is the announced address of the primary of a tag's slot, as a node has it.
func (c *Cluster) ownerBy(ctx context.Context, n *clusterNode, tag string) (addr string, err error) {
	err = patiently(ctx, n.Addr(), func(client redisclient.Client) error {
		slot, err := client.ClusterKeySlot(ctx, tag).Result()
		if err != nil {
			return err
		}
		all, err := client.ClusterShards(ctx).Result()
		for _, shard := range all {
			has := slices.ContainsFunc(shard.Slots, func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End })
			for _, node := range shard.Nodes {
				if has && node.Role == "master" && node.Health == "online" {
					addr = net.JoinHostPort(node.IP, strconv.FormatInt(node.Port, 10))
				}
			}
		}
		return err
	})
	return addr, err
}

// primary is the node that takes writes of a tag's slot, by its own account, or to which the slot is migrating.
func (c *Cluster) primary(ctx context.Context, tag string) (*clusterNode, error) {
	if c.moving != nil && tag == ClusterTag {
		return c.moving.to, nil
	}
	for _, n := range c.nodes {
		if n.IsDown() {
			continue
		}
		if owner, err := c.ownerBy(ctx, n, tag); err != nil || owner == n.front.Addr() {
			return n, err
		}
	}
	return nil, errors.New("no node of the cluster has the slot")
}

// replicaOf is the replica of a primary, by its own account.
func (c *Cluster) replicaOf(ctx context.Context, primary *clusterNode) (*clusterNode, error) {
	for _, n := range c.nodes {
		about, err := replication(ctx, n.Addr())
		if err != nil {
			return nil, err
		}
		if about["role"] == "slave" && net.JoinHostPort(about["master_host"], about["master_port"]) == primary.front.Addr() {
			return n, nil
		}
	}
	return nil, errors.New("the primary has no replica")
}

// letGo ends the hold of the front, if there is one.
func (n *clusterNode) letGo(ctx context.Context) error {
	held := n.held
	if held == nil {
		return nil
	}
	n.held = nil
	_, err := held.Recover(ctx)
	return err
}

// Reset returns the primaries to the state after their start.
func (c *Cluster) Reset(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	if c.broken || c.moving != nil || slices.ContainsFunc(c.nodes, func(n *clusterNode) bool { return n.held != nil }) {
		return errors.New("reset a cluster: a link is held, a slot is migrating, or a failover has failed")
	}
	for _, n := range c.nodes {
		about, err := replication(ctx, n.Addr())
		if err == nil && about["role"] == "master" {
			err = n.Server.Reset(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// of is the part of the cluster that has the slot of ClusterTag.
func (c *Cluster) of() *Shard { return c.Shard(ClusterTag) }

// Addr is where the primary of ClusterTag's slot listens.
func (c *Cluster) Addr() string { return c.of().Addr() }

// Save is Shard.Save of ClusterTag.
func (c *Cluster) Save(ctx context.Context) error { return c.of().Save(ctx) }

// RestartSaved is Shard.RestartSaved of ClusterTag.
func (c *Cluster) RestartSaved(ctx context.Context) error { return c.of().RestartSaved(ctx) }

// RestartEmpty is Shard.RestartEmpty of ClusterTag.
func (c *Cluster) RestartEmpty(ctx context.Context) error { return c.of().RestartEmpty(ctx) }

// Nodes are all processes, in an order that does not change.
func (c *Cluster) Nodes() []server.Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]server.Member, len(c.nodes))
	for i, n := range c.nodes {
		all[i] = server.Member{Addr: n.Addr(), Announced: n.front.Addr()}
	}
	return all
}

// Describe says what it is, with its version.
func (c *Cluster) Describe() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s %s as a cluster of three primaries and three replicas (started by the lab)", binary, c.nodes[0].version)
}

// Close ends all processes and their links. Later calls do nothing.
func (c *Cluster) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.Server.Close())
		if n.front != nil {
			errs = append(errs, n.front.Close())
		}
	}
	return errors.Join(errs...)
}
