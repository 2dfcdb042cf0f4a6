// Package tap is a proxy between clients and a Redis server that parses commands. It passes one command at a time, so their order is known,
// asks the server for the state of watched keys before and after, and can hold, drop or duplicate a chosen request or reply. It changes no
// byte of what passes, with two exceptions (wire). Requests without a command, which a server ignores and miniredis panics at, and refused
// commands do not pass.
//
// It owns breakpoints on the wire, and records every command of a lock: the DEL of a release becomes an event of the history here
// (flight.go). It must not know a script, a lock or a verdict.
//
// A server of another kind is relayed unread: opaque.go.
//
// Limits: a connection in MONITOR or replication, or whose transaction subscribed or switched replies off, is passed on unread until it
// ends. While a client has its replies switched off, the end of a command cannot be observed: it is recorded without reply and without
// state probes. Commands that may block are recorded, but not probed.
package tap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/probe"
	"github.com/locklab/locklab/internal/faults/resp"
)

// maxConnections bounds the connections of one client at a time: each takes descriptors of the lab, which all cells share. connectionCost is what each
// makes the lab keep, in bytes: the buffers of a proxy and of the tap, and the goroutines of both.
const (
	maxConnections = 256
	connectionCost = 160 << 10
)

// maxSubscriptions bounds the channels and patterns of one connection, whose names the tap remembers.
const maxSubscriptions = 1000

// CanaryPrefix begins the message of a PING that serves as a canary.
const CanaryPrefix = "lab-canary-"

// Config configures a tap. Watch, Since, Record and Current must not call the tap back.
type Config struct {
	Server   string // the server's name in the history: "redis", "resource"
	Upstream string // the server's host:port
	// Entry is how connections to the server are opened; the zero Entry dials plain ones.
	Entry Entry
	Host  string // where listeners bind; 127.0.0.1 if empty
	// Watch says whether a key is watched: only commands that name a watched key are recorded and count for breakpoints.
	// Nil watches nothing. It is called by several goroutines at once.
	Watch func(key string) bool
	// StateProbes: ask the server for the state of watched keys before and after each command that names them. If the
	// server does not answer, as during a restart, the record of the command has no changes.
	StateProbes bool
	// Since reads the clock of the run.
	Since func() time.Duration
	// Record is called with each command in the order in which the server carried them out, never by two goroutines at once,
	// and before the client can have the reply.
	Record func(history.Event)
	// Current returns the client's operation in flight; zero unless there is exactly one. It is called by several
	// goroutines at once.
	Current func(client string) (history.Op, int64)
	// Breakpoints are breakpoints that several taps share; nil: the tap has its own.
	Breakpoints *Breakpoints
	// Limits bound the messages of both sides.
	Limits resp.Limits
	// Refuse says why a command, given with its arguments, does not pass, or is empty; nil refuses nothing. It is called by several
	// goroutines at once. The client gets an error, its connection ends, and Err says so.
	Refuse func(args [][]byte) string
	// Unseen says whether a command names a script by its hash whose text has not passed Refuse; nil: never. To its client the server lacks
	// the script, so that it sends the text.
	Unseen func(args [][]byte) bool
	// Patience bounds how long the server may take for one command that does not block; default 10 s. Time in which the host stalls
	// counts little.
	Patience time.Duration
	// Expiry has keys expire that clients leave without an expiry.
	Expiry Expiry
	// Locks are the nodes of the locks, if the server is a ZooKeeper and no Redis: whose the locks are is read from the nodes below them.
	Locks []string
	// Members are where those servers of an ensemble listen that serve clients, whose states are the same; nil: the ZooKeeper is one server, at Upstream.
	Members func() []string
	// Asking: the server is a node of a cluster. State probes ask for keys also while their slot is migrating to it.
	Asking bool
	// Opaque: the server is neither a Redis nor a ZooKeeper. What passes is not read: no command is recorded, no breakpoint reached and no
	// state known.
	Opaque bool
	// Queue bounds the bytes of unread replies of one client, beyond the last; default 64 MiB. The tap takes no further request of a client
	// with more.
	Queue int
}

