// Package live is the live world: every client a process of its own, every link a toxiproxy proxy and a tap, every server a real one or
// miniredis.
//
// It owns processes, links and servers from cell to cell, and the effects that package play orders. It must not know the order of a
// script's steps or a verdict.
package live

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/internal/scenarios/live/clients"
	"github.com/locklab/locklab/internal/scenarios/live/ledger"
	"github.com/locklab/locklab/internal/scenarios/live/service"
	"github.com/locklab/locklab/internal/scenarios/live/stalls"

	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// The servers that Config.Server can name; anything else is the address of a running one.
const (
	Embedded    = service.Embedded
	RedisServer = service.RedisServer
	Replicated  = service.Replicated
	Cluster     = service.Cluster
	ZooKeeper   = service.ZooKeeper
	Ensemble    = service.Ensemble
	Etcd        = service.Etcd
	Postgres    = service.Postgres
)

// RedisServers are the Redis servers that the lab starts.
func RedisServers() []string { return []string{Embedded, RedisServer, Replicated} }

// ProgramServers are the servers whose protocols the lab does not read, and for which it has no lock itself.
func ProgramServers() []string { return []string{Etcd, Postgres} }

// Servers are all the servers that the lab starts.
func Servers() []string { return service.Names() }

// OnZooKeeper says whether the lock servers are a ZooKeeper, the lab's own or one at an address.
func OnZooKeeper(server string) bool { return service.Of(server, false).OnZooKeeper() }

// Auto as Config.Advertise means the address of this machine on its way to the toxiproxy.
const Auto = "auto"

// Credentials are what a Redis at an address asks for.
type Credentials = redis.Credentials

// Config configures the cells of a run.
type Config struct {
	Dir           string        // for the results; empty: a directory that Close removes
	Guard         []string      // the command that runs GuardMain
	Worker        []string      // the command of the lab's own client process, which knows the run's locks
	Host          []string      // the command that runs server.HostMain
	Server        string        // one of Servers, host:port, the URL of a Redis, or zookeeper://host:port
	Credentials   Credentials   // of a Redis at an address
	Restart       string        // the command that stops and starts such a Redis; empty: it is never restarted
	Outside       []string      // the command that runs process.OutsideMain
	Sends         []string      // the commands of the run's locks, which such a Redis is asked for before the first cell
	Toxiproxy     string        // URL of a running toxiproxy; empty: one inside the lab
	Listen        string        // the host on which the taps listen; empty: loopback
	Advertise     string        // the host by which toxiproxy reaches the taps; empty: the same; Auto: detected
	CellTimeout   time.Duration // after which a cell ends as unknown
	NoStateProbes bool          // no state probes around each command
	AnyCommand    bool          // let clients send any command to a server at an address
	Wait          string        // how clients wait between the tries of an acquire; empty: each lock's own way
	MaxHistory    int64         // bytes that a cell's history may reach by what clients do; zero: 32 MiB, or 960 MiB of a storm
	Alone         bool          // this program starts no other processes: it may adopt orphans (see process.Guard)
}

// World is the live world of one run. Its cells may run concurrently.
type World struct {
	cfg      Config
	kind     service.Kind    // of the lock servers
	machine  service.Machine // its host is that of the lab's own clients
	guard    *process.Guard
	network  *network.Network
	keeper   server.Server  // the ZooKeeper of all cells; nil: the lock servers are Redis
	root     string         // the node below which all others are, on a ZooKeeper at an address; else empty
	first    string         // describes the servers, if the resource is another one
	resource *service.Spare // of the lab's own clients; nil at an address, which holds data and locks
	remote   *redis.Remote
	apart    sync.RWMutex   // a cell that restarts the server at an address has it alone
	ledger   *ledger.Ledger // of the keys at an address; nil: the servers are the lab's own
	prefix   string         // of every key of this run at an address
	commands commands.Table
	names    atomic.Int64
	// starting is the right to start a cell's processes. Few cells have it at a time, because starts are expensive and must not stall the
	// running cells.
	starting chan struct{}
	spares   service.Spares
	pool     *clients.Pool
	pulse    *stalls.Pulse
	memory   *resp.Budget // of what clients make the lab keep, in all cells
}

