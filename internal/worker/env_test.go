package worker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/internal/worker/protocol"
)

func newEnv(t *testing.T) (e *env, said func() []protocol.Message, end context.CancelFunc) {
	ctx, end := context.WithCancel(t.Context())
	var messages []protocol.Message
	e = &env{ctx: ctx, clock: newClock(), handle: "h", say: func(m protocol.Message) { messages = append(messages, m) }}
	return e, func() []protocol.Message { return messages }, end
}

func TestNoticesWaitForTheAnswerToAcquire(t *testing.T) {
	e, said, _ := newEnv(t)
	e.beginAcquire()
	e.Lost("late")
	assert.Empty(t, said())
	e.endAcquire(func() { e.say(protocol.Message{ID: 1, Outcome: protocol.OK}) })
	e.Lost("again")
	want := []protocol.Message{{ID: 1, Outcome: protocol.OK}, {Lost: "h", Why: "late"}, {Lost: "h", Why: "again"}}
	assert.Equal(t, want, said())
}

func TestValidityIsNeverNegative(t *testing.T) {
	e, said, _ := newEnv(t)
	e.Renewed(-time.Second)
	e.Renewed(1500 * time.Microsecond)
	assert.Zero(t, *said()[0].ValidMS)
	assert.InDelta(t, 1.5, *said()[1].ValidMS, 1e-9)
}

func TestStopWaitsForTheTask(t *testing.T) {
	e, _, _ := newEnv(t)
	ended := false
	stop := e.Go(func(ctx context.Context) {
		assert.ErrorIs(t, e.Sleep(ctx, time.Hour), context.Canceled)
		ended = true
	})
	stop()
	assert.True(t, ended)
	stop() // a second time is harmless
}

func TestEverythingEndsWithTheLock(t *testing.T) {
	e, _, end := newEnv(t)
	ctx, cancel := e.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	e.Go(func(ctx context.Context) { <-ctx.Done() })
	end()
	<-ctx.Done()
	e.tasks.Wait()
}

// A task has errands except while it sleeps or waits for a message; the sleep of an operation changes nothing.
func TestErrands(t *testing.T) {
	e, _, _ := newEnv(t)
	subscription := &subscription{messages: make(chan string)}
	waits := []func(context.Context) error{
		func(ctx context.Context) error { return e.Sleep(ctx, time.Hour) },
		func(ctx context.Context) error { _, err := subscription.Receive(ctx); return err },
	}
	<-e.errands.none()
	for _, wait := range waits {
		act, acts := make(chan struct{}), make(chan struct{})
		stop := e.Go(func(ctx context.Context) {
			acts <- struct{}{}
			<-act
			within, cancel := e.WithTimeout(ctx, time.Hour)
			defer cancel()
			assert.Error(t, wait(within))
		})
		<-acts
		none := e.errands.none()
		assert.NoError(t, e.Sleep(t.Context(), time.Nanosecond))
		select {
		case <-none:
			assert.Fail(t, "the task acts")
		default:
		}
		close(act)
		<-none
		stop()
		<-e.errands.none()
	}
}

func TestTimeoutGoesByTheClientsClock(t *testing.T) {
	e, _, _ := newEnv(t)
	e.clock.skew(0, protocol.MaxRate)
	ctx, cancel := e.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	deadline, _ := ctx.Deadline()
	assert.Less(t, time.Until(deadline), time.Second)
	assert.NoError(t, e.Sleep(t.Context(), time.Second))
}

func TestTokensDiffer(t *testing.T) {
	e, _, _ := newEnv(t)
	assert.NotEqual(t, e.Token(), e.Token())
}
