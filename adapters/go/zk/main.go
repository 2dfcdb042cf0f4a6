// Command zk is a client of the lab for the lock of github.com/go-zookeeper/zk.
//
// It owns how a call that nothing cancels is left to itself. It must not know scripts, faults or histories.
package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

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

// Acquire tries once, which the library cannot: it asks whether anybody else is in the queue.
func (l *lock) Acquire(ctx context.Context) (client.Grant, error) {
	return l.acquire(ctx, func(own *owned) error {
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

func (l *lock) Wait(ctx context.Context, within time.Duration) (client.Grant, error) {
	own, stop := context.WithTimeout(ctx, within)
	defer stop()
	grant, err := l.acquire(own, func(own *owned) error { return own.Lock.Lock() })
	if own.Err() != nil && ctx.Err() == nil {
		_, _, err = l.conn.Children(l.Key) // so that the lab sees whether the lock is free
	}
	return grant, err
}

// acquire unlocks what is granted when nobody waits for it any more.
func (l *lock) acquire(ctx context.Context, f func(*owned) error) (client.Grant, error) {
	own := l.own
	err := client.Leave(ctx, own.inTurn(func() error { return f(own) }), func(err error) {
		defer l.left.Add(-1)
		if err == nil {
			_ = own.Unlock() // nobody is left to be told
		}
	})
	if err != nil && err == ctx.Err() {
		l.fresh()
		l.left.Add(1)
	}
	ok, err := client.Outcome(err, errQueue, zk.ErrDeadlock)
	return client.Grant{OK: ok}, err
}

func (l *lock) Release(ctx context.Context) (bool, error) {
	err := client.Leave(ctx, l.own.inTurn(l.own.Unlock), nil)
	return client.Outcome(err, zk.ErrNotLocked, zk.ErrNoNode)
}

func (l *lock) Ping(ctx context.Context) error {
	return client.Leave(ctx, func() error {
		_, _, err := l.conn.Exists("/")
		return err
	}, nil)
}

func main() {
	hello := client.Hello{Name: "zk", About: "zk 1.0.4 of go-zookeeper", Fair: true, ByContext: true}
	hello.Promises = []string{"exclusion", "release-by-owner", "crash-safe", "ignores-clocks", "fair"}
	client.Serve(hello, &lock{}, func(o client.Options) (client.Lock, error) {
		conn, _, err := zk.Connect(o.Servers, o.Lease, zk.WithLogInfo(false))
		l := &lock{Options: o, conn: conn}
		l.fresh()
		return l, err
	})
}
