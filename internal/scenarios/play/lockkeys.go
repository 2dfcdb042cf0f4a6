package play

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/locklab/locklab/history"
)

// LockKeys are the keys that locks have on a server, as clients name them when they open a lock. A history has one name for a lock, the key that
// open gives; one of several keys is a part of the lock. It is safe for concurrent use.
type LockKeys struct {
	LockKey  string // by which clients are asked for the lock, and its name in the history
	OtherKey string // of the second lock, which some handles use; empty: none

	mu    sync.RWMutex
	locks map[string]KeySet   // by the key that open gives
	parts map[string]lockPart // by the key on the server
}

// NewLockKeys are those of locks that no client has opened yet: each has the key that open will give.
func NewLockKeys(lock, other string) *LockKeys {
	k := &LockKeys{LockKey: lock, OtherKey: other, locks: map[string]KeySet{}, parts: map[string]lockPart{lock: {lock: lock}}}
	if other != "" {
		k.parts[other] = lockPart{lock: other}
	}
	return k
}

// KeySet are the keys of one lock. Its holder has so many of them.
type KeySet struct {
	Keys []string
	Need int
}

// lockPart is one key of a lock: the nth, from 1, or the only one, 0.
type lockPart struct {
	lock string
	n    int
}

// mostKeyNames bounds the keys of a lock, and longestKeyName the bytes of each.
const (
	mostKeyNames   = MaxServers
	longestKeyName = 1000
)

// Of are the keys of a lock. Where no client has named any, it is the one that it was given.
func (k *LockKeys) Of(lock string) KeySet {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if set, named := k.locks[lock]; named {
		return set
	}
	return KeySet{[]string{lock}, 1}
}

// Name takes in the keys of a lock, of which its holder has most or all; none: the lock's own name is its key. All clients must name the same.
func (k *LockKeys) Name(lock string, keys []string, most bool) error {
	set := KeySet{slices.Clone(keys), len(keys)}
	switch {
	case len(set.Keys) == 0:
		set = KeySet{[]string{lock}, 1}
	case len(set.Keys) > mostKeyNames:
		return fmt.Errorf("names %d keys, more than %d", len(set.Keys), mostKeyNames)
	case most:
		set.Need = len(set.Keys)/2 + 1
	}
	if slices.ContainsFunc(set.Keys, func(key string) bool { return key == "" || len(key) > longestKeyName }) {
		return fmt.Errorf("names a key of no byte, or of more than %d", longestKeyName)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if was, before := k.locks[lock]; before {
		if !slices.Equal(was.Keys, set.Keys) || was.Need != set.Need {
			return fmt.Errorf("names the keys %q, of which it needs %d, and not as before %q and %d", set.Keys, set.Need, was.Keys, was.Need)
		}
		return nil
	}
	parts := map[string]lockPart{}
	for i, key := range set.Keys {
		part := lockPart{lock, i + 1}
		if len(set.Keys) == 1 {
			part.n = 0
		}
		if other, taken := k.parts[key]; taken && other.lock != lock || parts[key] != (lockPart{}) {
			return fmt.Errorf("names the key %q twice, or that of another lock", key)
		}
		parts[key] = part
	}
	delete(k.parts, lock)
	k.locks[lock] = set
	maps.Copy(k.parts, parts)
	return nil
}

// NameKeys takes in the keys of a handle's lock.
func (c *Cell) NameKeys(h *Handle, keys []string, most bool) error {
	if err := c.LockKeys.Name(h.Key, keys, most); err != nil {
		return err
	}
	if set := c.LockKeys.Of(h.Key); len(set.Keys) > 1 {
		h.Keys, h.Need = len(set.Keys), set.Need
	}
	return nil
}

func (k *LockKeys) part(key string) (lockPart, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	part, known := k.parts[key]
	return part, known
}

// Has says whether a key is a lock's.
func (k *LockKeys) Has(key string) bool {
	_, known := k.part(key)
	return known
}

// Rename records a command under the names of locks. One about several keys of a lock is recorded for each.
func (k *LockKeys) Rename(e history.Event, record func(history.Event)) {
	first, known := k.part(e.Lock)
	if !known { // a session's
		record(e)
		return
	}
	e.Lock = first.lock
	c := e.Command()
	parts := make([]int, len(c.Changes))
	for i := range c.Changes {
		part, _ := k.part(c.Changes[i].Key)
		parts[i], c.Changes[i].Key = part.n, part.lock
	}
	if first.n == 0 {
		record(e)
		return
	}
	if len(parts) == 0 {
		parts = k.unprobed(first.lock, c)
	}
	for i, n := range parts {
		one := *c
		one.Server, one.Changes = history.Part(c.Server, n), nil
		if len(c.Changes) > 0 {
			one.Changes = c.Changes[i : i+1]
		}
		e.Detail = &history.Detail{Command: &one}
		record(e)
	}
}

// unprobed are the parts that a command without state probes may have changed: those that it names or, if its arguments name none, all.
func (k *LockKeys) unprobed(lock string, c *history.Command) (parts []int) {
	keys := k.Of(lock).Keys
	none := !slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(c.Args, key) })
	for i, key := range keys {
		if none || slices.Contains(c.Args, key) {
			parts = append(parts, i+1)
		}
	}
	return parts
}

// Whole is the state of a lock by those of its keys: that of the key by whose end others can have it.
func (s KeySet) Whole(states []history.State) history.State {
	longest := slices.SortedFunc(slices.Values(states), func(a, b history.State) int {
		left := func(s history.State) int64 {
			switch {
			case !s.Exists():
				return -1
			case s.TTL == 0:
				return 1 << 62
			}
			return int64(s.TTL)
		}
		return cmp.Compare(left(b), left(a))
	})
	return longest[len(s.Keys)-s.Need]
}
