package sim

import (
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/sim/process"
)

// client is one user of a lock: a process with its lock, or a further handle in the process of another client.
type client struct {
	name string
	cell *cell
	*peer
	lockKey      string
	data         cells.Data // of the work under its lock
	links        []*link    // to the lock servers
	resourceLink *link

	cells.Belief
	pending  *operation // the operation that has not been answered, as the script sees it; nil: none
	inFlight *operation // the same, as it is
	heldUp   *trap      // where something of it is stopped on the wire; nil: nowhere
}

// peer is a process: one client's, and that of the further handles in it.
type peer struct {
	name    string
	cell    *cell
	members []*client // the client first
	proc    *process.Process
	waits   map[int]bool // that have begun, by Seq

	set    time.Duration // when its clock was set
	shown  time.Time     // what it showed then
	rate   float64
	paused bool
	dead   bool
	missed []func() // what has come in while it was paused
}

// newPeer starts a process, and lets it open its locks.
func (c *cell) newPeer(name string) *peer {
	p := &peer{name: name, cell: c, waits: map[int]bool{}, shown: base(), rate: 1}
	p.proc = process.New(p)
	for _, member := range append([]string{name}, c.script.HandlesOf(name)...) {
		cl := &client{name: member, cell: c, peer: p, lockKey: c.lockKey, data: c.data}
		if c.script.OnOtherKey(member) {
			cl.lockKey, cl.data = c.otherKey, c.otherData
		}
		for _, s := range c.servers {
			cl.links = append(cl.links, &link{server: s, conns: map[int]*conn{}})
		}
		cl.resourceLink = &link{server: c.resource, conns: map[int]*conn{}}
		p.members = append(p.members, cl)
		c.clients[member] = cl
		p.proc.Open(member, c.spec, impls.Options{Key: cl.lockKey, Lease: c.script.Lease}, len(c.servers))
	}
	return p
}

// Now is what the process's clock shows.
func (p *peer) Now() time.Time {
	ago := p.cell.now - p.set
	if p.rate != 1 {
		ago = time.Duration(float64(ago) * p.rate)
	}
	return p.shown.Add(ago)
}

// skew sets the clock: from now on it starts at the right time plus offset, and runs at rate.
func (p *peer) skew(offset time.Duration, rate float64) {
	p.set, p.shown, p.rate = p.cell.now, base().Add(p.cell.now+offset), rate
}

// right is how long d by the process's clock really is.
func (p *peer) right(d time.Duration) time.Duration { return time.Duration(float64(d) / p.rate) }

// Token is a value that nobody else gets in the cell.
func (p *peer) Token() string { return p.cell.token() }

// Begun minds a time-out.
func (p *peer) Begun(timer int, d time.Duration) {
	p.cell.after(p.right(d), func() { p.expire(timer) })
}

func (p *peer) expire(timer int) { p.hand(func() { p.proc.Expire(timer) }) }

// hand lets something happen to the process: later, if it is paused now, and never if it is no more.
func (p *peer) hand(what func()) {
	switch {
	case p.dead || p.cell.over:
	case p.paused:
		p.missed = append(p.missed, what)
	default:
		what()
		p.serve()
	}
}

// resume gives a task what it waits for, if it still does.
func (p *peer) resume(w process.Wait, in process.Input) {
	p.hand(func() {
		if p.waits[w.Seq] {
			p.proc.Resume(w.Task, in)
		}
	})
}

// serve takes note of what has come out of the process, and sees to what it now waits for.
func (p *peer) serve() {
	for _, n := range p.proc.Notices() {
		p.heard(n)
	}
	if err := p.proc.Err(); err != nil && p.cell.broken == nil {
		p.cell.broken = cells.Undecided("%s: %v", p.name, err)
		return
	}
	before := p.waits
	p.waits = map[int]bool{}
	waits := p.proc.Waits()
	for _, w := range waits {
		p.waits[w.Seq] = true
	}
	for _, w := range waits {
		if !before[w.Seq] {
			p.begin(w)
		}
	}
}

