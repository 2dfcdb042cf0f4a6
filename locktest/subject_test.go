package locktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
)

// TestSubjects: what a subject says wrong is refused, and the error says what to write.
func TestSubjects(t *testing.T) {
	for want, change := range map[string]func(*Subject){
		"Subject.New is missing: it makes one client's lock":                                                                        func(s *Subject) { s.New = nil },
		"Subject.Keys: several keys of a lock on several servers; a lock has one key on each of several servers, or several on one": func(s *Subject) { s.Keys, s.Servers = []string{"a", "b"}, 3 },
		`Subject.Keys names the key "a" twice, or that of another lock`:                                                             func(s *Subject) { s.Keys = []string{"a", "a"} },
		"Subject.Keys names a key of no byte, or of more than 1000":                                                                 func(s *Subject) { s.Keys = []string{""} },
		`Subject.Promises "Hope": it is one of Lease, Watchdog, Fenced and Majority`:                                                func(s *Subject) { s.Promises = "Hope" },
	} {
		subject := Subject{Name: "orders", Promises: Lease, New: func(Env) (Lock, error) { return nil, nil }}
		change(&subject)
		_, err := newSuite(subject)
		require.EqualError(t, err, want)
	}
}

// TestFuncsHaveWhatIsThere: a lock made of functions has the abilities of those that are there, and no others.
func TestFuncsHaveWhatIsThere(t *testing.T) {
	nothing := func(context.Context) error { return nil }
	for bits := range 16 {
		renews, asks, valid, waits := bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
		f := Funcs{TryLock: nothing, Unlock: nothing}
		if renews {
			f.Renew = nothing
		}
		if asks {
			f.Held = nothing
		}
		if valid {
			f.Valid = func() time.Duration { return time.Second }
		}
		if waits {
			f.Lock = nothing
		}
		lock, err := Env{}.Lock(f)
		require.NoError(t, err)
		partial := lock.(interface{ Lacks(verb string) bool })
		_, blocks := lock.(impls.Blocking)
		limited, limits := lock.(Limited)
		assert.Equal(t, []bool{renews, asks, valid, waits}, []bool{!partial.Lacks("renew"), !partial.Lacks("check"), limits, blocks}, bits)
		if limits {
			assert.Equal(t, time.Second, limited.Valid())
			assert.NoError(t, Subject{Promises: Majority}.wrong(lock))
		} else {
			assert.EqualError(t, Subject{Promises: Majority}.wrong(lock), "a lock that promises majority says how long it is valid: it has the method Valid, or Funcs.Valid")
		}
		lock.(interface{ Close() }).Close()
		assert.NoError(t, Subject{Promises: Lease}.wrong(lock))
	}
	assert.EqualError(t, Subject{Promises: Lease}.wrong(nil), "Subject.New returned nil")
	_, err := Env{}.Lock(Funcs{Unlock: nothing})
	require.EqualError(t, err, "Funcs.TryLock and Funcs.Lock are missing: one of them acquires the lock")
	_, err = Env{}.Lock(Funcs{Lock: nothing})
	require.EqualError(t, err, "Funcs.Unlock is missing: it releases the lock")
}

// TestFuncsAnswers: which errors mean no, and what a wait comes to that was given up.
func TestFuncsAnswers(t *testing.T) {
	mine, other := errors.New("mine"), errors.New("other")
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, test := range map[string]struct {
		acquire func(context.Context) error
		awaits  bool
		ok      bool
		err     error
	}{
		"ok":                        {acquire: func(context.Context) error { return nil }, ok: true},
		"refused":                   {acquire: func(context.Context) error { return fmt.Errorf("wrapped: %w", mine) }},
		"refused by its bool":       {acquire: Bool(func(context.Context) (bool, error) { return false, nil })},
		"ok by its bool":            {acquire: Bool(func(context.Context) (bool, error) { return true, nil }), ok: true},
		"another error":             {acquire: Bool(func(context.Context) (bool, error) { return false, other }), err: other},
		"waited in vain":            {acquire: waits},
		"gave a command up":         {acquire: waits, awaits: true, err: context.Canceled},
		"its own, shorter time-out": {acquire: func(context.Context) error { return context.DeadlineExceeded }, err: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := Env{awaits: func() bool { return test.awaits }}
				lock, err := env.Lock(Funcs{Lock: test.acquire, Unlock: test.acquire, Refused: []error{mine}})
				require.NoError(t, err)
				ok, err := lock.TryAcquire(t.Context())
				assert.Equal(t, test.ok, ok)
				assert.ErrorIs(t, err, test.err)
			})
		})
	}
}

// TestFuncsDone: the channel of a hold tells of its loss, unless the hold has been released.
func TestFuncsDone(t *testing.T) {
	for _, released := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var lost []string
			var held context.Context
			var end context.CancelFunc
			lock, err := Env{Lost: func(why string) { lost = append(lost, why) }}.Lock(Funcs{
				TryLock: func(ctx context.Context) error { held, end = context.WithCancel(ctx); return nil },
				Unlock:  func(context.Context) error { return nil },
				Done:    func() <-chan struct{} { return held.Done() },
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ok, err := lock.TryAcquire(ctx)
			require.NoError(t, err)
			require.True(t, ok)
			cancel()
			synctest.Wait()
			require.NoError(t, held.Err(), "the context of an acquire does not end with it")
			if released {
				_, err := lock.Release(t.Context())
				require.NoError(t, err)
			}
			end()
			synctest.Wait()
			if released {
				assert.Empty(t, lost)
			} else {
				assert.Len(t, lost, 1)
			}
			lock.(interface{ Close() }).Close()
		})
	}
}
