package zookeeper

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// relay passes connections on to a server of an ensemble that may not listen yet. A follower may call its leader a moment before that listens; it
// tries again where its connection is refused, and a link accepts it and hangs up, for which the follower elects anew.
type relay struct {
	listener net.Listener
	upstream string
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// callTime bounds the tries of one connection.
const callTime = 2 * time.Second

func startRelay(upstream string) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: listener, upstream: upstream}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.running.Go(r.accept)
	return r, nil
}

func (r *relay) addr() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() { r.serve(conn) })
	}
}

func (r *relay) serve(down net.Conn) {
	defer down.Close()
	up, err := r.call()
	if err != nil {
		return
	}
	defer up.Close()
	defer context.AfterFunc(r.ctx, func() {
		down.Close()
		up.Close()
	})()
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{down, up}, {up, down}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // either end may break
			down.Close()
			up.Close()
		})
	}
	both.Wait()
}

// call connects to the server, while that refuses for a while.
func (r *relay) call() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(r.ctx, callTime)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.upstream)
		if err == nil || daemon.Pause(ctx) != nil {
			return conn, err
		}
	}
}

func (r *relay) close() error {
	r.stop()
	err := r.listener.Close()
	r.running.Wait()
	return err
}