// Entry is the way into a server that does not let everybody in. What clients send is not asked: they need no secret, and see none.
type Entry struct {
	// Dial opens a connection on which commands may follow. A *DeniedError makes the tap fail; to the client the server is down.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	DB   int // the database in which such connections are
}

// DeniedError is why a server does not let the lab in.
type DeniedError struct{ Err error }

func (e *DeniedError) Error() string { return e.Err.Error() }
func (e *DeniedError) Unwrap() error { return e.Err }

// Tap is a tap in front of one server. It is safe for concurrent use.
type Tap struct {
	cfg      Config
	commands commands.Table
	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	tasks    sync.WaitGroup

	turns    *turns
	watchdog watchdog
	prober   prober   // belongs to the holder of the turn
	nodes    *nodes   // of a ZooKeeper; nil: the server is a Redis
	expiries expiries // belongs to the holder of the turn
	conns    connections

	mu        sync.Mutex
	closed    bool
	listeners map[string]net.Listener // by address
	canaries  map[string]chan struct{}
	trouble   error
	troubled  chan struct{}
	broken    chan struct{} // see Break
	ways      ways
}

// errClosed is the error of a closed tap.
var errClosed = errors.New("tap is closed")

// New makes a tap and connects to the server for the state probes. ctx bounds the connecting only; the tap lives until Close.
func New(ctx context.Context, cfg Config) (*Tap, error) {
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	if cfg.Queue <= 0 {
		cfg.Queue = 64 << 20
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 10 * time.Second
	}
	if cfg.Unseen == nil {
		cfg.Unseen = func([][]byte) bool { return false }
	}
	if cfg.Watch == nil {
		cfg.Watch = func(string) bool { return false }
	}
	if cfg.Entry.Dial == nil {
		cfg.Entry.Dial = dial
	}
	if cfg.Breakpoints == nil {
		cfg.Breakpoints = new(Breakpoints)
	}
	t := &Tap{
		cfg:       cfg,
		commands:  commands.NewTable(),
		turns:     newTurns(),
		listeners: map[string]net.Listener{},
		canaries:  map[string]chan struct{}{},
		troubled:  make(chan struct{}),
		broken:    make(chan struct{}),
		ways:      ways{called: naming{server: cfg.Server}},
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	own := cfg.Limits
	own.Held = nil // what the lab keeps for clients must not keep it from asking
	t.prober = prober{life: t.ctx, addr: cfg.Upstream, entry: cfg.Entry, limits: own, asking: cfg.Asking, links: map[int]*link{}}
	t.expiries = expiries{Expiry: cfg.Expiry, server: &t.prober, put: map[string]bool{}, watched: map[string]int{}}
	check := t.prober.check
	if len(cfg.Locks) > 0 {
		t.nodes = newNodes(t)
		check = t.nodes.prober.check
	}
	if cfg.Opaque {
		check = func(context.Context) error { return nil }
	}
	if err := check(ctx); err != nil {
		t.stop()
		return nil, fmt.Errorf("tap of %s: %w", cfg.Server, err)
	}
	t.begin(t.watch)
	return t, nil
}

// Listen opens a listener for one client and returns its address: the port identifies the client.
func (t *Tap) Listen(client string) (string, error) { return t.ListenTo(client, t.cfg.Upstream) }

// ListenTo is Listen for connections to a server of an ensemble at an address.
func (t *Tap) ListenTo(client, upstream string) (string, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(t.cfg.Host, "0"))
	if err != nil {
		return "", fmt.Errorf("tap of %s for %s: %w", t.cfg.Server, client, err)
	}
	addr := listener.Addr().String()
	t.mu.Lock()
	t.listeners[addr] = listener
	t.mu.Unlock()
	if !t.begin(func() { t.accept(client, upstream, listener) }) {
		listener.Close()
		return "", errClosed
	}
	return addr, nil
}

// Unlisten closes the listener at an address that Listen has returned. Its open connections stay. Later calls do nothing.
func (t *Tap) Unlisten(addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if listener := t.listeners[addr]; listener != nil {
		delete(t.listeners, addr)
		listener.Close()
	}
}

