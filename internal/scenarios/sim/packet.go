package sim

import (
	"slices"
	"time"
	"unsafe"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/sim/service"
)

// packet is a request on its way to a server, and its replies on their way back.
type packet struct {
	from     *handle
	server   *server
	link     *link
	conn     *conn
	to       receiver
	commands [][]string
	replies  []service.Reply
	lost     bool  // nothing comes back to the client on this connection any more
	zxid     int64 // of a ZooKeeper's reply
	start    int   // of the server: how often it had been started when the packet was sent
	noted    bool  // a command of it is in the history
}

// receiver is the part of a client that waits for the replies to a packet.
type receiver interface {
	// answered takes in the replies.
	answered(replies []service.Reply)
	// lost learns that nothing will come back.
	lost()
}

// flight is one command of a packet, at the server.
type flight struct {
	traits commands.Traits
	*packet
	words  []string
	args   []string // as they are recorded; nil: the command names nothing that is watched
	keys   []string
	queued bool
	begun  [][]string // of an EXEC: its transaction so far
	op     history.Op
	id     int64
	met    []*breakpoint
}

// arrive lets the server carry out what is left of a packet, one command after the other.
func (c *cell) arrive(p *packet) {
	if len(p.commands) == 0 || p.cut() {
		c.sendBack(p)
		return
	}
	f := c.describe(p)
	p.commands = p.commands[1:]
	c.holdAll(f.of(faults.ActHoldRequest), func() { f.server.inTurn(func() { c.carryOut(f) }) })
}

// holdAll holds something at one breakpoint after the other.
func (c *cell) holdAll(at []*breakpoint, then func()) {
	if len(at) == 0 {
		then()
		return
	}
	at[0].hold(func() { c.holdAll(at[1:], then) })
}

// describe is what the lab sees of a command before it is let through.
func (c *cell) describe(p *packet) *flight {
	words := p.commands[0]
	if p.server.nodes != nil {
		return p.server.nodes.describe(p, words)
	}
	bytes := views(words)
	f := &flight{traits: c.table.Find(bytes), packet: p, words: words}
	q := p.server.queued[p.conn.id]
	f.queued = q != nil && !slices.Contains([]string{"EXEC", "DISCARD", "MULTI", "WATCH"}, f.traits.Name)
	if f.traits.Name == "EXEC" && q != nil {
		f.keys, f.traits.Writes, f.traits.Drops = slices.Compact(slices.Sorted(slices.Values(q.keys))), q.writes, q.drops
		f.begun = q.begun
	} else {
		f.keys = f.traits.WatchedKeys(bytes, p.server.watch)
	}
	if len(f.keys) > 0 {
		f.args = commands.ClipArguments(bytes)
		f.op, f.id = p.from.Current(p.server == c.resource)
		c.meet(f)
	}
	return f
}

// views are the same words, as bytes that nobody may change.
func views(words []string) [][]byte {
	bytes := make([][]byte, len(words))
	for i, word := range words {
		bytes[i] = unsafe.Slice(unsafe.StringData(word), len(word))
	}
	return bytes
}

// carryOut lets a command through, and the next one after it.
func (c *cell) carryOut(f *flight) {
	if f.cut() { // the server has not waited for it
		c.arrive(f.packet)
		return
	}
	if f.traits.Name == "WAIT" {
		f.server.awaitReplicas(f)
		return
	}
	if f.server.nodes != nil && f.server.hasClosed(f) {
		return // it reaches nobody
	}
	f.lost = f.lost || len(f.of(faults.ActDropReply)) > 0
	reply := c.do(f, false)
	f.replies = append(f.replies, reply)
	for _, b := range f.met {
		if b.Action == faults.ActHoldCopy {
			c.keepCopy(b, f)
			continue
		}
		b.delivered = true
	}
	for _, b := range f.of(faults.ActDropReply) {
		b.reached = true
		f.conn.muted = f.server.nodes != nil // its connection carries other replies, which come after
	}
	c.holdAll(f.of(faults.ActHoldReply), func() {
		if again := f.of(faults.ActDuplicate); len(again) > 0 {
			c.do(f, true)
			for _, b := range again {
				b.reached = true
			}
		}
		c.arrive(f.packet)
	})
}

