package tap

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/faults/resp"
)

// maxPipelined bounds the requests of one connection that wait for the one in flight.
const maxPipelined = 1000

// keeper is one connection of a client to a ZooKeeper. A client sends requests without waiting for replies; the tap passes one at a time.
// Pings pass at once in both directions, so that what is held does not end the session. Watch events keep their place among the replies: a
// client learns of a watch from the reply that is before the event.
type keeper struct {
	tap     *Tap
	client  string
	server  string // at which address
	number  int64
	down    net.Conn // to the client
	up      net.Conn // to the server
	in      *bufio.Reader
	out     *outbox
	account *resp.Budget  // of all that the tap keeps for the connection
	queue   chan []byte   // requests that wait for the one in flight
	answer  chan []byte   // the reply to it
	ended   chan struct{} // closed when the server says no more

	writing sync.Mutex // guards writes to up

	mu      sync.Mutex
	id      int64    // of the session; zero before the server has answered
	flies   bool     // a request is in flight
	flying  int32    // its number
	waiting bool     // its reply has come, and has not been delivered
	behind  [][]byte // what came after that reply
}

// serveKeeper relays between a client and a ZooKeeper until both are done.
func (t *Tap) serveKeeper(client, upstream string, down net.Conn, account *resp.Budget) {
	in := bufio.NewReader(down)
	if first, err := in.Peek(1); err != nil || first[0] == '*' {
		defer down.Close()
		defer context.AfterFunc(t.ctx, func() { down.Close() })()
		t.answerCanary(in, down, account)
		return
	}
	up, left, err := t.connect(client, upstream)
	if err != nil {
		down.Close() // to the client the server is down
		return
	}
	defer left()
	k := &keeper{
		tap: t, client: client, server: upstream, number: t.conns.last.Add(1), down: down, up: up, in: in, account: account,
		queue: make(chan []byte, maxPipelined), answer: make(chan []byte, 1), ended: make(chan struct{}),
	}
	k.out = newOutbox(down, t.cfg.Queue, account, func(err error) { k.complain("reply", err) })
	defer context.AfterFunc(t.ctx, k.abort)()
	var all sync.WaitGroup
	all.Go(k.answers)
	all.Go(k.out.run)
	all.Go(k.requests)
	k.pass()
	k.out.hasten()
	k.up.Close()
	all.Wait()
	seeOff(down)
}

// answerCanary answers the lab's own PINGs, which go through the link of a client.
func (t *Tap) answerCanary(in io.Reader, down net.Conn, account *resp.Budget) {
	limits := t.cfg.Limits
	limits.Held = account
	pings := resp.NewReader(in, limits)
	for {
		request, err := pings.ReadRequest()
		if err != nil || len(request.Args) != 2 {
			return
		}
		t.seePing(request.Args[1])
		if _, err := fmt.Fprintf(down, "$%d\r\n%s\r\n", len(request.Args[1]), request.Args[1]); err != nil {
			return
		}
	}
}

func (k *keeper) abort() {
	k.out.kill()
	k.down.Close()
	k.up.Close()
}

// requests takes the client's frames until it has no more, or the server is gone.
func (k *keeper) requests() {
	defer close(k.queue)
	for first := true; ; first = false {
		frame, err := jute.ReadFrameWithin(k.in, k.room)
		if err != nil {
			k.complain("request", err)
			return
		}
		if closed(k.ended) {
			return
		}
		if first {
			if _, err = jute.DecodeConnect(frame); err == nil {
				err = k.send(frame)
			}
			k.passed(frame)
		} else {
			err = k.take(frame)
		}
		if err != nil {
			k.complain("request", err)
			return
		}
	}
}

// take sends a ping, and queues any other request.
func (k *keeper) take(frame []byte) error {
	request, err := jute.DecodeRequest(frame)
	if err != nil {
		return err
	}
	if request.Op == jute.OpPing {
		defer k.passed(frame)
		return k.ping(frame)
	}
	if request.Xid == jute.XidEvent || request.Xid == jute.XidPing {
		return jute.SyntaxError(fmt.Sprintf("a request with the number %d", request.Xid))
	}
	if err = k.admit(request, len(frame)); err == nil {
		select {
		case k.queue <- frame:
			return nil
		default:
			err = fmt.Errorf("client %s has more than %d requests that wait for a reply of %s", k.client, maxPipelined, k.tap.cfg.Server)
		}
	}
	k.tap.fail(fmt.Errorf("tap: %w", err))
	return err
}