func (t *Tap) accept(client, upstream string, listener net.Listener) {
	defer context.AfterFunc(t.ctx, func() { listener.Close() })()
	defer listener.Close()
	var open atomic.Int64
	for {
		conn, err := listener.Accept()
		if t.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.fail(&HostError{fmt.Errorf("tap of %s for %s: %w", t.cfg.Server, client, err)})
			return
		}
		account := t.cfg.Limits.Held.Account()
		if err := t.admit(&open, account); err != nil {
			conn.Close()
			t.fail(fmt.Errorf("tap: client %s has %w to %s", client, err, t.cfg.Server))
			continue
		}
		serve := t.serve
		switch {
		case t.nodes != nil:
			serve = func(client string, conn net.Conn, account *resp.Budget) {
				t.serveKeeper(client, upstream, conn, account)
			}
		case t.cfg.Opaque:
			serve = t.serveOpaque
		}
		serves := func() {
			defer open.Add(-1)
			defer account.Close()
			serve(client, conn, account)
		}
		if !t.begin(serves) {
			conn.Close()
			return
		}
	}
}

// admit counts one more connection of a client.
func (t *Tap) admit(open *atomic.Int64, account *resp.Budget) error {
	if open.Add(1) > maxConnections {
		open.Add(-1)
		return fmt.Errorf("more than %d connections", maxConnections)
	}
	if err := account.Take(connectionCost); err != nil {
		return fmt.Errorf("%d connections, and one more is too much (%w)", open.Add(-1), err)
	}
	return nil
}

// begin starts a task that Close waits for; it returns false if the tap has been closed.
func (t *Tap) begin(task func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.tasks.Go(task)
	return true
}

// State reads the state of a key of the entry's database while no command is in flight.
func (t *Tap) State(ctx context.Context, key string) (state history.State, err error) {
	err = t.Exclusively(ctx, func() error {
		if t.nodes != nil {
			state, err = t.nodes.state(key)
			return err
		}
		states, err := t.prober.states(t.cfg.Entry.DB, []string{key})
		t.expiries.hide([]string{key}, states)
		state = states[0]
		return err
	})
	return state, err
}

// Values is probe.Values of a key of the entry's database, read while no command is in flight.
func (t *Tap) Values(ctx context.Context, key string) (values []string, err error) {
	err = t.Exclusively(ctx, func() error {
		return t.prober.use(t.cfg.Entry.DB, func(l *link) (err error) {
			values, err = probe.Values(l, key)
			return err
		})
	})
	return values, err
}

// Break has clients lose the replies that are held, because the server has broken all connections. A session that holds a reply does not listen to the
// server meanwhile, so it would not notice by itself.
func (t *Tap) Break() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.broken)
	t.broken = make(chan struct{})
}

// untilBroken is closed by the next Break.
func (t *Tap) untilBroken() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}

// Canary returns a channel that is closed when PING with the token, which must begin with CanaryPrefix, arrives. Call it before the PING
// is sent. The PING is passed on, but neither recorded nor counted.
func (t *Tap) Canary(token string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	arrived := t.canaries[token]
	if arrived == nil {
		arrived = make(chan struct{})
		t.canaries[token] = arrived
	}
	return arrived
}

func (t *Tap) seePing(message []byte) {
	if !strings.HasPrefix(string(message), CanaryPrefix) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if arrived := t.canaries[string(message)]; arrived != nil {
		delete(t.canaries, string(message))
		close(arrived)
	}
}

// HostError is an error of a tap that this machine is to blame for: it has no file descriptor left, for example.
type HostError struct{ Err error }

func (e *HostError) Error() string { return e.Err.Error() }
func (e *HostError) Unwrap() error { return e.Err }

// fail keeps the first error.
func (t *Tap) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trouble == nil {
		t.trouble = err
		close(t.troubled)
	}
}

// Done is closed at the first error after which the record cannot be trusted: a client or the server broke the protocol or exceeded the
// limits, a command was refused or took too long, or (*HostError) the tap cannot go on. The connection concerned has been closed; the others go on.
func (t *Tap) Done() <-chan struct{} { return t.troubled }

// Err is the first error, with the client's name; nil before Done is closed.
func (t *Tap) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.trouble
}

// Close ends all connections, drops held requests, and waits for all goroutines.
func (t *Tap) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.stop()
	t.tasks.Wait()
	return nil
}