// keepCopy keeps a copy of a request that has been carried out, and of the transaction that it ends, until its breakpoint is released. It is
// then carried out on a connection of its own, and nobody gets the reply.
func (c *cell) keepCopy(b *breakpoint, f *flight) {
	begun := f.begun
	b.hold(func() {
		c.conns++
		twin := *f
		sent := *f.packet
		sent.conn = &conn{id: c.conns, link: f.link}
		twin.packet = &sent
		for _, words := range begun {
			f.server.model.Do(c.conns, words...)
		}
		c.do(&twin, true)
		b.delivered = true
	})
}

// do carries out a command, and records it if it names what is watched; again: for the second time.
func (c *cell) do(f *flight, again bool) service.Reply {
	if f.server.nodes != nil {
		return f.server.nodes.do(f)
	}
	_, now := f.from.Current(f.server == c.resource)
	note := &history.Command{
		Server: f.server.name, Conn: int64(f.conn.id), Args: f.args, Sent: c.timeline.stamp(), Again: again,
		Late: f.id != 0 && now != f.id, ReplyDropped: again || f.lost,
	}
	if f.args != nil && !f.queued && !f.traits.Blocks && !f.traits.Unordered && f.server.name != history.OldPrimary {
		note.Asked = time.Nanosecond // the questions take no time
		for _, key := range f.keys {
			note.Changes = append(note.Changes, history.Change{Key: key, Before: f.server.state(key)})
		}
	}
	c.executed++
	reply := f.server.execute(f)
	if what := f.server.model.Unknown(); what != "" && c.broken == nil {
		c.broken = play.Undecided("the model of Redis does not know %s", what)
	}
	f.server.follow(f, reply)
	if f.args != nil {
		f.noted = true
		note.Reply = commands.Clip(reply.Recorded())
		for i := range note.Changes {
			note.Changes[i].After = f.server.state(note.Changes[i].Key)
		}
		c.run.LockKeys.Rename(history.Event{
			Kind: history.KindCommand, Client: f.from.Name, Lock: f.keys[0], Op: f.op, ID: f.id, Detail: &history.Detail{Command: note},
		}, c.run.Witness)
	}
	f.server.publish()
	return reply
}

// follow keeps track of transactions and subscribers.
func (s *server) follow(f *flight, reply service.Reply) {
	failed := reply.Kind == service.Error
	switch q := s.queued[f.conn.id]; {
	case f.traits.Name == "MULTI" && !failed:
		s.queued[f.conn.id] = &queue{begun: [][]string{f.words}}
	case f.traits.Name == "EXEC", f.traits.Name == "DISCARD":
		delete(s.queued, f.conn.id)
	case f.traits.Name == "SUBSCRIBE" && !failed && !slices.Contains(s.subs, f.conn):
		s.subs = append(s.subs, f.conn)
	case f.queued && !failed:
		q.begun = append(q.begun, f.words)
		q.keys = append(q.keys, f.keys...)
		q.writes = q.writes || f.traits.Writes && len(f.keys) > 0
		q.drops = q.drops || f.traits.Drops && len(f.keys) > 0
	}
}

// sendBack sends the replies of a packet to the client. A connection that the client has given up ends with that.
func (c *cell) sendBack(p *packet) {
	p.conn.busy = max(0, p.conn.busy-1)
	if p.server.nodes != nil {
		p.conn.replying--
		defer p.server.publish() // what is told unasked comes after the reply
	}
	if p.conn.closing && p.conn.busy == 0 {
		p.server.hangUp(p.conn)
	}
	if p.lost || p.cut() {
		return
	}
	p.link.back(c, p.conn, message{arrive: p.answer, replies: p.replies, noted: p.noted && p.server != c.resource})
}

// answer gives the client its replies, if it still waits for them on that connection.
func (p *packet) answer() {
	if p.lost {
		return
	}
	p.link.forget(p)
	p.to.answered(p.replies)
}

// lose tells the client that nothing will come back.
func (p *packet) lose() {
	p.lost = true
	p.link.forget(p)
	p.to.lost()
}

// publish hands what has been published to those who have subscribed.
func (s *server) publish() {
	for _, sub := range slices.Clone(s.subs) {
		for sub.replying == 0 {
			told, ok := s.model.Receive(sub.id)
			if !ok {
				break
			}
			sub.link.back(s.cell, sub, message{arrive: func() { sub.user.receive(told) }, told: told})
		}
	}
}

// cut says whether the server has broken the connection since.
func (p *packet) cut() bool { return p.start != p.server.starts }
