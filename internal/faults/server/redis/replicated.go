package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// Replicated is a redis-server with two replicas, all processes of the lab. To save its data is to hold the links between them, and to
// restart as saved is to kill the primary and promote a replica, which takes over the primary's address as a virtual IP address would be
// taken over. So a fail-over loses what it loses in production: the writes that were acknowledged and not yet replicated. Stopping a
// replica's process would lose none: they would wait in its socket. Its methods may be called by several goroutines at once.
type Replicated struct {
	guard   *process.Guard
	network *network.Network
	options Options
	addr    string
	*daemon.Fate

	mu       sync.Mutex
	primary  *Server
	old      *Server // another primary, which has been replaced; nil: there is none
	replicas []*replica
	started  int                 // how many processes
	strict   bool                // the primary requires a replica
	down     *daemon.Placeholder // nil: the primary is up
}

// replicaCount is how many replicas a primary has: one can acknowledge a write while the other is promoted.
const replicaCount = 2

// ofReplication are the arguments of a server that has or is a replica. A held link is not given up. The copy goes through a file: after one
// over the socket the primary may take a second to let the replica follow.
var ofReplication = []string{"--repl-timeout", "3600", "--repl-diskless-sync", "no"}

// StartReplicated starts a redis-server and its replicas, with their links through the network, and returns once the replicas have their
// copies. The context bounds the start only.
func StartReplicated(ctx context.Context, guard *process.Guard, links *network.Network, options Options) (*Replicated, error) {
	r := &Replicated{guard: guard, network: links, options: options, Fate: daemon.NewFate()}
	var err error
	r.started = 1
	if r.primary, err = r.start(ctx, 1); err != nil {
		return nil, err
	}
	r.addr = r.primary.Addr()
	if err := r.replicate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start replicas: %w", err), r.Close())
	}
	return r, nil
}

// start starts a process. Each has a log of its own, which tells why it has ended.
func (r *Replicated) start(ctx context.Context, number int) (*Server, error) {
	options := r.options
	options.Args, options.fate = ofReplication, r.Fate
	if number > 1 && options.Log != "" {
		options.Log = daemon.Numbered(options.Log, number)
	}
	return Start(ctx, r.guard, options)
}

// replicate starts the replicas of the primary, all at once: a busy machine takes long to start a process.
func (r *Replicated) replicate(ctx context.Context) error {
	errs := make([]error, replicaCount)
	var starts sync.WaitGroup
	for i := range errs {
		one := &replica{}
		r.replicas = append(r.replicas, one)
		r.started++
		number := r.started
		starts.Go(func() { errs[i] = r.follow(ctx, one, number) })
	}
	starts.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return r.caughtUp(ctx, replicaCount)
}

