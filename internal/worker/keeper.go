package worker

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/locklab/locklab/impls"
)

// keeper is a session with a ZooKeeper, through go-zookeeper. The library reconnects by itself, and begins another session when one has
// expired.
type keeper struct {
	conn    *zk.Conn
	hosts   hosts
	running sync.WaitGroup // requests, including cancelled ones
	turn    chan struct{}  // has room while no request is under way

	mu      sync.Mutex
	wire    *contact      // the latest connection
	closed  bool          // the library may dial no more
	ready   chan struct{} // closed while the connection has a session
	expired chan struct{} // closed when the present session has expired
	heard   chan struct{} // closed when the server answers next
	latest  time.Time     // when the latest request was sent that it has answered
	timeout time.Duration // of the session
}

var errClosed = errors.New("the session is closed")

// dialKeeper opens a session with the time-out. It returns when there is one.
func dialKeeper(ctx context.Context, addrs []string, timeout time.Duration) (*keeper, error) {
	k := &keeper{
		hosts: hosts{addrs: addrs}, turn: make(chan struct{}, 1), ready: make(chan struct{}), expired: make(chan struct{}), heard: make(chan struct{}), timeout: timeout,
	}
	conn, _, err := zk.Connect(addrs, timeout, zk.WithDialer(k.dial), zk.WithHostProvider(&k.hosts), zk.WithEventCallback(k.event),
		zk.WithLogger(silence{}), zk.WithLogInfo(false), zk.WithMaxBufferSize(1<<20), zk.WithMaxConnBufferSize(64<<10))
	if err != nil {
		return nil, err
	}
	k.conn = conn
	if err := k.awaitReady(ctx); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// dial makes a connection for the library.
func (k *keeper) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		conn.Close()
		return nil, errClosed
	}
	k.wire = &contact{Conn: conn, answered: k.answered}
	return k.wire, nil
}

// event takes in what becomes of the session.
func (k *keeper) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		if !isClosed(k.ready) {
			close(k.ready)
		}
	case zk.StateExpired:
		k.hosts.Connected() // the server has answered
		close(k.expired)
		k.expired = make(chan struct{})
	case zk.StateDisconnected:
		if isClosed(k.ready) {
			k.ready = make(chan struct{})
		}
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// awaitReady waits until the connection has a session.
func (k *keeper) awaitReady(ctx context.Context) error {
	k.mu.Lock()
	ready := k.ready
	k.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reconnect breaks the connection, and waits for the next. To an ensemble one may be on its way already, to the next server.
func (k *keeper) reconnect(ctx context.Context) error {
	k.mu.Lock()
	connected := isClosed(k.ready)
	if connected {
		k.ready = make(chan struct{})
	}
	wire := k.wire
	k.mu.Unlock()
	if connected || k.hosts.Len() == 1 {
		wire.Close()
	}
	return k.awaitReady(ctx)
}

// close ends the session, and with it what waits for it.
func (k *keeper) close() {
	k.conn.Close()
	k.mu.Lock()
	k.closed = true
	if k.wire != nil {
		k.wire.Close() // the library may wait for its answer
	}
	k.mu.Unlock()
	k.running.Wait()
}

// Create makes an ephemeral node that everybody may change.
func (k *keeper) Create(ctx context.Context, path string, sequential bool) (string, error) {
	flags := int32(zk.FlagEphemeral)
	if sequential {
		flags |= zk.FlagSequence
	}
	reply, err := k.ask(ctx, func() (any, error) { return k.conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll)) })
	if err != nil {
		return "", err
	}
	return reply.(string), nil
}

// Children are the names of the nodes below one.
func (k *keeper) Children(ctx context.Context, path string) ([]string, error) {
	reply, err := k.ask(ctx, func() (any, error) {
		names, _, err := k.conn.Children(path)
		return names, err
	})
	if err != nil {
		return nil, err
	}
	return reply.([]string), nil
}

// Watch asks whether a node is there, and watches it.
func (k *keeper) Watch(ctx context.Context, path string) (bool, impls.Subscription, error) {
	reply, err := k.ask(ctx, func() (any, error) {
		there, _, events, err := k.conn.ExistsW(path)
		return watch{there, events}, err
	})
	if err != nil {
		return false, nil, err
	}
	set := reply.(watch)
	return set.there, set, nil
}

// Delete deletes a node, whoever has made it.
func (k *keeper) Delete(ctx context.Context, path string) error {
	_, err := k.ask(ctx, func() (any, error) { return nil, k.conn.Delete(path, -1) })
	return err
}

// ask sends a request. It returns as soon as ctx ends; the library's calls cannot be cancelled. The next one is sent when the library has
// answered: a session's requests arrive in the order in which they were asked for, also those of which the client has given one up.
func (k *keeper) ask(ctx context.Context, send func() (any, error)) (any, error) {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	reply, err := await(ctx, &k.running, func() (any, error) {
		defer func() { <-k.turn }()
		return send()
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, impls.NoNode
	case errors.Is(err, zk.ErrNodeExists):
		return nil, impls.NodeExists
	}
	return reply, err
}

// answered takes in that the server has answered a request that was sent at a time.
func (k *keeper) answered(sent time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.latest = sent
	close(k.heard)
	k.heard = make(chan struct{})
}

// Present is the session as it is now.
func (k *keeper) Present() impls.Lifetime {
	k.mu.Lock()
	defer k.mu.Unlock()
	return lifetime{k, k.expired}
}

// lifetime is one session.
type lifetime struct {
	keeper  *keeper
	expired chan struct{}
}

// Prolonged waits until the server has answered once more, or the session has expired.
func (l lifetime) Prolonged(ctx context.Context) error {
	l.keeper.mu.Lock()
	heard := l.keeper.heard
	l.keeper.mu.Unlock()
	defer resting(ctx)()
	if isClosed(l.expired) {
		return impls.ErrExpired
	}
	select {
	case <-l.expired:
		return impls.ErrExpired
	case <-heard:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Valid is how long the session lasts at least.
func (k *keeper) Valid() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Until(k.latest.Add(k.timeout))
}

// watch is a watch on a node.
type watch struct {
	there  bool
	events <-chan zk.Event
}

// Receive waits for the next change of the node, or for the end of the session.
func (w watch) Receive(ctx context.Context) (string, error) {
	defer resting(ctx)()
	select {
	case <-w.events:
		return "", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Close does nothing: the watch ends with its first event.
func (w watch) Close() {}

// hosts are the servers in the order in which they are tried: that of the addresses, so that a script can say with which a client begins. The library
// waits a second before it tries the first again; here it does so only after a round without success, so that it reconnects at once.
type hosts struct {
	mu    sync.Mutex
	addrs []string
	next  int
	tried int // since the last success
}

// Init leaves the addresses in their order: those that the library gives are shuffled.
func (h *hosts) Init([]string) error { return nil }

// Len is the number of servers.
func (h *hosts) Len() int { return len(h.addrs) }

// Next is the server to try; again: all have been tried without success.
func (h *hosts) Next() (addr string, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	addr = h.addrs[h.next]
	h.next = (h.next + 1) % len(h.addrs)
	again = h.tried > 0 && h.tried%len(h.addrs) == 0
	h.tried++
	return addr, again
}

// Connected takes in that the server tried last has given the client a session.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried = 0
}

// silence is a logger: standard error is the client's last word, and an error of the library reaches the lock.
type silence struct{}

// Printf drops what the library says.
func (silence) Printf(string, ...any) {}
