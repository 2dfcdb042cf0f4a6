package tap

import (
	"context"
	"crypto/sha1"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/resp"
)

func firstDEL(action faults.Action) Breakpoint {
	return Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchCommand, Command: "DEL"}, Action: action}}
}

func TestHeldRequest(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr)
		first, second := b.dial("C1"), b.dial("C2")
		first.do("SET", "lock", "a")
		armed := b.Arm(firstDEL(faults.ActHoldRequest))
		assert.Nil(t, armed.Args())
		first.send("DEL", "lock")
		await(t, "the request is held", armed.Reached())
		assert.Equal(t, []string{"DEL", "lock"}, armed.Args())
		assert.Equal(t, "a", second.do("GET", "lock"), "others go on, and the request has not come through")
		pending(t, "delivered", armed.Delivered())
		armed.Release()
		armed.Release()
		await(t, "the request is delivered", armed.Delivered())
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
				armed := b.Arm(Breakpoint{Client: "C1", ID: 3, Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchWrite}, Action: faults.ActHoldRequest}})
				c.send("SET", "lock", "late")
				await(t, "the request is held", armed.Reached())
				if reset {
					require.NoError(t, c.Conn.(interface{ SetLinger(int) error }).SetLinger(0))
				}
				c.Close()
				b.during("C1", 0)
				assert.Equal(t, "nil", other.do("GET", "lock"))
				armed.Release()
				await(t, "the request is delivered", armed.Delivered())
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
	armed := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchAny}, Action: faults.ActHoldReply}})
	first.send("SET", "lock", "a")
	await(t, "the reply is held", armed.Reached())
	await(t, "the request is delivered", armed.Delivered())
	b.recorded(1)
	assert.Equal(t, "a", second.do("GET", "lock"), "the command has been carried out, and others go on")
	first.silent()
	armed.Release()
	assert.Equal(t, "OK", first.next())
	assert.False(t, b.recorded(2)[0].Detail.Command.ReplyDropped)
}

func TestBreakpointForTheBackground(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	armed := b.Arm(Breakpoint{Client: "C1", ID: Background, Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchWrite}, Action: faults.ActHoldRequest}})
	b.during("C1", 3)
	assert.Equal(t, "OK", c.do("SET", "lock", "a"), "it belongs to an operation")
	b.during("C1", 0)
	c.send("PEXPIRE", "lock", "9000")
	await(t, "the request is held", armed.Reached())
	armed.Release()
	assert.Equal(t, "1", c.next())
}

func TestDroppedReply(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	armed := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchAny}, Action: faults.ActDropReply}})
	c.send("SET", "lock", "a")
	await(t, "the reply is dropped", armed.Reached())
	await(t, "the request is delivered", armed.Delivered())
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
	armed := b.Arm(firstDEL(faults.ActDuplicate))
	c.send("DEL", "lock")
	await(t, "the request has been let through twice", armed.Reached())
	await(t, "the request is delivered", armed.Delivered())
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
	armed := b.Arm(firstDEL(faults.ActHoldCopy))
	assert.Equal(t, "1", c.do("DEL", "lock"), "its client does not notice")
	await(t, "the copy is held", armed.Reached())
	b.during("C1", 0)
	assert.Equal(t, "OK", other.do("SET", "lock", "b"))
	pending(t, "delivered", armed.Delivered())
	armed.Release()
	await(t, "the copy is delivered", armed.Delivered())
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
	armed := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchCommand, Command: "EXEC"}, Action: faults.ActHoldCopy}})
	c.do("MULTI")
	c.do("DEL", "lock")
	assert.Equal(t, "[1]", c.do("EXEC"))
	await(t, "the copy is held", armed.Reached())
	other.do("SET", "lock", "b")
	armed.Release()
	await(t, "the copy is delivered", armed.Delivered())
	assert.Equal(t, "nil", other.do("GET", "lock"))
}

// TestCloseForgetsCopies: a tap that is closed does not wait for a copy that nobody has let go.
func TestCloseForgetsCopies(t *testing.T) {
	b := setUp(t, startMini(t))
	armed := b.Arm(firstDEL(faults.ActHoldCopy))
	b.dial("C1").do("DEL", "lock")
	await(t, "the copy is held", armed.Reached())
	require.NoError(t, b.Close())
	pending(t, "delivered", armed.Delivered())
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
			armed := b.Arm(firstDEL(faults.ActDuplicate))
			b.during("C1", 1)
			c := b.dial("C1")
			c.send("DEL", "lock")
			await(t, "the request has been sent again", again)
			c.silent()
			pending(t, "reached", armed.Reached())
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

func TestSeveralBreakpointsOnOneRequest(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	request, reply, twice := b.Arm(firstDEL(faults.ActHoldRequest)), b.Arm(firstDEL(faults.ActHoldReply)), b.Arm(firstDEL(faults.ActDuplicate))
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
		match faults.Match
		nth   int
		args  []string
	}{
		{"first of any", faults.Match{Kind: faults.MatchAny}, 0, []string{"GET", "lock"}},
		{"third of any", faults.Match{Kind: faults.MatchAny}, 3, []string{"EVAL", "return 1", "1", "lock"}},
		{"first write", faults.Match{Kind: faults.MatchWrite}, 1, []string{"SETNX", "lock", "a"}},
		{"second write is the script", faults.Match{Kind: faults.MatchWrite}, 2, []string{"EVAL", "return 1", "1", "lock"}},
		{"third write is EXEC, not what it queued", faults.Match{Kind: faults.MatchWrite}, 3, []string{"EXEC"}},
		{"first removal is the script", faults.Match{Kind: faults.MatchRemoval}, 1, []string{"EVAL", "return 1", "1", "lock"}},
		{"third removal: an EXEC that only reads is none", faults.Match{Kind: faults.MatchRemoval}, 3, []string{"del", "lock"}},
		{"command", faults.Match{Kind: faults.MatchCommand, Command: "DEL"}, 1, []string{"del", "lock"}},
		{"second EXEC", faults.Match{Kind: faults.MatchCommand, Command: "exec"}, 2, []string{"EXEC"}},
		{"a script by its other name", faults.Match{Kind: faults.MatchCommand, Command: "EVALSHA"}, 1, []string{"EVAL", "return 1", "1", "lock"}},
		{"there is no third EXEC: the last named no watched key", faults.Match{Kind: faults.MatchCommand, Command: "EXEC"}, 3, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setUp(t, startMini(t))
			other, c := b.dial("C2"), b.dial("C1")
			armed := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: tt.match, Nth: tt.nth, Action: faults.ActDropReply}})
			for _, args := range pipeline {
				other.do(args...)
			}
			assert.Nil(t, armed.Args(), "what another client sends does not count")
			for _, args := range pipeline {
				c.send(args...)
			}
			c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			_, err := io.ReadAll(c.Conn)
			require.NoError(t, err)
			assert.Equal(t, tt.args, armed.Args())
		})
	}
}

