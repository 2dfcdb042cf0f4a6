package waiting_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/waiting"
)

var errBroken = errors.New("connection reset")

// story is an Env, a lock and its subscription, in virtual time and one goroutine. It notes what happens, with the time.
type story struct {
	impls.Env
	clock time.Duration
	frees time.Duration // when the lock is free
	tries int
	said  []string

	patience context.Context
	stop     context.CancelFunc
	bound    time.Duration

	wakes  []time.Duration // when messages come
	left   time.Duration
	refuse error // of Subscribe
	breaks error // of Receive when no message is left
	stays  error // of Leave
}

func newStory(t *testing.T, frees, bound time.Duration) *story {
	s := &story{frees: frees, bound: bound}
	s.patience, s.stop = context.WithCancel(t.Context())
	t.Cleanup(s.stop)
	if bound == 0 {
		s.stop()
	}
	return s
}

func (s *story) say(what string) { s.said = append(s.said, fmt.Sprintf("%v %s", s.clock, what)) }

// pass lets time go on, and ends patience when that is over.
func (s *story) pass(ctx context.Context, d time.Duration) error {
	s.clock += d
	if s.clock >= s.bound {
		s.clock = s.bound
		s.stop()
	}
	return ctx.Err()
}

func (s *story) Now() time.Time           { return time.UnixMilli(0).Add(s.clock) }
func (s *story) Monotonic() time.Duration { return s.clock }
func (s *story) Sleep(ctx context.Context, d time.Duration) error {
	return s.pass(ctx, max(d, time.Millisecond))
}
func (s *story) TryAcquire(context.Context) (bool, error) {
	s.tries++
	s.clock++
	return s.clock > s.frees, nil
}
func (s *story) Release(context.Context) (bool, error) { return true, nil }
func (s *story) Enter(context.Context) error           { s.say("enter"); return nil }
func (s *story) Leave(_ context.Context, held bool) error {
	s.say(fmt.Sprint("leave ", held))
	return s.stays
}
func (s *story) WaitedEnough(began time.Time, within time.Duration) bool {
	return s.Now().Sub(began) >= within
}
func (s *story) RetryAfter() time.Duration { return s.left }
func (s *story) Wakeups(context.Context) (impls.Subscription, error) {
	s.say("subscribe")
	return s, s.refuse
}
func (s *story) Close() { s.say("close") }

func (s *story) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, alarmKey{}, s.clock+d))
	return ctx, cancel
}

type alarmKey struct{}

func (s *story) Receive(ctx context.Context) (string, error) {
	alarm, limited := ctx.Value(alarmKey{}).(time.Duration)
	switch {
	case len(s.wakes) > 0 && (!limited || s.wakes[0] < alarm):
		d := s.wakes[0] - s.clock
		s.wakes = s.wakes[1:]
		return "0", s.pass(ctx, d)
	case s.breaks != nil:
		return "", s.breaks
	case limited:
		return "", errors.Join(s.pass(ctx, alarm-s.clock), context.DeadlineExceeded)
	}
	return "", s.pass(ctx, s.bound)
}

func acquire(t *testing.T, s *story, name string) bool {
	t.Helper()
	way, _, err := waiting.Parse(name)
	require.NoError(t, err)
	held, err := waiting.Acquire(t.Context(), s.patience, s, s, way)
	require.NoError(t, err)
	return held
}

func TestWaysToWait(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		way   string
		frees time.Duration
		bound time.Duration
		held  bool
		tries int
	}{
		{"sleep:200ms", 0, time.Second, true, 1},
		{"sleep:200ms", 500 * ms, time.Second, true, 4},
		{"sleep:200ms", time.Hour, time.Second, false, 6}, // the last at the bound
		{"sleep:2s", time.Hour, time.Second, false, 2},
		{"sleep:2s", time.Hour, 0, false, 1},
		{"spin", 1000, time.Second, true, 1001}, // each try takes a nanosecond
		{"yield", 10 * ms, time.Second, true, 11},
		{"spin-yield:1us", 5 * ms, time.Second, true, 1000 + 6 - 1},
		{"yield-sleep:10ms,200ms", 100 * ms, time.Second, true, 12},
		{"backoff:10ms,80ms,7", time.Hour, time.Second, false, 20},
	}
	for _, test := range tests {
		t.Run(test.way, func(t *testing.T) {
			s := newStory(t, test.frees, test.bound)
			assert.Equal(t, test.held, acquire(t, s, test.way))
			assert.InDelta(t, test.tries, s.tries, float64(test.tries)/5)
		})
	}
}

// paced is a lock whose source says how long a waiter pauses: for first, and as long as it has waited.
type paced struct {
	impls.Lock
	first time.Duration
}

func (p paced) Pause(waited time.Duration) time.Duration {
	if waited < time.Millisecond || p.first == impls.NoPause {
		return p.first
	}
	return waited
}

func TestThePauseOfTheSource(t *testing.T) {
	for _, test := range []struct {
		name  string // "": none is given
		first time.Duration
		frees time.Duration
		tries int
	}{
		{"", 100 * time.Millisecond, 600 * time.Millisecond, 5}, // at 0, 100, 200, 400 and 800 ms
		{"published", 100 * time.Millisecond, 600 * time.Millisecond, 5},
		{"", impls.NoPause, 10 * time.Nanosecond, 2}, // it sleeps
		{"published", impls.NoPause, 10 * time.Nanosecond, 11},
	} {
		s := newStory(t, test.frees, time.Second)
		lock := paced{s, test.first}
		way, why := waiting.For(test.name, lock)
		require.Empty(t, why)
		held, err := waiting.Acquire(t.Context(), s.patience, s, lock, way)
		require.NoError(t, err)
		assert.True(t, held)
		assert.Equal(t, test.tries, s.tries, "%+v", test)
	}
}

