// Command zk is a client of the lab for the lock of github.com/go-zookeeper/zk.
//
// It owns how a call that nothing cancels is left to itself. It must not know scripts, faults or histories.
package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/locklab/locklab/adapters/go/internal/calls"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	client.Options
	conn *zk.Conn
	own  *owned
	left atomic.Int32 // calls of Lock that were left to themselves, and have not ended
}

// owned is a lock of the library, which serves one call at a time.
type owned struct {
	*zk.Lock
	turn sync.Mutex
}

func (l *lock) fresh() { l.own = &owned{Lock: zk.NewLock(l.conn, l.Key, zk.WorldACL(zk.PermAll))} }

// inTurn calls f when the calls before have ended.
func (o *owned) inTurn(f func() error) func() error {
	return func() error {
		o.turn.Lock()
		defer o.turn.Unlock()
		return f()
	}
}

var errQueue = errors.New("others are in the queue")

// acquire tries once, which the library cannot: it asks whether anybody else is in the queue.
func (l *lock) acquire(op *client.Operation) (bool, error) {
	return l.enter(op, func(own *owned) error {
		left := l.left.Load()
		queue, _, err := l.conn.Children(l.Key)
		switch {
		case len(queue) > int(left):
			return errQueue
		case err != nil && !errors.Is(err, zk.ErrNoNode):
			return err
		}
		return own.Lock.Lock()
	})
}

func (l *lock) wait(op *client.Operation) (bool, error) {
	ctx, stop := context.WithTimeout(op, op.Within)
	defer stop()
	done, err := l.enter(ctx, func(own *owned) error { return own.Lock.Lock() })
	if ctx.Err() != nil && op.Err() == nil {
		_, _, err = l.conn.Children(l.Key) // so that the lab sees whether the lock is free
	}
	return done, err
}

// enter unlocks what is granted when nobody waits for it any more.
func (l *lock) enter(ctx context.Context, f func(*owned) error) (bool, error) {
	own := l.own
	err := calls.Leave(ctx, own.inTurn(func() error { return f(own) }), func(err error) {
		defer l.left.Add(-1)
		if err == nil {
			_ = own.Unlock() // nobody is left to be told
		}
	})
	if err != nil && err == ctx.Err() {
		l.fresh()
		l.left.Add(1)
	}
	return calls.Outcome(err, errQueue, zk.ErrDeadlock)
}

func (l *lock) release(op *client.Operation) (bool, error) {
	return calls.Outcome(calls.Leave(op, l.own.inTurn(l.own.Unlock), nil), zk.ErrNotLocked, zk.ErrNoNode)
}

func (l *lock) reconnect(op *client.Operation) (bool, error) {
	return true, calls.Leave(op, func() error { _, _, err := l.conn.Exists("/"); return err }, nil)
}

func main() {
	hello := map[string]any{"name": "zk", "about": "zk 1.0.4 of go-zookeeper", "fair": true, "by_context": true}
	hello["promises"] = []string{"exclusion", "release-by-owner", "crash-safe", "ignores-clocks", "fair"}
	verbs := client.Verbs[*lock]{"acquire": (*lock).acquire, "wait": (*lock).wait, "release": (*lock).release, "reconnect": (*lock).reconnect}
	client.Serve(hello, func(o client.Options) (*lock, error) {
		conn, _, err := zk.Connect(o.Servers, o.Lease, zk.WithLogInfo(false))
		l := &lock{Options: o, conn: conn}
		l.fresh()
		return l, err
	}, verbs)
}
