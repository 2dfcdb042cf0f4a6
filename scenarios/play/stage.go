// Package play is the interpreter of scripts: it carries out the verbs of the grammar, one step after the other, and records what
// happens. There is one interpreter for all worlds. A world supplies a Stage, with a Server for each lock server and a Process for each
// client process: effects only, no order of events and no judgement.
//
// It owns the record of a cell, the clients of a script with what each believes of its lock, and how a script ends. It must not know
// sockets, processes, toxiproxy or virtual time, nor what a verdict is.
//
// To add a verb: parse it in package scenarios, add its line to the table in verbs.go, and, if no effect of this file does it, an effect
// to Server or Process and to both worlds.
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
	// Until lets time pass until done says so, for at most d (Ever: for as long as the cell may take), and returns what done says
	// then. An error ends the script: the cell took too long, or can no longer be trusted.
	Until(ctx context.Context, d time.Duration, done func() bool) (bool, error)
	// Servers are the lock's servers, in order.
	Servers() []Server
	// Arm sets a breakpoint for the requests of an operation (Background: of none) of a client, to the lock's servers or, for work, to
	// the resource.
	Arm(at faults.Breakpoint, client string, op int64, work bool) Armed
}

// Ever as the bound of Stage.Until is the time that the cell may take.
const Ever = time.Duration(-1)

// Background as the operation of a breakpoint means the requests that belong to no operation under way.
const Background = -1

// Host is a Stage on a machine that may stall. A stall that may have ended a lease ends the script; it is never blamed on a lock.
type Host interface {
	// LongestStall is the longest time, begun after a time of the run, for which the machine did not run the lab.
	LongestStall(from time.Duration) time.Duration
}

// Strider is a Stage in which a step takes time of its own.
type Strider interface {
	// Stride lets the time between two steps pass.
	Stride() time.Duration
}

// Armed is a breakpoint that waits for its request, or has met it. Its methods may be called by several goroutines at once.
type Armed interface {
	// Reached says whether the request is held, or its reply is held or dropped, or it has been duplicated, or its copy is held.
	Reached() bool
	// Delivered says whether the request, or its copy, has been carried out and recorded.
	Delivered() bool
	// Args are the command and its arguments as recorded; nil before the request has come.
	Args() []string
	// Release lets go what is held, or what would be.
	Release()
	// Disarm takes the breakpoint away, and lets go what it holds.
	Disarm()
}

// Server is one lock server.
type Server interface {
	Name() string
	// State is what it has under a key, asked past links and breakpoints.
	State(ctx context.Context, key string) (history.State, error)
	// Cause causes a fault of the server while no command is in flight there, and says how it was seen to have taken effect.
	Cause(ctx context.Context, f ServerFault) (evidence string, err error)
	// Save keeps a copy of its data, for a fail-over.
	Save(ctx context.Context) error
}

// ServerFault is a fault of a server: ClockJump, Restart, FailOver or Operator.
type ServerFault struct {
	Kind faults.Kind
	By   time.Duration // ClockJump: how far; Operator: the new expiry
	Key  string        // Operator
}

// Process is a client's process: its operations, and the faults that hit it.
type Process interface {
	// Call has a client in the process begin an operation. What comes of it is told by Operation.Return.
	Call(op *Operation) error
	// Cancel orders the client to give an operation up.
	Cancel(ctx context.Context, op *Operation) error
	Signals
	Links
	// SetClock sets the process's clock: ahead or behind by offset, or running at another rate.
	SetClock(ctx context.Context, offset time.Duration, rate float64) error
}

// Signals stop a process, let it go on, and kill it.
type Signals interface {
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	Kill(ctx context.Context) error
}

// Links are a process's ways to the lock servers. Servers are given by name; none means all.
type Links interface {
	// Disturb injects a fault into all of them at once, and says how it was seen to have taken effect.
	Disturb(ctx context.Context, f faults.LinkFault, servers []string) (evidence string, err error)
	// Heal ends the faults, and says of each kind how that was seen. Nothing is returned where no link had a fault.
	Heal(ctx context.Context, servers []string) ([]Healed, error)
	// Reconnect has the process notice that its connections were broken, and make new ones. Links with a fault are left alone.
	Reconnect(ctx context.Context, servers []string) error
}

// Healed is a kind of fault that has ended on some links.
type Healed struct {
	Kind     faults.Kind
	Evidence string
	Broken   []string // the servers whose connections were broken by it
}