func TestPatientLocksKnow(t *testing.T) {
	s := newStory(t, 0, time.Second)
	acquire(t, s, "sleep:1s")
	assert.Equal(t, []string{"0s enter", "1ns leave true"}, s.said)
	s = newStory(t, 0, 0)
	acquire(t, s, "sleep:1s")
	assert.Empty(t, s.said, "who tries once does not wait")
}

func TestAFailedLeaveIsTheAnswer(t *testing.T) {
	s := newStory(t, time.Hour, time.Second)
	s.stays = errors.New("lost")
	held, err := waiting.Acquire(t.Context(), s.patience, s, s, waiting.Yield())
	assert.False(t, held)
	assert.ErrorIs(t, err, s.stays)

	s = newStory(t, 0, time.Second)
	s.stays = errors.New("lost")
	held, err = waiting.Acquire(t.Context(), s.patience, s, s, waiting.Yield())
	assert.True(t, held)
	assert.NoError(t, err, "it has the lock")
}

func TestWake(t *testing.T) {
	const ms = time.Millisecond
	t.Run("woken", func(t *testing.T) {
		s := newStory(t, 30*ms, time.Second)
		s.wakes = []time.Duration{10 * ms, 40 * ms}
		assert.True(t, acquire(t, s, "wake"))
		assert.Equal(t, 4, s.tries, "at once, after subscribing, and when woken")
		assert.Equal(t, []string{"0s enter", "1ns subscribe", "40.000001ms close", "40.000001ms leave true"}, s.said)
	})
	t.Run("by the end of the lease", func(t *testing.T) {
		s := newStory(t, 30*ms, time.Second)
		s.left = 35 * ms
		assert.True(t, acquire(t, s, "wake"))
		assert.Equal(t, 3, s.tries)
	})
	t.Run("never", func(t *testing.T) {
		s := newStory(t, time.Hour, time.Second)
		assert.False(t, acquire(t, s, "wake"))
		assert.Equal(t, 3, s.tries)
	})
	for name, broken := range map[string]*story{
		"no subscription": {refuse: errBroken}, "subscription broken": {breaks: errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, 35*ms, time.Second)
			s.refuse, s.breaks = broken.refuse, broken.breaks
			assert.True(t, acquire(t, s, "wake"), "it sleeps between tries")
			assert.Less(t, s.clock, 60*ms)
		})
	}
}

// TestLocksThatMeasure: what the lock says counts, and then it is tried a last time.
func TestLocksThatMeasure(t *testing.T) {
	for within, tries := range map[time.Duration]int{time.Second: 6, 5 * time.Second: 26} {
		s := newStory(t, time.Hour, time.Hour)
		way := waiting.ByLock(waiting.Sleep(200*time.Millisecond), s, within)
		held, err := waiting.Acquire(t.Context(), t.Context(), s, s, way)
		assert.NoError(t, err)
		assert.False(t, held)
		assert.InDelta(t, tries, s.tries, 1, within)
	}
}

func TestGivenUp(t *testing.T) {
	s := newStory(t, time.Hour, time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	patience, stop := context.WithCancel(ctx)
	defer stop()
	held, err := waiting.Acquire(ctx, patience, s, s, waiting.Yield())
	assert.False(t, held)
	assert.NoError(t, err, "tried once, and told so")
}

func TestBackOffIsSeeded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		times := func() (at []time.Duration) {
			s := newStory(t, time.Hour, time.Second)
			way := waiting.BackOff(10*time.Millisecond, 80*time.Millisecond, seed)(s, s)
			for s.patience.Err() == nil {
				before := s.clock
				_ = way.Wait(s.patience)
				at = append(at, s.clock-before)
			}
			return at[:len(at)-1] // the last was cut short
		}
		first := times()
		assert.Equal(r, first, times())
		for _, pause := range first {
			assert.GreaterOrEqual(r, pause, 5*time.Millisecond)
			assert.LessOrEqual(r, pause, 80*time.Millisecond)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "spin", "yield", "wake", "sleep:200ms", "sleep", "sleep:-1s", "sleep:1s,2s", "spin-yield:600ms", "yield-sleep:600ms,200ms",
		"backoff:1ms,1s,7", "backoff:1ms,1s,x", "backoff:x,1s,7", "spin:1s", "nap:1s", "sleep:,",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		way, _, err := waiting.Parse(text)
		if (way == nil) == (err == nil) {
			t.Fatalf("%q: either a way or an error", text)
		}
	})
}

func TestParse(t *testing.T) {
	for _, text := range []string{"spin", "yield", "sleep:200ms", "spin-yield:600ms", "yield-sleep:600ms,200ms", "backoff:1ms,1s,7", "published"} {
		_, needsWaker, err := waiting.Parse(text)
		assert.NoError(t, err, text)
		assert.False(t, needsWaker, text)
	}
	_, needsWaker, err := waiting.Parse("wake")
	assert.NoError(t, err)
	assert.True(t, needsWaker)
	for _, text := range []string{"", "sleep", "sleep:0s", "sleep:1s,2s", "backoff:1ms,1s", "spin:1s", "nap:1s", "wake:1s"} {
		_, _, err := waiting.Parse(text)
		assert.Error(t, err, text)
	}
}
