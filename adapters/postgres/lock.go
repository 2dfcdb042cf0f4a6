package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/locklab/locklab/impls"
)

// way is a way to lock in PostgreSQL, on a connection that is the lock's own.
type way interface {
	// prepare makes what the lock needs, once for each connection.
	prepare(ctx context.Context, conn *pgx.Conn, key string, lease time.Duration) error
	// try tries once: the lock, and its fence or 0.
	try(ctx context.Context, conn *pgx.Conn, key string) (held bool, fence int64, err error)
	release(ctx context.Context, conn *pgx.Conn, key string) (was bool, err error)
}

// lock is a lock in PostgreSQL. One operation at a time uses it. It lasts as long as its connection, so its client never makes a new one while it
// believes that it holds the lock.
type lock struct {
	env   impls.Env
	opts  impls.Options
	way   way
	busy  sync.Mutex // held by an operation, and while the connection is replaced
	conn  *pgx.Conn  // nil: there is none
	held  bool
	fence int64
}

// dial makes the connection. The lab's server trusts the user.
func (l *lock) dial(ctx context.Context) error {
	config, err := pgx.ParseConfig("postgres://lab@" + l.opts.Service + "/postgres?sslmode=disable")
	if err != nil {
		return err
	}
	config.ConnectTimeout = 0                           // none fires by accident
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing is sent beside
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	if err := l.way.prepare(ctx, conn, l.opts.Key, l.opts.Lease); err != nil {
		return errors.Join(err, conn.Close(ctx))
	}
	l.conn = conn
	return nil
}

// Connect connects, if there is no connection that works: a lock ends with its connection. An operation under way does so by itself.
func (l *lock) Connect(ctx context.Context) error {
	if !l.busy.TryLock() {
		return nil
	}
	defer l.busy.Unlock()
	if l.conn == nil {
		l.env.Go(func(ctx context.Context) {
			for l.env.Sleep(ctx, 10*time.Millisecond) == nil { // each that is late is a notice to the lab
			}
		})
	}
	for {
		if l.conn != nil && l.conn.Ping(ctx) == nil {
			return nil
		}
		l.drop()
		err := l.dial(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := l.env.Sleep(ctx, reconnectEvery); err != nil {
			return err
		}
	}
}

const reconnectEvery = 20 * time.Millisecond

// drop gives the connection up, and with it what it holds.
func (l *lock) drop() {
	if l.held {
		l.held = false
		l.env.Lost("its connection has ended")
	}
	if l.conn != nil {
		_ = l.conn.PgConn().Conn().Close() // without a farewell: the link may be cut
		l.conn = nil
	}
}

// TryAcquire tries once, on a new connection if need be.
func (l *lock) TryAcquire(ctx context.Context) (bool, error) {
	l.busy.Lock()
	defer l.busy.Unlock()
	if l.held {
		return false, nil // it is not reentrant
	}
	if l.conn == nil || l.conn.IsClosed() {
		if err := l.dial(ctx); err != nil {
			return false, err
		}
	}
	held, fence, err := l.way.try(ctx, l.conn, l.opts.Key)
	if err != nil {
		l.drop() // what may have been granted ends with it
		return false, err
	}
	l.held, l.fence = held, fence
	return held, nil
}

// Release releases the lock. If the connection has ended, the lock has, too.
func (l *lock) Release(ctx context.Context) (bool, error) {
	l.busy.Lock()
	defer l.busy.Unlock()
	if !l.held || l.conn == nil {
		return false, nil
	}
	l.held = false
	was, err := l.way.release(ctx, l.conn, l.opts.Key)
	if err == nil {
		return was, nil
	}
	l.drop()
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && refusal.Code == idleTooLong {
		return false, nil
	}
	return false, err
}

// idleTooLong is the code of an error by which PostgreSQL ends a connection whose transaction was idle for too long.
const idleTooLong = "25P03"

// fenced is a lock with fences.
type fenced struct{ *lock }

func (l fenced) Fence() int64 { return l.fence }

// advisory is pg_try_advisory_lock.
type advisory struct{}

func (advisory) prepare(context.Context, *pgx.Conn, string, time.Duration) error { return nil }

func (advisory) try(ctx context.Context, conn *pgx.Conn, key string) (held bool, _ int64, err error) {
	err = conn.QueryRow(ctx, "select pg_try_advisory_lock(hashtextextended($1, 0))", key).Scan(&held)
	return held, 0, err
}

func (advisory) release(ctx context.Context, conn *pgx.Conn, key string) (was bool, err error) {
	err = conn.QueryRow(ctx, "select pg_advisory_unlock(hashtextextended($1, 0))", key).Scan(&was)
	return was, err
}

// row is SELECT … FOR UPDATE NOWAIT in a transaction that is left open.
type row struct{ fences bool }

func (row) prepare(ctx context.Context, conn *pgx.Conn, key string, lease time.Duration) error {
	for _, command := range []string{
		// Those who create at the same time must not meet.
		"select pg_advisory_lock(1)",
		"create table if not exists locks (name text primary key)",
		"create sequence if not exists fences",
		"select pg_advisory_unlock(1)",
		fmt.Sprintf("set idle_in_transaction_session_timeout = %d", lease.Milliseconds()),
	} {
		if _, err := conn.Exec(ctx, command); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, "insert into locks values ($1) on conflict do nothing", key)
	return err
}

// lockNotAvailable is the code of the refusal of NOWAIT.
const lockNotAvailable = "55P03"

func (r row) try(ctx context.Context, conn *pgx.Conn, key string) (held bool, fence int64, err error) {
	if _, err := conn.Exec(ctx, "begin"); err != nil {
		return false, 0, err
	}
	var name string
	err = conn.QueryRow(ctx, "select name from locks where name = $1 for update nowait", key).Scan(&name)
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && refusal.Code == lockNotAvailable {
		_, err := conn.Exec(ctx, "rollback")
		return false, 0, err
	}
	if err == nil && r.fences {
		err = conn.QueryRow(ctx, "select nextval('fences')").Scan(&fence) // drawn under the lock, and never taken back
	}
	return err == nil, fence, err
}

func (row) release(ctx context.Context, conn *pgx.Conn, _ string) (bool, error) {
	_, err := conn.Exec(ctx, "commit")
	return err == nil, err
}
