package tap

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/jute"
)

// stub is as much of a ZooKeeper as locks need, without time: sessions end when the test says so.
type stub struct {
	addr string

	mu       sync.Mutex
	sessions int64
	number   int
	nodes    map[string]int64 // by path: the session that made it; 0: persistent
	arrives  func(session int64, op jute.Op)
}

func startStub(t *testing.T) *stub {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &stub{addr: listener.Addr().String(), nodes: map[string]int64{"/lock": 0}}
	var conns sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		conns.Wait()
	})
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				s.serve(conn)
			})
		}
	})
	return s
}

func (s *stub) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	if _, err := jute.ReadFrame(in); err != nil {
		return
	}
	s.mu.Lock()
	s.sessions++
	id := s.sessions
	s.mu.Unlock()
	hello := binary.BigEndian.AppendUint32(make([]byte, 4), 10_000)
	hello = binary.BigEndian.AppendUint64(hello, uint64(id))
	conn.Write(jute.Frame(append(hello, make([]byte, 20)...)))
	for {
		frame, err := jute.ReadFrame(in)
		if err != nil {
			return
		}
		request, err := jute.DecodeRequest(frame)
		if err != nil {
			return
		}
		s.mu.Lock()
		arrives := s.arrives
		s.mu.Unlock()
		if arrives != nil {
			arrives(id, request.Op)
		}
		code, body := s.answer(id, request)
		b := binary.BigEndian.AppendUint32(nil, uint32(request.Xid))
		b = binary.BigEndian.AppendUint64(b, 1)
		conn.Write(jute.Frame(append(binary.BigEndian.AppendUint32(b, uint32(code)), body...)))
	}
}

func juteText(value string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(value))), value...)
}

func (s *stub) answer(session int64, r jute.Request) (jute.Code, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.nodes[r.Path]
	switch r.Op {
	case jute.OpCreate:
		made := r.Path
		if r.Flags&jute.FlagSequential != 0 {
			made = fmt.Sprintf("%s%010d", r.Path, s.number)
			s.number++
		}
		s.nodes[made] = session
		return jute.CodeOK, juteText(made)
	case jute.OpDelete:
		if !there {
			return jute.CodeNoNode, nil
		}
		delete(s.nodes, r.Path)
	case jute.OpExists:
		if !there {
			return jute.CodeNoNode, nil
		}
	case jute.OpGetChildren:
		var names []byte
		count := 0
		for node := range s.nodes {
			if path.Dir(node) == r.Path {
				count++
				names = append(names, juteText(path.Base(node))...)
			}
		}
		return jute.CodeOK, append(binary.BigEndian.AppendUint32(nil, uint32(count)), names...)
	case jute.OpClose:
		for node, owner := range s.nodes {
			if owner == session {
				delete(s.nodes, node)
			}
		}
	}
	return jute.CodeOK, nil
}

// expire has the nodes of all sessions go that have made one with that beginning.
func (s *stub) expire(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for node := range s.nodes {
		if strings.HasPrefix(node, prefix) {
			delete(s.nodes, node)
		}
	}
}

// keeperLab is a tap before a stub.
type keeperLab struct {
	t    *testing.T
	stub *stub
	tap  *Tap
	id   atomic.Int64 // of the acquire that is under way at all clients

	mu     sync.Mutex
	events []history.Event
}

func newKeeperLab(t *testing.T) *keeperLab {
	l := &keeperLab{t: t, stub: startStub(t)}
	l.id.Store(1)
	began := time.Now()
	tap, err := New(t.Context(), Config{
		Server: "zookeeper", Upstream: l.stub.addr, Locks: []string{"/lock"}, Watch: func(key string) bool { return key == "/lock" },
		StateProbes: true, Since: func() time.Duration { return time.Since(began) },
		Record: func(e history.Event) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.events = append(l.events, e)
		},
		Current: func(string) (history.Op, int64) { return history.OpAcquire, l.id.Load() },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tap.Close()) })
	l.tap = tap
	return l
}

// lines are the recorded commands in words.
func (l *keeperLab) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, e := range l.events {
		c := e.Command()
		change := c.Changes[0]
		lines = append(lines, fmt.Sprintf("%s %s: %s to %s", e.Client, strings.Join(c.Args, " "), nodeOf(change.Before), nodeOf(change.After)))
	}
	return lines
}

func nodeOf(s history.State) string {
	if !s.Exists() {
		return "nobody"
	}
	return s.Value
}