// ping sends a ping. It prolongs the hold of a client that has a lock, so then it is on record.
func (k *keeper) ping(frame []byte) error {
	t := k.tap
	if !t.takeTurn() {
		return errClosed
	}
	for _, key := range t.nodes.prolonged(k.sessionID()) {
		sent := t.cfg.Since()
		before := t.nodes.lock(key).state()
		if t.nodes.look(key) != nil {
			continue
		}
		after := t.nodes.lock(key).state()
		if before != after {
			continue // the session has ended
		}
		k.recordPing(key, before, sent)
	}
	if t.nodes.isolated(k.server) {
		for _, key := range t.nodes.deprived(k.sessionID()) { // the server does not know, and answers
			k.recordPing(key, t.nodes.lock(key).state(), t.cfg.Since())
		}
	}
	t.leaveTurn()
	return k.send(frame)
}

// recordPing writes a ping into the history, which found a lock in a state and left it so. The flight has the turn.
func (k *keeper) recordPing(key string, state history.State, sent time.Duration) {
	t := k.tap
	c := &history.Command{Server: t.cfg.Server, Conn: k.number, Args: []string{"PING", key}, Reply: "OK", Sent: sent, ReplyDropped: k.out.isMuted()}
	if t.cfg.StateProbes {
		c.Changes, c.Asked = []history.Change{{Key: key, Before: state, After: state}}, t.cfg.Since()-sent
	}
	t.cfg.Record(history.Event{Kind: history.KindCommand, At: t.cfg.Since(), Client: k.client, Lock: key, Detail: &history.Detail{Command: c}})
}

// send sends a frame to the server.
func (k *keeper) send(frame []byte) error {
	k.writing.Lock()
	defer k.writing.Unlock()
	k.mu.Lock()
	id := k.id
	k.mu.Unlock()
	k.tap.nodes.hear(id, k.tap.cfg.Since())
	_, err := k.up.Write(frame)
	return err
}

// answers reads what the server sends until it ends.
func (k *keeper) answers() {
	defer k.out.finish()
	defer close(k.ended)
	defer k.up.Close()
	from := bufio.NewReader(k.up)
	for first := true; ; first = false {
		frame, err := jute.ReadFrameWithin(from, k.account.Take)
		if err != nil {
			k.complain("reply", err)
			return
		}
		if first {
			err = k.connected(frame)
		} else {
			err = k.receive(frame)
		}
		if err != nil {
			k.complain("reply", err)
			return
		}
	}
}

// connected takes in the server's answer to the handshake. If it says that the session has expired, the history has that before the client
// can know.
func (k *keeper) connected(frame []byte) error {
	session, err := jute.DecodeConnected(frame)
	if err != nil {
		return err
	}
	if session.Session == 0 {
		if !k.tap.takeTurn() {
			return nil
		}
		k.tap.nodes.lookAtAll()
		k.tap.leaveTurn()
	}
	k.mu.Lock()
	k.id = session.Session
	k.mu.Unlock()
	if err := k.tap.nodes.open(session, k.tap.cfg.Since()); err != nil {
		return err
	}
	k.push(frame)
	return nil
}

// receive passes on a frame of the server, or hands over the reply to the request in flight.
func (k *keeper) receive(frame []byte) error {
	reply, err := jute.DecodeReply(frame)
	if err != nil {
		return err
	}
	if reply.Xid == jute.XidPing {
		k.push(frame)
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.waiting:
		k.behind = append(k.behind, frame)
	case k.flies && reply.Xid == k.flying:
		k.flies, k.waiting = false, true
		k.answer <- frame
	default:
		k.push(frame)
	}
	return nil
}

// push passes on a frame of the server.
func (k *keeper) push(frame []byte) {
	k.out.push(frame)
	k.passed(frame)
}

// delivered passes on what came behind a reply that has been passed on.
func (k *keeper) delivered() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = false
	for _, frame := range k.behind {
		k.push(frame)
	}
	k.behind = nil
}

// pass sends the requests one by one.
func (k *keeper) pass() {
	for frame := range k.queue {
		ok := k.passOne(frame)
		k.passed(frame)
		if !ok {
			k.up.Close()
			break
		}
	}
	for range k.queue { // its sender must not wait for room
	}
}

// passOne sends one request, and returns false if none can follow.
func (k *keeper) passOne(frame []byte) bool {
	request, err := jute.DecodeRequest(frame)
	if err != nil || closed(k.ended) {
		return false // requests has complained, or the server is gone
	}
	f := k.describe(request)
	for _, armed := range f.breakpoints {
		if armed.point.Action == faults.ActHoldRequest && !k.hold(armed) {
			return false
		}
	}
	reply, ok := k.exchange(f, request, frame)
	return ok && k.deliver(f, reply)
}

// complain reports a protocol error. An ordinary end of a connection is none.
func (k *keeper) complain(what string, err error) {
	var syntax jute.SyntaxError
	var tooLarge *resp.LimitError
	if !errors.As(err, &syntax) && !errors.As(err, &tooLarge) {
		return
	}
	k.tap.fail(fmt.Errorf("tap: %s between client %s and %s: %w", what, k.client, k.tap.cfg.Server, err))
}
