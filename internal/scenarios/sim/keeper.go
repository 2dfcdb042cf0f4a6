package sim

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// keeper is what a client library does for one lock on a ZooKeeper, as go-zookeeper and package worker do it: it keeps a session alive, connects
// again by itself, sends one request at a time and sets watches again on a new connection. It lives in the client's process, and is paused with it.
type keeper struct {
	peer   *peer
	handle *handle
	link   *link

	conn    *conn // the present connection; nil: there is none
	ready   bool  // it has a session
	read    time.Duration
	tried   int // connections since the last that had a session
	dialled int // connections so far

	session int64
	life    int // how many sessions have ended
	timeout time.Duration
	latest  time.Duration // when the latest request was sent that the server has answered
	seen    int64         // the latest change that it has seen

	asked     []process.Wait // requests, of which the first is under way, or waits for a connection
	flying    bool           // that one is under way
	watches   []nodeWatch
	fired     map[int]bool   // watches, by number, whose event has come
	watching  []process.Wait // tasks that wait for the event of a watch
	listening []process.Wait // tasks that wait for any answer
}

// nodeWatch is a watch on a node that has not fired.
type nodeWatch struct {
	number int
	path   string
	exists bool // the node was there: its end or a change of its data fires it, else its creation
}

// How a client library divides the time-out of its session: it takes a connection for dead on which nothing has come in for two thirds, and
// pings twice in that time. To a handshake it gives ten times as long, and between two tries of all servers it waits a second.
const (
	handshakes = 10
	retryAfter = time.Second
)

func (k *keeper) readTimeout() time.Duration { return k.timeout * 2 / 3 }

// newKeeper opens a session. That takes no time: a cell begins with sessions that are open.
func (p *peer) newKeeper(h *handle) *keeper {
	k := &keeper{peer: p, handle: h, link: h.links[0], timeout: p.cell.run.Script.Lease, fired: map[int]bool{}}
	k.open()
	r := k.link.server.model.Do(k.conn.id, zookeeper.Reconnect(0, k.timeout)...)
	k.link.server.attach(k.conn)
	k.heard()
	k.connected(p.cell.Now(), r)
	return k
}

// Life is the number of the present session.
func (p *peer) Life(handle string) int { return p.handles[handle].keeper.life }

// Lasts is how long it lasts at least.
func (p *peer) Lasts(handle string) time.Duration {
	k := p.handles[handle].keeper
	return k.latest + k.timeout - p.cell.Now()
}

// open takes another connection.
func (k *keeper) open() {
	k.dialled++
	k.conn = k.link.conn(k.peer.cell, k.dialled)
	k.conn.user = connection{k, k.conn}
}

// connection is one of the connections of a keeper.
type connection struct {
	keeper *keeper
	conn   *conn
}

func (c connection) receive(m service.Message) { c.keeper.receive(c.conn, m) }

func (c connection) broke() {
	c.keeper.peer.hand(func() {
		if c.keeper.conn == c.conn {
			c.keeper.broke()
		}
	})
}

// dial connects: at once, or, where all servers have been tried in vain, after a while.
func (k *keeper) dial() {
	k.tried++
	if k.tried == 1 {
		k.connect()
		return
	}
	if len(k.asked) > 0 && !k.flying { // there is no server that it could be sent to
		k.lose()
	}
	k.later(retryAfter, k.connect)
}

// later does something in a while, if there is still no connection.
func (k *keeper) later(d time.Duration, do func()) {
	k.peer.after(d, func() {
		if k.conn == nil {
			do()
		}
	})
}

func (k *keeper) connect() {
	if k.link.has(faults.Refuse) {
		k.dial()
		return
	}
	k.open()
	k.read = k.peer.cell.Now()
	k.send(zookeeper.Reconnect(k.session, k.timeout), k.connected)
	k.mind(k.conn, handshakes*k.readTimeout())
}

