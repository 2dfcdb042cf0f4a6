package zookeeper

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/sim/service"
)

const tick = 100 * time.Millisecond

// asked is a server with two sessions of a second, on connections 1 and 2, that has carried out requests.
func asked(requests ...[]string) *Server {
	s := New(tick)
	for conn := 1; conn <= 2; conn++ {
		s.Do(conn, Reconnect(0, time.Second)...)
	}
	s.Do(1, "CREATE", "/lock")
	for _, words := range requests {
		s.Do(1, words...)
	}
	return s
}

// told is what a connection has been told.
func told(s *Server, conn int) (all []string) {
	for {
		m, more := s.Receive(conn)
		if !more {
			return all
		}
		all = append(all, m.Text+" "+m.Channel)
	}
}

// TestSessionsEnd: at the first tick after their time-out, with their nodes, and those that watch these are told before anything else is done.
func TestSessionsEnd(t *testing.T) {
	s := asked([]string{"CREATE", "/lock/q-", Ephemeral, Sequential}, []string{"CREATE", "/lock/stays"})
	s.Advance(40 * time.Millisecond)
	s.Do(1, "PING")
	s.Do(2, "EXISTS", "/lock/q-0000000000", Watch)
	s.Do(2, "GETCHILDREN", "/lock", Watch)
	at, ok := s.Next()
	require.True(t, ok)
	assert.Equal(t, 1100*time.Millisecond, at)
	assert.Equal(t, 1060*time.Millisecond, s.Left(s.Session(1)))
	s.Advance(1000 * time.Millisecond)
	s.Do(2, "PING")
	s.Advance(59 * time.Millisecond)
	assert.True(t, s.IsOpen(1))
	s.Advance(time.Millisecond)
	assert.False(t, s.IsOpen(1))
	assert.Equal(t, []string{"deleted /lock/q-0000000000", "children /lock"}, told(s, 2))
	assert.Equal(t, []string{"closed "}, told(s, 1))
	assert.Equal(t, []string{"stays"}, s.Names("/lock"))
	assert.Equal(t, ConnectionEnd, s.Do(1, "PING").Text)

	id, timeout := SessionIn(s.Do(3, Reconnect(1, time.Second)...))
	assert.Zero(t, id, "it has expired")
	assert.Zero(t, timeout)
	assert.False(t, s.IsOpen(3))
}

// TestASessionMoves: its nodes stay, the old connection is closed, and its watches go with that.
func TestASessionMoves(t *testing.T) {
	s := asked([]string{"CREATE", "/lock/held", Ephemeral}, []string{"EXISTS", "/lock/other", Watch})
	seen := s.Zxid()
	id, timeout := SessionIn(s.Do(3, Reconnect(s.Session(1), time.Second)...))
	assert.Equal(t, int64(1), id)
	assert.Equal(t, time.Second, timeout)
	assert.Equal(t, []string{"closed "}, told(s, 1))
	s.Close(1) // of no effect on the session
	s.Do(2, "CREATE", "/lock/other")
	assert.Empty(t, told(s, 3))
	s.Do(3, "SETWATCHES", fmt.Sprint(seen), "exist:/lock/other", "data:/lock/held", "child:/lock", "data:/lock/gone")
	assert.Equal(t, []string{"created /lock/other", "children /lock", "deleted /lock/gone"}, told(s, 3))
	s.Do(2, "SETDATA", "/lock/held", "x")
	s.Do(2, "SETDATA", "/lock/held", "y")
	assert.Equal(t, []string{"changed /lock/held"}, told(s, 3), "each watch is good for one change")
	s.Advance(2 * time.Second)
	assert.Equal(t, []string{"other"}, s.Names("/lock"))
}

// TestWhoseTheLockIs: that of the node with the smallest number, for as long as its session lasts.
func TestWhoseTheLockIs(t *testing.T) {
	s := asked()
	assert.False(t, s.State("/lock").Exists())
	s.Do(2, "CREATE", "/lock/b-", Ephemeral, Sequential)
	s.Advance(500 * time.Millisecond)
	s.Do(1, "CREATE", "/lock/a-", Ephemeral, Sequential)
	state := s.State("/lock")
	assert.Equal(t, "b-0000000000", state.Value)
	assert.Equal(t, 600*time.Millisecond, state.TTL)
	s.Do(2, "CLOSESESSION")
	assert.Equal(t, "a-0000000001", s.State("/lock").Value)
}

// TestAClone goes on by itself.
func TestAClone(t *testing.T) {
	s := asked([]string{"CREATE", "/lock/held", Ephemeral}, []string{"EXISTS", "/lock/held", Watch})
	twin := s.Clone()
	twin.Do(2, "DELETE", "/lock/held")
	twin.Advance(time.Minute)
	assert.Equal(t, []string{"held"}, s.Names("/lock"))
	assert.Empty(t, told(s, 1))
	assert.True(t, s.IsOpen(1))
	s.Do(1, "SETDATA", "/lock/held", "mine")
	assert.Equal(t, []string{"changed /lock/held"}, told(s, 1))
	assert.Equal(t, []string{"deleted /lock/held", "closed "}, told(twin, 1))
}

// TestUnknownRequests are told from refusals.
func TestUnknownRequests(t *testing.T) {
	s := asked([]string{"DELETE", "/never"}, []string{"CREATE", "/never/below"})
	assert.Empty(t, s.Unknown())
	s.Do(1, "MULTI", "/lock")
	assert.Equal(t, "MULTI /lock", s.Unknown())
}

// TestServerIsAService: what its users ask of any model.
func TestServerIsAService(t *testing.T) {
	var s service.Server = asked()
	assert.Equal(t, time.Duration(0), s.Now())
}
