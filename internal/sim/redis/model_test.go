package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/internal/sim/service"
)

// TestWrongModelIsFound puts one wrong command at a time into the model, and plays steps of it and of what can show it. Each must show.
func TestWrongModelIsFound(t *testing.T) {
	wrong := map[string]struct {
		run  func(*Server, *conn, []string) service.Reply
		with []string // the commands that can show it
	}{
		"SETNX": {with: []string{"DEL"}, run: func(s *Server, _ *conn, args []string) service.Reply { // takes the key from whoever has it
			s.put(args[1], args[2], never)
			return integer(1)
		}},
		"PEXPIRE": {with: []string{"SET", "PTTL"}, run: func(*Server, *conn, []string) service.Reply { return integer(1) }},
		"GETSET": {with: []string{"SET", "PTTL"}, run: func(s *Server, c *conn, args []string) service.Reply { // keeps the expiry
			old, e := get(s, c, args), s.find(args[1])
			if e == nil || old.Kind == service.Error {
				return getset(s, c, args)
			}
			e.text = args[2]
			return old
		}},
		"EXEC": {with: []string{"WATCH", "MULTI", "SET"}, run: func(s *Server, c *conn, args []string) service.Reply { // does not care who has changed what was watched
			c.dirty = false
			return execute(s, c, args)
		}},
		"LREM": {with: []string{"RPUSH", "LRANGE"}, run: func(s *Server, c *conn, args []string) service.Reply { // removes all of them
			return lrem(s, c, []string{args[0], args[1], "0", args[3]})
		}},
	}
	theirs := miniRedis(t)
	for name, w := range wrong {
		t.Run(name, func(t *testing.T) {
			mine := blunt{&spoiltModel{name: name, run: w.run}}
			draw := func(t *rapid.T) step { return drawRightStepOf(t, append(w.with, name)) }
			steps := rapid.SliceOfN(rapid.Custom(draw), 20, 40)
			for seed := range 200 {
				found := difference(mine, theirs, steps.Example(seed))
				if found == "" {
					continue
				}
				t.Logf("seed %d: %s", seed, found)
				require.Empty(t, difference(blunt{&model{}}, theirs, steps.Example(seed)), "the right model differs, too")
				return
			}
			t.Error("nobody has noticed")
		})
	}
}

// spoiltModel is a model with a wrong command.
type spoiltModel struct {
	model
	name string
	run  func(*Server, *conn, []string) service.Reply
}

func (m *spoiltModel) reset() {
	m.model.reset()
	commands := m.server.library.commands
	command := commands[m.name]
	command.run = m.run
	commands[m.name] = command
}

// TestCloneGoesItsOwnWay asserts that a copy answers as the original does and comes to the same state, that what happens to one does
// not show in the other, and that the state does not tell when it was reached.
func TestCloneGoesItsOwnWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		undated := func(s step) bool { return !strings.Contains(strings.Join(s.args, " "), "TIME") }
		steps := rapid.SliceOfN(rapid.Custom(drawStep).Filter(undated), 1, 30).Draw(t, "steps")
		half := rapid.IntRange(0, len(steps)-1).Draw(t, "half")
		early, late := New(), New()
		late.Advance(3 * leap)
		var twin *Server
		for i, s := range steps {
			if i == half {
				twin = early.Clone()
				require.Equal(t, early.AppendState(nil), twin.AppendState(nil))
			}
			want := play(early, s)
			require.Equal(t, want, play(late, s), "%v", s)
			if twin != nil {
				require.Equal(t, want, play(twin, s), "%v", s)
			}
		}
		state := string(early.AppendState(nil))
		require.Equal(t, state, string(late.AppendState(nil)))
		require.Equal(t, state, string(twin.AppendState(nil)))

		for _, s := range steps[half:] {
			play(twin, s)
		}
		play(twin, step{connection: 3, args: []string{"SET", "new", "value"}})
		require.NotEqual(t, state, string(twin.AppendState(nil)))
		require.Equal(t, state, string(early.AppendState(nil)))
	})
}

func play(s *Server, what step) string {
	if what.advance > 0 {
		s.Advance(what.advance)
		return ""
	}
	return s.Do(what.connection, what.args...).String()
}

// TestKeyExpiresAfterItsLastMillisecond: the boundary, which no real server can be made to show.
func TestKeyExpiresAfterItsLastMillisecond(t *testing.T) {
	s := New()
	s.Do(1, "SET", "k", "v", "PX", "1000")
	s.Advance(time.Second)
	require.Equal(t, "0", s.Do(1, "PTTL", "k").String())
	require.Equal(t, `"v"`, s.Do(1, "GET", "k").String())
	s.Advance(time.Millisecond)
	require.Equal(t, "-2", s.Do(1, "PTTL", "k").String())
	require.Equal(t, "nil", s.Do(1, "GET", "k").String())
}

// TestRunsOfScriptsShareNothing: what a script sets is gone with its run.
func TestRunsOfScriptsShareNothing(t *testing.T) {
	s := New()
	run := func(script string) service.Reply { return s.Do(1, "EVAL", script, "1", "k", "a") }
	for _, refused := range []string{`x = ARGV[1]`, `_G.y = KEYS[1]`, `rawset(_G, 'x', ARGV[1])`} {
		require.Equal(t, service.Error, run(refused).Kind)
	}
	require.Equal(t, service.Nil, run(`return x or _G.x or y or _G.y or nil`).Kind)
}

// TestMessagesReachWhoHasSubscribed and nobody else, in order, and not those who have gone.
func TestMessagesReachWhoHasSubscribed(t *testing.T) {
	s := New()
	require.Equal(t, `["subscribe" "news" 1]`, s.Do(1, "SUBSCRIBE", "news").String())
	s.Do(2, "SUBSCRIBE", "other")
	require.Equal(t, "1", s.Do(3, "PUBLISH", "news", "first").String())
	require.Equal(t, "1", s.Do(3, "EVAL", `return redis.call("PUBLISH", KEYS[1], "second")`, "1", "news").String())
	for _, want := range []string{"first", "second"} {
		got, ok := s.Receive(1)
		require.True(t, ok)
		require.Equal(t, service.Message{Channel: "news", Text: want}, got)
	}
	_, more := s.Receive(1)
	require.False(t, more)
	_, other := s.Receive(2)
	require.False(t, other)
	s.Close(1)
	require.Equal(t, "0", s.Do(3, "PUBLISH", "news", "third").String())
}

// TestRestart: with its data or without, never with its scripts and connections.
func TestRestart(t *testing.T) {
	for _, keep := range []bool{true, false} {
		s := New()
		s.Do(1, "SET", "k", "v")
		s.Do(1, "SCRIPT", "LOAD", "return 1")
		s.Do(1, "MULTI")
		s.Restart(keep)
		require.Equal(t, yesNo(keep), s.Do(1, "EXISTS", "k"))
		require.Equal(t, service.Error, s.Do(1, "EVALSHA", shaOf("return 1"), "0").Kind)
	}
}