// mind takes a connection for dead on which nothing has come in for too long.
func (k *keeper) mind(on *conn, patience time.Duration) {
	read := k.read
	k.peer.after(patience, func() {
		if k.conn == on && k.read == read {
			k.hangUp()
		}
	})
}

// connected takes in the answer to a handshake.
func (k *keeper) connected(sent time.Duration, r service.Reply) {
	id, timeout := zookeeper.SessionIn(r)
	k.tried = 0
	if id == 0 {
		k.expire()
		return
	}
	k.session, k.timeout, k.ready = id, timeout, true
	k.answered(sent)
	k.ping(k.conn)
	k.setWatches()
	k.next()
}

// expire takes in that the session has expired: all watches have ended, and another session begins.
func (k *keeper) expire() {
	k.life++
	k.session, k.seen = 0, 0
	for _, w := range k.watches {
		k.fired[w.number] = true
	}
	k.watches = nil
	k.wake()
	k.hangUp()
	k.listen(process.Input{Lost: true})
}

// hangUp gives the connection up, and makes another.
func (k *keeper) hangUp() {
	on := k.conn
	if on == nil {
		return
	}
	k.link.leave(k.peer.cell, on)
	k.broke()
}

// broke takes in that the connection has ended.
func (k *keeper) broke() {
	k.conn, k.ready = nil, false
	if k.flying {
		k.lose()
	}
	k.dial()
}

// lose tells the task that has asked first that nothing will come back.
func (k *keeper) lose() {
	first := k.asked[0]
	k.asked, k.flying = k.asked[1:], false
	k.peer.cell.timeline.after(0, func() { k.peer.resume(first, process.Input{Lost: true}) })
}

// ping sends a ping now and then, for as long as the connection lasts.
func (k *keeper) ping(on *conn) {
	k.peer.after(k.readTimeout()/2, func() {
		if k.conn == on {
			k.send([]string{"PING"}, func(sent time.Duration, _ service.Reply) { k.answered(sent) })
			k.ping(on)
		}
	})
}

// setWatches sets the watches of an earlier connection again.
func (k *keeper) setWatches() {
	if len(k.watches) == 0 {
		return
	}
	words := []string{"SETWATCHES", strconv.FormatInt(k.seen, 10)}
	for _, w := range k.watches {
		kind := "exist"
		if w.exists {
			kind = "data"
		}
		words = append(words, kind+":"+w.path)
	}
	k.send(words, func(sent time.Duration, _ service.Reply) { k.answered(sent) })
}

// ask sends a request in its turn: a session's requests arrive in the order in which they were asked for.
func (k *keeper) ask(w process.Wait) {
	k.asked = append(k.asked, w)
	k.next()
}

// next sends the next request. One that has been given up before is not sent.
func (k *keeper) next() {
	for len(k.asked) > 0 && !k.flying && !k.peer.waits[k.asked[0].Seq] {
		k.asked = k.asked[1:]
	}
	if !k.ready || k.flying || len(k.asked) == 0 {
		return
	}
	w := k.asked[0]
	k.flying = true
	k.send(w.Commands[0], func(sent time.Duration, r service.Reply) {
		k.asked, k.flying = k.asked[1:], false
		k.answered(sent)
		if w.Number != 0 {
			k.watches = append(k.watches, nodeWatch{number: w.Number, path: w.Commands[0][1], exists: r.Kind != service.Error})
		}
		if k.peer.waits[w.Seq] {
			k.peer.proc.Resume(w.Task, process.Input{Replies: []service.Reply{r}})
		}
		k.next()
	})
}

// send sends a request on the present connection.
func (k *keeper) send(words []string, then func(sent time.Duration, r service.Reply)) {
	c := k.peer.cell
	p := &packet{
		from: k.handle, server: k.link.server, link: k.link, conn: k.conn, commands: [][]string{words}, start: k.link.server.starts,
	}
	p.to = reply{keeper: k, packet: p, sent: c.timeline.now, then: then}
	k.link.send(c, p)
}

