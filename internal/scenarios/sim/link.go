package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/service"
)

// link is the way of one client to one server.
type link struct {
	owner  *handle
	server *server
	number int               // of the server
	fault  *faults.LinkFault // nil: it is whole

	requests, replies []func()  // that a partition holds
	waiting           []*packet // which the client waits for
	conns             map[int]*conn
}

// conn is a connection of a client.
type conn struct {
	id       int        // at the server
	number   int        // of the link
	op       history.Op // during which the request was sent that is under way
	busy     int        // requests that are under way
	closing  bool       // it ends with that
	broken   bool
	muted    bool // nothing comes back any more: a reply was dropped
	replying int  // replies of a ZooKeeper that have not been sent: what it tells unasked comes after them
	link     *link
	user     user // nil: nobody learns more of it than the replies to requests
}

// user is who has a connection to himself.
type user interface {
	// receive takes in what was published.
	receive(m service.Message)
	// broke learns that the connection is broken.
	broke()
}

// pooled is the number of the connections that a client library shares out: where one is broken it makes another.
const pooled = 0

// conn is the client's connection with that number.
func (l *link) conn(c *cell, number int) *conn {
	if l.conns[number] == nil {
		c.conns++
		l.conns[number] = &conn{id: c.conns, number: number, link: l}
	}
	return l.conns[number]
}

// hangUpAll ends all connections of the client's.
func (l *link) hangUpAll() {
	for _, number := range slices.Sorted(maps.Keys(l.conns)) {
		l.hangUp(number)
	}
}

// hangUp ends a connection of the client's.
func (l *link) hangUp(number int) {
	if conn := l.conns[number]; conn != nil {
		delete(l.conns, number)
		l.server.hangUp(conn)
	}
}

// leave ends a connection as its client does who goes on: what has been sent before arrives before that.
func (l *link) leave(c *cell, on *conn) {
	delete(l.conns, on.number)
	end := func() { c.travel(on, message{arrive: func() { on.link.server.hangUp(on) }}) }
	if l.holds(faults.Requests) {
		l.requests = append(l.requests, end)
		return
	}
	end()
}

// holds says whether the link's fault keeps back what goes one way.
func (l *link) holds(side faults.Direction) bool {
	return l.has(faults.Partition) && l.fault.Direction.Includes(side)
}

func (l *link) has(kind faults.Kind) bool { return l.fault != nil && l.fault.Kind == kind }

// takes is how long a message takes.
func (l *link) takes() time.Duration {
	if l.fault == nil {
		return hop
	}
	return hop + l.fault.Each
}

// send sends a request.
func (l *link) send(c *cell, p *packet) {
	l.waiting = append(l.waiting, p)
	p.conn.busy++
	arrive := func() { c.travel(p.conn, message{arrive: func() { c.arrive(p) }, requests: p.commands}) }
	switch {
	case l.has(faults.Refuse), p.conn.broken:
		p.conn.busy--
		p.lose()
	case l.holds(faults.Requests):
		l.requests = append(l.requests, arrive)
	default:
		arrive()
	}
}

// back sends something to the client.
func (l *link) back(c *cell, on *conn, m message) {
	arrive := func() { c.travel(on, m) }
	switch {
	case l.has(faults.ReplyLost), l.has(faults.Refuse), on.muted:
	case l.holds(faults.Replies):
		l.replies = append(l.replies, arrive)
	default:
		arrive()
	}
}

func (l *link) forget(p *packet) {
	l.waiting = slices.DeleteFunc(l.waiting, func(other *packet) bool { return other == p })
}

// inject begins a fault.
func (l *link) inject(fault faults.LinkFault) {
	l.fault = &fault
	if fault.Kind == faults.Refuse {
		l.breakAll()
	}
}

// heal makes the link whole. What a partition held arrives; replies that were lost never come, so their connections have broken.
func (l *link) heal() {
	fault := l.fault
	l.fault = nil
	for _, arrive := range slices.Concat(l.requests, l.replies) {
		arrive()
	}
	l.requests, l.replies = nil, nil
	if fault.Kind == faults.ReplyLost {
		l.breakAll()
	}
}

// breakAll breaks the connections of the link. What has reached the server is carried out all the same.
func (l *link) breakAll() {
	for _, p := range slices.Clone(l.waiting) {
		p.lose()
	}
	for _, number := range slices.Sorted(maps.Keys(l.conns)) {
		l.breakConn(number)
	}
}

// breakConn breaks a connection.
func (l *link) breakConn(number int) {
	conn := l.conns[number]
	if conn.broken = number != pooled; conn.broken {
		l.server.hangUp(conn)
	}
	if conn.user != nil {
		conn.user.broke()
	}
}

// travel has something arrive at the other end of a connection: after the time that the link takes, or when the schedule says so.
func (c *cell) travel(on *conn, m message) {
	if c.schedule != nil {
		c.schedule.add(on, m)
		return
	}
	c.timeline.after(on.link.takes(), m.arrive)
}

// message is something on its way, and what it says to whoever gets it.
type message struct {
	arrive   func()
	requests [][]string      // for a server; none: it is for the client, or says that the client has hung up
	replies  []service.Reply // for the client
	noted    bool            // they are those of a lock server, and the history has one of the commands
	told     service.Message // for the client, which has not asked
}

// toClient says whether a client gets it.
func (m *message) toClient() bool { return m.replies != nil || m.told != service.Message{} }
