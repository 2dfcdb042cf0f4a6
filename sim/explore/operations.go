package explore

import (
	"errors"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/sim/process"
	"github.com/locklab/locklab/worker/work"
)

const (
	lockKey    = "k"
	counterKey = "k:counter"
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
func acquire(ctx process.Context, lock impls.Lock) process.Answer {
	held, err := lock.TryAcquire(ctx.Ctx())
	answer := process.Answer{Outcome: impls.Outcome(held, err), Err: err}
	if answer.Outcome != history.OK {
		return answer
	}
	if limited, ok := lock.(impls.Limited); ok {
		answer.Limited, answer.Valid = true, limited.Valid()
	}
	if fencer, ok := lock.(impls.Fencer); ok {
		answer.Fence = fencer.Fence()
	}
	return answer
}

func release(ctx process.Context, lock impls.Lock) process.Answer {
	released, err := lock.Release(ctx.Ctx())
	return process.Answer{Outcome: impls.Outcome(released, err), Err: err}
}

// increment is also the work of the live world's clients.
func increment(resource impls.Server) process.Operation {
	return func(ctx process.Context, lock impls.Lock) process.Answer {
		result := work.Task{Resource: resource, Key: counterKey}.Under(lock).Do(ctx.Ctx(), history.Counter)
		answer := process.Answer{Outcome: result.Outcome}
		if result.Error != "" {
			answer.Err = errors.New(result.Error)
		}
		answer.Read, answer.Wrote = result.Read, result.Wrote
		return answer
	}
}
