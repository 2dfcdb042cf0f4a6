package sim

import (
	"path"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// tick is that of the lab's own ZooKeeper: a session ends at most so much after its time-out.
const tick = 100 * time.Millisecond

// nodes follow whose the locks on a ZooKeeper are, and write what the live world's tap would: the requests about the nodes of locks, that nodes
// are gone with their session, and whose node has become the first.
type nodes struct {
	server *server
	model  *zookeeper.Server
	locks  []*lockNodes
	armed  time.Duration // until when the end of a session is foreseen
}

// lockNodes are the nodes below one lock's.
type lockNodes struct {
	key                   string
	jute.Contenders[made] // whose lock it is is as the history has it
}

// made is a node, and the request that made it.
type made struct {
	from *handle
	op   history.Op
	id   int64
	conn int
}

// newKeeperServer is a ZooKeeper with the places of the cell's locks.
func (c *cell) newKeeperServer(name string) *server {
	s := &server{cell: c, name: name, watch: c.run.IsLock, queued: map[int]*queue{}}
	n := &nodes{server: s, model: zookeeper.New(tick)}
	s.model, s.nodes = n.model, n
	n.model.Do(labConn, zookeeper.Reconnect(0, time.Hour)...)
	for _, key := range []string{c.run.LockKey, c.run.OtherKey} {
		if key != "" {
			n.model.Do(labConn, "CREATE", key)
			n.locks = append(n.locks, &lockNodes{key: key})
		}
	}
	n.model.Do(labConn, "CLOSESESSION")
	return s
}

// attach has a connection get what the server tells unasked.
func (s *server) attach(on *conn) {
	s.subs = append(s.subs, on)
	s.nodes.foresee()
}

// hasClosed says whether the server has closed the connection on which a request comes in.
func (s *server) hasClosed(f *flight) bool {
	return f.traits.Name != "CONNECT" && !s.nodes.model.IsOpen(f.conn.id)
}

// describe is what the lab sees of a request before it is let through.
func (n *nodes) describe(p *packet, words []string) *flight {
	f := &flight{traits: commands.Traits{Name: words[0]}, packet: p, words: words}
	op, about := jute.Find(words[0])
	if !about {
		return f
	}
	f.traits.Writes, f.traits.Drops = op.Writes(), op.Drops()
	for _, key := range []string{words[1], path.Dir(words[1])} {
		if c := n.server.cell; c.run.IsLock(key) {
			f.keys, f.args = []string{key}, words
			f.op, f.id = p.from.Current(false)
			c.meet(f)
			break
		}
	}
	return f
}

// do carries out a request, and records it if it is about a lock.
func (n *nodes) do(f *flight) service.Reply {
	s := n.server
	if f.traits.Name == "PING" {
		n.prolonged(f)
	}
	f.conn.replying++
	note := n.before(f)
	s.cell.executed++
	reply := s.model.Do(f.conn.id, f.words...)
	f.zxid = n.model.Zxid()
	if f.traits.Name == "CONNECT" {
		s.attach(f.conn)
	}
	if note != nil {
		n.after(f, note, reply)
	}
	n.foresee()
	s.publish()
	return reply
}

// foresee has time stop at the end of the next session.
func (n *nodes) foresee() {
	at, ok := n.model.Next()
	if c := n.server.cell; ok && (n.armed <= c.timeline.now || at < n.armed) {
		n.armed = at
		c.timeline.after(at-c.timeline.now, n.foresee) // time has been let go on to there, and the session has ended, unless it was prolonged
	}
}

// follow brings the locks up to what the server has, after time has passed.
func (n *nodes) follow() {
	if n == nil {
		return
	}
	for _, l := range n.locks {
		l.expire(n)
		l.settle(n)
	}
	n.server.publish()
}

// lock is the lock at a path.
func (n *nodes) lock(key string) *lockNodes {
	return n.locks[slices.IndexFunc(n.locks, func(l *lockNodes) bool { return l.key == key })]
}

// state is whose a lock is, with how long its owner's session lasts.
func (n *nodes) state(key string) history.State {
	s := n.lock(key).state()
	if s.Exists() {
		s.TTL = max(time.Microsecond, n.model.State(key).TTL)
	}
	return s
}

// prolonged records that a ping prolongs the hold of a client.
func (n *nodes) prolonged(f *flight) {
	for _, l := range n.locks {
		if l.Known[l.Head].from != f.from {
			continue
		}
		note := &history.Command{Args: []string{"PING", l.key}, Reply: "OK", Changes: []history.Change{{Key: l.key, Before: l.state(), After: l.state()}}}
		note.Asked, note.ReplyDropped = time.Nanosecond, f.conn.muted
		n.write(f.from, f.conn.id, note, 0, 0)
	}
}

// before begins the record of a request; nil: it is not about a lock.
func (n *nodes) before(f *flight) *history.Command {
	if f.args == nil {
		return nil
	}
	_, now := f.from.Current(false)
	return &history.Command{
		Args: f.args, Late: f.id != 0 && now != f.id, ReplyDropped: f.lost || f.conn.muted, Asked: time.Nanosecond,
		Changes: []history.Change{{Key: f.keys[0], Before: n.lock(f.keys[0]).state()}},
	}
}

// after records a request that has been carried out.
func (n *nodes) after(f *flight, note *history.Command, reply service.Reply) {
	l := n.lock(f.keys[0])
	switch {
	case reply.Kind == service.Error:
	case f.traits.Name == "CREATE":
		l.Add(path.Base(reply.Text), made{from: f.from, op: f.op, id: f.id, conn: f.conn.id})
	case f.traits.Name == "DELETE":
		l.Remove(path.Base(f.words[1]))
	}
	note.Reply, note.Changes[0].After = recorded(f.traits.Name, reply), l.state()
	n.write(f.from, f.conn.id, note, f.op, f.id)
	l.settle(n)
}

// recorded is a reply as histories have it.
func recorded(name string, r service.Reply) string {
	switch {
	case name == "EXISTS" && r.Kind == service.Error:
		return "nil"
	case name == "CREATE", name == "GETCHILDREN", r.Kind == service.Error:
		return commands.Clip(r.Recorded())
	}
	return "OK"
}

// write writes an entry of the history.
func (n *nodes) write(from *handle, conn int, note *history.Command, op history.Op, id int64) {
	note.Server, note.Conn, note.Sent = n.server.name, int64(conn), n.server.cell.Now()
	n.server.cell.run.Witness(history.Event{
		Kind: history.KindCommand, Client: from.Name, Lock: note.Changes[0].Key, Op: op, ID: id, Detail: &history.Detail{Command: note},
	})
}

// expire records that nodes have gone with their sessions.
func (l *lockNodes) expire(n *nodes) {
	for _, name := range l.Gone(n.model.Names(l.key)) {
		was, of := l.state(), l.Known[name]
		l.Remove(name)
		n.byServer("EXPIRED", l, name, of, made{}, was)
	}
}

// settle records that another node has become the first of the lock.
func (l *lockNodes) settle(n *nodes) {
	if !l.Settle() {
		return
	}
	of := l.Known[l.Head]
	n.byServer("FIRST", l, l.Head, of, of, history.State{})
}

// byServer records what the server did by itself to a node, for the request by.
func (n *nodes) byServer(entry string, l *lockNodes, name string, of, by made, was history.State) {
	_, now := of.from.Current(false)
	n.write(of.from, of.conn, &history.Command{
		Args: []string{entry, path.Join(l.key, name)}, Reply: "OK", Late: by.id != 0 && now != by.id,
		Changes: []history.Change{{Key: l.key, Before: was, After: l.state()}},
	}, by.op, by.id)
}

// state is the state of the lock as the history has it.
func (l *lockNodes) state() history.State {
	if l.Head == "" {
		return history.State{}
	}
	return history.State{Type: "znode", Value: l.Head + " of " + l.Known[l.Head].from.Name}
}
