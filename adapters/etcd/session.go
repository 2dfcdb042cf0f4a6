package main

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"
)

// session is a session with etcd, and what is known of its lease.
type session struct {
	*concurrency.Session
	ttl  time.Duration
	sure time.Time // until then the lease lasts at least
	stop func()    // ends the tasks beside it
}

// key is the session's key in the queue of a lock.
func (s *session) key(lock string) string { return fmt.Sprintf("%s/%x", lock, s.Lease()) }

func (s *session) left() time.Duration { return time.Until(s.sure) } // guarded by the lock's mu

// present returns the session that there is, or makes one. The recipe's lease has whole seconds.
func (l *lock) present(ctx context.Context) (*session, error) {
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	if s != nil {
		return s, nil
	}
	seconds := int64((l.opts.Lease + time.Second - 1) / time.Second)
	asked := time.Now()
	lease, err := l.client.Grant(ctx, seconds)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(l.client.Ctx())
	made, err := concurrency.NewSession(l.client, concurrency.WithLease(lease.ID), concurrency.WithContext(life))
	if err != nil {
		end()
		return nil, err
	}
	ttl := time.Duration(lease.TTL) * time.Second
	s = &session{Session: made, ttl: ttl, sure: asked.Add(ttl), stop: end}
	l.mu.Lock()
	l.session = s
	l.mu.Unlock()
	l.env.Go(func(ctx context.Context) { l.watch(ctx, s) })
	if l.counts {
		l.env.Go(func(context.Context) { l.count(life, s) })
	}
	return s, nil
}

// watch takes in the end of the session, by the library's word.
func (l *lock) watch(ctx context.Context, s *session) {
	select {
	case <-s.Done():
		l.ended(s, "the session has ended")
	case <-ctx.Done():
	}
}

// ended takes in that a session is over.
func (l *lock) ended(s *session, why string) {
	l.mu.Lock()
	mine := l.session == s
	held := mine && l.held
	if mine {
		l.session, l.mutex, l.held = nil, nil, false
	}
	l.mu.Unlock()
	s.stop()
	if held {
		l.env.Lost(why)
	}
}

// forsake gives up a session whose state at the server is not known. Its lease is revoked if that is possible, and ends at the latest in its
// time.
func (l *lock) forsake(s *session) {
	l.ended(s, "its session was given up")
	l.env.Go(func(ctx context.Context) {
		ctx, cancel := l.env.WithTimeout(ctx, s.ttl)
		defer cancel()
		_, _ = l.client.Revoke(ctx, s.Lease())
	})
}

// count keeps the lease alive once more, beside the library, which does not say when it asked for what it was granted.
func (l *lock) count(ctx context.Context, s *session) {
	for l.env.Sleep(ctx, s.ttl/3) == nil {
		if l.keep(ctx, s) != nil {
			continue // the library finds out whether it has ended
		}
		l.mu.Lock()
		left, held := s.left(), l.session == s && l.held
		l.mu.Unlock()
		if held {
			l.env.Renewed(left)
		}
	}
}

// keep keeps the lease alive, and counts it from when it asked for that.
func (l *lock) keep(ctx context.Context, s *session) error {
	asked := time.Now()
	kept, err := l.client.KeepAliveOnce(ctx, s.Lease())
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.sure = asked.Add(time.Duration(kept.TTL) * time.Second)
	return nil
}

// counted makes sure that a lease that was just used to take the lock lasts for some time: requests to keep it alive may have failed.
func (l *lock) counted(ctx context.Context, s *session) error {
	l.mu.Lock()
	left := s.left()
	l.mu.Unlock()
	if !l.counts || left > 0 {
		return nil
	}
	return l.keep(ctx, s)
}
