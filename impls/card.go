package impls

import (
	"slices"
	"time"

	"github.com/locklab/locklab/history"
)

// Card describes a lock: its source, its promises, its needs.
type Card struct {
	Name   string
	Idea   string // one line
	Source string // where it is described: "article 000, A1"
	Bug    string // the line that breaks it; empty for a sound lock
	// Bugs are the bugs of a published lock that has several, for selection by name.
	Bugs []Bug
	// Promises are the properties that the lock claims and scenarios test.
	Promises []Promise
	Needs    Need
	// Servers is the number of lock servers in scenarios, if the lock needs several.
	Servers int
	// Sends are the commands with the lock's key that an operation may send; a script counts as EVAL. An operation that is not listed may
	// send any.
	Sends Commands
	// Contract is what the lock declares of itself; Declares adds what its promises imply. A lock on a ZooKeeper has its client's session for a lease:
	// Options.Lease is the time-out of the session.
	history.Contract
	// OneRequest are the operations, "acquire" or "release", that are one request to the server and its reply. Where the lab does not read the
	// protocol, breakpoints apply to these.
	OneRequest []string
	// MinLease is the shortest lease with which the lock can keep its promises; zero: any. Storms use no shorter one.
	MinLease time.Duration
	// Clocks are the clocks of its client that it reads.
	Clocks []Clock
	// EqualTokens: the lock compares tokens for equality alone, and does nothing else that depends on what they are. An exploration then takes clients that
	// differ by their tokens only for one. It shows no other lock to hold.
	EqualTokens bool
	// Resends: the client library keeps its default retries and resends a command whose reply does not come.
	Resends bool
}

// Declares is the contract of the card with what its promises imply.
func (c Card) Declares() history.Contract { return Declared(c.Contract, c.Promises) }

// Declared is a contract with what promises imply.
func Declared(c history.Contract, promises []Promise) history.Contract {
	c.Reentrant = c.Reentrant || slices.Contains(promises, Reentrance)
	c.Fair = c.Fair || slices.Contains(promises, Fairness)
	return c
}

// Commands lists the commands of operations.
type Commands map[history.Op][]string

// sends is the usual list.
func sends(acquire, release []string) Commands {
	return Commands{history.OpAcquire: acquire, history.OpRelease: release}
}

// Clock is a clock of a client.
type Clock string

// The clocks. Only a wall clock can be set while its client runs.
const (
	WallClock      Clock = "wall clock"
	MonotonicClock Clock = "monotonic clock"
)

// Need is the lock service that a lock runs on.
type Need string

// The lock services.
const (
	OneServer    Need = "one Redis server"
	NoServer     Need = "no server"
	MostServers  Need = "several independent Redis servers, of which a majority must answer"
	Masters      Need = "the primaries of a Redis Cluster, of which a majority must answer"
	Replicas     Need = "one Redis server with replicas"
	OneZooKeeper Need = "a ZooKeeper"
	OneEtcd      Need = "an etcd"
	OnePostgres  Need = "a PostgreSQL"
	EveryServer  Need = "several independent Redis servers, all of which must answer"
)

// Spec is a lock: its card and its constructor. New sends no command and reads no clock; that of a foreign client's lock is nil.
type Spec struct {
	Card
	New func(env Env, opts Options) Lock
}

// CanRenew says whether the lock is a Renewer.
func (s Spec) CanRenew() bool { return is[Renewer](s) }

// CanCheck says whether the lock is a Checker.
func (s Spec) CanCheck() bool { return is[Checker](s) }

// Queues says whether clients that wait for the lock queue up: a place in a queue can outlast its client.
func (s Spec) Queues() bool { return is[Patient](s) }

func is[T any](s Spec) bool {
	if s.New == nil { // a foreign client's lock
		return false
	}
	_, ok := s.New(nil, Options{}).(T)
	return ok
}
