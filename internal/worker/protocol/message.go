// Package protocol is the protocol between the lab and a client process: one JSON object a line, requests on the client's standard input,
// replies and notices on its standard output. docs/tables/protocol.md describes it for clients in other languages.
//
// It owns the messages and both ends of the connection. It must not know a lock or a server.
package protocol

import "github.com/locklab/locklab/history"

// Version is the newest version of the protocol, and Oldest the oldest that the lab still speaks. Init and hello carry it.
const (
	Version = 2
	Oldest  = 1
)

// MaxLine is the length in bytes of the longest line that a client may write.
const MaxLine = 64 << 10

// The verbs of a request.
const (
	Init    = "init"
	Open    = "open"
	Acquire = "acquire"
	Release = "release"
	Renew   = "renew"
	Check   = "check"
	Work    = "work"
	Cancel  = "cancel"
	Skew    = "skew"
	// Reconnect: the connections to the lock servers, or to the named ones, are broken; the client makes new ones, and answers when they
	// work.
	Reconnect = "reconnect"
	// Idle: answer when no background task of the lock waits for a reply, or acts on one.
	Idle  = "idle"
	Close = "close"
	// Reset: drop init and every lock, cancel what runs, release nothing. ok: an init may follow.
	Reset = "reset"
	Exit  = "exit"
)

// The outcomes of an operation.
const (
	OK      = "ok"
	No      = "no"
	Unknown = "unknown"
)

// What begins the address of a lock server that is no Redis. Only the lab's own client gets a ZooKeeper, and only clients of one's own any other.
const (
	ZooKeeperScheme = "zookeeper://"
	EtcdScheme      = "etcd://"
	PostgresScheme  = "postgres://"
)

// The values of Hello.Servers, and but for Sharded of Message.Need.
const (
	Majority = "majority"
	All      = "all"
	Sharded  = "one"
)

// Request is a request of the lab. The comments name the verb that uses each field; durations are in milliseconds and may have a fraction.
type Request struct {
	ID int64  `json:"id"`
	Do string `json:"do"`

	// init
	Version  int      `json:"version,omitempty"`
	Client   string   `json:"client,omitempty"`
	Servers  []string `json:"servers,omitempty"`  // host:port of each lock server; reconnect: of some; empty: of all
	Resource string   `json:"resource,omitempty"` // host:port of the store that work goes to
	DB       int      `json:"db,omitempty"`       // Redis database of both
	// TimeoutMS is the least read time-out that the client may use; a shorter one would fire by accident.
	TimeoutMS float64 `json:"timeout_ms,omitempty"`

	// open; every later request about this lock names the handle
	Handle  string  `json:"handle,omitempty"`
	Lock    string  `json:"lock,omitempty"` // name of the algorithm; a client that has only one may ignore it
	Key     string  `json:"key,omitempty"`  // open: the lock's key; work: that of the counter, or of other data
	LeaseMS float64 `json:"lease_ms,omitempty"`
	User
	// open may also name Servers and Resource, which this lock and its work then use instead of init's

	// acquire: retry until so much time has passed; zero: try once
	WithinMS float64 `json:"within_ms,omitempty"`
	Wait     string  `json:"wait,omitempty"` // how to wait between the tries; empty: as the client likes

	// work: the kind; empty: a counter. Stock is the initial stock of a sale in the client's memory.
	Workload string `json:"workload,omitempty"`
	Stock    int64  `json:"stock,omitempty"`

	// cancel: the id of the operation to cancel
	Op int64 `json:"op,omitempty"`
	Clock
}

// Clock is what skew sets: the client's clock reads real time × rate + offset from now on.
type Clock struct {
	OffsetMS float64 `json:"offset_ms,omitempty"`
	Rate     float64 `json:"rate,omitempty"`
}

// User is by what a client uses a handle: which lock object of the process it is, and which thread uses it; empty: one that no other handle has.
type User struct {
	Object string `json:"object,omitempty"`
	Thread string `json:"thread,omitempty"`
}

