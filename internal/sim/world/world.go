package world

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/service"
)

// never does not come. Times are in milliseconds from now: what is to come is positive, and what is over is not.
const never = math.MaxInt

func ms(d time.Duration) int { return int(d / time.Millisecond) }

func duration(t int) time.Duration { return time.Duration(t) * time.Millisecond }

// nearer is a time when so much more has passed. How long ago it was does not matter, but whether it is now.
func nearer(t, by int) int {
	if t == never {
		return never
	}
	return max(t-by, -1)
}

// world is everything at one time.
type world struct {
	now      int // since the beginning; what matters of it are the clocks of clients
	clients  []client
	servers  []server
	resource server
	struck   struck
	known    monitor // see monitor
	reads    reads
	others   bool // a step of one client has changed, or depends on, what is of another

	config *Config
}

// wrongClocks is by how much a client's clocks are wrong.
type wrongClocks struct {
	skew  int // of both, from the start
	rate  int // of both, in thousandths; 0: they run right
	ahead int // by so much the wall clock has been set ahead since
}

// wrong says whether they are, but for steps.
func (c *wrongClocks) wrong() bool { return c.skew != 0 || c.rate != 0 }

// shows is what the client's monotonic clock shows. One that runs at another rate has been right at the beginning.
func (c *wrongClocks) shows(now int) int {
	if c.rate == 0 {
		return now + c.skew
	}
	return now * c.rate / 1000
}

// lasts is how long so much time by the client's clocks takes, and takes how long a wait does, which is never shorter than it was meant to be.
func (c *wrongClocks) lasts(d time.Duration) time.Duration {
	if c.rate == 0 {
		return d
	}
	return d * 1000 / time.Duration(c.rate)
}

func (c *wrongClocks) takes(d time.Duration) int {
	if c.rate == 0 {
		return ms(d)
	}
	return ms(c.lasts(d) + time.Millisecond - 1)
}

// drift makes a client's clocks slow, or fast.
func (c *wrongClocks) drift(slow float64, kind faults.Kind) {
	c.rate = int(math.Round(1000 * slow))
	if kind == faults.ClockAhead {
		c.rate = 1_000_000 / c.rate
	}
}

// client is one client.
type client struct {
	at           *past.Moment
	phase        phase
	count        counts
	ops          int  // operations that it has called
	begun        bool // it has called one, or time has passed
	called       int  // how long ago it called the latest
	answers      []answer
	due          []due
	travel       []message
	paused, busy bool // since its last step; in a long hold
	deaf         bool // its operation waits for what is lost
	inbox        []publication
	connections
	session session
	delayed bool // its operation, by a pause
	unsure  bool // its latest release came to unknown, so it may release once more
	wrongClocks
	ago   ago
	on    bool // it was told that it has the lock, and not that it has not
	ends  int  // when its hold ends by what the lock has declared
	heard int  // how long ago the latest of its commands that it waited for was executed
}

// ago is how long ago something of a client was.
type ago struct {
	read  int // its lock read a clock
	slept int // something was begun that is under way and sleeps
	asked int // its operation was called, or the latest command of that was executed which names the lock or goes to the resource
}

// executed notes that a command has been, which may be one of the operation that is under way.
func (a *ago) executed(m message) {
	if m.op != history.OpNone && !m.ended {
		a.asked = 0
	}
}

func (a *ago) passes(d int) { a.read, a.slept, a.asked = a.read+d, a.slept+d, a.asked+d }

// forget drops what does not matter. stays: the lease is in the value of the lock's key.
func (a *ago) forget(at *past.Moment, lease int, stays bool) {
	if !at.Read {
		a.read = 0
	}
	if !at.Sleeps {
		a.slept = 0
	}
	if a.asked = min(a.asked, lease); !stays || !at.Busy {
		a.asked = 0
	}
}

// connections are those of a client that a restart has broken, and that it has not noticed.
type connections struct {
	torn   set // the tasks that wait for a reply by one
	broken set // the servers to which one of its own has broken
}

// set is a set of tasks, or of servers, by their numbers.
type set uint64

// mostTasks is how many there is room for.
const mostTasks = 64

func (s set) has(n int) bool { return s>>n&1 != 0 }
func (s *set) add(n int)     { *s |= 1 << n }
func (s *set) remove(n int)  { *s &^= 1 << n }

// answer is the reply to a request of a task, on its way to the client.
type answer struct {
	task    int
	replies []service.Reply
}

// due is when a sleep or a time-out of a task ends.
type due struct{ task, at int }

// message is a request that nobody waits for any more.
type message struct {
	conn, server int
	commands     [][]string
	op           history.Op // that it was part of; none: a background task's
	id           int        // of that operation, by client
	ended, ok    bool       // that operation has ended; well
	again        bool       // it is a copy
	soon         bool       // it arrives before time passes
	torn         bool       // or is lost with its connection
}

