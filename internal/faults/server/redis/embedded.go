package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"

	"github.com/alicebob/miniredis/v2"

	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/redisclient"
)

// Embedded is a miniredis inside this process. Its methods may be called by several goroutines at once.
type Embedded struct {
	addr string

	mu    sync.Mutex
	redis *miniredis.Miniredis // nil once closed, or while it is down
	saved bool                 // there is a copy of the data in database copies
	down  *daemon.Placeholder  // nil: it is up
	kept  *miniredis.Miniredis // what it had when it went down
}

// StartEmbedded starts a miniredis on a free loopback port.
func StartEmbedded() (*Embedded, error) {
	e := &Embedded{}
	err := daemon.OnFreePort(func(port int) (bool, error) {
		e.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		return e.listen(newMiniredis())
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", e.Describe(), err)
	}
	return e, nil
}

func newMiniredis() *miniredis.Miniredis {
	redis := miniredis.NewMiniRedis()
	redis.ClockTTL(true) // otherwise no key ever expires by itself
	return redis
}

func (e *Embedded) listen(redis *miniredis.Miniredis) (taken bool, err error) {
	if redis.Ctx.Err() != nil { // it was closed before
		redis.Ctx, redis.CtxCancel = context.WithCancel(context.Background())
	}
	if err := redis.StartAddr(e.addr); err != nil {
		return errors.Is(err, syscall.EADDRINUSE), err
	}
	e.redis = redis
	return false, nil
}

// Addr is where it listens.
func (e *Embedded) Addr() string { return e.addr }

// Describe says what it is, with its version.
func (e *Embedded) Describe() string { return "embedded miniredis" + miniredisVersion() }

func miniredisVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/alicebob/miniredis/v2" {
			return " " + m.Version
		}
	}
	return ""
}

// RestartEmpty breaks all connections and starts again at the same address, without data.
func (e *Embedded) RestartEmpty(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.saved = false
	return e.restart(ctx, func(*miniredis.Miniredis) *miniredis.Miniredis { return newMiniredis() })
}

// copies is the database in which a copy of database 0 is kept: where locks lie.
const copies = 15

// Save keeps a copy of database 0. Keys expire in the copy, too.
func (e *Embedded) Save(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.redis == nil {
		return fmt.Errorf("save %s: it is closed", e.Describe())
	}
	e.redis.DB(copies).FlushDB()
	for _, key := range e.redis.DB(0).Keys() {
		if err := e.redis.Copy(0, key, copies, key); err != nil && e.redis.DB(0).Exists(key) {
			return fmt.Errorf("save %s: %w", e.Describe(), err)
		}
	}
	e.saved = true
	return nil
}

// RestartSaved breaks all connections and starts again at the same address, with the data that was saved.
func (e *Embedded) RestartSaved(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.saved {
		return fmt.Errorf("restart %s: nothing is saved", e.Describe())
	}
	e.saved = false
	err := e.restart(ctx, func(before *miniredis.Miniredis) *miniredis.Miniredis {
		before.SwapDB(0, copies)
		before.DB(copies).FlushDB()
		return before
	})
	if err != nil {
		return err
	}
	return e.forgetScripts(ctx)
}

// forgetScripts leaves the server without scripts, as one that has been started.
func (e *Embedded) forgetScripts(ctx context.Context) error {
	return patiently(ctx, e.addr, func(client redisclient.Client) error { return client.ScriptFlush(ctx).Err() })
}

// Stop breaks all connections and ends the server. It keeps its data.
func (e *Embedded) Stop(ctx context.Context) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.redis == nil {
		return fmt.Errorf("stop %s: it is closed, or down", e.Describe())
	}
	e.redis.Close()
	e.redis, e.kept, e.saved = nil, e.redis, false
	if e.down, err = daemon.KeepPlace(ctx, e.addr); err != nil {
		return fmt.Errorf("stop %s: %w", e.Describe(), err)
	}
	return nil
}

// StartAgain starts the server at the same address, with the data that it had.
func (e *Embedded) StartAgain(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down == nil {
		return fmt.Errorf("start %s again: %w", e.Describe(), daemon.ErrNotDown)
	}
	e.down.Leave()
	again := e.kept
	e.down, e.kept = nil, nil
	if err := daemon.OnSamePort(ctx, func() (bool, error) { return e.listen(again) }); err != nil {
		return fmt.Errorf("start %s again: %w", e.Describe(), err)
	}
	return e.forgetScripts(ctx)
}

// restart ends the server and starts the one that next returns, which may be the same.
func (e *Embedded) restart(ctx context.Context, next func(before *miniredis.Miniredis) *miniredis.Miniredis) error {
	if e.redis == nil {
		return fmt.Errorf("restart %s: it is closed", e.Describe())
	}
	e.redis.Close()
	after := next(e.redis)
	e.redis = nil
	if err := daemon.OnSamePort(ctx, func() (bool, error) { return e.listen(after) }); err != nil {
		return fmt.Errorf("restart %s: %w", e.Describe(), err)
	}
	return nil
}

// Close ends the server. Later calls do nothing.
func (e *Embedded) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down.Leave()
	if e.redis != nil {
		e.redis.Close()
	}
	e.redis, e.down, e.kept = nil, nil, nil
	return nil
}
