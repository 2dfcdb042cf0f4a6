package learn

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/worker/work"
)

const (
	LockKey    = "k"
	LockNode   = "/k" // on a ZooKeeper
	CounterKey = "k:counter"
)

// operationOf is an operation by its name in the history.
func operationOf(op history.Op, resource impls.Server) process.Operation {
	switch op {
	case history.OpAcquire:
		return acquire
	case history.OpWork:
		return increment(resource)
	}
	return release
}

// acquire tries once; the explorer itself decides when the next try comes.
func acquire(ctx process.Context, lock impls.Lock) history.Answer {
	held, err := lock.TryAcquire(ctx.Ctx())
	return answers.Granted(lock, held, err)
}

func release(ctx process.Context, lock impls.Lock) history.Answer {
	return answers.Settled(lock.Release(ctx.Ctx()))
}

// increment is also the work of the live world's clients.
func increment(resource impls.Server) process.Operation {
	return func(ctx process.Context, lock impls.Lock) history.Answer {
		return work.Task{Resource: resource, Key: CounterKey}.Under(lock).Do(ctx.Ctx(), history.Counter)
	}
}
