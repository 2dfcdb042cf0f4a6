package impls

import (
	"context"
	"fmt"
	"strconv"

	"github.com/locklab/locklab/history"
)

func setnxDel() Spec {
	return Spec{
		Card: Card{
			Name:     "setnx-del",
			Idea:     "SETNX acquires, DEL releases",
			Source:   "article 000, A1",
			Bug:      "SETNX sets no expiry: a holder that crashes, or loses the reply, blocks everybody for ever",
			Promises: []Promise{MutualExclusion, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SETNX"}, []string{"DEL"}),
			Clocks:   []Clock{WallClock},
			Contract: history.Contract{Leaseless: true},
		},
		New: func(env Env, opts Options) Lock { return &setnxDelLock{env, opts.Key} },
	}
}

type setnxDelLock struct {
	env Env
	key string
}

// TryAcquire writes the time as the article does, though no client reads it.
func (l *setnxDelLock) TryAcquire(ctx context.Context) (bool, error) {
	return applied(l.env.Server().Do(ctx, "SETNX", l.key, l.env.Now().Unix())) // the bug: it never expires
}

func (l *setnxDelLock) Release(ctx context.Context) (bool, error) {
	return applied(l.env.Server().Do(ctx, "DEL", l.key))
}

func setnxExpiredDel() Spec {
	return Spec{
		Card: Card{
			Name:     "setnx-expired-del",
			Idea:     "the value says when the lock was acquired; a client that finds it expired deletes it and sends SETNX",
			Source:   "article 000, A2",
			Bug:      "DEL does not check the value: of two clients that found the same lock expired, the second deletes the lock of the first",
			Promises: []Promise{MutualExclusion, CrashSafety},
			Needs:    OneServer,
			Sends:    sends([]string{"SETNX", "GET", "DEL"}, []string{"DEL"}),
			Clocks:   []Clock{WallClock},
		},
		New: func(env Env, opts Options) Lock { return &setnxExpiredDelLock{env, opts} },
	}
}

type setnxExpiredDelLock struct {
	env  Env
	opts Options
}

func (l *setnxExpiredDelLock) TryAcquire(ctx context.Context) (bool, error) {
	server := l.env.Server()
	held, err := l.create(ctx)
	if err != nil || held {
		return held, err
	}
	seen, found, err := value(server.Do(ctx, "GET", l.opts.Key))
	if err != nil {
		return false, err
	}
	if found {
		expired, err := l.expired(seen)
		if err != nil || !expired {
			return false, err
		}
		if _, err := server.Do(ctx, "DEL", l.opts.Key); err != nil { // the bug: the lock may have changed since GET
			return false, err
		}
	}
	return l.create(ctx)
}

func (l *setnxExpiredDelLock) Release(ctx context.Context) (bool, error) {
	return applied(l.env.Server().Do(ctx, "DEL", l.opts.Key))
}

func (l *setnxExpiredDelLock) create(ctx context.Context) (bool, error) {
	return applied(l.env.Server().Do(ctx, "SETNX", l.opts.Key, l.env.Now().UnixMilli()))
}

func (l *setnxExpiredDelLock) expired(taken string) (bool, error) {
	ms, err := strconv.ParseInt(taken, 10, 64)
	if err != nil {
		return false, fmt.Errorf("the value of %s is no time stamp: %w", l.opts.Key, err)
	}
	return l.env.Now().UnixMilli()-ms > l.opts.Lease.Milliseconds(), nil
}
