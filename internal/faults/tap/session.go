package tap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/resp"
)

// session is one connection of a client. Three goroutines serve it: one reads requests and sends them one by one, one reads the server's
// messages and finishes the command in flight, one writes to the client.
type session struct {
	tap     *Tap
	client  string
	addr    string  // of the server
	other   *naming // of the server, if it is not the tap's own; else nil
	number  int64
	down    net.Conn // to the client
	up      net.Conn // to the server
	in      *resp.Reader
	back    *resp.Reader
	watches []string     // the lab's keys that it watches; belongs to the holder of the turn
	begun   [][]byte     // the commands of the transaction so far, while a breakpoint may need a copy
	kept    []byte       // the first reply to a duplicated command; belongs to the goroutine that reads answers
	account *resp.Budget // of all that the tap keeps for the connection
	out     *outbox
	idle    chan struct{} // holds a token while no command is in flight; its holder may write to up
	ended   chan struct{} // closed, under mu, when the server will answer no more

	mu      sync.Mutex
	flying  bool // flight is at the server
	flight  flight
	dialect dialect // the token's holder may read it without mu, except subs, which change at any time
}

// serve relays between a client and the server until both are done.
func (t *Tap) serve(client string, down net.Conn, account *resp.Budget) {
	addr, other := t.wayOf(client)
	up, left, err := t.connect(client, addr)
	if err != nil {
		// To the client the server is down.
		down.Close()
		return
	}
	defer left()
	limits := t.cfg.Limits
	limits.Held = account
	s := &session{
		tap: t, client: client, addr: addr, other: other, number: t.conns.last.Add(1), down: down, up: up, account: account,
		in: resp.NewReader(down, limits), back: resp.NewReader(up, limits), idle: make(chan struct{}, 1),
		ended: make(chan struct{}), dialect: dialect{db: t.cfg.Entry.DB},
	}
	s.out = newOutbox(down, t.cfg.Queue, account, func(err error) { s.complain("reply", err) })
	s.idle <- struct{}{}
	defer context.AfterFunc(t.ctx, s.abort)()
	var both sync.WaitGroup
	both.Go(s.answers)
	both.Go(s.out.run)
	s.requests()
	both.Wait()
	s.partExpiry()
	seeOff(down)
}

// named is what the server is called in the history.
func (s *session) named() naming {
	if s.other != nil {
		return *s.other
	}
	return s.tap.calledNow()
}

func (s *session) abort() {
	s.out.kill()
	s.down.Close()
	s.up.Close()
}

// requests sends the client's commands until it has no more, or the server is gone.
func (s *session) requests() {
	pending := false
	for {
		request, err := s.in.ReadRequest()
		if err != nil {
			s.complain("request", err)
			break
		}
		if !s.awaitIdle() {
			pending = false
			break
		}
		if pending = s.pass(request); !pending {
			break
		}
	}
	s.leave(pending)
}

// leave closes the connection to the server when the command in flight has been finished. It does not wait for a blocking command, which
// the server too ends with the connection.
func (s *session) leave(pending bool) {
	if pending && !s.isBlocked() {
		s.awaitIdle()
	}
	s.out.hasten()
	s.up.Close()
}

func (s *session) isBlocked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flying && s.flight.Blocks
}

// awaitIdle waits until no command is in flight and takes the token; it returns false if the tap has been closed.
func (s *session) awaitIdle() bool {
	select {
	case <-s.idle:
		return true
	default:
	}
	s.out.dontWait(true)
	defer s.out.dontWait(false)
	select {
	case <-s.idle:
		return true
	case <-s.tap.ctx.Done():
		return false
	}
}

// hold notes that a breakpoint is reached and waits for its release; it returns false if the tap has been closed, or the server answers no more. A reply
// that is held is lost if broken is closed first.
func (s *session) hold(armed *Armed, broken <-chan struct{}) bool {
	armed.reach()
	select {
	case <-broken:
		s.out.mute()
		s.up.Close()
		return true
	case <-s.ended:
		return false
	case <-armed.released:
		return true
	case <-armed.dropped:
		return false
	case <-s.tap.ctx.Done():
		return false
	}
}

// send sends a command to the server. It returns false if the server is gone or the tap has been closed.
func (s *session) send(f *flight, raw []byte) bool {
	if f.turn = !f.Blocks && !f.Unordered; f.turn && !s.tap.takeTurn() {
		return false
	}
	if f.turn {
		s.tap.watchdog.begin(s.client, f.Name)
	}
	s.prepare(f)
	if !s.takeOff(f) {
		s.land(f)
		return false
	}
	silent := f.silent // with an answer, another goroutine finishes the flight
	_, err := s.up.Write(raw)
	if silent {
		s.finish(f, nil)
		return err == nil
	}
	if err != nil {
		// The goroutine that reads the answers meets the same end and finishes the command.
		s.up.Close()
	}
	return true
}

// takeOff marks a command as in flight; it returns false if the server's side has ended.
func (s *session) takeOff(f *flight) bool {
	s.out.hurry(f.turn)
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := closed(s.ended)
	s.flying = !ended && !f.silent
	return !ended
}

// land gives the turn back.
func (s *session) land(f *flight) {
	if !f.turn {
		return
	}
	f.turn = false
	s.tap.watchdog.end()
	s.out.hurry(false)
	s.tap.leaveTurn()
}