// reply waits for the reply to a request of the library.
type reply struct {
	keeper *keeper
	packet *packet
	sent   time.Duration
	then   func(sent time.Duration, r service.Reply)
}

func (r reply) answered(replies []service.Reply) {
	k := r.keeper
	k.peer.hand(func() {
		if k.conn == r.packet.conn {
			k.heard()
			k.seen = max(k.seen, r.packet.zxid)
			r.then(r.sent, replies[0])
		}
	})
}

// lost does nothing: the library learns of the end of its connections.
func (r reply) lost() {}

// heard notes that something has come in.
func (k *keeper) heard() {
	k.read = k.peer.cell.Now()
	k.mind(k.conn, k.readTimeout())
}

// answered takes in that the server has answered a request that was sent at a time.
func (k *keeper) answered(sent time.Duration) {
	k.latest = sent
	k.listen(process.Input{})
}

// listen gives all that wait for an answer something.
func (k *keeper) listen(in process.Input) {
	listening := k.listening
	k.listening = nil
	for _, w := range listening {
		k.peer.cell.timeline.after(0, func() { k.peer.resume(w, in) })
	}
}

// contact has a task wait for the next answer, or for the end of a session.
func (k *keeper) contact(w process.Wait) {
	k.listening = append(k.listening, w)
	if w.Number != k.life {
		k.listen(process.Input{Lost: true})
	}
}

// await has a task wait for a watch.
func (k *keeper) await(w process.Wait) {
	k.watching = append(k.watching, w)
	k.wake()
}

// wake resumes the tasks whose watches have fired.
func (k *keeper) wake() {
	k.watching = slices.DeleteFunc(k.watching, func(w process.Wait) bool {
		if k.fired[w.Number] {
			k.peer.cell.timeline.after(0, func() { k.peer.resume(w, process.Input{}) })
		}
		return k.fired[w.Number]
	})
}

// receive takes in an event of a node, or that the server has closed the connection.
func (k *keeper) receive(on *conn, m service.Message) {
	k.peer.hand(func() {
		switch {
		case k.conn != on:
		case m.Text == zookeeper.Closed:
			if k.ready { // otherwise the answer to the handshake has said it
				k.hangUp()
			}
		default:
			k.heard()
			k.fire(m)
		}
	})
}

func (k *keeper) fire(m service.Message) {
	k.watches = slices.DeleteFunc(k.watches, func(w nodeWatch) bool {
		fires := w.path == m.Channel && (w.exists && m.Text != zookeeper.Created || !w.exists && m.Text != zookeeper.ChildrenChanged)
		k.fired[w.number] = k.fired[w.number] || fires
		return fires
	})
	k.wake()
}

// takenIn says whether no task of the lock has something to act on: each sleeps, or waits for an event.
func (k *keeper) takenIn() bool {
	return !slices.ContainsFunc(k.peer.proc.Waits(), func(w process.Wait) bool { return w.Kind == process.Request && w.Handle == k.handle.Name })
}

// Reconnect has the process replace its connections before the script goes on. What is on Redis notices at once, in virtual time, that a
// connection is broken.
func (p *peer) Reconnect(ctx context.Context, names []string) error {
	var all []*keeper
	for _, of := range p.client.Handles {
		if k := p.handles[of.Name].keeper; k != nil && k.link.fault == nil && slices.Contains(names, k.link.server.name) {
			all = append(all, k)
		}
	}
	if p.dead.Load() || p.paused.Load() || len(all) == 0 {
		return nil
	}
	for _, k := range all {
		if k.ready {
			k.hangUp()
		}
	}
	p.serve()
	_, err := p.cell.Until(ctx, play.Ever, func() bool {
		return !slices.ContainsFunc(all, func(k *keeper) bool { return !k.ready || !k.takenIn() })
	})
	return err
}
