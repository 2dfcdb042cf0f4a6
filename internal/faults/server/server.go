// Package server says what a kind of server can do: be restarted, saved, promoted, asked, reset. Each kind has a folder below; a kind that cannot do
// something lacks the methods.
//
// It owns these words. It must not know a kind of server, a script or a lock.
package server

import (
	"context"
	"fmt"
	"time"

	"github.com/locklab/locklab/history"
)

// Server is a server under test.
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

// Resetter is a server that can be emptied, which costs less than to start another.
type Resetter interface {
	// Reset leaves the server without clients, data and scripts. A command sent before has no effect after.
	Reset(ctx context.Context) error
}

// Stopper is a server that can be down for a while.
type Stopper interface {
	// Stop ends the server. It keeps its data, as a server does that syncs every write to disk. Connections to it break.
	Stop(ctx context.Context) error
	// StartAgain starts it at the same address, with the data that it had. For these time has gone on.
	StartAgain(ctx context.Context) error
}

// Group is a server of several processes, of which one at a time is the primary, at Addr. Clients learn from them which one that is.
type Group interface {
	Server
	Nodes() []Member
}

// Member is a process of a group.
type Member struct {
	Addr      string // where it listens
	Announced string // how the others know it, and name it to clients
}

// SettleTime bounds how long servers take to agree: after a start, a failover, an election, a restart, or the migration of a slot.
const SettleTime = 30 * time.Second

// ErrSlow is the error of servers that take longer, on a busy machine.
var ErrSlow = fmt.Errorf("the servers do not settle within %v", SettleTime)
