package tap

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults/commands"
	"github.com/locklab/locklab/faults/resp"
	"github.com/locklab/locklab/history"
)

func firstDEL(action Action) Breakpoint {
	return Breakpoint{Client: "C1", Match: commands.Match{Kind: commands.MatchCommand, Command: "DEL"}, Action: action}
}

func TestHeldRequest(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr)
		first, second := b.dial("C1"), b.dial("C2")
		first.do("SET", "lock", "a")
		trap := b.Arm(firstDEL(HoldRequest))
		assert.Nil(t, trap.Args())
		first.send("DEL", "lock")
		await(t, "the request is held", trap.Reached())
		assert.Equal(t, []string{"DEL", "lock"}, trap.Args())
		assert.Equal(t, "a", second.do("GET", "lock"), "others go on, and the request has not come through")
		pending(t, "delivered", trap.Delivered())
		trap.Release()
		trap.Release()
		await(t, "the request is delivered", trap.Delivered())
		assert.Equal(t, "1", first.next())
		assert.Equal(t, []string{"C1: SET lock a = OK", "C2: GET lock = a", "C1: DEL lock = 1"}, asWritten(b.recorded(3)))
	})
}

func TestHeldRequestIsDeliveredAfterItsClientHasGone(t *testing.T) {
	for name, reset := range map[string]bool{"closed": false, "reset": true} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, addr string) {
				b := setUp(t, addr)
				c, other := b.dial("C1"), b.dial("C2")
				b.during("C1", 3)
				trap := b.Arm(Breakpoint{Client: "C1", ID: 3, Match: commands.Match{Kind: commands.MatchWrite}, Action: HoldRequest})
				c.send("SET", "lock", "late")
				await(t, "the request is held", trap.Reached())
				if reset {
					require.NoError(t, c.Conn.(interface{ SetLinger(int) error }).SetLinger(0))
				}
				c.Close()
				b.during("C1", 0)
				assert.Equal(t, "nil", other.do("GET", "lock"))
				trap.Release()
				await(t, "the request is delivered", trap.Delivered())
				assert.Equal(t, "late", other.do("GET", "lock"))
				late := b.recorded(3)[1]
				assert.Equal(t, int64(3), late.ID)
				assert.True(t, late.Detail.Command.Late)
				assert.Equal(t, history.EffectCreated, late.Detail.Command.Changes[0].Effect(late.Detail.Command.Asked))
			})
		})
	}
}

func TestHeldReply(t *testing.T) {
	b := setUp(t, startMini(t))
	first, second := b.dial("C1"), b.dial("C2")
	trap := b.Arm(Breakpoint{Client: "C1", Match: commands.Match{Kind: commands.MatchAny}, Action: HoldReply})
	first.send("SET", "lock", "a")
	await(t, "the reply is held", trap.Reached())
	await(t, "the request is delivered", trap.Delivered())
	b.recorded(1)
	assert.Equal(t, "a", second.do("GET", "lock"), "the command has been carried out, and others go on")
	first.silent()
	trap.Release()
	assert.Equal(t, "OK", first.next())
	assert.False(t, b.recorded(2)[0].Detail.Command.ReplyDropped)
}

func TestBreakpointForTheBackground(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	trap := b.Arm(Breakpoint{Client: "C1", ID: Background, Match: commands.Match{Kind: commands.MatchWrite}, Action: HoldRequest})
	b.during("C1", 3)
	assert.Equal(t, "OK", c.do("SET", "lock", "a"), "it belongs to an operation")
	b.during("C1", 0)
	c.send("PEXPIRE", "lock", "9000")
	await(t, "the request is held", trap.Reached())
	trap.Release()
	assert.Equal(t, "1", c.next())
}

func TestDroppedReply(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	trap := b.Arm(Breakpoint{Client: "C1", Match: commands.Match{Kind: commands.MatchAny}, Action: DropReply})
	c.send("SET", "lock", "a")
	await(t, "the reply is dropped", trap.Reached())
	await(t, "the request is delivered", trap.Delivered())
	c.send("GET", "lock")
	events := b.recorded(2)
	assert.Equal(t, []string{"C1: SET lock a = OK", "C1: GET lock = a"}, asWritten(events))
	assert.True(t, events[0].Detail.Command.ReplyDropped)
	assert.True(t, events[1].Detail.Command.ReplyDropped, "the link loses what follows, too")
	require.NoError(t, c.Conn.(interface{ CloseWrite() error }).CloseWrite())
	rest, err := io.ReadAll(c.Conn)
	require.NoError(t, err)
	assert.Empty(t, rest)
	assert.Equal(t, "a", b.dial("C1").do("GET", "lock"), "another connection is whole")
}

func TestDuplicate(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	c.do("SET", "lock", "a")
	trap := b.Arm(firstDEL(Duplicate))
	c.send("DEL", "lock")
	await(t, "the request has been let through twice", trap.Reached())
	await(t, "the request is delivered", trap.Delivered())
	assert.Equal(t, "1", c.next())
	assert.Equal(t, "PONG", c.do("PING"), "the second reply is not the client's")
	events := b.recorded(3)
	assert.Equal(t, []string{"C1: SET lock a = OK", "C1: DEL lock = 1", "C1: DEL lock = 0"}, asWritten(events))
	assert.False(t, events[1].Detail.Command.Again)
	assert.False(t, events[1].Detail.Command.ReplyDropped)
	assert.True(t, events[2].Detail.Command.Again)
	assert.True(t, events[2].Detail.Command.ReplyDropped)
}

