package tap

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/needs"
)

func TestBlockedCommandDoesNotBlockOthers(t *testing.T) {
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr)
		waiting, other := b.dial("C1"), b.dial("C2")
		waiting.send("BLPOP", "lock", "0")
		require.NoError(t, b.Exclusively(context.Background(), func() error { return nil }))
		assert.Equal(t, "PONG", other.do("PING"))
		other.do("RPUSH", "lock", "a")
		assert.Equal(t, "[lock a]", waiting.next())
		assert.ElementsMatch(t, []string{"C2: RPUSH lock a = 1", "C1: BLPOP lock 0 = [lock a]"}, asWritten(b.recorded(2)))
		assert.Equal(t, "0", waiting.do("EXISTS", "lock"), "the connection goes on")
	})
}

func TestBlockedCommandEndsWithItsClient(t *testing.T) {
	b := setUp(t, startRedis(t))
	waiting, other := b.dial("C1"), b.dial("C2")
	waiting.send("BLPOP", "lock", "0")
	require.Eventually(t, func() bool { return strings.Contains(other.do("INFO", "clients"), "blocked_clients:1") }, bound, 1)
	waiting.Close()
	require.Eventually(t, func() bool { return strings.Contains(other.do("INFO", "clients"), "blocked_clients:0") }, bound, 1)
	other.do("RPUSH", "lock", "a")
	assert.Equal(t, "1", other.do("LLEN", "lock"), "nobody is left to take it")
	assert.Contains(t, asWritten(b.recorded(3)), "C1: BLPOP lock 0 = ")
}

func TestSubscriptions(t *testing.T) {
	for _, version := range []string{"2", "3"} {
		t.Run("RESP"+version, func(t *testing.T) {
			onServers(t, func(t *testing.T, addr string) {
				b := setUp(t, addr)
				c, other := b.dial("C1"), b.dial("C2")
				c.do("HELLO", version)
				c.send("SUBSCRIBE", "a", "b")
				assert.Equal(t, "[subscribe a 1]", c.next())
				assert.Equal(t, "[subscribe b 2]", c.next())
				assert.Equal(t, "[psubscribe x* 3]", c.do("PSUBSCRIBE", "x*"))
				assert.Equal(t, "1", other.do("PUBLISH", "a", "hello"))
				assert.Equal(t, "[message a hello]", c.next())
				assert.Equal(t, "1", other.do("PUBLISH", "xy", "hello"))
				assert.Equal(t, "[pmessage x* xy hello]", c.next())
				assert.Contains(t, []string{"[pong ]", "PONG"}, c.do("PING"))
				c.send("UNSUBSCRIBE")
				assert.Regexp(t, `\[unsubscribe [ab] 2\]`, c.next())
				assert.Regexp(t, `\[unsubscribe [ab] 1\]`, c.next())
				assert.Equal(t, "[punsubscribe x* 0]", c.do("PUNSUBSCRIBE"))
				assert.Equal(t, "OK", c.do("SET", "lock", "a"))
				assert.Equal(t, "2", c.do("RPUSH", "list", "message", "a"))
				assert.Equal(t, "[message a]", c.do("LRANGE", "list", "0", "-1"))
				b.recorded(1)
			})
		})
	}
}

func TestRequestsPipelinedBehindSubscriptions(t *testing.T) {
	b := setUp(t, startRedis(t))
	c := b.dial("C1")
	for _, args := range [][]string{{"SUBSCRIBE", "a"}, {"SUBSCRIBE"}, {"UNSUBSCRIBE"}, {"UNSUBSCRIBE"}, {"SET", "lock", "a"}, {"RESET"}, {"GET", "lock"}} {
		c.send(args...)
	}
	for _, want := range []string{
		"[subscribe a 1]", "-ERR wrong number of arguments for 'subscribe' command", "[unsubscribe a 0]", "[unsubscribe nil 0]", "OK", "RESET", "a",
	} {
		assert.Equal(t, want, c.next())
	}
	b.recorded(2)
}

func TestPushesBetweenReplies(t *testing.T) {
	b := setUp(t, startRedis(t))
	c, other := b.dial("C1"), b.dial("C2")
	c.do("HELLO", "3")
	c.do("CLIENT", "TRACKING", "ON")
	c.do("GET", "lock")
	other.do("SET", "lock", "b")
	assert.Equal(t, "[invalidate [lock]]", c.next())
	assert.Equal(t, "b", c.do("GET", "lock"))
}

func TestRepliesSwitchedOff(t *testing.T) {
	b := setUp(t, startRedis(t))
	c := b.dial("C1")
	for _, args := range [][]string{
		{"CLIENT", "REPLY", "SKIP"}, {"SET", "lock", "a"}, {"GET", "lock"},
		{"CLIENT", "REPLY", "OFF"}, {"SET", "lock", "b"}, {"CLIENT", "REPLY", "SKIP"}, {"MULTI"}, {"SET", "lock", "c"}, {"EXEC"},
		{"CLIENT", "REPLY", "ON"}, {"GET", "lock"}, {"CLIENT", "REPLY", "OFF"}, {"RESET"}, {"CLIENT", "REPLY"},
	} {
		c.send(args...)
	}
	for _, want := range []string{"a", "OK", "c", "RESET"} {
		assert.Equal(t, want, c.next())
	}
	assert.Contains(t, c.next(), "-ERR")
	events := b.recorded(6)
	assert.Equal(t, []string{
		"C1: SET lock a = ", "C1: GET lock = a", "C1: SET lock b = ", "C1: SET lock c = ", "C1: EXEC = ", "C1: GET lock = c",
	}, asWritten(events))
	assert.Empty(t, events[0].Detail.Command.Changes, "its end cannot be seen")
}

