package impls

import (
	"context"

	"github.com/locklab/locklab/history"
)

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