func TestHeldCopy(t *testing.T) {
	b := setUp(t, startMini(t))
	b.during("C1", 3)
	c, other := b.dial("C1"), b.dial("C2")
	c.do("SET", "lock", "a")
	trap := b.Arm(firstDEL(HoldCopy))
	assert.Equal(t, "1", c.do("DEL", "lock"), "its client does not notice")
	await(t, "the copy is held", trap.Reached())
	b.during("C1", 0)
	assert.Equal(t, "OK", other.do("SET", "lock", "b"))
	pending(t, "delivered", trap.Delivered())
	trap.Release()
	await(t, "the copy is delivered", trap.Delivered())
	assert.Equal(t, "PONG", c.do("PING"), "nobody gets its reply")
	events := b.recorded(4)
	copied := events[3]
	assert.Equal(t, "C1: DEL lock = 1", asWritten(events)[3])
	assert.Equal(t, int64(3), copied.ID)
	assert.True(t, copied.Detail.Command.Again)
	assert.True(t, copied.Detail.Command.Late)
	assert.Equal(t, history.EffectRemoved, copied.Detail.Command.Changes[0].Effect(copied.Detail.Command.Asked))
}

func TestHeldCopyOfATransaction(t *testing.T) {
	b := setUp(t, startMini(t))
	c, other := b.dial("C1"), b.dial("C2")
	c.do("SET", "lock", "a")
	trap := b.Arm(Breakpoint{Client: "C1", Match: commands.Match{Kind: commands.MatchCommand, Command: "EXEC"}, Action: HoldCopy})
	c.do("MULTI")
	c.do("DEL", "lock")
	assert.Equal(t, "[1]", c.do("EXEC"))
	await(t, "the copy is held", trap.Reached())
	other.do("SET", "lock", "b")
	trap.Release()
	await(t, "the copy is delivered", trap.Delivered())
	assert.Equal(t, "nil", other.do("GET", "lock"))
}

// TestCloseForgetsCopies: a tap that is closed does not wait for a copy that nobody has let go.
func TestCloseForgetsCopies(t *testing.T) {
	b := setUp(t, startMini(t))
	trap := b.Arm(firstDEL(HoldCopy))
	b.dial("C1").do("DEL", "lock")
	await(t, "the copy is held", trap.Reached())
	require.NoError(t, b.Close())
	pending(t, "delivered", trap.Delivered())
}

// The client's operation ends with the reply, and the duplicate must not come after that.
func TestReplyWaitsForTheDuplicate(t *testing.T) {
	for name, second := range map[string]string{"answered": ":0\r\n", "the connection ends first": ""} {
		t.Run(name, func(t *testing.T) {
			server := newPlayer(nil, nil)
			defer server.close()
			server.accept(answerQuestions)
			b := setUp(t, server.addr(), withoutQuestions)
			again, goOn := make(chan struct{}), make(chan struct{})
			server.accept(func(conn net.Conn) {
				reader := resp.NewReader(conn, resp.Limits{})
				reader.ReadRequest()
				io.WriteString(conn, ":1\r\n")
				reader.ReadRequest()
				io.WriteString(conn, ">2\r\n+news\r\n+a\r\n")
				close(again)
				<-goOn
				io.WriteString(conn, second)
			})
			trap := b.Arm(firstDEL(Duplicate))
			b.during("C1", 1)
			c := b.dial("C1")
			c.send("DEL", "lock")
			await(t, "the request has been sent again", again)
			c.silent()
			pending(t, "reached", trap.Reached())
			close(goOn)
			assert.Equal(t, "1", c.next())
			assert.Equal(t, "[news a]", c.next(), "what came behind the reply stays behind it")
			b.during("C1", 0)
			twice := b.recorded(2)[1].Detail.Command
			assert.True(t, twice.Again)
			assert.False(t, twice.Late)
		})
	}
}

func TestSeveralTrapsOnOneRequest(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	request, reply, twice := b.Arm(firstDEL(HoldRequest)), b.Arm(firstDEL(HoldReply)), b.Arm(firstDEL(Duplicate))
	c.send("DEL", "lock")
	await(t, "the request is held", request.Reached())
	pending(t, "reply held", reply.Reached())
	request.Release()
	await(t, "the reply is held", reply.Reached())
	b.recorded(1)
	reply.Release()
	await(t, "the request has been let through twice", twice.Reached())
	b.recorded(2)
	assert.Equal(t, "0", c.next())
}

