package locktest

import (
	"testing"

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
