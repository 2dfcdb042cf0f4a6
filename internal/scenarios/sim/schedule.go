package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// Search is one random schedule of a library's messages.
type Search struct {
	Seed    uint64
	Clients int
	Turns   int // of each client: acquire, work, release, and what else the lock can do
	Depth   int // how many times the flow with the highest priority falls behind
	Faults  int // at most so many connections break, and operations are given up
	Lease   time.Duration
}

// schedule decides in which order the messages of a library's clients arrive, and what befalls them. It searches by priorities, like PCT (Burckhardt
// et al. 2010): each connection, and each client with its next operation, has a random priority. What can happen next with the highest
// priority happens, and at a few random steps it falls behind all others. In between time passes, connections break, and clients give up.
type schedule struct {
	*bubble
	Search
	rng      *rand.Rand
	flows    []*flow
	programs []*program
	room     []choice
	falls    []int // the steps at which the first choice falls behind
	lowest   int   // priority so far
	struck   int   // faults so far
	late     map[string]bool
	over     bool          // or not begun: messages take their time, and nothing befalls anybody
	sent     time.Duration // so many messages, a nanosecond each, since it was over
}

// flow is a connection, with what is under way on it.
type flow struct {
	conn     *conn
	pending  []func()
	priority int
}

// choice is one of the things that can happen next: a message of a flow arrives, or a program begins its next operation.
type choice struct {
	priority *int
	flow     *flow
	program  *program
}

// underWay says whether a message waits for its turn.
func (f *flow) underWay() bool { return len(f.pending) > 0 }

// The odds of each step: one in so many.
const (
	oddsOfTime   = 12
	oddsOfBreak  = 25
	oddsOfGiveUp = 60
)

// instant is between what happens and what happens next: a timer that a library sets for a round time then fires at an instant of its own, and so in
// the same order whenever a seed is replayed.
const instant = time.Nanosecond

// expectedSteps is about how long a schedule is. Falls lie within.
const expectedSteps = 120

func (b *bubble) newSchedule(search Search) *schedule {
	s := &schedule{bubble: b, Search: search, rng: rand.New(rand.NewPCG(search.Seed, 0)), late: map[string]bool{}, over: true}
	for range search.Depth {
		s.falls = append(s.falls, s.rng.IntN(expectedSteps))
	}
	return s
}

func (s *schedule) oneIn(n int) bool { return s.rng.IntN(n) == 0 }

func (s *schedule) priority() int { return 1 + s.rng.IntN(1000) }

// add has a message wait for its turn.
func (s *schedule) add(on *conn, arrive func()) {
	if s.over {
		s.sent += instant
		s.after(on.link.takes()+s.sent, arrive)
		return
	}
	i := slices.IndexFunc(s.flows, func(f *flow) bool { return f.conn == on })
	if i < 0 {
		i = len(s.flows)
		s.flows = append(s.flows, &flow{conn: on, priority: s.priority()})
	}
	s.flows[i].pending = append(s.flows[i].pending, arrive)
}

