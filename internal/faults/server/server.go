// Package server runs the servers under test: an embedded Redis, processes of redis-server, ZooKeeper, etcd and PostgreSQL, or a Redis at an address. It
// also reads, writes and deletes keys on the lab's behalf, and moves the servers' clocks.
//
// It owns their start, restart and reset. On a server that the lab did not start it must touch only the keys below a prefix. It must not
// know scripts or locks.
package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/network"
)

// patience bounds a server's start and its end.
const patience = 20 * time.Second

// startTime bounds the start of a server that computes for a second or more before it answers, such as Java's: on a busy machine it may have
// a tenth of a core. One that ends is noticed at once.
const startTime = time.Minute

// Server is a Redis server under test.
type Server interface {
	// Addr is where it listens: host:port.
	Addr() string
	// Describe says what it is, with its version.
	Describe() string
	// Close ends a server that the lab has started, and leaves any other alone.
	Close() error
}

// Restarter is a server that can be restarted.
type Restarter interface {
	// RestartEmpty ends the server and starts it at the same address without its data. Connections to it break.
	RestartEmpty(ctx context.Context) error
}

// Saver is a server that can be restarted as it has been before.
type Saver interface {
	// Save keeps a copy of the data as it is now, until the next restart.
	Save(ctx context.Context) error
	// RestartSaved ends the server and starts it at the same address with the data that was saved. Connections to it break.
	RestartSaved(ctx context.Context) error
}

// Replicator is a server with several replicas, each of which can be held back or promoted.
type Replicator interface {
	// HoldBack has one replica get nothing more. It has what was acknowledged before.
	HoldBack(ctx context.Context) error
	// TakeOver ends the primary and has a replica take over its address: the one that is held back, or another, which then has all that was
	// acknowledged. Connections break.
	TakeOver(ctx context.Context, heldBack bool) error
	// Split has a replica take over the primary's address, while the old primary goes on at another one, without replicas. Connections break.
	Split(ctx context.Context) (old string, err error)
	// Demote ends the old primary.
	Demote(ctx context.Context) error
	// RequireReplica has the primary refuse writes while no replica has reported for faults.MaxLag.
	RequireReplica(ctx context.Context) error
	// RefusesWrites says whether it does.
	RefusesWrites(ctx context.Context) (bool, error)
}

// Migrator is a server whose keys are in a slot of a cluster.
type Migrator interface {
	// Migrate moves keys to another primary, whose address becomes that of the server; the old one answers ASK. It returns how many have moved,
	// and how many are left.
	Migrate(ctx context.Context, moves func(key string) bool) (moved, left int, err error)
	// Migrated moves the others, and has that primary own the slot; the old one answers MOVED.
	Migrated(ctx context.Context) error
}

// Observable is a server whose locks the lab looks at by itself, because what clients send to it is not read.
type Observable interface {
	// State is that of the lock below a key.
	State(ctx context.Context, key string) (history.State, error)
}

// Answerer is a server that may give no answer for a while though it is neither down nor paused: a JVM collects its garbage, or a disk syncs.
type Answerer interface {
	// Questions are what the lab can ask, one of each process: each ends with an answer, or with an error.
	Questions() []Question
}

// Question asks a process whether it answers.
type Question func(context.Context) error

// Mortal is a server in a process that may end against the lab's will.
type Mortal interface {
	// Died is closed when the process has ended, other than by a restart.
	Died() <-chan struct{}
	// End says how it ended, once Died is closed.
	End() string
}

// fate is when and how a process ended against the lab's will. The processes of one server share it.
type fate struct {
	once sync.Once
	died chan struct{}
	how  string
}

func newFate() *fate { return &fate{died: make(chan struct{})} }

func (f *fate) meet(how string) {
	f.once.Do(func() {
		f.how = how
		close(f.died)
	})
}

// Died is closed when a process has ended, other than by a restart or a fail-over.
func (f *fate) Died() <-chan struct{} { return f.died }

// End says how it ended, once Died is closed.
func (f *fate) End() string { return f.how }

// Servers listen below the ephemeral ports, so that a restarted server finds its port free.
const (
	portFirst = 10000
	portCount = 10000
	portTries = 50
)

// onFreePort calls start with random ports until one is not taken.
func onFreePort(start func(port int) (taken bool, err error)) error {
	var failed error
	for range portTries {
		port, release, err := reservePort()
		if err != nil {
			return err
		}
		taken, err := start(port)
		release()
		if !taken {
			return err
		}
		failed = err
	}
	return fmt.Errorf("no port is free, the last of %d tried: %w", portTries, failed)
}

// loopback is where the lab's servers listen.
var loopback = net.IPv4(127, 0, 0, 1)

// reservePort finds a port that nobody has, and that no server of a lab is given until it is released.
func reservePort() (port int, release func(), err error) {
	for range portTries {
		port = portFirst + rand.IntN(portCount)
		if release, err = network.Reserve(loopback, port); err == nil {
			return port, release, nil
		}
	}
	return 0, nil, fmt.Errorf("no port is free, the last of %d tried: %w", portTries, err)
}

// onSamePort calls start again while the port is taken: an outgoing connection may use it for a moment.
func onSamePort(ctx context.Context, start func() (taken bool, err error)) error {
	for {
		taken, err := start()
		if !taken {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("its port is taken: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
