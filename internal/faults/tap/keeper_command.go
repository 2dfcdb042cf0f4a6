package tap

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/jute"
)

// describe begins the flight of a request.
func (k *keeper) describe(request jute.Request) *flight {
	t := k.tap
	f := &flight{Traits: commands.Traits{Name: request.Op.Name(), Writes: request.Op.Writes(), Drops: request.Op.Drops()}}
	if f.keys = t.nodes.keys(request); len(f.keys) == 0 {
		return f
	}
	f.note.args = describeRequest(request)
	f.note.op, f.note.id = t.cfg.Current(k.client)
	if request.Op != jute.OpClose { // the client ends: no breakpoint of a script means that
		f.breakpoints = t.cfg.Breakpoints.take(t.cfg.Server, k.client, f)
	}
	return f
}

// describeRequest is a request as histories show it.
func describeRequest(request jute.Request) []string {
	args := []string{request.Op.Name()}
	if request.Path != "" {
		args = append(args, commands.Clip(request.Path))
	}
	if request.Flags&jute.FlagEphemeral != 0 {
		args = append(args, "ephemeral")
	}
	if request.Flags&jute.FlagSequential != 0 {
		args = append(args, "sequential")
	}
	if request.Watch {
		args = append(args, "watch")
	}
	return args
}

// hold waits for the release of a breakpoint; it returns false if the tap has been closed, the request is dropped, or the server says no more.
func (k *keeper) hold(armed *Armed) bool {
	armed.reach()
	select {
	case <-armed.released:
		return true
	case <-armed.dropped:
		return false
	case <-k.ended:
		return false
	case <-k.tap.ctx.Done():
		return false
	}
}

// exchange sends a request in its turn, waits for the reply, and records both. reply is nil if the server is gone.
func (k *keeper) exchange(f *flight, request jute.Request, frame []byte) (reply []byte, ok bool) {
	t := k.tap
	if f.recorded() {
		if !t.takeTurn() {
			return nil, false
		}
		defer t.leaveTurn()
		t.watchdog.begin(k.client, f.Name)
		defer t.watchdog.end()
		_, now := t.cfg.Current(k.client)
		f.note.late, f.note.asked = f.note.isLate(now), t.cfg.Since()
		t.nodes.lookBefore(f)
		f.note.sent = t.cfg.Since()
	}
	k.mu.Lock()
	k.flies, k.flying = true, request.Xid
	k.mu.Unlock()
	if err := k.send(frame); err != nil {
		k.up.Close()
	}
	select {
	case reply = <-k.answer:
	case <-k.ended:
		select {
		case reply = <-k.answer:
		default:
		}
	}
	if f.recorded() {
		k.record(f, request, reply)
	}
	return reply, reply != nil
}

// record writes the command into the history, with what came of it. The flight has the turn.
func (k *keeper) record(f *flight, request jute.Request, frame []byte) {
	t := k.tap
	result := resultOf(request, frame)
	changes := t.nodes.lookAfter(f, request, result, node{client: k.client, op: f.note.op, id: f.note.id, conn: k.number, session: k.sessionID()})
	c := history.Command{Server: t.cfg.Server, Conn: k.number, Reply: result.text, ReplyDropped: f.meets(faults.ActDropReply) || k.out.isMuted()}
	if changes != nil {
		c.Changes, c.Asked = changes, t.cfg.Since()-f.note.asked
	}
	t.cfg.Record(f.note.event(k.client, f.keys[0], t.cfg.Since(), c))
	t.nodes.settle(f.keys)
}

func (k *keeper) sessionID() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.id
}

// result is what a reply says.
type result struct {
	text    string // as histories show it; empty: none has come
	done    bool   // the request was carried out
	created string // the path that CREATE made
	listed  bool   // it lists the nodes below the one that the request names:
	names   []string
}

func resultOf(request jute.Request, frame []byte) result {
	if frame == nil {
		return result{}
	}
	reply, err := jute.DecodeReply(frame)
	if err != nil {
		return result{}
	}
	if reply.Code != jute.CodeOK {
		if request.Op == jute.OpExists && reply.Code == jute.CodeNoNode {
			return result{text: "nil"}
		}
		return result{text: "-" + reply.Code.String()}
	}
	r := result{text: "OK", done: true}
	switch request.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		if path, err := reply.Path(); err == nil {
			r.created, r.text = path, commands.Clip(path)
		}
	case jute.OpGetChildren, jute.OpGetChildren2:
		if names, err := reply.Children(); err == nil {
			slices.Sort(names)
			r.listed, r.names, r.text = true, names, commands.Clip(fmt.Sprint(names))
		}
	}
	return r
}

// deliver passes a reply to the client, and carries out the breakpoints that apply to it.
func (k *keeper) deliver(f *flight, reply []byte) bool {
	defer k.delivered()
	for _, armed := range f.breakpoints {
		armed.deliver()
	}
	f.dropReply(k.out, k.down)
	for _, armed := range f.breakpoints {
		if armed.point.Action == faults.ActHoldReply && !k.hold(armed) {
			return false
		}
	}
	k.push(reply)
	return true
}
