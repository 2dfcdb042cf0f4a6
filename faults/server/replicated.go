package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/process"
)

// Replicated is a redis-server with a replica, both processes of the lab. To save its data is to hold the link between them, and to restart
// as saved is to kill the primary and promote the replica, which takes over the primary's address as a virtual IP address would be taken
// over. So a fail-over loses what it loses in production: the writes that were acknowledged and not yet replicated. Stopping the replica's
// process would lose none: they would wait in its socket. Its methods may be called by several goroutines at once.
type Replicated struct {
	guard   *process.Guard
	network *network.Network
	options Options
	addr    string
	*fate

	mu      sync.Mutex
	primary *Redis
	replica *Redis
	link    *network.Link     // from the replica to the primary
	held    *network.Injected // what holds the link; nil: nothing does
	started int               // how many processes
	down    *placeholder      // nil: the primary is up
}

// ofReplication are the arguments of a server that has or is a replica. A held link is not given up. The copy goes through a file: after one
// over the socket the primary may take a second to let the replica follow.
var ofReplication = []string{"--repl-timeout", "3600", "--repl-diskless-sync", "no"}

// StartReplicated starts a redis-server and a replica of it, with their link through the network, and returns once the replica has its
// copy. The context bounds the start only.
func StartReplicated(ctx context.Context, guard *process.Guard, links *network.Network, options Options) (*Replicated, error) {
	r := &Replicated{guard: guard, network: links, options: options, fate: newFate()}
	var err error
	if r.primary, err = r.start(ctx); err != nil {
		return nil, err
	}
	r.addr = r.primary.Addr()
	if err := r.replicate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a replica: %w", err), r.Close())
	}
	return r, nil
}

// start starts a process. Each has a log of its own, which tells why it has ended.
func (r *Replicated) start(ctx context.Context) (*Redis, error) {
	options := r.options
	options.Args, options.fate = ofReplication, r.fate
	if r.started++; r.started > 1 && options.Log != "" {
		ext := filepath.Ext(options.Log)
		options.Log = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(options.Log, ext), r.started, ext)
	}
	return StartRedis(ctx, r.guard, options)
}

// replicate starts a replica of the primary.
func (r *Replicated) replicate(ctx context.Context) (err error) {
	name := fmt.Sprintf("replication-%s-%d", portOf(r.addr), r.started)
	if r.link, err = r.network.Link(ctx, name, r.addr, nil); err != nil {
		return err
	}
	if r.replica, err = r.start(ctx); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(r.link.Addr())
	if err != nil {
		return err
	}
	err = r.replica.do(ctx, "REPLICAOF", host, port)
	if err != nil {
		return err
	}
	return r.caughtUp(ctx)
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// marker is the key, in a database that no client uses, whose write tells how far the replica is.
const (
	markerDB  = 15
	markerKey = "locklab:replicated"
)

// caughtUp waits until the replica has all that the primary has acknowledged.
func (r *Replicated) caughtUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return within(ctx, r.addr, markerDB, -1, func(client *redis.Client) error {
		for {
			// WAIT is about what its own connection has written.
			if err := client.Set(ctx, markerKey, "", time.Second).Err(); err != nil {
				return err
			}
			replicas, err := client.Wait(ctx, 1, 100*time.Millisecond).Result()
			if err != nil {
				return fmt.Errorf("the replica does not catch up: %w", err)
			}
			if replicas == 1 {
				return client.Del(ctx, markerKey).Err()
			}
		}
	})
}

// Save holds the link, once the replica has caught up: what is written from now on does not reach it.
func (r *Replicated) Save(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.save(ctx); err != nil {
		return fmt.Errorf("hold the link to the replica: %w", err)
	}
	return nil
}

func (r *Replicated) save(ctx context.Context) error {
	if r.link == nil {
		return errors.New("the server is closed")
	}
	if err := r.letGo(ctx); err != nil {
		return err
	}
	if err := r.caughtUp(ctx); err != nil {
		return err
	}
	held, err := r.link.Inject(ctx, faults.LinkFault{Kind: faults.Partition})
	if err != nil {
		return err
	}
	r.held = held
	return nil
}

