package impls

import (
	"context"
	"sync"

	"github.com/locklab/locklab/history"
)

func local() Spec {
	return Spec{
		Card: Card{
			Name:     "local",
			Idea:     "a lock in the memory of one process",
			Source:   "article 003, A15",
			Bug:      "each process has a lock of its own",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime},
			Needs:    NoServer,
			Sends:    sends(nil, nil),
			Contract: history.Contract{Leaseless: true},
		},
		New: func(env Env, opts Options) Lock { return &localLock{env: env, key: opts.Key} },
	}
}

type localLock struct {
	env Env
	key string
}

// localMutex is the lock of one process for one key.
type localMutex struct {
	mu     sync.Mutex
	holder *localLock
}

// pass makes to the holder if from is the holder.
func (m *localMutex) pass(from, to *localLock) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder != from {
		return false
	}
	m.holder = to
	return true
}

func (l *localLock) TryAcquire(context.Context) (bool, error) { return l.mutex().pass(nil, l), nil }
func (l *localLock) Release(context.Context) (bool, error)    { return l.mutex().pass(l, nil), nil }

func (l *localLock) Held(context.Context) (bool, error) { return l.mutex().pass(l, l), nil }

func (l *localLock) mutex() *localMutex {
	return static(l.env, "local "+l.key, zero[localMutex]) // the bug: another process has one of its own
}

func none() Spec {
	return Spec{
		Card: Card{
			Name:     "none",
			Idea:     "no lock: whoever asks has it",
			Source:   "article 003, the sale before it has a lock",
			Bug:      "nothing keeps two clients apart: both read the same stock and sell it",
			Promises: []Promise{MutualExclusion, CrashSafety, IgnoresClientTime},
			Needs:    NoServer,
			Sends:    sends(nil, nil),
			Contract: history.Contract{Leaseless: true},
		},
		New: func(Env, Options) Lock { return noLock{} },
	}
}

type noLock struct{}

func (noLock) TryAcquire(context.Context) (bool, error) { return true, nil } // the bug: whoever asks has it
func (noLock) Release(context.Context) (bool, error)    { return true, nil }
