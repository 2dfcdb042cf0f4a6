package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		subject := Subject{Name: "orders", Promises: Lease, New: func(Env) Lock { return nil }}
		change(&subject)
		_, err := newSuite(subject)
		require.EqualError(t, err, want)
	}
}

// TestFuncsHaveWhatIsThere: a lock made of functions has the methods of those that are there, and no others.
func TestFuncsHaveWhatIsThere(t *testing.T) {
	nothing := func(context.Context) error { return nil }
	for bits := range 8 {
		extends, asks, valid := bits&1 != 0, bits&2 != 0, bits&4 != 0
		f := Funcs{Try: nothing, Unlock: nothing}
		if extends {
			f.Extend = nothing
		}
		if asks {
			f.Ask = nothing
		}
		if valid {
			f.Valid = func() time.Duration { return time.Second }
		}
		lock := f.Lock()
		_, renews := lock.(Renewer)
		_, checks := lock.(Checker)
		limited, limits := lock.(Limited)
		assert.Equal(t, []bool{extends, asks, valid}, []bool{renews, checks, limits}, bits)
		if limits {
			assert.Equal(t, time.Second, limited.Valid())
		}
		closer, closes := lock.(interface{ Close() })
		require.True(t, closes)
		closer.Close()
		assert.EqualError(t, Subject{Promises: Majority}.wrong(Funcs{}.Lock()), "a lock that promises majority says how long it is valid: it has the method Valid, or Funcs.Valid")
		if limits {
			assert.NoError(t, Subject{Promises: Majority}.wrong(lock))
		}
		assert.NoError(t, Subject{Promises: Lease}.wrong(lock))
	}
	assert.EqualError(t, Subject{Promises: Lease}.wrong(nil), "Subject.New returned nil")
}
