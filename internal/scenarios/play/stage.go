// Package play is the interpreter of scripts: it carries out their steps in order and records the history. All worlds share it. A world
// supplies a Stage, with a Server for each lock server and a Process for each client process: effects only, no order of events and no
// judgement.
//
// It owns the record of a cell, the script's clients with each one's belief about its lock, and the ways in which a script ends. It must
// not know sockets, processes, toxiproxy, virtual time or verdicts.
//
// To add a verb: parse it in package scenarios, add its line to the table in verbs.go and, if no effect of this file does it, an effect to
// Server or Process and to both worlds.
package play

import (
	"context"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// Stage is where one cell is played: its time, its servers and its breakpoints.
type Stage interface {
	// Now is the time since the run began.
	Now() time.Duration
	// Until lets time pass until done returns true, for at most d (Ever: the time of the cell), and returns the last result of done. An
	// error ends the script: the cell took too long, or can no longer be trusted.
	Until(ctx context.Context, d time.Duration, done func() bool) (bool, error)
	// Servers are the lock's servers, in order.
	Servers() []Server
	// Arm sets a breakpoint for a client's requests of an operation (Background: of none) to the lock servers or, for work, to the resource.
	Arm(at faults.Breakpoint, client string, op int64, work bool) Armed
}

// Ever as the bound of Stage.Until is the time that the cell may take.
const Ever = time.Duration(-1)

// Background as the operation of a breakpoint means the requests that belong to no operation in flight.
const Background = -1

// Host is a Stage on a host that may stall. A stall that may have ended a lease ends the script and is never blamed on a lock.
type Host interface {
	// LongestStall is the longest host stall that began after a time of the run.
	LongestStall(from time.Duration) time.Duration
	// Delayed is how long the host has not run the lab, or one of its clients, since the cell began: all delays together, also short ones.
	Delayed() time.Duration
}

// Strider is a Stage in which each step takes time.
type Strider interface {
	// Stride lets the time between two steps pass.
	Stride() time.Duration
}

// Armed is an armed breakpoint, before or after its request. It is safe for concurrent use.
type Armed interface {
	// Reached says whether the request, its reply or its copy is held, its reply is dropped, or it has been duplicated.
	Reached() bool
	// Delivered says whether the request, or its copy, has been carried out and recorded.
	Delivered() bool
	// Args are the command and its arguments as recorded; nil before the request has come.
	Args() []string
	// Release delivers what is held, now or later.
	Release()
	// Disarm removes the breakpoint and releases what it holds.
	Disarm()
}

// Server is one lock server.
type Server interface {
	Name() string
	// State reads a key, bypassing links and breakpoints.
	State(ctx context.Context, key string) (history.State, error)
	// Cause injects a fault of the server while no command is in flight, and observes its effect; evidence is what the catalogue cannot say of that.
	Cause(ctx context.Context, f ServerFault) (evidence string, err error)
	// Recover ends a fault, and observes that.
	Recover(ctx context.Context, kind faults.Kind) error
	// Save keeps a copy of the data for a failover.
	Save(ctx context.Context) error
}

// Ensemble is a Stage whose lock server is several that elect a leader.
type Ensemble interface {
	// Members are they, by the names that a script gives them, the leader of the beginning first.
	Members() []Server
}

// Replicator is a Server with several replicas.
type Replicator interface {
	Server
	// HoldBack has one replica get nothing more.
	HoldBack(ctx context.Context) error
	// RequireReplica has the server refuse writes while no replica reports.
	RequireReplica(ctx context.Context) error
	// RefusesWrites says whether it does.
	RefusesWrites(ctx context.Context) (bool, error)
}

// ServerFault is a fault of a server.
type ServerFault struct {
	Kind faults.Kind
	By   time.Duration // the length of time that it takes, as the catalogue says
	Key  string        // Operator
	Held bool          // TakeOver: the replica that is held back
	// Without are the clients that stay with the old primary. SplitBrain.
	Without []string
	// LockOnly: of the keys in the slot only those of locks migrate for now. SlotMigration.
	LockOnly bool
}

// Process is a client's process: its operations and its faults.
type Process interface {
	// Call begins an operation. The world calls Operation.Return with its answer.
	Call(op *Operation) error
	// Cancel orders the client to cancel an operation.
	Cancel(ctx context.Context, op *Operation) error
	// TakeIn waits until no background task of a lock waits for a reply, or acts on one: each sleeps, waits for a message or has ended.
	TakeIn(ctx context.Context, h *Handle) error
	// Reconnect has the process replace its connections to the named servers, or to all, except on links with a fault.
	Reconnect(ctx context.Context, servers []string) error
	Signals
	// SetClock sets the process's clock: ahead or behind by offset, or running at another rate.
	SetClock(ctx context.Context, offset time.Duration, rate float64) error
}

// Signals stop, continue and kill a process.
type Signals interface {
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	Kill(ctx context.Context) error
}

// Links are a process's links to the lock servers. Servers are given by name; none means all.
type Links interface {
	// Disturb injects a fault into the links at once, and says how its effect was observed.
	Disturb(ctx context.Context, f faults.LinkFault, servers []string) (evidence string, err error)
	// Heal ends the faults, and says of each kind how that was observed. It returns nothing if no link had a fault.
	Heal(ctx context.Context, servers []string) ([]Healed, error)
}

// Healed is a kind of fault that has ended on some links.
type Healed struct {
	Kind     faults.Kind
	Evidence string
	Broken   []string // the servers whose connections it broke
}
