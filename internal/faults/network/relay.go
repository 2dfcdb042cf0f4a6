package network

import (
	"context"
	"io"
	"net"
	"sync"
)

// Relay passes the connections of a client on to a link, and can end them as the client would: what it has read still goes to the server, also from
// within a partition. It is safe for concurrent use.
type Relay struct {
	listener net.Listener
	upstream string
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu     sync.Mutex
	shut   bool
	closed bool
	conns  map[net.Conn]chan struct{} // the client's ends; closed when they have ended
}

// StartRelay starts a relay on this machine to the upstream address.
func StartRelay(upstream string) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Relay{listener: listener, upstream: upstream, stop: stop, conns: make(map[net.Conn]chan struct{})}
	r.running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				listener.Close() // whatever it is, nobody is to wait for a connection that is never passed on
				return
			}
			r.running.Go(func() { r.pass(ctx, near) })
		}
	})
	return r, nil
}

// Addr is the host:port that the client connects to.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Cut ends all connections. If shut, new ones end at once, until Open.
func (r *Relay) Cut(shut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = r.shut || shut
	for near := range r.conns {
		near.Close()
	}
}

// Open lets new connections through again.
func (r *Relay) Open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = false
}

// Ends returns a channel for each connection, which is closed when the connection has ended at the client.
func (r *Relay) Ends() (all []<-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ended := range r.conns {
		all = append(all, ended)
	}
	return all
}

// Close ends the relay and its connections, and waits for that. Later calls do nothing.
func (r *Relay) Close() error {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	if closed {
		return nil
	}
	r.stop()
	err := r.listener.Close()
	r.Cut(true)
	r.running.Wait()
	return err
}

func (r *Relay) pass(ctx context.Context, near net.Conn) {
	ended := make(chan struct{})
	r.mu.Lock()
	shut := r.shut
	r.conns[near] = ended
	r.mu.Unlock()
	defer func() {
		near.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, near)
		close(ended)
	}()
	if shut {
		return
	}
	far, err := new(net.Dialer).DialContext(ctx, "tcp", r.upstream)
	if err != nil {
		return // the client sees a connection that ends, not one that is refused: the system had accepted it before Accept did
	}
	defer far.Close()
	r.running.Go(func() {
		_, _ = io.Copy(far, near) // either end may break
		far.Close()
	})
	_, _ = io.Copy(near, far)
}