// Message is what a client writes: a reply if it has an ID, a notice otherwise.
type Message struct {
	Line    int    `json:"-"` // of the client's output, from 1; not part of what it wrote
	ID      int64  `json:"id,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	// Error says what went wrong, for people. Unsupported: the client does not know the verb.
	Error       string `json:"error,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"`

	// ValidMS is the remaining validity that the lock declares for its hold, in the reply to acquire or renew or in a Valid notice. Absent:
	// it declares none.
	ValidMS *float64 `json:"valid_ms,omitempty"`
	// Fence is the fencing token of a grant, above zero. Absent: the lock has none.
	Fence *int64 `json:"fence,omitempty"`

	// work: the number read and the number written
	Read  *int64 `json:"read,omitempty"`
	Wrote *int64 `json:"wrote,omitempty"`

	Hello *Hello `json:"hello,omitempty"` // in the reply to init

	// Keys, in the reply to open, are those that the lock has on its server; none: the one that it was given. Need says how many of several its
	// holder has: All, or Majority; empty: All.
	Keys []string `json:"keys,omitempty"`
	Need string   `json:"need,omitempty"`

	// notices
	Lost  string `json:"lost,omitempty"`  // handle of a lock that is no longer held
	Valid string `json:"valid,omitempty"` // handle of a lock whose hold is valid for ValidMS from now
	Why   string `json:"why,omitempty"`   // with Lost
	Hold  int64  `json:"hold,omitempty"`  // with Lost: the id of the acquire that began the hold that is lost; absent: the present hold
	// LateMS says by how much a sleep of the client ended later than it should have: its host stalled, or the client was paused meanwhile.
	LateMS float64 `json:"late_ms,omitempty"`
}

// Hello is how a client introduces itself.
type Hello struct {
	Version int `json:"version"`
	// Name is the name of the lock, which cells are called after; in version 1 that of the program, with its version.
	Name string `json:"name"`
	// About says, for people, which library is under test, with versions and options.
	About string `json:"about,omitempty"`
	// Promises are words for what the lock promises, see impls.PromiseWords; nil: nothing is said.
	Promises []string `json:"promises,omitempty"`
	// Verbs are the optional verbs that the client knows: renew, check, skew, reconnect, idle, reset.
	Verbs []string `json:"verbs,omitempty"`
	// Workloads are the kinds of work that the client knows; none: a counter only.
	Workloads []string `json:"workloads,omitempty"`
	// The traits of its lock, as on an impls.Card.
	history.Contract
	Resends Resends `json:"resends,omitempty"`
	// OneRequest are the operations that are one request to the server and its reply, for breakpoints where the lab does not read the protocol.
	OneRequest []string `json:"one_request,omitempty"`
	// MinLeaseMS is the shortest lease with which the lock can keep its promises; zero: any.
	MinLeaseMS float64 `json:"min_lease_ms,omitempty"`
	// MinTryMS is how long the shortest try of an acquire takes, because the library waits by itself; zero: no longer than its commands.
	MinTryMS float64 `json:"min_try_ms,omitempty"`
	// Servers says how many of its servers the lock needs: Majority, All, or Sharded, the one that its key decides. Empty: it uses the first only.
	Servers string `json:"servers,omitempty"`
	// CannotCancel: nothing ends an operation of the library that waits, but the end of its connections.
	CannotCancel bool `json:"cannot_cancel,omitempty"`
	// LabCuts: the lab ends the connections of a cancelled operation, and those that reconnect replaces, since the client does not.
	LabCuts bool `json:"lab_cuts,omitempty"`
	// ServerKind is the kind of lock servers that it needs: redis, or that with which their addresses begin: zookeeper, etcd, postgres; empty: any.
	ServerKind string `json:"server_kind,omitempty"`
	// ServerCount is how many servers a lock on several is tested with where the scenario does not say; zero: three.
	ServerCount int `json:"server_count,omitempty"`
	// Separate: a lock uses the servers and the resource that its open names, and no others.
	Separate bool `json:"separate,omitempty"`
}