// begin sees to a wait.
func (p *peer) begin(w process.Wait) {
	switch w.Kind {
	case process.Request:
		p.member(w.Handle).request(w)
	case process.Sleep:
		p.cell.after(p.right(w.Length), func() { p.resume(w, process.Input{}) })
	case process.Message:
		p.member(w.Handle).linkTo(w.Server).conn(p.cell, w.Conn).sub.await(w)
	}
}

func (p *peer) member(handle string) *client { return p.cell.clients[handle] }

// heard records what a process says.
func (p *peer) heard(n process.Notice) {
	c, cl := p.cell, p.member(n.Handle)
	switch n.Kind {
	case process.Returned:
		cl.answered()
	case process.Lost:
		cl.Lost.Store(true)
		c.witness(history.Event{Kind: history.KindLost, Client: cl.name, Lock: cl.lockKey, Detail: &history.Detail{Why: n.Why}})
	case process.Renewed:
		c.witness(history.Event{Kind: history.KindValid, Client: cl.name, Lock: cl.lockKey, Valid: cells.Declared(n.Valid)})
	case process.Hangup:
		cl.linkTo(n.Server).hangUp(n.Conn)
	}
}

// linkTo is the client's link to a server by its number.
func (cl *client) linkTo(number int) *link {
	if number == process.Resource {
		return cl.resourceLink
	}
	return cl.links[number]
}

// linksTo are the links of the client's process to a server.
func (p *peer) linksTo(s *server) []*link {
	var links []*link
	for _, m := range p.members {
		links = append(links, m.links[slices.Index(p.cell.servers, s)])
	}
	return links
}

// A client library that is left at its defaults waits so long for a reply, and so long before it sends again.
const (
	readTimeout   = 3 * time.Second
	resendBackOff = 8 * time.Millisecond
)

func (cl *client) backOff() time.Duration {
	if cl.cell.traits.Resends {
		return resendBackOff
	}
	return 0
}

// request sends what a task of the client waits for.
func (cl *client) request(w process.Wait) {
	c, l := cl.cell, cl.linkTo(w.Server)
	p := &packet{
		from: cl, server: l.server, link: l, wait: w, conn: l.conn(c, w.Conn), commands: w.Commands, start: l.server.starts,
	}
	if w.Commands[0][0] == "SUBSCRIBE" {
		p.conn.sub = &subscription{client: cl, link: l, conn: p.conn}
		l.server.subs = append(l.server.subs, p.conn.sub)
	}
	l.send(c, p)
	if c.traits.Resends && w.Server != process.Resource {
		c.after(readTimeout, func() {
			if slices.Contains(l.waiting, p) {
				c.lose(p)
			}
		})
	}
}

// current is the operation in whose time a command of the client arrives at a server.
func (cl *client) current(onResource bool) (history.Op, int64) {
	op := cl.inFlight
	if op == nil || (op.op == history.OpWork) != onResource {
		return history.OpNone, 0
	}
	return op.op, op.id
}

// subscription is a client's, to one channel.
type subscription struct {
	client  *client
	link    *link
	conn    *conn
	message *string // that nobody has taken: who has been woken need not be woken twice
	wait    process.Wait
}

// receive takes in what was published.
func (s *subscription) receive(text string) {
	if s.message == nil {
		s.message = &text
	}
	s.wake()
}

// await has a task wait for the next message.
func (s *subscription) await(w process.Wait) {
	s.wait = w
	if s.message != nil || s.conn.broken {
		s.client.cell.after(0, s.wake)
	}
}

// wake gives the task that waits, if there is one, the message, or the end of the connection.
func (s *subscription) wake() {
	s.client.peer.hand(func() {
		p := s.client.peer
		switch {
		case !p.waits[s.wait.Seq]:
		case s.message != nil:
			text := *s.message
			s.message = nil
			p.proc.Resume(s.wait.Task, process.Input{Message: text})
		case s.conn.broken:
			p.proc.Resume(s.wait.Task, process.Input{Lost: true})
		}
	})
}