// run takes all clients through their programs, then has each of them acquire the lock once more while nothing befalls them.
func (s *schedule) run(ctx context.Context) error {
	for _, c := range s.Cell.Clients {
		s.programs = append(s.programs, s.newProgram(s.peers[len(s.programs)], c))
	}
	s.over = false
	for step := 0; s.step(step); step++ {
		if s.cell.broken != nil {
			return s.cell.broken
		}
		if s.now > s.limit() {
			return s.endless()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return s.conclude(ctx)
}

// endless ends a schedule in which an operation does not come back, though it was given up.
func (s *schedule) endless() error {
	for _, p := range s.programs {
		if p.op != nil {
			return play.Undecided("%s did not come back from its %v", p.handle.Name, p.op.Op)
		}
	}
	return s.tooLong()
}

// step lets one thing happen. It returns false when all programs have ended.
func (s *schedule) step(number int) bool {
	s.settle()
	for at, ok := s.next(); ok && at <= s.now; at, ok = s.next() {
		s.pop().do()
		s.settle()
	}
	choices, takes := s.choices(), instant
	switch {
	case !slices.ContainsFunc(s.programs, func(p *program) bool { return !p.ended() }) || s.cell.broken != nil:
		return false
	case len(choices) == 0:
		s.pass(s.idle())
	case s.oneIn(oddsOfTime):
		s.pass(s.some())
	case s.struck < s.Faults && s.oneIn(oddsOfBreak):
		s.breakOne()
	case s.struck < s.Faults && s.oneIn(oddsOfGiveUp):
		s.giveUpOne()
	default:
		first := slices.MaxFunc(choices, func(a, b choice) int { return *a.priority - *b.priority })
		if slices.Contains(s.falls, number) {
			s.lowest--
			*first.priority = s.lowest
		}
		s.do(first)
		takes += hop // what happens one after the other has times one after the other
	}
	time.Sleep(takes)
	return true
}

// choices are what can happen without time. They are good until the next call.
func (s *schedule) choices() []choice {
	s.room = s.room[:0]
	for _, f := range s.flows {
		if f.underWay() {
			s.room = append(s.room, choice{priority: &f.priority, flow: f})
		}
	}
	for _, p := range s.programs {
		if p.ready(s.now) {
			s.room = append(s.room, choice{priority: &p.priority, program: p})
		}
	}
	return s.room
}

func (s *schedule) do(c choice) {
	if c.flow != nil {
		s.deliver(c.flow)
		return
	}
	c.program.begin()
}

// deliver lets the oldest message of a flow arrive.
func (s *schedule) deliver(f *flow) {
	arrive := f.pending[0]
	f.pending = slices.Delete(f.pending, 0, 1)
	arrive()
	s.onTime()
}

// some is for how long messages are late.
func (s *schedule) some() time.Duration {
	return s.Lease * time.Duration([]int{1, 5, 25, 40, 60, 110}[s.rng.IntN(6)]) / 100
}

// idle is how long to wait where nothing is under way: until a program goes on, or else until a goroutine of the library acts.
func (s *schedule) idle() time.Duration {
	least := s.Lease
	for _, p := range s.programs {
		if p.op == nil && !p.ended() {
			least = min(least, max(p.rests-s.now, 0))
		}
	}
	if at, ok := s.next(); ok {
		least = min(least, at-s.now)
	}
	return max(least, time.Millisecond)
}

// pass lets time pass. Messages that are under way meanwhile are late, which histories record as a delay.
func (s *schedule) pass(d time.Duration) {
	s.delay()
	for until, under := s.now+d, len(s.choices()) > 0; s.sleep(until) && under; {
		s.settle()
		s.delay() // a goroutine of the library has sent something while time passes
	}
	s.settle()
	for _, p := range s.programs {
		if p.op != nil && s.now > p.patience {
			p.giveUp()
		}
	}
}

// delay records that what is under way is late.
func (s *schedule) delay() {
	for _, f := range s.flows {
		if name := f.conn.link.owner.Name; f.underWay() && !s.late[name] {
			s.late[name] = true
			s.Fault(faults.Delay, name, history.PhaseInject, "messages are late")
			s.Fault(faults.Delay, name, history.PhaseEffective, "time passes while they are under way")
		}
	}
}

// onTime records that nothing of a client is late any more.
func (s *schedule) onTime() {
	for _, p := range s.programs {
		name := p.handle.Name
		pending := func(f *flow) bool { return f.conn.link.owner.Name == name && f.underWay() }
		if s.late[name] && !slices.ContainsFunc(s.flows, pending) {
			delete(s.late, name)
			s.Fault(faults.Delay, name, history.PhaseRecover, "all messages have arrived")
		}
	}
}

// breakOne breaks a connection on which something is under way. A request may still arrive.
func (s *schedule) breakOne() {
	var under []*flow
	for _, f := range s.flows {
		if s.breakable(f) {
			under = append(under, f)
		}
	}
	if len(under) == 0 {
		return
	}
	s.struck++
	s.cut(under[s.rng.IntN(len(under))])
}

// cut breaks a connection. Its replies are lost. A request may still arrive, unless it acquires the lock: nobody can call that back, so it would
// say nothing about the lock.
func (s *schedule) cut(f *flow) {
	l, name := f.conn.link, f.conn.link.owner.Name
	s.Fault(faults.ReplyLost, name, history.PhaseInject, "a connection to "+l.server.name)
	for _, p := range slices.Clone(l.waiting) {
		if p.conn == f.conn {
			s.lose(p)
		}
	}
	l.breakConn(f.conn.number)
	s.Fault(faults.ReplyLost, name, history.PhaseEffective, "the connection is broken")
	if f.conn.busy == 0 || f.conn.op == history.OpAcquire || s.oneIn(2) {
		s.drop(f)
	}
	s.Fault(faults.ReplyLost, name, history.PhaseRecover, "new connections are whole")
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
	return open && f.underWay() && f.conn.link.server != s.resource
}

// giveUpOne has a client give its operation up.
func (s *schedule) giveUpOne() {
	for _, i := range s.rng.Perm(len(s.programs)) {
		if p := s.programs[i]; p.op != nil && !p.gaveUp && p.op.Op != history.OpWork {
			s.struck++
			p.giveUp()
			return
		}
	}
}

// conclude ends all that disturbs, lets every operation end, and has each client take one more turn.
func (s *schedule) conclude(ctx context.Context) error {
	s.over = true
	for _, f := range s.flows {
		for _, arrive := range f.pending {
			s.add(f.conn, arrive)
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
