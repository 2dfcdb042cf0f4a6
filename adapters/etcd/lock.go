package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/locklab/locklab/impls"
)

// lock is etcd's recipe. One operation at a time uses it; its session is watched beside.
type lock struct {
	env    impls.Env
	opts   impls.Options
	counts bool
	client *clientv3.Client // nil before Connect

	mu      sync.Mutex
	session *session           // nil: there is none, or what became of it is not known
	mutex   *concurrency.Mutex // of the session
	held    bool
	fence   int64 // of the last grant
}

func newLock(env impls.Env, opts impls.Options) *lock { return &lock{env: env, opts: opts} }

// Connect makes a client, if there is none, and returns when a request is answered: the library makes connections anew by itself.
func (l *lock) Connect(ctx context.Context) error {
	if l.client == nil {
		client, err := clientv3.New(clientv3.Config{
			Endpoints: []string{l.opts.Service}, Logger: zap.NewNop(),
			DialOptions: []grpc.DialOption{
				// By default it waits a second before it connects anew, and longer and longer.
				grpc.WithConnectParams(grpc.ConnectParams{
					Backoff:           backoff.Config{BaseDelay: reconnectEvery, Multiplier: 1, MaxDelay: reconnectEvery},
					MinConnectTimeout: time.Minute, // no time-out fires by accident
				}),
				grpc.WithChainUnaryInterceptor(failFast),
			},
		})
		if err != nil {
			return err
		}
		l.client = client
		l.env.Go(func(ctx context.Context) {
			<-ctx.Done()
			client.Close()
		})
		l.env.Go(l.watchHost)
	}
	for {
		_, err := l.client.Get(ctx, l.opts.Key)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := l.env.Sleep(ctx, reconnectEvery); err != nil {
			return err
		}
	}
}

// failFast has a request fail where no connection can be made. By default the library waits until there is one, for ever if need be.
func failFast(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(ctx, method, req, reply, conn, append(opts, grpc.WaitForReady(false))...)
}

const reconnectEvery = 50 * time.Millisecond

// watchHost tells the lab when the host did not run this process: each sleep that is late is a notice.
func (l *lock) watchHost(ctx context.Context) {
	for l.env.Sleep(ctx, 10*time.Millisecond) == nil {
	}
}

// TryAcquire tries once.
func (l *lock) TryAcquire(ctx context.Context) (bool, error) {
	return l.acquire(ctx, ctx, func(m *concurrency.Mutex) error { return m.TryLock(ctx) })
}

// Acquire waits in the queue of the lock.
func (l *lock) Acquire(ctx, patience context.Context) (bool, error) {
	return l.acquire(ctx, patience, func(m *concurrency.Mutex) error { return m.Lock(patience) })
}

// grace is how long the library may take to leave the queue. It waits for that without a bound.
const grace = time.Second

// acquire has the library take the lock, once more if the session turns out to be over.
func (l *lock) acquire(ctx, patience context.Context, take func(*concurrency.Mutex) error) (bool, error) {
	for {
		held, err := l.acquireOnce(ctx, patience, take)
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) && !errors.Is(err, concurrency.ErrSessionExpired) || patience.Err() != nil {
			return held, err
		}
	}
}

// acquireOnce has the library take the lock, in a goroutine: the library does not return at once when ctx ends.
func (l *lock) acquireOnce(ctx, patience context.Context, take func(*concurrency.Mutex) error) (bool, error) {
	s, err := l.present(patience)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	l.held = false // what becomes of an earlier hold no longer matters
	l.mu.Unlock()
	m := concurrency.NewMutex(s.Session, l.opts.Key)
	taken := make(chan error, 1)
	l.env.Go(func(context.Context) { taken <- take(m) })
	select {
	case err = <-taken:
	case <-ctx.Done():
		err = ctx.Err()
	case <-late(l.env, ctx, patience):
		err = patience.Err()
	}
	if err == nil {
		err = l.counted(ctx, s)
	}
	switch {
	case err == nil:
		return l.granted(s, m), nil
	case errors.Is(err, concurrency.ErrLocked):
		return false, nil
	case ctx.Err() == nil && patience.Err() != nil && l.leaves(ctx, s) == nil:
		return false, nil
	}
	// It may be in the queue, or have the lock: it ends with its session.
	l.forsake(s)
	return false, err
}

// late is closed some time after patience has ended.
func late(env impls.Env, ctx, patience context.Context) <-chan struct{} {
	over := make(chan struct{})
	if ctx == patience {
		return over
	}
	env.Go(func(life context.Context) {
		select {
		case <-patience.Done():
			_ = env.Sleep(life, grace) // the lock ends earlier
			close(over)
		case <-life.Done():
		}
	})
	return over
}

// leaves makes sure that the session has no key below the lock's: the library does not say whether it could delete it.
func (l *lock) leaves(ctx context.Context, s *session) error {
	ctx, cancel := l.env.WithTimeout(ctx, grace)
	defer cancel()
	_, err := l.client.Delete(ctx, s.key(l.opts.Key))
	return err
}

// granted takes in a grant, unless the session has ended meanwhile.
func (l *lock) granted(s *session, m *concurrency.Mutex) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != s {
		return false
	}
	l.mutex, l.held, l.fence = m, true, m.Header().Revision
	return true
}

// Release deletes the key, if the session still has it. Mutex.Unlock deletes it too, and does not say whether it was there.
func (l *lock) Release(ctx context.Context) (bool, error) {
	l.mu.Lock()
	s, m := l.session, l.mutex
	l.mutex, l.held = nil, false
	l.mu.Unlock()
	if m == nil {
		return false, nil
	}
	answer, err := l.client.Txn(ctx).If(m.IsOwner()).Then(clientv3.OpDelete(m.Key())).Commit()
	if err != nil {
		l.forsake(s)
		return false, err
	}
	return answer.Succeeded, nil
}

// Held asks whether the key is still there.
func (l *lock) Held(ctx context.Context) (bool, error) {
	l.mu.Lock()
	m := l.mutex
	l.mu.Unlock()
	if m == nil {
		return false, nil
	}
	answer, err := l.client.Txn(ctx).If(m.IsOwner()).Commit()
	if err != nil {
		return false, err
	}
	return answer.Succeeded, nil
}

// fenced is the lock with its revision for a fence.
type fenced struct{ *lock }

// Fence is the revision of the store at the last grant. A later grant follows a deletion, which has a greater one.
func (l fenced) Fence() int64 { return l.fence }

// counted is the lock that counts its lease.
type counted struct{ *lock }

// Valid is what is left of the lease.
func (l counted) Valid() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		return 0
	}
	return l.session.left()
}
