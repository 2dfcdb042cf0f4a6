package zookeeper

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/service"
)

// life is the time-out of sessions that do not end by themselves during the test, and shortLife that of those that are to.
const (
	life      = time.Hour
	shortLife = shortest
)

// clients is how many sessions there are at a time.
const clients = 3

// subject is a ZooKeeper of some kind, on which clients with a session each send requests.
type subject interface {
	// begin begins with no node but a place, and with new sessions.
	begin(place string)
	// do sends a request of a client, and returns the reply in one line.
	do(client int, args []string) string
	// move has a client's session move to a new connection; watches that it had there are set again if again is true.
	move(client int, again []string)
	// expire has a client's session end by its time-out, and gives the client another.
	expire(client int)
	// events are those that a client has got since the last call.
	events(client int) []string
}

// model is the subject that a real one is compared with.
type model struct {
	server *Server
	conns  [clients]int
	last   int
}

func (m *model) begin(place string) {
	*m = model{server: New(100 * time.Millisecond)}
	for i := range clients {
		m.connect(i, 0, life)
	}
	m.server.Do(m.conns[0], "CREATE", place)
}

func (m *model) connect(client int, session int64, timeout time.Duration) {
	m.last++
	m.conns[client] = m.last
	m.server.Do(m.last, Reconnect(session, timeout)...)
}

func (m *model) do(client int, args []string) string {
	return line(m.server.Do(m.conns[client], args...))
}

func (m *model) move(client int, again []string) {
	seen := m.server.Zxid()
	session, old := m.server.Session(m.conns[client]), m.conns[client]
	m.connect(client, session, life)
	m.server.Close(old)
	if len(again) > 0 {
		m.server.Do(m.conns[client], append([]string{"SETWATCHES", strconv.FormatInt(seen, 10)}, again...)...)
	}
}

func (m *model) expire(client int) {
	m.connect(client, m.server.Session(m.conns[client]), shortLife)
	m.server.Advance(2 * shortLife)
	m.server.Close(m.conns[client])
	m.connect(client, 0, life)
}

func (m *model) events(client int) (all []string) {
	for {
		message, more := m.server.Receive(m.conns[client])
		if !more {
			return all
		}
		all = append(all, message.Text+" "+message.Channel)
	}
}

// line is a reply in one line; of an error, its name.
func line(r service.Reply) string {
	switch r.Kind {
	case service.Array:
		var words []string
		for _, element := range r.List {
			words = append(words, line(element))
		}
		return fmt.Sprint(words)
	case service.Integer:
		return strconv.FormatInt(r.Int, 10)
	}
	return r.Text
}

// wire is a subject behind a socket.
type wire struct {
	t     *rapid.T
	addr  string
	conns [clients]*wireConn
}

// wireConn is a connection with a session.
type wireConn struct {
	net.Conn
	from     *bufio.Reader
	session  int64
	password []byte
	xid      int32
	zxid     int64 // of the latest reply
	events   []string
}

func (w *wire) begin(place string) {
	w.close()
	for i := range clients {
		w.conns[i] = w.dial(nil, life)
	}
	require.Equal(w.t, place, w.do(0, []string{"CREATE", place}))
}

func (w *wire) close() {
	for _, c := range w.conns {
		if c != nil {
			c.ask(w.t, "CLOSESESSION")
			c.Close()
		}
	}
	w.conns = [clients]*wireConn{}
}

