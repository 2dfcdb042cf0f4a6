package server

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
)

// Embedded is a miniredis inside this process. Its methods may be called by several goroutines at once.
type Embedded struct {
	addr string

	mu    sync.Mutex
	redis *miniredis.Miniredis // nil once closed
}

// StartEmbedded starts one on a free loopback port.
func StartEmbedded() (*Embedded, error) {
	e := &Embedded{}
	err := onFreePort(func(port int) (bool, error) {
		e.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		return e.start()
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", e.Describe(), err)
	}
	return e, nil
}

func (e *Embedded) start() (taken bool, err error) {
	redis := miniredis.NewMiniRedis()
	if err := redis.StartAddr(e.addr); err != nil {
		return errors.Is(err, syscall.EADDRINUSE), err
	}
	redis.ClockTTL(true) // otherwise no key ever expires by itself
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
	if e.redis == nil {
		return fmt.Errorf("restart %s: it is closed", e.Describe())
	}
	e.redis.Close()
	e.redis = nil
	if err := onSamePort(ctx, e.start); err != nil {
		return fmt.Errorf("restart %s: %w", e.Describe(), err)
	}
	return nil
}

// Close ends it. Later calls do nothing.
func (e *Embedded) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.redis != nil {
		e.redis.Close()
		e.redis = nil
	}
	return nil
}
