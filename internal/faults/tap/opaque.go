package tap

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/resp"
)

// CanUnread says whether a breakpoint can apply where requests are not read: the first bytes that a client sends in an operation that is one request
// are that request, and the next bytes of the server its reply.
func CanUnread(at faults.Breakpoint, op history.Op) bool {
	stops := slices.Contains([]faults.Action{faults.ActHoldRequest, faults.ActHoldReply, faults.ActDropReply}, at.Action)
	return stops && at.Nth == 1 && at.Server == "" && at.Match.Kind != faults.MatchCommand && unread(op).Counts(at.Match, false)
}

// unread are the traits of a request that is not read, in an operation.
func unread(op history.Op) commands.Traits {
	return commands.Traits{Writes: true, Drops: op == history.OpRelease}
}

// relay is one connection of a client with a server whose protocol the tap does not read. Two goroutines serve it, one for each direction.
type relay struct {
	tap      *Tap
	client   string
	down, up net.Conn
	ended    chan struct{} // closed when the server sends no more

	mu      sync.Mutex
	awaited []*Armed // the breakpoints whose request has been sent, and has no reply yet
}

// serveOpaque relays between a client and a server whose protocol the tap does not read. It passes on every byte at once, but for breakpoints. An end
// of either side is one of the other.
func (t *Tap) serveOpaque(client string, down net.Conn, account *resp.Budget) {
	in := bufio.NewReader(down)
	if first, err := in.Peek(1); err != nil || first[0] == '*' {
		defer down.Close()
		defer context.AfterFunc(t.ctx, func() { down.Close() })()
		t.answerCanary(in, down, account)
		return
	}
	addr, _ := t.wayOf(client)
	up, left, err := t.connect(client, addr)
	if err != nil {
		down.Close() // to the client the server is down
		return
	}
	defer left()
	defer context.AfterFunc(t.ctx, func() {
		down.Close()
		up.Close()
	})()
	r := &relay{tap: t, client: client, down: down, up: up, ended: make(chan struct{})}
	var back sync.WaitGroup
	back.Go(r.replies)
	r.requests(in)
	r.awaitReplies()
	up.Close()
	back.Wait()
	seeOff(down)
}

// requests passes on what the client sends.
func (r *relay) requests(in io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := in.Read(buffer)
		if n > 0 && !r.request(buffer[:n]) {
			return
		}
		if err != nil {
			return
		}
	}
}

// request passes on bytes of the client. It returns false if none may follow.
func (r *relay) request(sent []byte) bool {
	for _, armed := range r.take() {
		if armed.point.Action == faults.ActHoldRequest && !r.hold(armed, nil) {
			return false
		}
		r.mu.Lock()
		r.awaited = append(r.awaited, armed)
		r.mu.Unlock()
	}
	leave, err := r.tap.turns.pace.wait(r.tap.ctx)
	if err != nil {
		return false
	}
	defer leave()
	_, err = r.up.Write(sent)
	return err == nil
}

// take returns the breakpoints that wait for the request of the client's operation.
func (r *relay) take() []*Armed {
	points := r.tap.cfg.Breakpoints
	if !points.watch(r.client) {
		return nil
	}
	op, id := r.tap.cfg.Current(r.client)
	if op == history.OpNone {
		return nil
	}
	f := &flight{Traits: unread(op), note: note{op: op, id: id, args: []string{"request of " + op.String()}}}
	return points.take(r.tap.cfg.Server, r.client, f)
}

// awaitReplies waits until the server has answered what breakpoints let through, though the client is gone.
func (r *relay) awaitReplies() {
	r.mu.Lock()
	awaited := slices.Clone(r.awaited)
	r.mu.Unlock()
	for _, armed := range awaited {
		select {
		case <-armed.delivered:
		case <-r.ended:
		case <-r.tap.ctx.Done():
		}
	}
}

// hold is session.hold, for bytes that are not read.
func (r *relay) hold(armed *Armed, broken <-chan struct{}) bool {
	armed.reach()
	select {
	case <-armed.released:
		return true
	case <-broken:
	case <-r.ended:
	case <-armed.dropped:
	case <-r.tap.ctx.Done():
	}
	return false
}

// replies passes on what the server sends.
func (r *relay) replies() {
	defer r.up.Close()
	defer sayNoMore(r.down)
	defer close(r.ended)
	buffer := make([]byte, 32<<10)
	for lost := false; ; {
		n, err := r.up.Read(buffer)
		if n > 0 && !lost {
			var passes bool
			if lost, passes = r.reply(); !passes {
				return
			}
		}
		if n > 0 && !lost {
			if _, err := r.down.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// reply carries out the breakpoints whose reply has come. It is lost, with what follows on this connection, or held; passes is false if nothing may follow.
func (r *relay) reply() (lost, passes bool) {
	r.mu.Lock()
	came := r.awaited
	r.awaited = nil
	r.mu.Unlock()
	for _, armed := range came {
		armed.deliver()
	}
	for _, armed := range came {
		switch armed.point.Action {
		case faults.ActDropReply:
			lost = true
			armed.reach()
		case faults.ActHoldReply:
			if !r.hold(armed, r.tap.untilBroken()) {
				return lost, false
			}
		}
	}
	return lost, true
}
