package process

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
)

// keeper is a Host that minds time-outs.
type keeper struct {
	tokens int
	begun  map[int]time.Duration
}

func (k *keeper) Monotonic() time.Duration { return 0 }
func (k *keeper) Now() time.Time           { return time.Unix(1_700_000_000, 0) }

func (k *keeper) Token() string {
	k.tokens++
	return strconv.Itoa(k.tokens)
}

func (k *keeper) Begun(timer int, d time.Duration) { k.begun[timer] = d }

// opened is a process with one lock, and an operation that does what the test says.
func opened(t *testing.T, run func(ctx context.Context, env impls.Env) error) (*Process, *keeper, int) {
	t.Helper()
	k := &keeper{begun: map[int]time.Duration{}}
	p := New(k)
	t.Cleanup(p.Close)
	spec, ok := impls.Find("setnx-del")
	require.True(t, ok)
	p.Open("lock", spec, impls.Options{Key: "lock", Lease: time.Second}, 1)
	task := p.Call("lock", history.OpAcquire, func(ctx context.Context, _ impls.Lock) history.Answer {
		return answers.Settled(true, run(ctx, p.Env("lock")))
	})
	return p, k, task
}

// waitOf is what the process waits for.
func waitOf(t *testing.T, p *Process) Wait {
	t.Helper()
	require.NoError(t, p.Err())
	waits := p.Waits()
	require.Len(t, waits, 1)
	return waits[0]
}

// returned is the error with which the operation has returned; empty: none.
func returned(t *testing.T, p *Process) string {
	t.Helper()
	notices := p.Notices()
	require.Len(t, notices, 1)
	require.Equal(t, Returned, notices[0].Kind)
	return notices[0].Answer.Error
}

// A time-out that a Timekeeper minds spans several waits, and one within it ends before it.
func TestTimeoutsOfATimekeeper(t *testing.T) {
	p, k, _ := opened(t, func(ctx context.Context, env impls.Env) error {
		outer, cancel := env.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_ = env.Sleep(outer, time.Second)
		inner, stop := env.WithTimeout(outer, 5*time.Second)
		if _, err := env.Server().Do(inner, "GET", "lock"); !errors.Is(err, context.DeadlineExceeded) {
			return errors.New("the inner time-out has not come")
		}
		stop()
		return env.Sleep(outer, time.Hour)
	})
	wait := waitOf(t, p)
	assert.Equal(t, Sleep, wait.Kind)
	p.Resume(wait.Task, Input{})
	wait = waitOf(t, p)
	assert.Equal(t, "lock", wait.Handle)
	var outer, inner int
	for timer, d := range k.begun {
		if d == 10*time.Second {
			outer = timer
		} else {
			inner = timer
		}
	}
	p.Expire(inner)
	assert.Equal(t, time.Hour, waitOf(t, p).Length)
	p.Expire(inner)
	assert.Equal(t, time.Hour, waitOf(t, p).Length, "what has ended does not end again")
	p.Expire(outer)
	assert.Equal(t, context.DeadlineExceeded.Error(), returned(t, p))
}

// A fork ends alone, and what package context makes of it ends with it, at once.
func TestForkEndsWhatIsMadeOfIt(t *testing.T) {
	var timer int
	p, _, _ := opened(t, func(ctx context.Context, env impls.Env) error {
		patience, number := Fork(ctx)
		timer = number
		within, cancel := context.WithCancel(patience)
		defer cancel()
		_ = env.Sleep(within, time.Hour)
		if within.Err() == nil || ctx.Err() != nil {
			return errors.New("the wrong context has ended")
		}
		return nil
	})
	p.Expire(timer)
	require.Empty(t, returned(t, p))
}