// dial makes a connection with a new session, or with that of another connection.
func (w *wire) dial(old *wireConn, timeout time.Duration) *wireConn {
	conn, err := net.Dial("tcp", w.addr)
	require.NoError(w.t, err)
	c := &wireConn{Conn: conn, from: bufio.NewReader(conn), password: make([]byte, 16)}
	if old != nil {
		c.session, c.password, c.zxid = old.session, old.password, old.zxid
	}
	b := binary.BigEndian.AppendUint32(nil, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(c.zxid))
	b = binary.BigEndian.AppendUint32(b, uint32(timeout.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, uint64(c.session))
	_, err = conn.Write(jute.Frame(text(b, string(c.password))))
	require.NoError(w.t, err)
	frame, err := jute.ReadFrame(c.from)
	require.NoError(w.t, err)
	session, err := jute.DecodeConnected(frame)
	require.NoError(w.t, err)
	require.NotZero(w.t, session.Session)
	c.session = session.Session
	const before = jute.LengthBytes + 4 + 4 + 8 + 4 // the length, the version, the time-out, the session, and the password's length
	c.password = slices.Clone(frame[before : before+16])
	return c
}

func (w *wire) do(client int, args []string) string { return w.conns[client].ask(w.t, args...) }

func (w *wire) move(client int, again []string) {
	old := w.conns[client]
	old.ask(w.t, "EXISTS", "/") // its reply has the latest change
	w.conns[client] = w.dial(old, life)
	old.Close()
	if len(again) > 0 {
		w.conns[client].ask(w.t, append([]string{"SETWATCHES", strconv.FormatInt(old.zxid, 10)}, again...)...)
	}
}

func (w *wire) expire(client int) {
	old := w.conns[client]
	ending := w.dial(old, shortLife)
	old.Close()
	for {
		if _, err := jute.ReadFrame(ending.from); err != nil {
			require.True(w.t, errors.Is(err, io.EOF), "%v", err)
			break
		}
	}
	ending.Close()
	w.conns[client] = w.dial(nil, life)
}

// events waits for the reply to one more request: what the server has told of earlier changes is before it.
func (w *wire) events(client int) []string {
	c := w.conns[client]
	c.ask(w.t, "EXISTS", "/")
	all := c.events
	c.events = nil
	return all
}

func text(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// ask sends a request and returns the reply in one line, with what comes before it put among the events.
func (c *wireConn) ask(t *rapid.T, args ...string) string {
	c.xid++
	_, err := c.Write(c.encode(args))
	require.NoError(t, err)
	for {
		frame, err := jute.ReadFrame(c.from)
		require.NoError(t, err, "%v", args)
		reply, err := jute.DecodeReply(frame)
		require.NoError(t, err)
		if reply.Xid == jute.XidEvent {
			event, err := reply.Event()
			require.NoError(t, err)
			kind := map[int32]string{1: Created, 2: Deleted, 3: Changed, 4: ChildrenChanged}[event.Kind]
			c.events = append(c.events, kind+" "+event.Path)
			continue
		}
		if reply.Zxid > 0 {
			c.zxid = reply.Zxid
		}
		return replyLine(t, args[0], reply, frame)
	}
}

const headerBytes = jute.LengthBytes + 4 + 8 + 4 // the length, the number, the change, the result

func replyLine(t *rapid.T, name string, reply jute.Reply, frame []byte) string {
	if reply.Code == -8 {
		return badArguments
	}
	if reply.Code != jute.CodeOK {
		return reply.Code.String()
	}
	body := frame[headerBytes:]
	version := func(stat []byte) string { // after the ids and the times of two changes
		return strconv.Itoa(int(int32(binary.BigEndian.Uint32(stat[4*8:]))))
	}
	switch name {
	case "CREATE":
		path, err := reply.Path()
		require.NoError(t, err)
		return path
	case "SYNC":
		return string(body[4:])
	case "GETCHILDREN":
		names, err := reply.Children()
		require.NoError(t, err)
		slices.Sort(names)
		return fmt.Sprint(names)
	case "EXISTS", "SETDATA":
		return version(body)
	case "GETDATA":
		n := max(0, int(int32(binary.BigEndian.Uint32(body))))
		return fmt.Sprint([]string{string(body[4 : 4+n]), version(body[4+n:])})
	}
	return "OK"
}

func (c *wireConn) encode(args []string) []byte {
	ops := map[string]jute.Op{
		"CREATE": jute.OpCreate, "DELETE": jute.OpDelete, "EXISTS": jute.OpExists, "GETDATA": jute.OpGetData, "SETDATA": jute.OpSetData,
		"GETCHILDREN": jute.OpGetChildren, "SYNC": jute.OpSync, "CLOSESESSION": jute.OpClose, "SETWATCHES": 101,
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(c.xid))
	b = binary.BigEndian.AppendUint32(b, uint32(ops[args[0]]))
	if len(args) > 1 && args[0] != "SETWATCHES" {
		b = text(b, args[1])
	}
	rest := args[min(2, len(args)):]
	switch args[0] {
	case "CREATE":
		data, flags := "", uint32(0)
		for _, word := range rest {
			switch {
			case word == Ephemeral:
				flags |= jute.FlagEphemeral
			case word == Sequential:
				flags |= jute.FlagSequential
			default:
				data = strings.TrimPrefix(word, "=")
			}
		}
		b = binary.BigEndian.AppendUint32(text(b, data), 1)
		b = binary.BigEndian.AppendUint32(b, 31)
		b = binary.BigEndian.AppendUint32(text(text(b, "world"), "anyone"), flags)
	case "SETDATA":
		b = binary.BigEndian.AppendUint32(text(b, rest[0]), uint32(version(rest[1:])))
	case "DELETE":
		b = binary.BigEndian.AppendUint32(b, uint32(version(rest)))
	case "EXISTS", "GETDATA", "GETCHILDREN":
		b = append(b, byte(len(rest)))
	case "SETWATCHES":
		b = binary.BigEndian.AppendUint64(b, uint64(number(args[1])))
		for _, kind := range []string{"data:", "exist:", "child:"} {
			var paths []string
			for _, wanted := range rest {
				if path, is := strings.CutPrefix(wanted, kind); is {
					paths = append(paths, path)
				}
			}
			b = binary.BigEndian.AppendUint32(b, uint32(len(paths)))
			for _, path := range paths {
				b = text(b, path)
			}
		}
	}
	return jute.Frame(b)
}

// step is something that happens to a subject.
type step struct {
	client  int
	args    []string // of a request; for a client that moves, the watches that it sets again
	moves   bool
	expires bool
}

// changes says whether somebody may be told of the step.
func (s step) changes() bool {
	return len(s.args) == 0 || s.moves || !slices.Contains([]string{"EXISTS", "GETDATA", "GETCHILDREN", "SYNC"}, s.args[0])
}

func (s step) String() string {
	switch {
	case s.expires:
		return fmt.Sprintf("%d's session expires", s.client)
	case s.moves:
		return fmt.Sprintf("%d moves, with %v", s.client, s.args)
	}
	return fmt.Sprintf("%d> %s", s.client, strings.Join(s.args, " "))
}

func drawStep(place string) func(*rapid.T) step {
	return func(t *rapid.T) step {
		word := func(words ...string) string { return rapid.SampledFrom(words).Draw(t, "word") }
		node := func() string { return place + word("", "/a", "/b", "/a/c", "/q-0000000001", "/q-0000000002") }
		s := step{client: rapid.IntRange(0, clients-1).Draw(t, "client")}
		switch rapid.IntRange(0, 60).Draw(t, "kind") {
		case 40: // rare: it takes as long as a session
			s.expires = true
			return s
		case 31, 32, 33, 34:
			s.moves = true
			for range rapid.IntRange(0, 3).Draw(t, "watches") {
				s.args = append(s.args, word("data", "exist", "child")+":"+node())
			}
			slices.Sort(s.args)
			s.args = slices.Compact(s.args)
			return s
		}
		s.args = rapid.SampledFrom([][]string{
			{"CREATE", node()}, {"CREATE", node(), Ephemeral}, {"CREATE", place + "/q-", Ephemeral, Sequential}, {"CREATE", place + "/q-", Ephemeral, Sequential},
			{"CREATE", place + "/", Sequential}, {"CREATE", place + "/a/", Sequential}, {"CREATE", place + "//b"}, {"CREATE", node() + "/"},
			{"CREATE", node(), "=" + word("x", "y")}, {"DELETE", node()}, {"DELETE", node()}, {"DELETE", node(), word("0", "1")}, {"DELETE", "/"},
			{"EXISTS", node()}, {"EXISTS", node(), Watch}, {"EXISTS", node(), Watch}, {"GETDATA", node()}, {"GETDATA", node(), Watch},
			{"SETDATA", node(), word("x", "y")}, {"SETDATA", node(), "z", word("0", "1", "2")},
			{"GETCHILDREN", node()}, {"GETCHILDREN", node(), Watch}, {"GETCHILDREN", node(), Watch}, {"SYNC", node()},
		}).Draw(t, "request")
		return s
	}
}

// TestModelAgainstZooKeeper sends the same requests to the model and to a real ZooKeeper. Sessions move to other connections, and expire.
func TestModelAgainstZooKeeper(t *testing.T) {
	addr := realZooKeeper(t)
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		place := fmt.Sprintf("/run-%d", runs)
		steps := rapid.SliceOfN(rapid.Custom(drawStep("PLACE")), 1, 25).Draw(t, "steps")
		mine, theirs := &model{}, &wire{t: t, addr: addr}
		defer theirs.close()
		mine.begin(place)
		theirs.begin(place)
		var told []string
		for _, s := range steps {
			for i, arg := range s.args {
				s.args[i] = strings.Replace(arg, "PLACE", place, 1)
			}
			told = append(told, s.String())
			want, got := play(theirs, s), play(mine, s)
			for i := range clients {
				if s.changes() {
					want += events(theirs, i)
					got += events(mine, i)
				}
			}
			if want != got {
				t.Fatalf("they differ after\n  %s\nthe ZooKeeper %s\nthe model     %s", strings.Join(told, "\n  "), want, got)
			}
		}
	})
}

// play has a step happen.
func play(on subject, s step) string {
	switch {
	case s.expires:
		on.expire(s.client)
		return ""
	case s.moves:
		on.move(s.client, s.args)
		return ""
	}
	return on.do(s.client, s.args)
}

// events are what a client was told, in an order of their own: in which order the nodes of a session go a ZooKeeper leaves open.
func events(on subject, client int) string {
	all := on.events(client)
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(a, b) })
	return fmt.Sprintf("; %d is told %v", client, all)
}

// realZooKeeper is a ZooKeeper of the test's own.
func realZooKeeper(t *testing.T) string {
	t.Helper()
	needs.Found(t, "zookeeper", zookeeper.Find)
	guard, err := process.StartGuard([]string{"/usr/bin/env", guardRole + "=1", os.Args[0]})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guard.Close()) })
	own, err := zookeeper.Start(t.Context(), guard, "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	return own.Addr()
}

const guardRole = "LOCKLAB_SIM_GUARD"

func TestMain(m *testing.M) {
	if os.Getenv(guardRole) != "" {
		if err := process.GuardMain(os.Stdin, os.Stdout, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