// follow starts a replica with its link to the primary.
func (r *Replicated) follow(ctx context.Context, one *replica, number int) (err error) {
	name := fmt.Sprintf("replication-%s-%d", portOf(r.addr), number)
	if one.link, err = r.network.Link(ctx, name, r.addr, nil); err != nil {
		return err
	}
	if one.Server, err = r.start(ctx, number); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(one.link.Addr())
	if err != nil {
		return err
	}
	return one.do(ctx, "REPLICAOF", host, port)
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// caughtUp waits until so many replicas have all that the primary has acknowledged.
func (r *Replicated) caughtUp(ctx context.Context, count int) error {
	return caughtUp(ctx, r.addr, count)
}

// Save holds the links, once the replicas have caught up: what is written from now on does not reach them.
func (r *Replicated) Save(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return wrapped("hold the links to the replicas", r.save(ctx, replicaCount))
}

// save has all replicas catch up, and holds the links of the first count of them.
func (r *Replicated) save(ctx context.Context, count int) error {
	if len(r.replicas) < replicaCount {
		return errors.New("the server is closed")
	}
	if err := r.letGo(ctx); err != nil {
		return err
	}
	if err := r.caughtUp(ctx, replicaCount); err != nil {
		return err
	}
	for _, one := range r.replicas[:count] {
		if err := one.hold(ctx); err != nil {
			return err
		}
	}
	return nil
}

// letGo ends all holds of links.
func (r *Replicated) letGo(ctx context.Context) error {
	for _, one := range r.replicas {
		if err := one.letGo(ctx); err != nil {
			return err
		}
	}
	return nil
}

// HoldBack holds the link of one replica, once both have caught up.
func (r *Replicated) HoldBack(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return wrapped("hold a replica back", r.save(ctx, 1))
}

// held is the number of links that are held. These come first.
func (r *Replicated) held() int {
	n := 0
	for n < len(r.replicas) && r.replicas[n].held != nil {
		n++
	}
	return n
}

// RestartSaved kills the primary, promotes a replica at the primary's address, and gives it replicas of its own.
func (r *Replicated) RestartSaved(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := errors.New("nothing is saved: the links to the replicas are not held")
	if r.held() == replicaCount {
		err = r.failOver(ctx, r.replicas[0])
	}
	return wrapped("fail over", err)
}

// TakeOver kills the primary and promotes the replica that is held back, or the other one, once that has all that was acknowledged.
func (r *Replicated) TakeOver(ctx context.Context, heldBack bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := errors.New("no replica is held back")
	if r.held() == 1 {
		if heldBack {
			err = r.failOver(ctx, r.replicas[0])
		} else if err = r.caughtUp(ctx, 1); err == nil {
			err = r.failOver(ctx, r.replicas[1])
		}
	}
	return wrapped("fail over", err)
}

func (r *Replicated) failOver(ctx context.Context, next *replica) error {
	if err := r.primary.Close(); err != nil {
		return err
	}
	return r.promote(ctx, next)
}

// promote has a replica take over from a primary that has left its address. What the links still hold is lost with them.
func (r *Replicated) promote(ctx context.Context, next *replica) error {
	if err := next.do(ctx, "REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	r.primary, next.Server, r.strict = next.Server, nil, false
	if err := r.dismiss(); err != nil {
		return err
	}
	if err := r.primary.move(ctx, r.addr); err != nil {
		return err
	}
	return r.replicate(ctx)
}

// dismiss ends all replicas and their links.
func (r *Replicated) dismiss() error {
	var errs []error
	for _, one := range r.replicas {
		errs = append(errs, one.close())
	}
	r.replicas = nil
	return errors.Join(errs...)
}

// RequireReplica sets min-replicas-to-write, and returns once the primary has a replica that counts.
func (r *Replicated) RequireReplica(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.strict = true
	return wrapped("require a replica", requireReplica(ctx, r.primary))
}

// RefusesWrites says whether the primary requires a replica that it does not have, by its own account.
func (r *Replicated) RefusesWrites(ctx context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.strict {
		return false, nil
	}
	refuses, err := refusesWrites(ctx, r.addr)
	return refuses, wrapped("ask for its replicas", err)
}

// Stop kills the primary, once the replicas have all that it has acknowledged.
func (r *Replicated) Stop(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := daemon.ErrDown
	if r.down == nil {
		err = r.save(ctx, replicaCount)
	}
	if err == nil {
		err = r.primary.Close()
	}
	if err == nil {
		r.down, err = daemon.KeepPlace(ctx, r.addr)
	}
	return wrapped("stop the primary", err)
}

// StartAgain promotes a replica at the primary's address, and gives it replicas of its own.
func (r *Replicated) StartAgain(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down == nil {
		return fmt.Errorf("fail over: %w", daemon.ErrNotDown)
	}
	r.down.Leave()
	r.down = nil
	return wrapped("fail over", r.promote(ctx, r.replicas[0]))
}

// RestartEmpty kills the primary and starts it again without data. The replicas empty themselves as soon as they have found it again.
func (r *Replicated) RestartEmpty(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.primary.RestartEmpty(ctx); err != nil {
		return err
	}
	r.strict = false
	return r.letGo(ctx)
}

// Reset returns the primary to the state after its start. A server whose replicas lag, that requires one, or that has replaced
// another which goes on, is not reset: that would take as long as to start another.
func (r *Replicated) Reset(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held() > 0 || r.strict || r.old != nil {
		return errors.New("reset a server with replicas: a link to one is held, it requires one, or there is another primary")
	}
	return r.primary.Reset(ctx)
}

// Addr is where the primary listens, whichever process it is.
func (r *Replicated) Addr() string { return r.addr }

// Describe says what it is, with its version.
func (r *Replicated) Describe() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%s %s with two replicas (started by the lab)", binary, r.primary.version)
}

// Close ends all processes and their links. Later calls do nothing.
func (r *Replicated) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down.Leave()
	r.down = nil
	return errors.Join(r.dismiss(), r.primary.Close(), r.demote())
}