func TestWhatCounts(t *testing.T) {
	pipeline := [][]string{
		{"PING", "lock"}, {"SET", "other", "a"}, {"GET", "lock"}, {"SETNX", "lock", "a"}, {"EVAL", "return 1", "1", "lock"},
		{"MULTI"}, {"GETDEL", "lock"}, {"EXEC"}, {"MULTI"}, {"GET", "lock"}, {"EXEC"}, {"MULTI"}, {"SET", "other", "a"}, {"EXEC"}, {"del", "lock"},
	}
	tests := []struct {
		name  string
		match commands.Match
		nth   int
		args  []string
	}{
		{"first of any", commands.Match{Kind: commands.MatchAny}, 0, []string{"GET", "lock"}},
		{"third of any", commands.Match{Kind: commands.MatchAny}, 3, []string{"EVAL", "return 1", "1", "lock"}},
		{"first write", commands.Match{Kind: commands.MatchWrite}, 1, []string{"SETNX", "lock", "a"}},
		{"second write is the script", commands.Match{Kind: commands.MatchWrite}, 2, []string{"EVAL", "return 1", "1", "lock"}},
		{"third write is EXEC, not what it queued", commands.Match{Kind: commands.MatchWrite}, 3, []string{"EXEC"}},
		{"first removal is the script", commands.Match{Kind: commands.MatchRemoval}, 1, []string{"EVAL", "return 1", "1", "lock"}},
		{"third removal: an EXEC that only reads is none", commands.Match{Kind: commands.MatchRemoval}, 3, []string{"del", "lock"}},
		{"command", commands.Match{Kind: commands.MatchCommand, Command: "DEL"}, 1, []string{"del", "lock"}},
		{"second EXEC", commands.Match{Kind: commands.MatchCommand, Command: "exec"}, 2, []string{"EXEC"}},
		{"a script by its other name", commands.Match{Kind: commands.MatchCommand, Command: "EVALSHA"}, 1, []string{"EVAL", "return 1", "1", "lock"}},
		{"there is no third EXEC: the last named no watched key", commands.Match{Kind: commands.MatchCommand, Command: "EXEC"}, 3, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setUp(t, startMini(t))
			other, c := b.dial("C2"), b.dial("C1")
			trap := b.Arm(Breakpoint{Client: "C1", Match: tt.match, Nth: tt.nth, Action: DropReply})
			for _, args := range pipeline {
				other.do(args...)
			}
			assert.Nil(t, trap.Args(), "what another client sends does not count")
			for _, args := range pipeline {
				c.send(args...)
			}
			c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			_, err := io.ReadAll(c.Conn)
			require.NoError(t, err)
			assert.Equal(t, tt.args, trap.Args())
		})
	}
}

func TestTrapWithinAnOperation(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	trap := b.Arm(Breakpoint{Client: "C1", ID: 2, Match: commands.Match{Kind: commands.MatchAny}, Action: HoldReply})
	for _, id := range []int64{0, 1} {
		b.during("C1", id)
		c.do("GET", "lock")
	}
	pending(t, "reached", trap.Reached())
	b.during("C1", 2)
	c.send("GET", "lock")
	await(t, "the reply is held", trap.Reached())
}

func TestDisarm(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	b.Arm(firstDEL(HoldRequest)).Disarm()
	assert.Equal(t, "0", c.do("DEL", "lock"))
	trap := b.Arm(firstDEL(HoldRequest))
	c.send("DEL", "lock")
	await(t, "the request is held", trap.Reached())
	trap.Disarm()
	assert.Equal(t, "0", c.next(), "what is held is let go")
	trap.Disarm()
}

func TestScriptIsOneRequestHoweverItIsSent(t *testing.T) {
	script := redis.NewScript("return redis.call('SET', KEYS[1], ARGV[1])")
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr)
		listen, err := b.Listen("C1")
		require.NoError(t, err)
		client := redis.NewClient(&redis.Options{
			Addr: listen, MaxRetries: -1,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		defer client.Close()
		match := commands.Match{Kind: commands.MatchWrite}
		unknown := b.Arm(Breakpoint{Client: "C1", Match: match, Nth: 1, Action: HoldRequest})
		known := b.Arm(Breakpoint{Client: "C1", Match: match, Nth: 2, Action: HoldRequest})
		for _, trap := range []*Trap{unknown, known} {
			done := make(chan error, 1)
			go func() { done <- script.Run(context.Background(), client, []string{"lock"}, "a").Err() }()
			await(t, "the request is held", trap.Reached())
			trap.Release()
			await(t, "the request is delivered", trap.Delivered())
			require.NoError(t, <-done)
		}
		assert.Equal(t, "EVAL", strings.ToUpper(unknown.Args()[0]))
		assert.Equal(t, "EVALSHA", strings.ToUpper(known.Args()[0]))
		b.recorded(3)
	})
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	b := setUp(t, startMini(t))
	for client, action := range map[string]Action{"C1": HoldRequest, "C2": HoldReply} {
		trap := b.Arm(Breakpoint{Client: client, Match: commands.Match{Kind: commands.MatchAny}, Action: action})
		c := b.dial(client)
		c.send("GET", "lock")
		await(t, "it is held", trap.Reached())
	}
	require.NoError(t, b.Close())
	_, err := b.Listen("C3")
	assert.Error(t, err)
	assert.Error(t, b.Exclusively(context.Background(), func() error { return nil }))
}
