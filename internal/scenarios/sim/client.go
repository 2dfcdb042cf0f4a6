package sim

import (
	"slices"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// peer is a client's process: what the script does to a client is carried out here.
type peer struct {
	*node
	proc     *process.Process
	waits    map[int]bool          // that have begun, by Seq
	inFlight map[string]*operation // by handle

	set     time.Duration // when its wall clock was set
	shown   time.Time     // what it showed then
	rate    float64
	read    bool          // the monotonic clock has been read
	stepped time.Duration // by how much the wall clock has been set ahead since
}

// newPeer starts a process, and lets it open its locks.
func (c *cell) newPeer(client *play.Client) *peer {
	p := &peer{node: c.newNode(client), waits: map[int]bool{}, inFlight: map[string]*operation{}, shown: base(), rate: 1}
	p.proc, p.happened = process.New(p), p.serve
	for _, of := range client.Handles {
		if c.spec.Needs == impls.OneZooKeeper {
			p.handles[of.Name].keeper = p.newKeeper(p.handles[of.Name])
		}
		p.proc.Open(of.Name, c.spec, impls.Options{Key: of.Key, Lease: c.run.Script.Lease}, len(c.servers))
	}
	return p
}

// Now is what the process's wall clock shows.
func (p *peer) Now() time.Time {
	ago := p.cell.Now() - p.set
	if p.rate != 1 {
		ago = time.Duration(float64(ago) * p.rate)
	}
	return p.shown.Add(ago)
}

// Monotonic is what the process's monotonic clock shows. It is as wrong as the wall clock until it is first read; later it does not step.
func (p *peer) Monotonic() time.Duration {
	p.read = true
	return time.Duration(p.Now().UnixNano()) - p.stepped
}

// right is how long d, above 0, by the process's clock really is. It is never nothing: a lock that sleeps until a clock that runs fast shows a time
// would sleep its last nanosecond for ever.
func (p *peer) right(d time.Duration) time.Duration { return max(1, time.Duration(float64(d)/p.rate)) }

// Token is a value that nobody else gets in the cell.
func (p *peer) Token() string { return p.cell.token() }

// Begun minds a time-out.
func (p *peer) Begun(timer int, d time.Duration) { p.expire(timer, p.right(d)) }

// expire lets a time-out be over in a while.
func (p *peer) expire(timer int, after time.Duration) {
	p.after(after, func() { p.proc.Expire(timer) })
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
		p.cell.broken = play.Undecided("%s: %v", p.name, err)
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
		if k := p.handles[w.Handle].keeper; k != nil && w.Server != process.Resource {
			k.ask(w)
			return
		}
		p.request(w)
	case process.Sleep:
		p.cell.timeline.after(p.right(w.Length), func() { p.resume(w, process.Input{}) })
	case process.Contact:
		p.handles[w.Handle].keeper.contact(w)
	case process.Message:
		if k := p.handles[w.Handle].keeper; k != nil {
			k.await(w)
			return
		}
		p.handles[w.Handle].linkTo(w.Server).conn(p.cell, w.Conn).user.(*subscription).await(w)
	}
}

// heard takes note of what a process says.
func (p *peer) heard(n process.Notice) {
	h := p.handles[n.Handle]
	switch n.Kind {
	case process.Returned:
		op := p.inFlight[n.Handle]
		delete(p.inFlight, n.Handle)
		op.Return(op.answer)
	case process.Lost:
		h.NoticeLoss(0, n.Why)
	case process.Renewed:
		h.NoticeValidity(n.Valid)
	case process.Hangup:
		h.linkTo(n.Server).hangUp(n.Conn)
	}
}

// linkTo is the handle's link to a server by its number.
func (h *handle) linkTo(number int) *link {
	if number == process.Resource {
		return h.resourceLink
	}
	return h.links[number]
}

// A client library that is left at its defaults waits so long for a reply, and so long before it sends again.
const (
	readTimeout   = 3 * time.Second
	resendBackOff = 8 * time.Millisecond
)

// pending is a task of a process that waits for replies.
type pending struct {
	*peer
	wait process.Wait
}

func (w pending) answered(replies []service.Reply) { w.resume(w.wait, process.Input{Replies: replies}) }

func (w pending) lost() {
	after := hop
	if w.cell.run.Traits.Resends != protocol.ResendsNothing {
		after += resendBackOff
	}
	w.cell.timeline.after(after, func() { w.resume(w.wait, process.Input{Lost: true}) })
}

// request sends what a task of a handle waits for.
func (p *peer) request(w process.Wait) {
	c, h := p.cell, p.handles[w.Handle]
	l := h.linkTo(w.Server)
	sent := &packet{
		from: h, server: l.server, link: l, to: pending{p, w}, conn: l.conn(c, w.Conn), commands: w.Commands, start: l.server.starts,
	}
	if w.Commands[0][0] == "SUBSCRIBE" {
		sent.conn.user = &subscription{peer: p, conn: sent.conn}
	}
	l.send(c, sent)
	if c.run.Traits.Resends != protocol.ResendsNothing && w.Server != process.Resource {
		c.timeline.after(readTimeout, func() {
			if slices.Contains(l.waiting, sent) {
				sent.lose()
			}
		})
	}
}

// subscription is a client's, to one channel.
type subscription struct {
	peer    *peer
	conn    *conn
	message *string // that nobody has taken: who has been woken need not be woken twice
	wait    process.Wait
}

// receive takes in what was published.
func (s *subscription) receive(m service.Message) {
	if s.message == nil {
		s.message = &m.Text
	}
	s.wake()
}

func (s *subscription) broke() { s.wake() }

// await has a task wait for the next message.
func (s *subscription) await(w process.Wait) {
	s.wait = w
	if s.message != nil || s.conn.broken {
		s.peer.cell.timeline.after(0, s.wake)
	}
}

// wake gives the task that waits, if there is one, the message, or the end of the connection.
func (s *subscription) wake() {
	s.peer.hand(func() {
		p := s.peer
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