// keeperClient is a client that sends frames one by one.
type keeperClient struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	xid  int32
}

func (l *keeperLab) client(name string) *keeperClient {
	addr, err := l.tap.Listen(name)
	require.NoError(l.t, err)
	conn, err := net.Dial("tcp", addr)
	require.NoError(l.t, err)
	l.t.Cleanup(func() { conn.Close() })
	c := &keeperClient{t: l.t, conn: conn, in: bufio.NewReader(conn)}
	c.write(jute.ConnectFrame(10 * time.Second))
	c.read()
	return c
}

func (c *keeperClient) write(frame []byte) {
	_, err := c.conn.Write(frame)
	require.NoError(c.t, err)
}

func (c *keeperClient) read() []byte {
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	frame, err := jute.ReadFrame(c.in)
	require.NoError(c.t, err)
	return frame
}

// send sends a request; a create makes an ephemeral sequential node.
func (c *keeperClient) send(op jute.Op, path string) {
	c.xid++
	frame := jute.RequestFrame(c.xid, op, path)
	if op == jute.OpCreate {
		frame[len(frame)-1] = jute.FlagEphemeral | jute.FlagSequential
	}
	c.write(frame)
}

func (c *keeperClient) ask(op jute.Op, path string) jute.Reply {
	c.send(op, path)
	return c.reply(c.xid)
}

// watch asks whether a node exists, and to be told of its end.
func (c *keeperClient) watch(path string) {
	c.xid++
	frame := jute.RequestFrame(c.xid, jute.OpExists, path)
	frame[len(frame)-1] = 1
	c.write(frame)
	c.reply(c.xid)
}

func (c *keeperClient) reply(xid int32) jute.Reply {
	reply, err := jute.DecodeReply(c.read())
	require.NoError(c.t, err)
	require.Equal(c.t, xid, reply.Xid)
	return reply
}

var pingFrame = jute.Frame([]byte{0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 11})

// TestWhoseALockOnZooKeeperIs: it is that of the first node, and passes on when that goes, by a request or with its session.
func TestWhoseALockOnZooKeeperIs(t *testing.T) {
	l := newKeeperLab(t)
	one, two, three := l.client("C1"), l.client("C2"), l.client("C3")
	one.ask(jute.OpCreate, "/lock/a-")
	two.ask(jute.OpCreate, "/lock/b-")
	three.ask(jute.OpCreate, "/lock/c-")
	two.ask(jute.OpExists, "/lock/a-0000000000")
	three.ask(jute.OpGetChildren, "/")
	one.ask(jute.OpDelete, "/lock/a-0000000000")
	one.ask(jute.OpDelete, "/lock/a-0000000000")
	l.stub.expire("/lock/b-")
	state, err := l.tap.State(t.Context(), "/lock")
	require.NoError(t, err)
	assert.Equal(t, "c-0000000002 of C3", state.Value)
	assert.InDelta(t, float64(10*time.Second), float64(state.TTL), float64(9*time.Second), "what is left of its session")
	three.ask(jute.OpClose, "")
	assert.Equal(t, []string{
		"C1 CREATE /lock/a- ephemeral sequential: nobody to a-0000000000 of C1",
		"C2 CREATE /lock/b- ephemeral sequential: a-0000000000 of C1 to a-0000000000 of C1",
		"C3 CREATE /lock/c- ephemeral sequential: a-0000000000 of C1 to a-0000000000 of C1",
		"C2 EXISTS /lock/a-0000000000: a-0000000000 of C1 to a-0000000000 of C1",
		"C1 DELETE /lock/a-0000000000: a-0000000000 of C1 to nobody",
		"C2 FIRST /lock/b-0000000001: nobody to b-0000000001 of C2",
		"C1 DELETE /lock/a-0000000000: b-0000000001 of C2 to b-0000000001 of C2",
		"C2 EXPIRED /lock/b-0000000001: b-0000000001 of C2 to nobody",
		"C3 FIRST /lock/c-0000000002: nobody to c-0000000002 of C3",
		"C3 CLOSESESSION: c-0000000002 of C3 to nobody",
	}, l.lines())
	require.NoError(t, l.tap.Err())
}

