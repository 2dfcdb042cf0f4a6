package impls

import (
	"context"
	"errors"
	"time"
)

// Server is one lock server. A Server may be used by several goroutines at once.
//
// Commands are sent as the lock names them. Replies are string, int64, nil, or []any of these. An error reply is a ServerError or, to a
// script that may have run, a ScriptError. The outcome of any other error is unknown.
type Server interface {
	Do(ctx context.Context, args ...any) (any, error)
	// Eval runs a script: EVALSHA first, then EVAL if the server does not know it.
	Eval(ctx context.Context, script *Script, keys []string, args ...any) (any, error)
	// Watch sends WATCH for the keys, if any, on a connection reserved for fn, and UNWATCH if fn returns without Exec. It returns the error
	// of WATCH, or else that of fn.
	Watch(ctx context.Context, keys []string, fn func(tx Tx) error) error
	// Subscribe returns when the server has confirmed the subscription: what is published from then on will be received.
	Subscribe(ctx context.Context, channel string) (Subscription, error)
}

// Tx is a connection that watches keys. It is used by one goroutine, and only until the function that got it returns.
type Tx interface {
	// Do sends a command at once, between WATCH and MULTI.
	Do(ctx context.Context, args ...any) (any, error)
	// Exec sends MULTI, the commands and EXEC, and returns the replies to the commands. done is false if the transaction was
	// aborted because a watched key had changed.
	Exec(ctx context.Context, commands ...Command) (replies []any, done bool, err error)
}

// Command is a command and its arguments.
type Command []any

// Subscription receives what is published on one channel. It is used by one goroutine.
type Subscription interface {
	// Receive waits for the next message. After an error that is not the context's the subscription is over.
	Receive(ctx context.Context) (string, error)
	// Close ends the subscription. Closing twice is harmless.
	Close()
}

// Session is a client's session with a ZooKeeper. The client keeps it alive in the background; after it has expired there is a new one, and
// the nodes of the old one are gone. It may be used by several goroutines at once.
//
// NoNode and NodeExists are refusals. The outcome of any other error is unknown: the session may have expired, or its connection is broken
// and a request may have been carried out.
type Session interface {
	// Create makes an ephemeral node, which lasts as long as the session. Its name is path or, if it is sequential, path with a number
	// behind it that grows with each node below the same parent.
	Create(ctx context.Context, path string, sequential bool) (created string, err error)
	// Children are the names of the nodes below one.
	Children(ctx context.Context, path string) ([]string, error)
	// Watch says whether a node is there, and if so watches it: Receive returns at its next change, or if the session has expired. Each
	// watch is good for one change.
	Watch(ctx context.Context, path string) (there bool, changed Subscription, err error)
	Delete(ctx context.Context, path string) error
	// Present is the session as it is now: after its end Session is another.
	Present() Lifetime
	// Valid is how long the session lasts at least, from now: its time-out, counted from when the latest request was sent that the server has
	// answered. Zero or less: it may have expired.
	Valid() time.Duration
}

// Lifetime is one session from its begin to its end.
type Lifetime interface {
	// Prolonged waits until the server has answered once more, which prolongs the session. It returns ErrExpired if the session has expired.
	Prolonged(ctx context.Context) error
}

// ErrExpired says that a session has expired.
var ErrExpired = errors.New("the session has expired")

// The refusals of a ZooKeeper that locks treat in their own way.
const (
	NoNode     ServerError = "NONODE: there is no such node"
	NodeExists ServerError = "NODEEXISTS: there is such a node"
)
