package zookeeper

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// stated is a server with two sessions and the place of a lock.
func stated() *Server {
	s := New(time.Millisecond)
	for conn := 1; conn <= 2; conn++ {
		s.Do(conn, Reconnect(0, time.Second)...)
	}
	s.Do(1, "CREATE", "/k")
	return s
}

// A copy is in the same state, and goes on by itself: what is asked of both they answer alike, and come to the same.
func TestStatesGoOnAlike(t *testing.T) {
	requests := [][]string{
		{"CREATE", "/k/n-", Ephemeral, Sequential}, {"CREATE", "/k/held", Ephemeral, "=data"}, {"DELETE", "/k/held"}, {"DELETE", "/k/n-0000000000"},
		{"EXISTS", "/k/held", Watch}, {"GETCHILDREN", "/k", Watch}, {"SETDATA", "/k/held", "other"}, {"PING"}, {"CLOSESESSION"}, Reconnect(0, time.Second),
	}
	rapid.Check(t, func(t *rapid.T) {
		a := stated()
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			together(t, requests, a)
		}
		b := a.Clone()
		require.Equal(t, a.AppendState(nil), b.AppendState(nil))
		for range rapid.IntRange(1, 10).Draw(t, "more") {
			together(t, requests, a, b)
			require.Equal(t, a.AppendState(nil), b.AppendState(nil))
		}
	})
}

// together has servers do the same.
func together(t *rapid.T, requests [][]string, servers ...*Server) {
	conn, n := rapid.IntRange(1, 2).Draw(t, "connection"), rapid.IntRange(0, len(requests)).Draw(t, "request")
	first := ""
	for i, s := range servers {
		if n == len(requests) {
			s.Advance(400 * time.Millisecond)
			continue
		}
		reply := s.Do(conn, requests[n]...).String()
		if i > 0 {
			require.Equal(t, first, reply)
		}
		first = reply
	}
}

// What the future depends on tells states apart, and nothing else does: not when it is, nor how many nodes and sessions there have been.
func TestStatesAreToldApart(t *testing.T) {
	same := string(stated().AppendState(nil))
	for name, do := range map[string]func(s *Server){
		"a node":             func(s *Server) { s.Do(1, "CREATE", "/k/n") },
		"its data":           func(s *Server) { s.Do(1, "SETDATA", "/k", "x") },
		"a watch":            func(s *Server) { s.Do(1, "EXISTS", "/k/n", Watch) },
		"an event":           func(s *Server) { s.Do(1, "EXISTS", "/k", Watch); s.Do(2, "SETDATA", "/k", "") },
		"what is left":       func(s *Server) { s.Advance(time.Millisecond) },
		"a session less":     func(s *Server) { s.Do(2, "CLOSESESSION") },
		"whose a node is":    func(s *Server) { s.Do(2, "DELETE", "/k"); s.Do(2, "CREATE", "/k", Ephemeral) },
		"a watch of another": func(s *Server) { s.Do(2, "EXISTS", "/k/n", Watch) },
	} {
		s := stated()
		do(s)
		require.NotEqual(t, same, string(s.AppendState(nil)), name)
	}
	s := stated()
	s.Do(1, "CREATE", "/k/n-", Ephemeral, Sequential)
	s.Do(1, "DELETE", "/k/n-0000000000")
	s.Do(2, "CLOSESESSION")
	s.Receive(2)
	s.Do(2, Reconnect(0, time.Second)...)
	s.Spare(1, time.Hour)
	s.Spare(2, time.Hour)
	s.Advance(time.Hour)
	require.Equal(t, same, string(s.AppendState(nil)))

	s.Number("/k", 7)
	require.Equal(t, "/k/n-0000000007", s.Do(2, "CREATE", "/k/n-", Ephemeral, Sequential).Text)
	require.Equal(t, 2, s.Maker("/k/n-0000000007"))
	require.Zero(t, s.Maker("/k"))
	require.Zero(t, s.Maker("/none"))
}