// TestAnAcquireWaitsByANodeThatIsLeft: a node that becomes the first does so for the acquire that waits by it, not for the one that made it,
// unless the later acquire has made its own.
func TestAnAcquireWaitsByANodeThatIsLeft(t *testing.T) {
	l := newKeeperLab(t)
	one, two, three := l.client("C1"), l.client("C2"), l.client("C3")
	one.ask(jute.OpCreate, "/lock/a-")
	two.ask(jute.OpCreate, "/lock/b-")
	three.ask(jute.OpCreate, "/lock/c-")
	l.id.Store(2)
	two.watch("/lock/a-0000000000")
	three.ask(jute.OpCreate, "/lock/d-")
	three.watch("/lock/b-0000000001")
	one.ask(jute.OpDelete, "/lock/a-0000000000")
	two.ask(jute.OpDelete, "/lock/b-0000000001")
	l.mu.Lock()
	defer l.mu.Unlock()
	first := map[string]int64{}
	for _, e := range l.events {
		if c := e.Command(); c.Args[0] == entryFirst {
			first[c.Args[1]] = e.ID
			assert.Equal(t, e.ID == 1, c.Late, "the acquire is over")
		}
	}
	assert.Equal(t, map[string]int64{"/lock/b-0000000001": 2, "/lock/c-0000000002": 1}, first)
}

// TestASessionEndsBeforeARequestArrives: the tap has looked, and found it alive. What the list shows is on record before the list.
func TestASessionEndsBeforeARequestArrives(t *testing.T) {
	l := newKeeperLab(t)
	one, two := l.client("C1"), l.client("C2")
	l.stub.mu.Lock()
	second := l.stub.sessions
	l.stub.mu.Unlock()
	one.ask(jute.OpCreate, "/lock/a-")
	two.ask(jute.OpCreate, "/lock/b-")
	l.stub.mu.Lock()
	l.stub.arrives = func(session int64, op jute.Op) {
		if session == second && op == jute.OpGetChildren {
			l.stub.expire("/lock/a-")
		}
	}
	l.stub.mu.Unlock()
	two.ask(jute.OpGetChildren, "/lock")
	assert.Equal(t, []string{
		"C1 EXPIRED /lock/a-0000000000: a-0000000000 of C1 to nobody",
		"C2 FIRST /lock/b-0000000001: nobody to b-0000000001 of C2",
		"C2 GETCHILDREN /lock: b-0000000001 of C2 to b-0000000001 of C2",
	}, l.lines()[2:])
	require.NoError(t, l.tap.Err())
}

// TestPingsPassWhatIsHeld: a held request keeps back what is behind it, but for pings, which are on record if they prolong a hold.
func TestPingsPassWhatIsHeld(t *testing.T) {
	l := newKeeperLab(t)
	c := l.client("C1")
	c.ask(jute.OpCreate, "/lock/a-")
	armed := l.tap.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{
		Action: faults.ActHoldRequest, Match: faults.Match{Kind: faults.MatchCommand, Command: "delete"},
	}})
	c.send(jute.OpDelete, "/lock/a-0000000000")
	<-armed.Reached()
	c.send(jute.OpGetChildren, "/lock")
	c.write(pingFrame)
	c.reply(jute.XidPing)
	assert.Equal(t, "C1 PING /lock: a-0000000000 of C1 to a-0000000000 of C1", l.lines()[1])
	armed.Release()
	c.reply(2)
	names, err := c.reply(3).Children()
	require.NoError(t, err)
	assert.Empty(t, names)
	<-armed.Delivered()
}

// TestReplyOfZooKeeperIsLost: with it goes all that follows to the client on this connection.
func TestReplyOfZooKeeperIsLost(t *testing.T) {
	l := newKeeperLab(t)
	c := l.client("C1")
	armed := l.tap.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Action: faults.ActDropReply, Match: faults.Match{Kind: faults.MatchWrite}}})
	c.send(jute.OpCreate, "/lock/a-")
	<-armed.Reached()
	c.write(pingFrame)
	require.Eventually(t, func() bool { return len(l.lines()) == 2 }, time.Minute, time.Millisecond)
	require.NoError(t, c.conn.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err := c.in.ReadByte()
	require.Error(t, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.True(t, slices.ContainsFunc(l.events, func(e history.Event) bool { return e.Command().ReplyDropped }))
}

// TestNoZooKeeper: what is no frame ends the connection, and the record cannot be trusted.
func TestNoZooKeeper(t *testing.T) {
	l := newKeeperLab(t)
	c := l.client("C1")
	c.write([]byte("GET / HTTP/1.1\r\n"))
	select {
	case <-l.tap.Done():
		require.ErrorContains(t, l.tap.Err(), "client C1 and zookeeper: not ZooKeeper's protocol")
	case <-time.After(time.Minute):
		t.Fatal("nobody complained")
	}
}
