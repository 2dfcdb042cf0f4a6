package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// Search is one schedule of a library's messages: a random one or, with Every, the next of all.
type Search struct {
	Seed    uint64
	Clients int
	Turns   int // of each client: acquire, work, release, and what else the lock can do
	Depth   int // how many times the flow with the highest priority falls behind
	Faults  int // at most so many connections break, and operations are given up
	Lease   time.Duration
	Every   *Every // nil: the schedule is random
}

// schedule carries out what a chooser chooses: in which order the messages of a library's clients arrive, and what befalls them.
type schedule struct {
	bubble *bubble
	Search
	choose   chooser
	flows    []*flow
	programs []*program
	struck   int             // faults so far
	late     map[string]bool // clients of whom something is late
	held     map[string]bool // clients of whom a reply is
	over     bool            // or not begun: messages take their time, and nothing befalls anybody
	sent     time.Duration   // so many messages, a nanosecond each, since it was over
}

// chooser makes the choices of a schedule.
type chooser interface {
	// next is what happens next. The error ends the schedule here.
	next(*schedule) (step, error)
	// turn is what a client does in one of its turns, how long it waits for an operation, and how long it rests after one.
	turn(*schedule) []scenarios.Step
	patience(*schedule) time.Duration
	rest(*schedule) time.Duration
	// priority is that of a new flow or client.
	priority() int
	// sent takes in that something is on its way from or to a client.
	sent(s *schedule, client string, m message)
}

// step is one thing that happens. Exactly one of its first five fields says what; none: nothing happens.
type step struct {
	arrives *flow    // its oldest message arrives
	begins  *program // begins its next operation
	breaks  *flow    // its connection breaks
	quits   *program // gives its operation up
	passes  time.Duration

	drop    bool          // of breaks: what is under way is lost, too
	through bool          // of passes: time goes on when a goroutine of the library acts
	acted   *bool         // of passes: becomes whether one has acted; nil: nobody wants to know
	takes   time.Duration // it is over so much later
}

// flow is a connection, with what is under way on it.
type flow struct {
	conn     *conn
	name     string
	pending  []message
	priority int
}

// underWay says whether a message waits for its turn.
func (f *flow) underWay() bool { return len(f.pending) > 0 }

// instant is between what happens and what happens next: a timer that a library sets for a round time then fires at an instant of its own, and so in
// the same order whenever a seed is replayed.
const instant = time.Nanosecond

func (b *bubble) newSchedule(search Search) *schedule {
	s := &schedule{bubble: b, Search: search, late: map[string]bool{}, held: map[string]bool{}, over: true}
	if search.Every != nil {
		s.choose = search.Every.begin()
	} else {
		s.choose = newRandom(search)
	}
	return s
}

// add has a message wait for its turn.
func (s *schedule) add(on *conn, m message) {
	if s.over {
		s.sent += instant
		s.bubble.timeline.after(on.link.takes()+s.sent, m.arrive)
		return
	}
	i := slices.IndexFunc(s.flows, func(f *flow) bool { return f.conn == on })
	if i < 0 {
		i = len(s.flows)
		s.flows = append(s.flows, &flow{conn: on, name: fmt.Sprint(on.link.owner.Name, " ", on.link.server.name, "#", on.number), priority: s.choose.priority()})
	}
	s.flows[i].pending = append(s.flows[i].pending, m)
	s.choose.sent(s, on.link.owner.Name, m)
}

