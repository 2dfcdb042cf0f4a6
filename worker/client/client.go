// Package client is the protocol of the lab for client programs in Go: an adapter gives it a lock, and it does the rest. It needs nothing but
// the standard library, so it can be copied: lab new go does.
//
// All connections of the lock pass a proxy within the process. That is how a cancelled operation stops waiting, whatever the library does.
//
// It owns the client's side of the conversation. It must not know a lock, nor the lab.
package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Lock is a lock under test. An error means that the outcome is unknown; false, that it was certainly not done.
type Lock interface {
	Acquire(ctx context.Context) (Grant, error)
	Release(ctx context.Context) (bool, error)
}

// Grant is the answer to an acquire. Valid is how long the lock declares its hold to be valid, Fence its fencing token; zero: none.
type Grant struct {
	OK    bool
	Valid time.Duration
	Fence int64
}

// What else a lock may do, beside io.Closer. Without Ping many scenarios do not apply: it returns when the connections work.
type (
	Pinger interface {
		Ping(ctx context.Context) error
	}
	Renewer interface {
		Renew(ctx context.Context) (bool, error)
	}
	Checker interface {
		Check(ctx context.Context) (bool, error)
	}
	Waiter interface { // for as long, in the library's own way, such as a queue; without it Acquire is called again and again
		Wait(ctx context.Context, within time.Duration) (Grant, error)
	}
	Keyed interface { // how it names its keys on its server, if not as the one that it is given; need: "majority" or "all" of them
		Keys() (keys []string, need string)
	}
	Limited interface{ Valid() time.Duration } // of a hold after a renewal, as Grant.Valid
)

// Outcome is what an error of a library means: a refusal, that it was not done; any other, that it is not known.
func Outcome(err error, refusals ...error) (bool, error) {
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return false, nil
		}
	}
	return err == nil, err
}

// Leave calls what the library does not cancel, and leaves it to itself when ctx ends. late, unless it is nil, is told what came of it then.
func Leave(ctx context.Context, f func() error, late func(error)) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if late != nil {
		go func() { late(<-done) }()
	}
	return ctx.Err()
}

// Options are what a lock is made of.
type Options struct {
	Servers []string // host:port of each
	Key     string
	Lease   time.Duration
	Lost    func(why string) // says that the lock is no longer held
	// LostHold says it of one hold, by a notice that may come late.
	LostHold func(hold int64, why string)
}

// holding is the key of the hold in a context.
type holding struct{}

// Hold is what names the hold that an acquire with this context begins, for Options.LostHold.
func Hold(ctx context.Context) int64 {
	id, _ := ctx.Value(holding{}).(int64)
	return id
}

// Hello is how the client introduces itself; see docs/protocol.md.
type Hello struct {
	Version     int      `json:"version"`
	Name        string   `json:"name"`
	About       string   `json:"about,omitempty"`
	Promises    []string `json:"promises,omitempty"`
	Verbs       []string `json:"verbs"`
	Leaseless   bool     `json:"leaseless,omitempty"`
	Renews      bool     `json:"renews,omitempty"`
	Resends     bool     `json:"resends,omitempty"`
	Servers     string   `json:"servers,omitempty"`
	Fair        bool     `json:"fair,omitempty"`
	Reentrant   bool     `json:"reentrant,omitempty"`
	ServerCount int      `json:"server_count,omitempty"`
	Separate    bool     `json:"separate"`
	ByContext   bool     `json:"-"` // what is cancelled ends with its context: its connections are left alone
}

// Serve speaks the protocol until the lab ends the client, and then ends the process. open makes a lock; sample is any lock of its type, which
// tells what it can do.
func Serve(hello Hello, sample Lock, open func(Options) (Lock, error)) {
	if err := serve(os.Stdin, os.Stdout, hello, sample, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0) // whatever still waits for a reply is not waited for
}