func TestBreakpointWithinAnOperation(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	armed := b.Arm(Breakpoint{Client: "C1", ID: 2, Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchAny}, Action: faults.ActHoldReply}})
	for _, id := range []int64{0, 1} {
		b.during("C1", id)
		c.do("GET", "lock")
	}
	pending(t, "reached", armed.Reached())
	b.during("C1", 2)
	c.send("GET", "lock")
	await(t, "the reply is held", armed.Reached())
}

// TestDropEndsTheConnection: what is dropped reaches no server, and holds nothing up.
func TestDropEndsTheConnection(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	armed := b.Arm(firstDEL(faults.ActHoldRequest))
	c.send("DEL", "lock")
	await(t, "the request is held", armed.Reached())
	armed.Drop()
	rest, err := io.ReadAll(c.Conn)
	require.NoError(t, err)
	assert.Empty(t, rest)
	pending(t, "delivered", armed.Delivered())
}

func TestDisarm(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	b.Arm(firstDEL(faults.ActHoldRequest)).Disarm()
	assert.Equal(t, "0", c.do("DEL", "lock"))
	armed := b.Arm(firstDEL(faults.ActHoldRequest))
	c.send("DEL", "lock")
	await(t, "the request is held", armed.Reached())
	armed.Disarm()
	assert.Equal(t, "0", c.next(), "what is held is let go")
	armed.Disarm()
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
		match := faults.Match{Kind: faults.MatchWrite}
		unknown := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: match, Nth: 1, Action: faults.ActHoldRequest}})
		known := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: match, Nth: 2, Action: faults.ActHoldRequest}})
		for _, armed := range []*Armed{unknown, known} {
			done := make(chan error, 1)
			go func() { done <- script.Run(context.Background(), client, []string{"lock"}, "a").Err() }()
			await(t, "the request is held", armed.Reached())
			armed.Release()
			await(t, "the request is delivered", armed.Delivered())
			require.NoError(t, <-done)
		}
		assert.Equal(t, "EVAL", strings.ToUpper(unknown.Args()[0]))
		assert.Equal(t, "EVALSHA", strings.ToUpper(known.Args()[0]))
		b.recorded(3)
	})
}

// TestScriptThatSomebodyLoadsMeanwhile: what no breakpoint has counted, because the server lacked its script, is not carried out either.
func TestScriptThatSomebodyLoadsMeanwhile(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		const source = "return redis.call('SET', KEYS[1], 'a')"
		direct := dialRaw(t, addr)
		var asked atomic.Int32
		b := setUp(t, addr, func(c *Config) {
			current := c.Current
			c.Current = func(client string) (history.Op, int64) {
				if asked.Add(1) == 2 { // the request has been described, and is about to be sent
					direct.do("SCRIPT", "LOAD", source)
				}
				return current(client)
			}
		})
		armed := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchWrite}, Action: faults.ActHoldRequest}})
		c, sha := b.dial("C1"), fmt.Sprintf("%x", sha1.Sum([]byte(source)))
		assert.Contains(t, c.do("EVALSHA", sha, "1", "lock"), "NOSCRIPT")
		require.GreaterOrEqual(t, asked.Load(), int32(2))
		c.send("EVAL", source, "1", "lock")
		await(t, "the request is held", armed.Reached())
		armed.Release()
		assert.Equal(t, "OK", c.next())
	})
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	b := setUp(t, startMini(t))
	for client, action := range map[string]faults.Action{"C1": faults.ActHoldRequest, "C2": faults.ActHoldReply} {
		armed := b.Arm(Breakpoint{Client: client, Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchAny}, Action: action}})
		c := b.dial(client)
		c.send("GET", "lock")
		await(t, "it is held", armed.Reached())
	}
	require.NoError(t, b.Close())
	_, err := b.Listen("C3")
	assert.Error(t, err)
	assert.Error(t, b.Exclusively(context.Background(), func() error { return nil }))
}