// run takes all clients through their programs, then has each of them acquire the lock once more while nothing befalls them.
func (s *schedule) run(ctx context.Context) error {
	for _, c := range s.bubble.run.Clients {
		s.programs = append(s.programs, s.newProgram(s.bubble.peers[len(s.programs)], c))
	}
	s.over = false
	for {
		goOn, err := s.step()
		switch {
		case err != nil:
			return err
		case s.bubble.cell.broken != nil:
			return s.bubble.cell.broken
		case !goOn:
			return s.conclude(ctx)
		}
		if s.bubble.Now() > s.bubble.limit() {
			return s.endless()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// endless ends a schedule in which an operation does not come back, though it was given up.
func (s *schedule) endless() error {
	for _, p := range s.programs {
		if p.op != nil {
			return play.Undecided("%s did not come back from its %v", p.handle.Name, p.op.Op)
		}
	}
	return s.bubble.tooLong()
}

// step lets one thing happen. It returns false when all programs have ended.
func (s *schedule) step() (goOn bool, err error) {
	s.bubble.settle()
	for at, ok := s.bubble.timeline.next(); ok && at <= s.bubble.Now(); at, ok = s.bubble.timeline.next() {
		s.bubble.timeline.pop().do()
		s.bubble.settle()
	}
	if !slices.ContainsFunc(s.programs, func(p *program) bool { return !p.ended() }) || s.bubble.cell.broken != nil {
		return false, nil
	}
	what, err := s.choose.next(s)
	if err != nil {
		return false, err
	}
	switch {
	case what.arrives != nil:
		s.deliver(what.arrives)
	case what.begins != nil:
		what.begins.begin()
	case what.breaks != nil:
		s.cut(what.breaks, what.drop)
	case what.quits != nil:
		what.quits.giveUp()
	case what.passes > 0:
		if acted := s.pass(what.passes, what.through); what.acted != nil {
			*what.acted = acted
		}
	}
	time.Sleep(what.takes)
	return true, nil
}

// deliver lets the oldest message of a flow arrive.
func (s *schedule) deliver(f *flow) {
	first := f.pending[0]
	f.pending = slices.Delete(f.pending, 0, 1)
	first.arrive()
	s.onTime()
}

// idle is how long to wait where nothing is under way: until a program goes on, or else until a goroutine of the library acts.
func (s *schedule) idle() time.Duration {
	least := s.Lease
	for _, p := range s.programs {
		if p.op == nil && !p.ended() {
			least = min(least, max(p.rests-s.bubble.Now(), 0))
		}
	}
	if at, ok := s.bubble.timeline.next(); ok {
		least = min(least, at-s.bubble.Now())
	}
	return max(least, time.Millisecond)
}

// pass lets time pass: until a goroutine of the library acts or, if it goes through, on from there. Messages that are under way meanwhile are late,
// which histories record as a delay. It returns whether one has acted.
func (s *schedule) pass(d time.Duration, through bool) (acted bool) {
	s.delay()
	for until := s.bubble.Now() + d; s.bubble.sleep(until); {
		acted = true
		if !through {
			break
		}
		s.bubble.settle()
		s.delay() // a goroutine of the library has sent something while time passes
	}
	s.bubble.settle()
	for _, p := range s.programs {
		if p.op != nil && s.bubble.Now() > p.patience {
			p.giveUp()
		}
	}
	return acted
}

// delay records that what is under way is late. A reply that has been sent is held: its client declares what it does after it got it.
func (s *schedule) delay() {
	for _, f := range s.flows {
		if name := f.conn.link.owner.Name; f.underWay() && !s.late[name] {
			s.late[name] = true
			s.bubble.run.Fault(faults.Delay, name, history.PhaseInject, "messages are late")
			s.bubble.run.Fault(faults.Delay, name, history.PhaseEffective, "time passes while they are under way")
		}
		if name := f.conn.link.owner.Name; f.underWay() && f.pending[0].noted && !s.held[name] {
			s.held[name] = true
			s.bubble.run.Fault(faults.HoldReply, name, history.PhaseInject, "a reply is late")
			s.bubble.run.Fault(faults.HoldReply, name, history.PhaseEffective, "time passes while it is under way")
		}
	}
}

// onTime records that nothing of a client is late any more.
func (s *schedule) onTime() {
	for _, p := range s.programs {
		name := p.handle.Name
		if s.held[name] && !s.has(name, func(f *flow) bool { return f.underWay() && f.pending[0].noted }) {
			delete(s.held, name)
			s.bubble.run.Fault(faults.HoldReply, name, history.PhaseRecover, "it has arrived")
		}
		if s.late[name] && !s.has(name, (*flow).underWay) {
			delete(s.late, name)
			s.bubble.run.Fault(faults.Delay, name, history.PhaseRecover, "all messages have arrived")
		}
	}
}

// has says whether a client has such a flow.
func (s *schedule) has(name string, is func(*flow) bool) bool {
	return slices.ContainsFunc(s.flows, func(f *flow) bool { return f.conn.link.owner.Name == name && is(f) })
}

// cut breaks a connection. Its replies are lost, and its request with drop.
func (s *schedule) cut(f *flow, drop bool) {
	l, name := f.conn.link, f.conn.link.owner.Name
	s.bubble.run.Fault(faults.ReplyLost, name, history.PhaseInject, "a connection to "+l.server.name)
	for _, p := range slices.Clone(l.waiting) {
		if p.conn == f.conn {
			p.lose()
		}
	}
	l.breakConn(f.conn.number)
	s.bubble.run.Fault(faults.ReplyLost, name, history.PhaseEffective, "the connection is broken")
	if drop {
		s.drop(f)
	}
	s.bubble.run.Fault(faults.ReplyLost, name, history.PhaseRecover, "new connections are whole")
	s.onTime()
}

// hungUp learns that a library has closed a connection on which something is under way.
func (s *schedule) hungUp(on *conn) {
	i := slices.IndexFunc(s.flows, func(f *flow) bool { return f.conn == on })
	if i >= 0 && on.op == history.OpAcquire {
		s.drop(s.flows[i])
	}
}

// drop loses what is under way.
func (s *schedule) drop(f *flow) {
	f.pending, f.conn.busy = nil, 0
	f.conn.link.server.hangUp(f.conn)
	s.onTime()
}

// breakable says whether something is under way on a connection to a lock server.
func (s *schedule) breakable(f *flow) bool {
	open := f.conn.link.conns[f.conn.number] == f.conn && !f.conn.broken
	return open && f.underWay() && f.conn.link.server != s.bubble.resource
}

// outlives says whether a request may still arrive when the connection of a flow has broken. One that acquires the lock may not: nobody can call
// that back, so it would say nothing about the lock.
func (f *flow) outlives() bool { return f.conn.busy > 0 && f.conn.op != history.OpAcquire }

// mayQuit says whether the client has an operation that it can give up.
func (p *program) mayQuit() bool { return p.op != nil && !p.gaveUp && p.op.Op != history.OpWork }

// conclude ends all that disturbs, lets every operation end, and has each client take one more turn.
func (s *schedule) conclude(ctx context.Context) error {
	s.over = true
	for _, f := range s.flows {
		for _, m := range f.pending {
			s.add(f.conn, m)
		}
		f.pending = nil
	}
	s.onTime()
	for _, p := range s.programs {
		if err := p.lastTurn(ctx); err != nil {
			return fmt.Errorf("%s's last turn: %w", p.handle.Name, err)
		}
	}
	return nil
}
