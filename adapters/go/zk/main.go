// Command zk is a client of the lab for the lock of github.com/go-zookeeper/zk.
//
// It owns how it tries a lock that only waits. It must not know scripts, faults or histories.
package main

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/locklab/locklab/adapters/go/internal/calls"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	client.Options
	conn *zk.Conn
	own  *calls.Turns[*zk.Lock]
}

var errQueue = errors.New("others are in the queue")

// acquire tries once, which the library cannot: it asks whether anybody else is in the queue.
func (l *lock) acquire(op *client.Operation) (bool, error) {
	return l.enter(op, func(own *zk.Lock) error {
		left := l.own.Left()
		queue, _, err := l.conn.Children(l.Key)
		switch {
		case len(queue) > left:
			return errQueue
		case err != nil && !errors.Is(err, zk.ErrNoNode):
			return err
		}
		return own.Lock()
	})
}

func (l *lock) wait(op *client.Operation) (bool, error) {
	ctx, stop := context.WithTimeout(op, op.Within)
	defer stop()
	done, err := l.enter(ctx, (*zk.Lock).Lock)
	if ctx.Err() != nil && op.Err() == nil {
		_, _, err = l.conn.Children(l.Key) // so that the lab sees whether the lock is free
	}
	return done, err
}

func (l *lock) enter(ctx context.Context, f func(*zk.Lock) error) (bool, error) {
	return calls.Outcome(l.own.Enter(ctx, f, (*zk.Lock).Unlock), errQueue, zk.ErrDeadlock)
}

func (l *lock) release(op *client.Operation) (bool, error) {
	return calls.Outcome(l.own.Call(op, (*zk.Lock).Unlock), zk.ErrNotLocked, zk.ErrNoNode)
}

func (l *lock) reconnect(op *client.Operation) (bool, error) {
	return true, calls.Leave(op, func() error { _, _, err := l.conn.Exists("/"); return err }, nil)
}

func main() {
	hello := map[string]any{"name": "zk", "about": "zk 1.0.4 of go-zookeeper", "fair": true, "by_context": true}
	hello["promises"] = []string{"exclusion", "release-by-owner", "crash-safe", "ignores-clocks", "fair"}
	client.Serve(hello, func(o client.Options) (*lock, error) {
		conn, _, err := zk.Connect(o.Servers, o.Lease, zk.WithLogInfo(false))
		return &lock{o, conn, calls.NewTurns(func() *zk.Lock { return zk.NewLock(conn, o.Key, zk.WorldACL(zk.PermAll)) })}, err
	}, client.Verbs[*lock]{"acquire": (*lock).acquire, "wait": (*lock).wait, "release": (*lock).release, "reconnect": (*lock).reconnect})
}
