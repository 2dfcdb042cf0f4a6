// Command zk is a client of the lab for the lock of github.com/go-zookeeper/zk.
//
// It owns what the library's errors mean. It must not know scripts, faults or histories.
package main

import (
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/locklab/locklab/adapters/go/internal/calls"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	client.Options
	conn *zk.Conn
	own  *calls.Queued[*zk.Lock]
}

func (l *lock) acquire(op *client.Operation) (bool, error) { return l.own.Try(op) }
func (l *lock) wait(op *client.Operation) (bool, error)    { return l.own.Wait(op, op.Within) }
func (l *lock) release(op *client.Operation) (bool, error) { return l.own.Release(op) }

func (l *lock) reconnect(op *client.Operation) (bool, error) {
	return true, calls.Leave(op, func() error { _, _, err := l.conn.Exists("/"); return err }, nil)
}

func (l *lock) fresh() *zk.Lock { return zk.NewLock(l.conn, l.Key, zk.WorldACL(zk.PermAll)) }

func (l *lock) queue() (int, error) {
	queue, _, err := l.conn.Children(l.Key)
	if errors.Is(err, zk.ErrNoNode) { // nobody has been in it
		err = nil
	}
	return len(queue), err
}

func main() {
	hello := map[string]any{"name": "zk", "about": "zk 1.0.4 of go-zookeeper", "fair": true, "by_context": true, "server_kind": "zookeeper"}
	hello["promises"] = []string{"exclusion", "release-by-owner", "crash-safe", "ignores-clocks", "fair"}
	client.Serve(hello, func(o client.Options) (*lock, error) {
		conn, _, err := zk.Connect(o.Servers, o.Lease, zk.WithLogInfo(false))
		l := &lock{Options: o, conn: conn}
		l.own = calls.NewQueued(calls.Library[*zk.Lock]{
			Fresh: l.fresh, Lock: (*zk.Lock).Lock, Unlock: (*zk.Lock).Unlock, Queue: l.queue,
			Taken: []error{zk.ErrDeadlock}, Unheld: []error{zk.ErrNotLocked, zk.ErrNoNode},
		})
		return l, err
	}, client.Verbs[*lock]{Acquire: (*lock).acquire, Wait: (*lock).wait, Release: (*lock).release, Reconnect: (*lock).reconnect})
}