func TestMonitorIsPassedOn(t *testing.T) {
	b := setUp(t, startRedis(t), withoutQuestions)
	c, other := b.dial("C1"), b.dial("C2")
	assert.Equal(t, "OK", c.do("MONITOR"))
	other.do("SET", "lock", "a")
	assert.Contains(t, c.next(), `"SET" "lock" "a"`)
	c.send("QUIT")
	for {
		if c.next() == "OK" {
			break
		}
	}
}

func TestSubscriptionWithinATransaction(t *testing.T) {
	b := setUp(t, startRedis(t))
	c, other := b.dial("C1"), b.dial("C2")
	assert.Equal(t, "OK", c.do("MULTI"))
	assert.Equal(t, "QUEUED", c.do("SUBSCRIBE", "a"))
	assert.Equal(t, "[[subscribe a 1]]", c.do("EXEC"))
	other.do("PUBLISH", "a", "hello")
	assert.Equal(t, "[message a hello]", c.next())
}

func TestGoRedis(t *testing.T) {
	ctx := context.Background()
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			onServers(t, func(t *testing.T, addr string) {
				b := setUp(t, addr)
				listen, err := b.Listen("C1")
				require.NoError(t, err)
				client := redis.NewClient(&redis.Options{
					Addr: listen, Protocol: protocol, MaxRetries: -1,
					MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
				})
				defer client.Close()
				err = client.Watch(ctx, func(tx *redis.Tx) error {
					_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
						p.Set(ctx, "lock", "a", 0)
						return p.PExpire(ctx, "lock", bound).Err()
					})
					return err
				}, "lock")
				require.NoError(t, err)
				answers, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
					for range 100 {
						p.Get(ctx, "lock")
					}
					return nil
				})
				require.NoError(t, err)
				assert.Len(t, answers, 100)
				sub := client.Subscribe(ctx, "channel")
				defer sub.Close()
				_, err = sub.Receive(ctx)
				require.NoError(t, err)
				require.NoError(t, client.Publish(ctx, "channel", "hello").Err())
				message, err := sub.ReceiveMessage(ctx)
				require.NoError(t, err)
				assert.Equal(t, "hello", message.Payload)
				b.recorded(104)
			})
		})
	}
}

func TestClientThatDoesNotReadStopsNobody(t *testing.T) {
	needs.Long(t, "fills the buffers of a connection")
	const messages = 64
	large := strings.Repeat("x", 256<<10) // so many: more than sockets hold, less than the server bears
	smallQueue := func(c *Config) { c.Queue = 64 << 10 }
	onServers(t, func(t *testing.T, addr string) {
		b := setUp(t, addr, smallQueue)
		stopped, other := b.dial("C1"), b.dial("C2")
		other.do("SET", "large", large)
		for range messages {
			stopped.send("GET", "large")
			require.Equal(t, "OK", other.do("SET", "lock", "a"))
		}
		for range messages {
			require.Equal(t, large, stopped.next())
		}
	})
	t.Run("subscriber", func(t *testing.T) {
		b := setUp(t, startRedis(t), smallQueue) // an embedded server waits for its subscribers by itself
		stopped, other := b.dial("C1"), b.dial("C2")
		stopped.do("HELLO", "3")
		stopped.do("SUBSCRIBE", "channel")
		for range messages {
			require.Equal(t, "1", other.do("PUBLISH", "channel", large))
			stopped.send("ECHO", "a")
		}
		for range 2 * messages {
			require.Contains(t, []string{"a", "[message channel " + large + "]"}, stopped.next())
		}
	})
}

func TestPipelineWrittenBeforeItsRepliesAreRead(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	large, text := strings.Repeat("x", 12<<20), strings.Repeat("x", 16<<10) // more than sockets hold
	const requests = 1000
	b.dial("C2").do("SET", "large", large)
	c.send("GET", "large")
	first := make([]byte, 1)
	_, err := io.ReadFull(c.Conn, first) // now the tap is writing
	require.NoError(t, err)
	c.replies = resp.NewReader(io.MultiReader(bytes.NewReader(first), c.Conn), resp.Limits{})
	c.sendRaw(strings.Repeat(string(resp.AppendCommand(nil, "ECHO", text)), requests))
	require.Equal(t, large, c.next())
	for range requests {
		require.Equal(t, text, c.next())
	}
}

