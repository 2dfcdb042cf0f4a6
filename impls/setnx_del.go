package impls

import (
	"context"

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