// Open starts what the cells share. After an error nothing is left running.
func Open(ctx context.Context, cfg Config) (_ *World, err error) {
	if err = enoughFiles(); err != nil {
		return nil, err
	}
	w := &World{cfg: cfg, kind: service.Of(cfg.Server, cfg.Restart != ""), commands: commands.NewTable(), starting: make(chan struct{}, max(1, runtime.NumCPU()/2))}
	w.memory = resp.NewBudget("bytes that the lab keeps for the clients of all cells", maxKeptOfAll)
	w.pulse = stalls.Start()
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if err = w.startGuard(ctx); err != nil {
		return nil, err
	}
	if cfg.Dir == "" {
		if w.cfg.Dir, err = w.guard.TempDir("locklab-run-"); err != nil {
			return nil, err
		}
	}
	// Two runs may have directories of the same name, and share a Redis.
	w.prefix = fmt.Sprintf("locklab:%s:%s:", filepath.Base(w.cfg.Dir), strings.ToLower(rand.Text()[:8]))
	if w.network, err = network.Open(ctx, cfg.Toxiproxy); err != nil {
		return nil, err
	}
	if cfg.Toxiproxy != "" {
		if err = w.guard.Undo(undoProxies, w.network.Where()+" "+w.network.Prefix()); err != nil {
			return nil, err
		}
	}
	if cfg.Advertise == Auto {
		if w.cfg.Advertise, err = ownAddress(cfg.Toxiproxy); err != nil {
			return nil, err
		}
	}
	if w.kind.Linked {
		if w.machine.Links, err = network.Open(ctx, ""); err != nil {
			return nil, err
		}
	}
	if w.kind.Embeds {
		if w.machine.Host, err = redis.StartHost(w.guard, cfg.Host, 0); err != nil {
			return nil, err
		}
	}
	if w.kind.OnZooKeeper() {
		if err = w.findKeeper(ctx); err != nil {
			return nil, err
		}
		w.pulse.Attend(w.keeper)
	}
	if w.startsServers() {
		return w, w.startResource(ctx)
	}
	if err = w.approach(ctx); err == nil && cfg.Restart != "" {
		err = w.prepareRestarts(ctx)
	}
	return w, err
}

// startGuard starts the guard.
func (w *World) startGuard(ctx context.Context) (err error) {
	if w.guard, err = process.StartGuard(w.cfg.Guard); err != nil {
		return err
	}
	w.pool = clients.NewPool(w.guard)
	w.machine.Guard = w.guard
	if w.kind.Prepare != nil { // it runs a program by itself, so before orphans are adopted
		if w.first, err = w.kind.Prepare(ctx, &w.machine); err != nil {
			return err
		}
	}
	if w.cfg.Alone {
		return w.guard.AdoptOrphans()
	}
	return nil
}

// approach makes sure that the server at the address can be used, before the first cell.
func (w *World) approach(ctx context.Context) (err error) {
	at, err := redis.ParseEndpoint(w.cfg.Server, w.cfg.Credentials)
	if err != nil {
		return err
	}
	if w.remote, err = redis.At(ctx, at); err != nil {
		return err
	}
	w.ledger = ledger.New(w.guard, at, w.prefix, w.cfg.AnyCommand, w.commands)
	trial := w.prefix + "trial"
	if err = w.ledger.Note(trial); err != nil {
		return err
	}
	if err = w.remote.Try(ctx, trial, w.cfg.Sends); err != nil {
		w.ledger = nil // there is nothing to delete, or nobody to ask
		return errors.Join(err, w.guard.ForgetUndo(ledger.Undo))
	}
	w.ledger.Delete([]string{trial})
	return nil
}

// Close ends everything that the world has started.
func (w *World) Close() error {
	w.pulse.Close()
	var errs []error
	if w.network != nil {
		errs = append(errs, w.network.Close())
	}
	if w.resource != nil {
		errs = append(errs, w.resource.Close())
	}
	errs = append(errs, w.spares.Close())
	errs = append(errs, w.machine.Close()...)
	if w.keeper != nil {
		errs = append(errs, w.leaveKeeper())
	}
	if w.ledger != nil {
		errs = append(errs, w.ledger.Close())
	}
	if w.remote != nil {
		errs = append(errs, w.remote.Close())
	}
	if w.guard != nil {
		errs = append(errs, w.pool.Close(), w.guard.Close())
	}
	return errors.Join(errs...)
}

// Dir is the directory of the results.
func (w *World) Dir() string { return w.cfg.Dir }

// ServerVersion describes the servers of the cells.
func (w *World) ServerVersion() string {
	switch {
	case w.remote != nil:
		return w.remote.Describe()
	case w.keeper != nil:
		return w.keeper.Describe()
	case w.first != "":
		return w.first
	}
	return w.resource.Describe()
}

// ToxiproxyVersion describes the proxies of the cells.
func (w *World) ToxiproxyVersion() string {
	return w.network.Version() + ", " + w.network.Where()
}