func TestExclusively(t *testing.T) {
	server := newScripted(t)
	b := setUp(t, server.addr, withoutQuestions)
	c, held := b.dial("C1"), b.dial("C2")
	armed := b.Arm(Breakpoint{Client: "C2", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchAny}, Action: faults.ActHoldRequest}})
	held.send("GET", "lock")
	await(t, "the request is held", armed.Reached())
	ran := false
	require.NoError(t, b.Exclusively(context.Background(), func() error { ran = true; return nil }), "a held request is not in flight")
	assert.True(t, ran)

	c.send("GET", "other")
	<-server.requests // it is in flight
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, b.Exclusively(ctx, func() error { return nil }), context.Canceled)
	failure := errors.New("failure")
	done := make(chan error, 1)
	go func() { done <- b.Exclusively(context.Background(), func() error { return failure }) }()
	server.replies <- "+OK\r\n"
	assert.ErrorIs(t, <-done, failure)
	assert.Equal(t, "OK", c.next())
}

// TestBreak: a reply that is held when the server breaks its connections never comes, and the client learns at once that its connection is gone.
func TestBreak(t *testing.T) {
	b := setUp(t, startMini(t))
	c, other := b.dial("C1"), b.dial("C2")
	armed := b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchAny}, Action: faults.ActHoldReply}})
	c.send("GET", "lock")
	await(t, "the reply is held", armed.Reached())
	b.Break()
	n, err := c.Read(make([]byte, 1))
	assert.Zero(t, n)
	assert.ErrorIs(t, err, io.EOF)
	armed.Release()
	assert.Equal(t, "nil", other.do("GET", "lock"), "what is not held goes on")
}

func TestCanary(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	arrived, other := b.Canary(CanaryPrefix+"1"), b.Canary(CanaryPrefix+"2")
	b.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchAny}, Action: faults.ActDropReply}})
	assert.Equal(t, CanaryPrefix+"1", c.do("PING", CanaryPrefix+"1"))
	await(t, "the canary has arrived", arrived)
	pending(t, "the other canary", other)
	c.sendRaw("PING " + CanaryPrefix + "2\r\n")
	await(t, "an inline canary has arrived", other)
	b.recorded(0)
}

func TestAbsurdSizes(t *testing.T) {
	t.Run("from the server", func(t *testing.T) {
		server := newScripted(t)
		b := setUp(t, server.addr, withoutQuestions)
		c := b.dial("C1")
		c.send("GET", "lock")
		<-server.requests
		server.replies <- "$1099511627776\r\nabc"
		await(t, "the trouble is known", b.Done())
		assert.EqualError(t, b.Err(), "tap: reply of redis to client C1: string of announced length 1099511627776: more than 536870912")
		_, err := c.replies.ReadReply()
		assert.ErrorIs(t, err, io.EOF)
		assert.Equal(t, []string{"C1: GET lock = "}, asWritten(b.recorded(1)))
		other := b.dial("C2")
		other.send("GET", "other")
		<-server.requests
		server.replies <- "+OK\r\n"
		assert.Equal(t, "OK", other.next())
	})
	t.Run("from a client", func(t *testing.T) {
		b := setUp(t, startMini(t))
		assert.NoError(t, b.Err())
		c := b.dial("C1")
		c.sendRaw("*1\r\n$1099511627776\r\n")
		await(t, "the trouble is known", b.Done())
		assert.EqualError(t, b.Err(), "tap: request of client C1 to redis: argument of announced length 1099511627776: more than 536870912")
		_, err := c.replies.ReadReply()
		assert.Error(t, err)
		assert.Equal(t, "PONG", b.dial("C2").do("PING"))
	})
	t.Run("nonsense", func(t *testing.T) {
		b := setUp(t, startMini(t))
		b.dial("C1").sendRaw("*1\r\nnonsense\r\n")
		await(t, "the trouble is known", b.Done())
		assert.ErrorContains(t, b.Err(), "client C1")
	})
}

func TestHalfClosedClientGetsItsReplies(t *testing.T) {
	b := setUp(t, startRedis(t))
	c := b.dial("C1")
	c.sendRaw("SET lock a\r\nGET lock\r\nSCRIPT EXISTS x\r\n")
	require.NoError(t, c.Conn.(*net.TCPConn).CloseWrite())
	rest, err := io.ReadAll(c.Conn)
	require.NoError(t, err)
	assert.Equal(t, "+OK\r\n$1\r\na\r\n*1\r\n:0\r\n", string(rest))
}

// scripted is a server whose replies the test gives one by one. It answers the tap's own first question.
type scripted struct {
	addr     string
	requests chan string
	replies  chan string
}

func newScripted(t testing.TB) *scripted {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &scripted{addr: listener.Addr().String(), requests: make(chan string), replies: make(chan string)}
	t.Cleanup(func() {
		listener.Close()
		close(s.replies)
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *scripted) serve(conn net.Conn) {
	defer conn.Close()
	requests := resp.NewReader(bufio.NewReader(conn), resp.Limits{})
	for {
		request, err := requests.ReadRequest()
		if err != nil {
			return
		}
		reply := "+PONG\r\n"
		if string(request.Args[0]) != "PING" {
			s.requests <- string(request.Args[0])
			reply = <-s.replies
		}
		io.WriteString(conn, reply)
	}
}
