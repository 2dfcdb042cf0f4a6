package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/faults/tap"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/worker/protocol"
)

// lockKeys are the keys that locks have on a server, as clients name them when they open a lock. A history has one name for a lock, the key that
// open gives; one of several keys is a part of the lock. It is safe for concurrent use.
type lockKeys struct {
	mu    sync.RWMutex
	locks map[string]keySet   // by the key that open gives
	parts map[string]lockPart // by the key on the server
}

// newLockKeys are those of locks that no client has opened yet: each has the key that open will give.
func newLockKeys(locks ...string) *lockKeys {
	k := &lockKeys{locks: map[string]keySet{}, parts: map[string]lockPart{}}
	for _, lock := range locks {
		if lock != "" {
			k.parts[lock] = lockPart{lock: lock}
		}
	}
	return k
}

// keySet are the keys of one lock. Its holder has so many of them.
type keySet struct {
	keys []string
	need int
}

// lockPart is one key of a lock: the nth, from 1, or the only one, 0.
type lockPart struct {
	lock string
	n    int
}

// mostKeyNames bounds the keys of a lock, and longestKeyName the bytes of each.
const (
	mostKeyNames   = play.MaxServers
	longestKeyName = 1000
)

// of are the keys of a lock. Where no client has named any, it is the one that it was given.
func (k *lockKeys) of(lock string) keySet {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if set, named := k.locks[lock]; named {
		return set
	}
	return keySet{[]string{lock}, 1}
}

// named takes in the answer to an open of the lock. All clients must name the same keys.
func (k *lockKeys) named(lock string, answer protocol.Message) error {
	set := keySet{slices.Clone(answer.Keys), len(answer.Keys)}
	switch {
	case len(set.keys) == 0:
		set = keySet{[]string{lock}, 1}
	case len(set.keys) > mostKeyNames:
		return fmt.Errorf("names %d keys, more than %d", len(set.keys), mostKeyNames)
	case answer.Need == protocol.Majority:
		set.need = len(set.keys)/2 + 1
	}
	if slices.ContainsFunc(set.keys, func(key string) bool { return key == "" || len(key) > longestKeyName }) {
		return fmt.Errorf("names a key of no byte, or of more than %d", longestKeyName)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if was, before := k.locks[lock]; before {
		if !slices.Equal(was.keys, set.keys) || was.need != set.need {
			return fmt.Errorf("names the keys %q, of which it needs %d, and not as before %q and %d", set.keys, set.need, was.keys, was.need)
		}
		return nil
	}
	parts := map[string]lockPart{}
	for i, key := range set.keys {
		part := lockPart{lock, i + 1}
		if len(set.keys) == 1 {
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

// opened takes in the keys that a client names when it opens the lock of a handle.
func (c *cell) opened(h *play.Handle, answer protocol.Message) error {
	switch {
	case len(answer.Keys) == 0:
	case c.Traits.ZooKeeper || c.Traits.Opaque != "":
		return errors.New("names keys, and its lock server is no Redis")
	case len(answer.Keys) > 1 && len(c.servers) > 1:
		return errors.New("names several keys of a lock on several servers")
	}
	if err := c.lockKeys.named(h.Key, answer); err != nil {
		return err
	}
	if set := c.lockKeys.of(h.Key); len(set.keys) > 1 {
		h.Keys, h.Need = len(set.keys), set.need
	}
	return nil
}

func (k *lockKeys) part(key string) (lockPart, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	part, known := k.parts[key]
	return part, known
}

// has says whether a key is a lock's.
func (k *lockKeys) has(key string) bool {
	_, known := k.part(key)
	return known
}

// rename has a tap record commands under the names of locks. A command about several keys of a lock is recorded for each.
func (k *lockKeys) rename(cfg *tap.Config) {
	record := cfg.Record
	cfg.Record = func(e history.Event) {
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
}

// unprobed are the parts that a command without state probes may have changed: those that it names or, if its arguments name none, all.
func (k *lockKeys) unprobed(lock string, c *history.Command) (parts []int) {
	keys := k.of(lock).keys
	none := !slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(c.Args, key) })
	for i, key := range keys {
		if none || slices.Contains(c.Args, key) {
			parts = append(parts, i+1)
		}
	}
	return parts
}

// whole is the state of a lock by those of its keys: that of the key by whose end others can have it.
func (s keySet) whole(states []history.State) history.State {
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
	return longest[len(s.keys)-s.need]
}

// stateOf reads the state of a lock on the server.
func (s *lockServer) stateOf(ctx context.Context, lock string) (history.State, error) {
	set := s.cell.lockKeys.of(lock)
	states := make([]history.State, len(set.keys))
	for i, key := range set.keys {
		var err error
		if states[i], err = s.tap.State(ctx, s.tag+key); err != nil {
			return history.State{}, err
		}
	}
	return set.whole(states), nil
}

// limit has a lock end soon, as an operator does who sets an expiry on its keys.
func (s *lockServer) limit(ctx context.Context, lock string, by time.Duration) (evidence string, err error) {
	var limited bool
	for _, key := range s.cell.lockKeys.of(lock).keys {
		is, err := server.Limit(ctx, s.Addr(), s.tag+key, by)
		if err != nil {
			return "", wrap("limiting the lock", err)
		}
		limited = limited || is
	}
	if !limited {
		return "", play.Undecided("an operator would limit the lock while there is none on the server")
	}
	return "the lock ends in " + by.String(), nil
}
