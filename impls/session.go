package impls

import (
	"context"
	"errors"
	"time"
)

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
