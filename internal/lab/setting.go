package lab

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/sim"
)

// The worlds that Setting.World can name.
const (
	Live = "live" // processes, sockets, servers
	Sim  = "sim"  // the model: the locks' own code in one process and in virtual time
)

// Setting says where cells run. The zero Setting is the live world with an embedded Redis and an embedded toxiproxy.
type Setting struct {
	World string // Live or Sim; empty: Live
	// Timeout is after how long a cell is given up as unknown; zero: a minute.
	Timeout time.Duration
	// Wait is how clients wait between the tries of an acquire (see internal/waiting); empty: each lock's own way.
	Wait string

	// The rest is about the live world.

	// Server is one of live.Servers, started by the lab, or the address of a running one: host:port, redis://user@host:port/db, rediss:// with TLS, or
	// zookeeper://host:port; empty: embedded.
	Server string
	// Credentials are what a Redis at an address asks for.
	Credentials live.Credentials
	// Restart is a shell command that stops and starts a Redis at an address: it gets one more word, stop or start. Empty: it is never restarted.
	Restart   string
	Toxiproxy string // URL of a running toxiproxy; empty: an embedded one
	Listen    string // the host on which the lab listens for an outside toxiproxy; empty: loopback
	Advertise string // the host by which that toxiproxy reaches the lab; empty: Listen; live.Auto: found out
	// Alone says that this program starts no processes by itself: on Linux it may then adopt those that clients leave behind, and end them.
	Alone         bool
	NoStateProbes bool // do not ask the server for the state of the lock around each command
	AnyCommand    bool // let clients send a server at an address commands that touch more than their cell's keys
}

// reviewed says whether what is n/a was reviewed for such a setting. On a cluster more is n/a.
func (s Setting) reviewed() bool {
	own := s.Server == "" || slices.Contains(live.Servers(), s.Server)
	return own && s.Server != live.Cluster && s.Wait == ""
}

// CellsPerCore is how many cells of the live world are in flight by default, for each core: they mostly wait. With 24 a suite took a third
// longer than with 40; with 48 more cells were retried because the host stalled.
const CellsPerCore = 40

// So many are in flight where each cell has several processes: three for each server with replicas, which a script may start anew; and six of
// a cluster, or three of an ensemble, that ask each other all the time.
const (
	replicatedPerCore = 20
	groupPerCore      = 6
)

// programCellsPerCore is the same where each cell has a server that is started for it, with a log of its own: that of an etcd has 123 MiB.
const programCellsPerCore = 6

// parallel is how many cells are in flight where nobody says: in the live world they mostly wait, if this process may have so many files open.
func (s Setting) parallel() int {
	if s.World == Sim {
		return runtime.NumCPU()
	}
	perCore := CellsPerCore
	switch s.Server {
	case live.Replicated:
		perCore = replicatedPerCore
	case live.Cluster, live.Ensemble:
		perCore = groupPerCore
	case live.Etcd, live.Postgres:
		perCore = programCellsPerCore
	}
	return min(perCore*runtime.NumCPU(), live.MostCells())
}

// open opens the world, whose results go to dir; empty: nothing is kept. A server at an address must carry out the commands that locks send.
func (s Setting) open(ctx context.Context, dir string, sends ...string) (World, error) {
	timeout := cmp.Or(s.Timeout, time.Minute)
	switch s.World {
	case Sim:
		return sim.Open(sim.Config{CellTimeout: timeout, Wait: s.Wait}), nil
	case Live, "":
	default:
		return nil, fmt.Errorf("unknown world %q; there are %s and %s", s.World, Live, Sim)
	}
	config := live.Config{
		Dir: dir, Server: cmp.Or(s.Server, live.Embedded), Credentials: s.Credentials, Restart: s.Restart, Sends: sends,
		Toxiproxy: s.Toxiproxy, Listen: s.Listen, Advertise: s.Advertise,
		CellTimeout: timeout, NoStateProbes: s.NoStateProbes, Wait: s.Wait, Alone: s.Alone, AnyCommand: s.AnyCommand,
	}
	for as, argv := range map[string]*[]string{asGuard: &config.Guard, asWorker: &config.Worker, asHost: &config.Host, asOutside: &config.Outside} {
		var err error
		if *argv, err = self(as); err != nil {
			return nil, err
		}
	}
	w, err := live.Open(ctx, config)
	if err != nil {
		return nil, err // w is a nil pointer, and as a World would not be nil
	}
	return w, nil
}