// letGo ends the hold of the link, if there is one.
func (r *Replicated) letGo(ctx context.Context) error {
	held := r.held
	if held == nil {
		return nil
	}
	r.held = nil
	_, err := held.Recover(ctx)
	return err
}

// RestartSaved kills the primary, promotes the replica at the primary's address, and gives it a replica of its own.
func (r *Replicated) RestartSaved(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.failOver(ctx); err != nil {
		return fmt.Errorf("fail over: %w", err)
	}
	return nil
}

func (r *Replicated) failOver(ctx context.Context) error {
	if r.held == nil {
		return errors.New("nothing is saved: the link to the replica is not held")
	}
	if err := r.primary.Close(); err != nil {
		return err
	}
	return r.promote(ctx)
}

// promote has the replica take over from a primary that is dead.
func (r *Replicated) promote(ctx context.Context) error {
	r.primary, r.replica = r.replica, nil
	if err := r.primary.do(ctx, "REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	// What the link still holds is lost with it.
	err := r.link.Close()
	r.link, r.held = nil, nil
	if err != nil {
		return err
	}
	if err := r.primary.move(ctx, r.addr); err != nil {
		return err
	}
	return r.replicate(ctx)
}

// Stop kills the primary, once the replica has all that it has acknowledged.
func (r *Replicated) Stop(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := errDown
	if r.down == nil {
		err = r.save(ctx)
	}
	if err == nil {
		err = r.primary.Close()
	}
	if err == nil {
		r.down, err = keepPlace(ctx, r.addr)
	}
	if err != nil {
		return fmt.Errorf("stop the primary: %w", err)
	}
	return nil
}

// StartAgain promotes the replica at the primary's address, and gives it a replica of its own.
func (r *Replicated) StartAgain(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down == nil {
		return fmt.Errorf("fail over: %w", errNotDown)
	}
	r.down.leave()
	r.down = nil
	if err := r.promote(ctx); err != nil {
		return fmt.Errorf("fail over: %w", err)
	}
	return nil
}

// RestartEmpty kills the primary and starts it again without data. The replica empties itself as soon as it has found it again.
func (r *Replicated) RestartEmpty(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.primary.RestartEmpty(ctx); err != nil {
		return err
	}
	return r.letGo(ctx)
}

// Reset returns the primary to the state after its start. A server that has failed over, or whose replica lags, is not reset: that would
// take as long as to start another.
func (r *Replicated) Reset(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held != nil {
		return errors.New("reset a server with a replica: the link to the replica is held")
	}
	return r.primary.Reset(ctx)
}

// Addr is where the primary listens, whichever process it is.
func (r *Replicated) Addr() string { return r.addr }

// Describe says what it is, with its version.
func (r *Replicated) Describe() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%s %s with a replica (started by the lab)", binary, r.primary.version)
}

// Close ends both processes and their link. Later calls do nothing.
func (r *Replicated) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down.leave()
	var errs []error
	if r.replica != nil {
		errs = append(errs, r.replica.Close())
	}
	errs = append(errs, r.primary.Close())
	if r.link != nil {
		errs = append(errs, r.link.Close())
		r.link, r.held = nil, nil
	}
	return errors.Join(errs...)
}

// do has the process carry out one command.
func (r *Redis) do(ctx context.Context, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := patiently(ctx, r.addr, func(client *redis.Client) error { return client.Do(ctx, args...).Err() })
	if err != nil {
		return fmt.Errorf("%v: %w", args, err)
	}
	return nil
}

// move has the process listen at another address of this host.
func (r *Redis) move(ctx context.Context, addr string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	port, err := strconv.Atoi(portOf(addr))
	if err != nil {
		return err
	}
	err = onSamePort(ctx, func() (taken bool, err error) {
		err = r.do(ctx, "CONFIG", "SET", "port", port)
		return err != nil && strings.Contains(err.Error(), "Unable to listen"), err
	})
	if err != nil {
		return fmt.Errorf("take over the address of the primary, which Redis can since version 7: %w", err)
	}
	r.addr = addr
	return r.awaitReady(ctx, r.process)
}
