package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/locklab/locklab/scenarios"
)

// link is the way of one client to one server.
type link struct {
	server *server
	fault  *linkFault // nil: it is whole

	requests, replies []func()  // that a partition holds
	waiting           []*packet // which the client waits for
	conns             map[int]*conn
}

// conn is a connection of a client.
type conn struct {
	id      int  // at the server
	busy    bool // a request is under way
	closing bool // it ends with that
	broken  bool
	sub     *subscription // nil: it is none
}

// pooled is the number of the connections that a client library shares out: where one is broken it makes another.
const pooled = 0

// conn is the client's connection with that number.
func (l *link) conn(c *cell, number int) *conn {
	if l.conns[number] == nil {
		c.conns++
		l.conns[number] = &conn{id: c.conns}
	}
	return l.conns[number]
}

// hangUp ends a connection of the client's.
func (l *link) hangUp(number int) {
	if conn := l.conns[number]; conn != nil {
		delete(l.conns, number)
		l.server.hangUp(conn)
	}
}

// linkFault is what can be done to a link.
type linkFault struct {
	name string // in a history
	what string
	verb scenarios.Verb
	side scenarios.Side
	each time.Duration // that a message takes longer
}

// linkFaultOf is the fault of a link that a step asks for.
func linkFaultOf(step *scenarios.Step, lease time.Duration) (fault linkFault, ok bool) {
	fault = linkFault{verb: step.Verb, side: step.Side}
	switch step.Verb {
	case scenarios.VerbCutOff:
		what := map[scenarios.Side]string{
			scenarios.BothWays: "requests and replies", scenarios.Requests: "requests", scenarios.Replies: "replies",
		}
		fault.name, fault.what = "partition", what[step.Side]+" held"
	case scenarios.VerbRefuse:
		fault.name, fault.what = "refuse", "connections broken and refused"
	case scenarios.VerbDelay:
		fault.each = step.Span.Of(lease)
		fault.name, fault.what = "delay", fault.each.String()+" each way"
	case scenarios.VerbLoseReplies:
		fault.name, fault.what = "reply-lost", "replies dropped"
	default:
		return fault, false
	}
	return fault, true
}

// holds says whether a fault keeps back what goes one way.
func (f *linkFault) holds(side scenarios.Side) bool {
	return f != nil && f.verb == scenarios.VerbCutOff && (f.side == scenarios.BothWays || f.side == side)
}

func (f *linkFault) is(verb scenarios.Verb) bool { return f != nil && f.verb == verb }

// takes is how long a message takes.
func (l *link) takes() time.Duration {
	if l.fault == nil {
		return hop
	}
	return hop + l.fault.each
}

// send sends a request.
func (l *link) send(c *cell, p *packet) {
	l.waiting = append(l.waiting, p)
	p.conn.busy = true
	arrive := func() { c.after(l.takes(), func() { c.arrive(p) }) }
	switch {
	case l.fault.is(scenarios.VerbRefuse), p.conn.broken:
		p.conn.busy = false
		c.lose(p)
	case l.fault.holds(scenarios.Requests):
		l.requests = append(l.requests, arrive)
	default:
		arrive()
	}
}

// back sends something to the client.
func (l *link) back(c *cell, deliver func()) {
	arrive := func() { c.after(l.takes(), deliver) }
	switch {
	case l.fault.is(scenarios.VerbLoseReplies), l.fault.is(scenarios.VerbRefuse):
	case l.fault.holds(scenarios.Replies):
		l.replies = append(l.replies, arrive)
	default:
		arrive()
	}
}

func (l *link) forget(p *packet) {
	l.waiting = slices.DeleteFunc(l.waiting, func(other *packet) bool { return other == p })
}

// inject begins a fault.
func (l *link) inject(c *cell, fault linkFault) {
	l.fault = &fault
	if fault.verb == scenarios.VerbRefuse {
		l.breakAll(c)
	}
}

// heal makes the link whole. What a partition held arrives; replies that were lost never come, so their connections have broken.
func (l *link) heal(c *cell) {
	fault := l.fault
	l.fault = nil
	for _, arrive := range slices.Concat(l.requests, l.replies) {
		arrive()
	}
	l.requests, l.replies = nil, nil
	if fault.verb == scenarios.VerbLoseReplies {
		l.breakAll(c)
	}
}

// breakAll breaks the connections of the link. What has reached the server is carried out all the same.
func (l *link) breakAll(c *cell) {
	for _, p := range slices.Clone(l.waiting) {
		c.lose(p)
	}
	for _, number := range slices.Sorted(maps.Keys(l.conns)) {
		conn := l.conns[number]
		if conn.broken = number != pooled; conn.broken {
			l.server.hangUp(conn)
		}
		if conn.sub != nil {
			conn.sub.wake()
		}
	}
}
