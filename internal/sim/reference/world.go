package reference

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/internal/sim/service"
)

// never does not come. Times are in milliseconds since the beginning.
const never = math.MaxInt

func ms(d time.Duration) int { return int(d / time.Millisecond) }

func duration(t int) time.Duration { return time.Duration(t) * time.Millisecond }

// phase is where a client is in its round.
type phase uint8

const (
	waiting phase = iota // it wants the lock, and has not called, or was refused
	acquiring
	holding // it was told that it has the lock, and has not worked
	working
	worked
	releasing
	finished // all its rounds
	tired    // it has been refused as often as it tries
	crashed
)

// world is everything at one time.
type world struct {
	now      int
	clients  []client
	servers  []server
	resource server
	struck   []faults.Kind // the faults so far, in their order
	spent    int
	monitor  monitor

	lease     int
	leaseless bool
}

// server is a server, or the resource. Its model is never changed: a change makes another one.
type server struct {
	model  *redis.Server
	number int           // of its state; 0: not known
	behind *redis.Server // as a replica has it that lacks the last write; nil: there was none
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
	at           *moment
	phase        phase
	round, tries int
	ops          int // operations that it has called
	calledAt     int // when it called the latest
	answers      []answer
	due          []due
	travel       []message
	paused, busy bool // since its last step; in a long hold
	deaf         bool // its operation waits for what is lost
	connections
	delayed bool // its operation, by a fault
	passed  bool // another client has had a turn since its work was called
	unsure  bool // its latest release came to unknown, so it may release once more
	wrongClocks
	on    bool // it was told that it has the lock, and not that it has not
	ends  int  // when its hold ends by what the lock has declared
	heard int  // when the latest of its commands that it waited for was executed
}

// connections are those of a client that a restart has broken, and that it has not noticed.
type connections struct {
	torn   []int // the tasks that wait for a reply by one
	broken []int // the servers to which one of its own has broken
}

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
	passed       bool       // of work: another client has had a turn since that was called
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
func (w *world) active(i int) bool { return w.clients[i].on && w.now < w.clients[i].ends }

func (w *world) clone() *world {
	twin := *w
	twin.clients = slices.Clone(w.clients)
	for i := range twin.clients {
		c := &twin.clients[i]
		c.answers, c.due, c.travel = slices.Clone(c.answers), slices.Clone(c.due), slices.Clone(c.travel)
		c.torn, c.broken = slices.Clone(c.torn), slices.Clone(c.broken)
	}
	twin.servers, twin.struck = slices.Clone(w.servers), slices.Clone(w.struck)
	twin.monitor = w.monitor.clone()
	return &twin
}

func (s *search) begin() (*world, error) {
	w := &world{resource: server{model: redis.New()}, monitor: newMonitor(s.Clients), lease: ms(s.Lease), leaseless: s.Lock.Leaseless}
	for i := range s.Clients {
		at, err := s.locals.start(i)
		if err != nil {
			return nil, err
		}
		w.clients = append(w.clients, client{at: at, ends: never})
	}
	for range s.Servers {
		w.servers = append(w.servers, server{model: redis.New()})
	}
	return w, nil
}

// key is all of a world, exactly. The parts are numbered, so that it is short.
func (s *search) key(w *world) string {
	b := binary.AppendVarint(nil, int64(w.now))
	for i := range w.clients {
		b = s.number(b, w.clients[i].appendTo(s.text[:0]))
	}
	for i := range w.servers {
		b = binary.AppendVarint(b, int64(s.numberOf(&w.servers[i])))
	}
	b = binary.AppendVarint(b, int64(s.numberOf(&w.resource)))
	for _, kind := range w.struck {
		b = append(append(b, kind...), ' ')
	}
	return string(s.number(b, w.monitor.appendTo(s.text[:0])))
}

// number appends the number of a part of a state.
func (s *search) number(b, text []byte) []byte {
	s.text = text
	n, known := s.parts[string(text)]
	if !known {
		n = len(s.parts) + 1
		s.parts[string(text)] = n
	}
	return binary.AppendVarint(b, int64(n))
}

// numberOf is the number of a server's state.
func (s *search) numberOf(v *server) int {
	if v.number == 0 {
		text := v.model.AppendState(append(s.text[:0], 's'))
		if v.behind != nil {
			text = v.behind.AppendState(append(text, "|r"...))
		}
		n, _ := binary.Varint(s.number(nil, text))
		v.number = int(n)
	}
	return v.number
}

func (c *client) appendTo(b []byte) []byte {
	b = append(b, 'c')
	for _, n := range [...]int{c.at.number, int(c.phase), c.round, c.tries, c.ops, c.calledAt, c.skew, c.rate, c.ahead, c.ends, c.heard, len(c.due), len(c.answers)} {
		b = binary.AppendVarint(b, int64(n))
	}
	b = fmt.Append(b, c.paused, c.busy, c.deaf, c.delayed, c.passed, c.unsure, c.on, c.torn, c.broken)
	for _, d := range c.due {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(d.task)), int64(d.at))
	}
	for _, a := range c.answers {
		b = binary.AppendVarint(b, int64(a.task))
		for _, r := range a.replies {
			b = fmt.Appendf(b, " %d%q", r.Kind, r.String())
		}
	}
	for _, m := range c.travel {
		b = fmt.Appendf(b, "|m%d %d %q %d %d %t %t %t %t %t %t", m.conn, m.server, m.commands, m.op, m.id, m.ended, m.ok, m.again, m.passed, m.soon, m.torn)
	}
	return b
}

// change is a server that is about to change.
func (w *world) change(number int) *server {
	v := w.at(number)
	v.model, v.number = v.model.Clone(), 0
	return v
}

// at is a server by its number; the resource has one of its own.
func (w *world) at(number int) *server {
	if number == process.Resource {
		return &w.resource
	}
	return &w.servers[number]
}
