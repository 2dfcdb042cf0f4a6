package tap

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/resp"
)

// The tap changes no byte: whatever a client and a server say to each other through it is what they say without it.

func TestTransparency(t *testing.T) { rapid.Check(t, isTransparent) }

func FuzzTransparency(f *testing.F) { f.Fuzz(rapid.MakeFuzz(isTransparent)) }

// exchange is a request, and what the server sends once it has it.
type exchange struct{ request, reply string }

func isTransparent(t *rapid.T) {
	talk := rapid.SliceOfN(rapid.Custom(drawExchange), 1, 20).Draw(t, "talk")
	sizes := rapid.SliceOfN(rapid.IntRange(1, 100), 1, 20).Draw(t, "chunks")
	questions := rapid.Bool().Draw(t, "questions")

	direct := newPlayer(talk, sizes)
	defer direct.close()
	sentDirectly, gotDirectly := direct.converse(t, direct.addr())

	tapped := newPlayer(talk, sizes)
	defer tapped.close()
	tapped.accept(answerQuestions)
	tap, err := New(t.Context(), Config{
		Server: "redis", Upstream: tapped.addr(), StateProbes: questions,
		Watch:   func(key string) bool { return key == "lock" },
		Since:   func() time.Duration { return 0 },
		Record:  func(history.Event) {},
		Current: func(string) (history.Op, int64) { return history.OpNone, 0 },
	})
	require.NoError(t, err)
	defer tap.Close()
	addr, err := tap.Listen("C1")
	require.NoError(t, err)
	sent, got := tapped.converse(t, addr)
	require.NoError(t, tap.Err())
	require.Equal(t, sentDirectly, sent, "what the server received")
	require.Equal(t, gotDirectly, got, "what the client received")
}

// bound is how long a test waits for what must happen.
const bound = time.Minute

// player plays the server's part: it counts bytes where the tap understands them.
type player struct {
	talk     []exchange
	sizes    []int
	listener net.Listener
	received chan string
}

func newPlayer(talk []exchange, sizes []int) *player {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return &player{talk: talk, sizes: sizes, listener: listener, received: make(chan string, 1)}
}

func (p *player) addr() string { return p.listener.Addr().String() }
func (p *player) close()       { p.listener.Close() }

// accept hands the next connection to serve.
func (p *player) accept(serve func(net.Conn)) {
	go func() {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		serve(conn)
	}()
}

// play is the server's part in the talk.
func (p *player) play(conn net.Conn) {
	var got []byte
	for _, e := range p.talk {
		request := make([]byte, len(e.request))
		n, err := io.ReadFull(conn, request)
		if got = append(got, request[:n]...); err != nil {
			break
		}
		writeChunks(conn, e.reply, p.sizes)
	}
	rest, _ := io.ReadAll(conn)
	p.received <- string(append(got, rest...))
}

// answerQuestions serves the tap itself.
func answerQuestions(conn net.Conn) {
	reader := resp.NewReader(conn, resp.Limits{})
	for {
		question, err := reader.ReadRequest()
		if err != nil {
			return
		}
		answer := "$-1\r\n"
		if string(question.Args[0]) == "PTTL" {
			answer = ":-2\r\n"
		}
		io.WriteString(conn, answer)
	}
}

// converse plays the client's part, and returns what either side received.
func (p *player) converse(t *rapid.T, addr string) (received, got string) {
	p.accept(p.play)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(bound)))
	var pipeline, replies string
	for _, e := range p.talk {
		pipeline, replies = pipeline+e.request, replies+e.reply
	}
	writeChunks(conn, pipeline, p.sizes)
	all := make([]byte, len(replies))
	n, err := io.ReadFull(conn, all)
	require.NoError(t, err, "received %q of %q", all[:n], replies)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	rest, err := io.ReadAll(conn)
	require.NoError(t, err)
	return <-p.received, string(append(all, rest...))
}

func writeChunks(to io.Writer, text string, sizes []int) {
	for i := 0; len(text) > 0; i++ {
		size := min(sizes[i%len(sizes)], len(text))
		if _, err := io.WriteString(to, text[:size]); err != nil {
			return
		}
		text = text[size:]
	}
}

func drawExchange(t *rapid.T) exchange {
	args := append([]string{rapid.SampledFrom([]string{
		"GET", "set", "DEL", "EVAL", "EVALSHA", "MSET", "MULTI", "EXEC", "DISCARD", "RESET", "HELLO", "CLIENT", "SCRIPT", "BLPOP", "WAIT", "XREAD",
		"PING", "MONITOR", "CUSTOM",
	}).Draw(t, "command")}, rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]string{"lock", "1", "BLOCK"}), text()), 0, 5).Draw(t, "args")...)
	request := string(resp.AppendCommand(nil, args...))
	if rapid.IntRange(0, 4).Draw(t, "inline") == 0 {
		request = args[0] + " lock \t" + strconv.Itoa(len(args)) + rapid.SampledFrom([]string{"\n", "\r\n", " \"a b\"\n"}).Draw(t, "end")
	}
	reply := value(3).Draw(t, "reply")
	for range rapid.IntRange(0, 2).Draw(t, "pushes") {
		reply = aggregate(">", "$10\r\ninvalidate\r\n", value(1).Draw(t, "push")) + reply
	}
	return exchange{request, reply}
}

// text is any bytes, though no words that have a meaning in pub/sub.
func text() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.ByteRange(0, 'M'), 0, 300), func(b []byte) string { return string(b) })
}

func value(depth int) *rapid.Generator[string] {
	simple := rapid.OneOf(
		rapid.SampledFrom([]string{
			"+OK\r\n", "+QUEUED\r\n", "-ERR no\r\n", "-NOSCRIPT No matching script.\r\n", ":-1\r\n", "$-1\r\n", "*-1\r\n", "_\r\n", "#f\r\n", ",1.5\r\n",
			",-inf\r\n", "(12345678901234567890123\r\n", "!5\r\nERR a\r\n", "=7\r\ntxt:a b\r\n", "$?\r\n;1\r\na\r\n;0\r\n",
		}),
		rapid.Map(text(), func(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }),
	)
	if depth == 0 {
		return simple
	}
	return rapid.OneOf(simple, rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "elements")
		switch kind := rapid.SampledFrom([]string{"*", "~", "%", "?", "|"}).Draw(t, "kind"); kind {
		case "%":
			return fmt.Sprintf("%%%d\r\n", len(parts)) + aggregate("", slices.Concat(parts, parts)...)
		case "|":
			return fmt.Sprintf("|%d\r\n", len(parts)) + aggregate("", slices.Concat(parts, parts)...) + ":1\r\n"
		case "?":
			return "*?\r\n" + aggregate("", parts...) + ".\r\n"
		default:
			return aggregate(kind, parts...)
		}
	}))
}

func aggregate(kind string, parts ...string) string {
	joined := ""
	for _, part := range parts {
		joined += part
	}
	if kind == "" {
		return joined
	}
	return fmt.Sprintf("%s%d\r\n%s", kind, len(parts), joined)
}
