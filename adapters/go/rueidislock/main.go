// Command rueidislock is a client of the lab for github.com/redis/rueidis/rueidislock.
//
// It owns how the library's errors are answered. It must not know scripts, faults or histories.
package main

import (
	"context"

	"github.com/redis/rueidis/rueidislock"

	"github.com/locklab/locklab/adapters/go/internal/calls"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	client.Options
	rueidislock.Locker
	calls.Hold
}

func (l *lock) acquire(op *client.Operation) (bool, error) {
	own, stop := context.WithCancel(context.WithoutCancel(op)) // it ends the hold, so it must outlive the request
	held, cancel := own, func() {}
	err := calls.Leave(op, func() (err error) { held, cancel, err = l.TryWithContext(own, l.Key); return err }, nil)
	if err != nil {
		stop() // what it may get yet, the library gives back
		return calls.Outcome(err, rueidislock.ErrNotLocked)
	}
	l.Begin(held, func() { op.Lost("its context has ended") }, cancel, stop)
	return true, nil
}

// release is answered ok whatever the server says: the library's function reports nothing. Like an acquire, it waits until the server has answered or the
// lease is over, whatever its context.
func (l *lock) release(op *client.Operation) (bool, error) { return l.End(op) }

func (l *lock) reconnect(op *client.Operation) (bool, error) {
	return true, l.Client().Do(op, l.Client().B().Ping().Build()).Error()
}

func (l *lock) close(*client.Operation) (bool, error) { l.Close(); return true, nil }

func main() {
	hello := map[string]any{"name": "rueidislock", "about": "rueidislock 1.0.79", "renews": true}
	hello["promises"] = []string{"exclusion", "release-by-owner", "renew-by-owner", "crash-safe", "tells-loss", "tells-in-time"}
	options := read(hello)
	client.Serve(hello, func(o client.Options) (*lock, error) {
		locker, err := rueidislock.NewLocker(options(o))
		return &lock{Options: o, Locker: locker}, err
	}, client.Verbs[*lock]{Acquire: (*lock).acquire, Release: (*lock).release, Reconnect: (*lock).reconnect, Close: (*lock).close})
}