// answers reads what the server sends until it ends.
func (s *session) answers() {
	defer s.out.finish()
	for {
		reply, err := s.back.ReadReply()
		if err != nil {
			s.complain("reply", err)
			break
		}
		s.receive(reply)
		if s.isOpaque() {
			s.out.copyFrom(s.back.Rest())
			break
		}
	}
	s.up.Close()
	s.mu.Lock()
	close(s.ended)
	cutShort := s.flying
	s.flying = false
	s.mu.Unlock()
	if cutShort {
		s.finish(&s.flight, nil)
	}
	s.deliverKept()
}

func (s *session) isOpaque() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialect.opaque
}

// receive passes on one message of the server. An answer finishes its command.
func (s *session) receive(reply resp.Reply) {
	switch s.roleOf(reply) {
	case roleNews:
		if s.kept != nil { // the order of messages stays
			s.keepReply(reply.Raw)
			return
		}
		s.out.pushWhenRoom(reply.Raw)
	case rolePart:
		s.out.push(reply.Raw)
	case roleAnswer:
		s.finish(&s.flight, &reply)
	}
}

func (s *session) roleOf(reply resp.Reply) role {
	s.mu.Lock()
	defer s.mu.Unlock()
	var inFlight *flight
	if s.flying {
		inFlight = &s.flight
	}
	role := s.dialect.hear(inFlight, reply, s.tap.cfg.Limits)
	if role == roleAnswer {
		s.flying = false
	}
	if s.dialect.subscriptions() > maxSubscriptions {
		s.tap.fail(fmt.Errorf("tap: client %s has more than %d subscriptions on one connection to %s", s.client, maxSubscriptions, s.tap.cfg.Server))
		s.up.Close()
	}
	s.charge()
	return role
}

// finish ends a command; reply is nil if none comes. The turn ends before the client gets the reply.
func (s *session) finish(f *flight, reply *resp.Reply) {
	if f.recorded() || s.tap.expiries.covers(f) {
		if !f.turn {
			if !s.tap.takeTurn() {
				return
			}
			f.turn = true
		}
	}
	if f.recorded() {
		s.record(f, reply)
	}
	s.afterExpiry(f)
	s.mu.Lock()
	if reply != nil {
		s.dialect.settle(f, *reply)
	} else if f.silent {
		s.dialect.settle(f, resp.Reply{Kind: resp.KindSimple})
	}
	s.charge()
	s.mu.Unlock()
	s.land(f)
	if reply != nil && !s.deliver(f, reply) {
		return
	}
	s.account.Give(len(f.raw))
	*f = flight{} // what it names may be long
	s.idle <- struct{}{}
}

// deliver passes a reply to the client, and carries out the breakpoints that apply to it. It returns false if the command is in flight
// again, or the tap has been closed.
func (s *session) deliver(f *flight, reply *resp.Reply) bool {
	if f.again {
		f.reach(faults.ActDuplicate)
		s.deliverKept()
		return true
	}
	for _, armed := range f.breakpoints {
		if armed.point.Action == faults.ActHoldCopy {
			s.keepCopy(armed, *f)
			continue
		}
		armed.deliver()
	}
	f.dropReply(s.out, s.down)
	for _, armed := range f.breakpoints {
		if armed.point.Action == faults.ActHoldReply && !s.hold(armed, s.tap.untilBroken()) {
			return false
		}
	}
	if !f.meets(faults.ActDuplicate) {
		s.out.deliver(reply.Raw)
		return true
	}
	// The operation may end with this reply, and the duplicate belongs to the operation.
	s.keepReply(reply.Raw)
	f.again = true
	f.awaited = 1
	sent := s.send(f, f.raw)
	if f.Blocks {
		s.deliverKept()
	}
	return !sent
}

// keepReply keeps a message of the server until a duplicated command has its second answer.
func (s *session) keepReply(raw []byte) {
	if s.keep(len(raw)) {
		s.kept = append(s.kept, raw...)
	}
}

// deliverKept passes on the reply that was kept for a duplicate.
func (s *session) deliverKept() {
	if s.kept == nil {
		return
	}
	s.out.deliver(s.kept)
	s.account.Give(len(s.kept))
	s.kept = nil
}

// dropReply loses the reply, and what follows it on the connection, if a breakpoint says so.
func (f *flight) dropReply(out *outbox, down net.Conn) {
	if !f.meets(faults.ActDropReply) {
		return
	}
	out.mute()
	if slices.ContainsFunc(f.breakpoints, func(t *Armed) bool { return t.point.Ends }) {
		down.Close()
	}
	f.reach(faults.ActDropReply)
}

// reach marks all breakpoints with the action as reached.
func (f *flight) reach(action faults.Action) {
	for _, armed := range f.breakpoints {
		if armed.point.Action == action {
			armed.reach()
		}
	}
}

// complain reports a protocol error. An ordinary end of a connection is none.
func (s *session) complain(what string, err error) {
	var tooLarge *resp.LimitError
	var noRESP resp.SyntaxError
	if !errors.As(err, &tooLarge) && !errors.As(err, &noRESP) {
		return
	}
	whom := "of client " + s.client + " to " + s.tap.cfg.Server
	if what == "reply" {
		whom = "of " + s.tap.cfg.Server + " to client " + s.client
	}
	s.tap.fail(fmt.Errorf("tap: %s %s: %w", what, whom, err))
}