// startServer gives a cell a server of its own, or the one at an address; part gives it back. log is the path at which to link the
// server's log. restarts: the script has faults of servers, so that it cannot share an ensemble.
func (w *World) startServer(ctx context.Context, log string, restarts bool) (_ server.Server, part func() error, err error) {
	switch {
	case w.keeper != nil && !restarts:
		return w.keeper, func() error { return nil }, nil
	case w.remote != nil:
		return w.remote, w.remote.Close, nil
	}
	s := w.spares.Take()
	if s == nil {
		if s, err = w.ownLockServer(ctx); err != nil {
			return nil, nil, err
		}
	}
	if err := s.LinkLog(log); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s.Server, func() error { return w.spares.PutBack(s) }, nil
}

// newPrefix is the prefix of a cell's keys: empty if the cell has servers of its own.
func (w *World) newPrefix() string {
	switch {
	case w.keeper != nil:
		return fmt.Sprintf("%s/%d-", w.root, w.names.Add(1))
	case w.kind.Slots:
		return redis.ClusterTag
	case w.startsServers():
		return ""
	}
	return fmt.Sprintf("%s%d:", w.prefix, w.names.Add(1))
}

// startsServers says whether the lab starts the servers; where only the ZooKeeper is not the lab's, it starts those of the data.
func (w *World) startsServers() bool {
	return w.kind.Own() || w.kind.OnZooKeeper()
}

// ownLockServer starts one of the lab's own lock servers.
func (w *World) ownLockServer(ctx context.Context) (*service.Spare, error) {
	return w.start(ctx, w.kind, w.machine, 0)
}

// ownServer starts one of the lab's own servers for data or locks, within a bound of memory, in bytes; an embedded one in the host.
func (w *World) ownServer(ctx context.Context, host *redis.Host, memory uint64) (*service.Spare, error) {
	kind, on := w.kind, w.machine
	if on.Host = host; kind.Embeds {
		kind = service.Of(Embedded, false)
	}
	return w.start(ctx, kind, on, memory)
}

// start starts a server of a kind.
func (w *World) start(ctx context.Context, kind service.Kind, on service.Machine, memory uint64) (*service.Spare, error) {
	var log string
	if kind.Name != Embedded {
		var err error
		if log, err = w.spares.NextLog(w.cfg.Dir); err != nil {
			return nil, err
		}
	}
	s, err := kind.Start(ctx, on, redis.Options{Log: log, Memory: memory})
	if err != nil {
		return nil, err
	}
	if kind.Members {
		log = "" // each of its servers has one
	}
	return &service.Spare{Server: s, Log: log}, nil
}

// newStore is the store of a cell's data: a server that all cells of the lab's own clients share, with a prefix for the cell's keys. A
// cell with servers of its own sets the address when it starts them.
func (w *World) newStore(prefix string, own bool) *store {
	switch {
	case w.remote != nil && w.cfg.Restart == "":
		return &store{at: w.remote.Endpoint(), prefix: prefix, keys: w.ledger.NewKeys(prefix)}
	case own:
		return &store{prefix: fmt.Sprintf("%d:", w.names.Add(1))}
	}
	return &store{at: redis.Plain(w.resource.Addr()), prefix: fmt.Sprintf("%d:", w.names.Add(1))}
}

// serves takes in what the world's lock servers are to a foreign client, which runs on whatever it is given.
func (w *World) serves(traits *play.Traits) {
	traits.ZooKeeper, traits.Library.Ensemble = w.keeper != nil, w.kind.Members
	if w.kind.Unread() {
		traits.Opaque = w.kind.Name
	}
}

// lacks says what the lock, its client or this world's servers lack for a script, or "".
func (w *World) lacks(script *scenarios.Script, traits play.Traits) string {
	if traits.ZooKeeper {
		switch why := w.lacksSessions(script); {
		case !w.kind.OnZooKeeper() && !w.kind.Unread():
			return play.NeedsZooKeeper
		case why != "":
			return why
		}
	}
	return w.kind.Lacks(script, traits)
}

func (w *World) linkName(client, what string) string {
	return fmt.Sprintf("%d-%s-%s", w.names.Add(1), strings.ReplaceAll(client, "/", "-"), what) // it is part of a path of toxiproxy's API
}

// advertised is a tap's address as toxiproxy must dial it.
func (w *World) advertised(addr string) string {
	if w.cfg.Advertise == "" {
		return addr
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return net.JoinHostPort(w.cfg.Advertise, port)
}

// ownAddress is the address of this machine as seen from a toxiproxy.
func ownAddress(apiURL string) (string, error) {
	if apiURL == "" {
		return "", nil
	}
	target, err := url.Parse(apiURL)
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("tcp", target.Host)
	if err != nil {
		return "", fmt.Errorf("finding out the address that %s can reach: %w", apiURL, err)
	}
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return host, err
}
