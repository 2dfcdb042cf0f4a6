package past

import (
	"context"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/worker/work"
)

// operation is an operation of a client, as in the live world.
func (l *Moments) operation(op history.Op, resource impls.Server) process.Operation {
	switch op {
	case history.OpAcquire:
		return func(ctx context.Context, lock impls.Lock) history.Answer {
			held, err := lock.TryAcquire(ctx)
			return answers.Granted(lock, held, err)
		}
	case history.OpWork:
		return func(ctx context.Context, lock impls.Lock) history.Answer {
			return work.Task{Resource: resource, Key: l.Counter}.Under(lock).Do(ctx, history.Counter)
		}
	}
	return func(ctx context.Context, lock impls.Lock) history.Answer {
		return answers.Settled(lock.Release(ctx))
	}
}

// untilHeld makes locks whose user waits from the first try to the last.
func untilHeld(open func(impls.Env, impls.Options) impls.Lock) func(impls.Env, impls.Options) impls.Lock {
	return func(env impls.Env, opts impls.Options) impls.Lock {
		lock := open(env, opts)
		if stateful, declares := lock.(impls.Stateful); declares {
			return struct {
				*patientLock
				impls.Stateful
			}{&patientLock{lock}, stateful}
		}
		return &patientLock{lock}
	}
}

type patientLock struct{ impls.Lock }

func (l *patientLock) patient() impls.Lock { return l.Lock }

func (l *patientLock) TryAcquire(ctx context.Context) (bool, error) {
	patient, waits := l.Lock.(impls.Patient)
	if !waits {
		return l.Lock.TryAcquire(ctx)
	}
	if err := patient.Enter(ctx); err != nil {
		return false, err
	}
	held, err := l.Lock.TryAcquire(ctx)
	if held {
		err = patient.Leave(ctx, true)
	}
	return held, err
}