func (c *client) answer(task int) int {
	return slices.IndexFunc(c.answers, func(a answer) bool { return a.task == task })
}

func (c *client) dueAt(task int) int {
	for _, d := range c.due {
		if d.task == task {
			return d.at
		}
	}
	return never
}

// active says whether the client holds the lock, as far as it knows.
func (c *client) active() bool { return c.on && c.ends > 0 }

func (c client) clone() client {
	c.answers, c.due, c.travel = slices.Clone(c.answers), slices.Clone(c.due), slices.Clone(c.travel)
	c.inbox, c.session.made = slices.Clone(c.inbox), slices.Clone(c.session.made)
	return c
}

// passes lets time pass. The client is paused meanwhile, or in a long hold, or neither.
func (c *client) passes(d int, paused, busy bool) {
	if paused {
		c.paused, c.delayed = true, true
	}
	if !paused || c.heard > 0 { // a reply that has just been sent reaches it at the end of the pause
		c.heard += d
	}
	c.busy, c.begun = c.busy || busy, true
	c.ago.passes(d)
	c.called, c.ends = c.called+d, nearer(c.ends, d)
	for i := range c.due {
		c.due[i].at = nearer(c.due[i].at, d)
	}
}

func (p *player) begin() (*world, error) {
	w := &world{resource: server{model: p.service.resource.Clone()}, known: newMonitor(&p.Config), config: &p.Config}
	for i := range p.Clients {
		at, err := p.past.Start(i)
		if err != nil {
			return nil, err
		}
		w.clients = append(w.clients, client{at: at, ends: never})
	}
	for range p.Servers {
		w.servers = append(w.servers, server{model: p.service.lock.Clone()})
	}
	return w, nil
}

// plain is a client without what cannot matter any more.
func (p *player) plain(c client, i int) client {
	c.ops = min(c.ops, 1)
	c.begun = c.begun || p.Budget[faults.ClockAhead]+p.Budget[faults.ClockBehind] == 0
	for k := range c.travel {
		c.travel[k].id = 0
	}
	for k := range c.session.made {
		c.session.made[k].id = 0
	}
	if c.phase != releasing {
		if c.delayed = false; !p.queues(&c) {
			c.called = 0
		}
	}
	if c.called = min(c.called, patience(ms(p.Lease))); c.delayed {
		c.called = 0
	}
	if !c.on {
		c.ends, c.count.holds = never, 0
	}
	if !p.past.Limits || c.phase != acquiring && (!c.on || c.at.Idle()) {
		c.heard = 0
	}
	c.heard = min(c.heard, ms(p.Horizon))
	if holding <= c.phase && c.phase <= releasing {
		c.count.tries = 0 // it begins anew with the next round
	}
	if c.phase == crashed || c.phase == finished && c.at.Idle() && !c.unsure {
		c = client{at: c.at.First, phase: c.phase, ops: 1, begun: true, travel: c.travel, on: c.on, ends: c.ends, connections: c.connections, session: c.session}
		c.session.life, c.session.silence = 0, min(c.session.silence, 1)
	}
	c.ago.forget(c.at, ms(p.Lease), p.past.Stays)
	return c
}

// appendTo appends all of a client but its number. The moment is called by another one.
func (c *client) appendTo(b []byte, moment int) []byte {
	for _, n := range [...]int{
		moment, int(c.phase), c.count.rounds, c.count.tries, c.count.again, c.count.holds, c.ops, c.called, c.skew, c.rate, c.ahead, c.ago.read, c.ago.slept, c.ago.asked, c.ends, c.heard,
		len(c.due), len(c.answers), len(c.travel), int(c.torn), int(c.broken), len(c.inbox),
	} {
		b = binary.AppendVarint(b, int64(n))
	}
	b = service.AppendFlags(b, c.begun, c.paused, c.busy, c.deaf, c.delayed, c.unsure, c.on)
	for _, d := range c.due {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(d.task)), int64(d.at))
	}
	for _, a := range c.answers {
		b = service.AppendReplies(binary.AppendVarint(b, int64(a.task)), a.replies)
	}
	for _, m := range c.inbox {
		b = strconv.AppendQuote(binary.AppendVarint(binary.AppendVarint(b, int64(m.server)), int64(m.conn)), m.text)
	}
	for _, m := range c.travel {
		for _, n := range [...]int{m.conn, m.server, int(m.op), len(m.commands)} {
			b = binary.AppendVarint(b, int64(n))
		}
		for _, words := range m.commands {
			b = binary.AppendVarint(b, int64(len(words)))
			for _, word := range words {
				b = service.AppendText(b, word)
			}
		}
		b = service.AppendFlags(b, m.ended, m.ok, m.again, m.soon, m.torn)
	}
	return c.session.appendTo(b)
}

// monitor is the monitor, and what it sees of the clients.
func (w *world) monitor() *monitor {
	w.reads.monitor = true
	return &w.known
}
