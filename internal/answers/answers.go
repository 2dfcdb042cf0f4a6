// Package answers makes answers of what a lock returns, for all who carry out operations: clients, the model and the searches.
//
// It owns which answer an operation's results are. It must not know how a request reaches a lock.
package answers

import (
	"context"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// Settled is the answer to an operation that returned ok and err.
func Settled(ok bool, err error) history.Answer {
	answer := history.Answer{Outcome: impls.Outcome(ok, err)}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

// Granted is the answer to an operation that began or prolonged a hold, with its validity and its fence where the lock has them.
func Granted(lock impls.Lock, held bool, err error) history.Answer {
	answer := Settled(held, err)
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

// Perform carries out a release, a renewal or a check. A lock without the operation answers that it is unsupported.
func Perform(ctx context.Context, lock impls.Lock, op history.Op) history.Answer {
	switch op {
	case history.OpRelease:
		return Settled(lock.Release(ctx))
	case history.OpRenew:
		if renewer, ok := lock.(impls.Renewer); ok {
			held, err := renewer.Renew(ctx)
			return Granted(lock, held, err)
		}
		return Unsupported("this lock cannot be renewed by its user")
	case history.OpCheck:
		if checker, ok := lock.(impls.Checker); ok {
			return Settled(checker.Held(ctx))
		}
		return Unsupported("this lock cannot be asked whether it is held")
	}
	return Unsupported("unknown operation")
}

// Unsupported is the answer to an operation that the lock or its client does not have; why is for people.
func Unsupported(why string) history.Answer {
	return history.Answer{Outcome: history.No, Unsupported: true, Error: why}
}
