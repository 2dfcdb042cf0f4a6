package impls

import (
	"context"
	"slices"
	"sync"
)

// redissonClient is the state that the locks of a process share.
type redissonClient struct {
	id       string
	renewals renewals
}

// renewals are registered per lock name.
type renewals struct {
	mu      sync.Mutex
	entries map[string]*renewal
}

// renewal prolongs one lock for the client's threads that have taken it, in that order. A reentrant thread is listed once per acquire.
type renewal struct {
	threads []string
	stop    func()
}

// add has the lock renewed for its thread. The bug: an existing entry, even of a thread that has lost the lock, starts no renewal, and it
// renews for its first thread only.
func (r *renewals) add(l *redissonLock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, thread := l.opts.Key, l.name()
	if entry := r.entries[key]; entry != nil {
		entry.threads = append(entry.threads, thread)
		return
	}
	entry := &renewal{threads: []string{thread}}
	r.entries[key] = entry
	entry.stop = l.env.Go(func(ctx context.Context) {
		renewUntilFailure(ctx, l.env, l.opts.Lease, func(ctx context.Context) (bool, error) {
			first, ok := r.first(entry)
			if !ok {
				return false, nil
			}
			return l.renew(ctx, first)
		})
		if !l.bugs.has(bugStaleEntry) {
			r.drop(key, entry)
		}
	})
}

// remove removes one hold of the lock's thread, and ends the renewal with the last.
func (r *renewals) remove(l *redissonLock) {
	if stop := r.takeOff(l.opts.Key, l.name()); stop != nil {
		stop()
	}
}

func (r *renewals) takeOff(key, thread string) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.entries[key]
	if entry == nil {
		return nil
	}
	if i := slices.Index(entry.threads, thread); i >= 0 {
		entry.threads = slices.Delete(entry.threads, i, i+1)
	}
	if len(entry.threads) > 0 {
		return nil
	}
	delete(r.entries, key)
	return entry.stop
}

func (r *renewals) first(entry *renewal) (thread string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(entry.threads) == 0 {
		return "", false
	}
	return entry.threads[0], true
}

// drop removes an entry whose renewal has ended.
func (r *renewals) drop(key string, entry *renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[key] == entry {
		delete(r.entries, key)
	}
}
