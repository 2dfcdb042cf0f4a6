//go:build unix

package explore

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/impls"
)

// systemCaller reads its clock by a system call.
type systemCaller struct{ plain }

func systemTime() time.Time {
	var t syscall.Timeval
	_ = syscall.Gettimeofday(&t)
	return time.Unix(t.Unix())
}

func (l *systemCaller) TryAcquire(ctx context.Context) (bool, error) {
	begun := systemTime()
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil || systemTime().Sub(begun) <= l.lease {
		return ok, err
	}
	return l.take(ctx, l.env.Token())
}

func TestSystemCallsAreNoticed(t *testing.T) {
	t.Parallel()
	s := strange{only: overwrites, faults: pauses(2), made: func(p plain) impls.Lock { return &systemCaller{p} }}
	result := s.explore(t)
	assert.Nil(t, result.Found)
	assert.Contains(t, result.Doubt, "which is not its Env's")
}
