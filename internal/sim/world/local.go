package world

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/worker/work"
)

const (
	lockKey    = "k"
	counterKey = "k:counter"
)

// monotonicZero is what a monotonic clock shows at the beginning: more than a clock is ever behind.
const monotonicZero = 3_600_000

// epoch is what a right clock shows at the beginning.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// inputKind is what a client can be given.
type inputKind uint8

const (
	call inputKind = iota
	reply
	lost
	expired
	wake
	published // a message
)

// input is what a client is given.
type input struct {
	kind    inputKind
	task    int
	op      history.Op // of a call
	replies []service.Reply
	text    string // of a message
}

func (in input) name() string {
	b := make([]byte, 0, 64)
	for _, n := range [...]int{int(in.kind), in.task, int(in.op)} {
		b = append(strconv.AppendInt(b, int64(n), 10), ' ')
	}
	if in.kind == published {
		return string(strconv.AppendQuote(b, in.text))
	}
	return string(appendReplies(b, in.replies))
}

// moment is a client after all that it was given, one after the other. Two moments are one only if that was the same, word for word, with
// the same readings of the client's clock, or if the lock has declared that it keeps the same. Nothing else is concluded about what it remembers.
type moment struct {
	number  int
	before  *moment
	client  int
	given   input
	shown   reading
	reads   bool // the lock read a clock in this step
	read    bool // what it does may depend on a reading
	sleeps  bool // something is under way that has slept
	tokens  int  // that it was given
	top     int  // see client.top
	waits   []process.Wait
	notices []process.Notice
	main    int  // the task of the latest operation
	busy    bool // that is under way
	next    map[string]*edge
	kept    string  // what the lock has declared that it keeps; empty: nothing
	rest    *moment // the first one after which it declared the same, if it did
	twin    *moment // another one after which it did, or what has come of that
}

// reading is what a client's clocks show, in ms.
type reading struct {
	clock int // of both: since the beginning or, if only differences count, since the lock read one
	ahead int // the wall clock has been set ahead by so much since the beginning
	life  int // on a ZooKeeper: how many sessions have ended
	lasts int // and how long the present one lasts at least
}

// clocks says what a search knows of the lock: that it reads no clock, that nothing but the differences between readings matter to it, or
// neither.
type clocks uint8

const (
	unread clocks = iota
	differences
	absolute
)

// A search begins again when the lock has turned out to read a clock, to depend on more than differences, or to say how long it is held.
var (
	errReads    = errors.New("the lock reads clocks")
	errLimits   = errors.New("the lock limits its holds")
	errAbsolute = errors.New("the lock depends on what a clock shows, not on differences only")
	errSession  = errors.New("it reads a clock, and of a lock on a ZooKeeper a search follows only how long a session lasts")
)

// edge leads from one moment by an input: to one, or, if the lock read its clock, to one for each time.
type edge struct {
	reads bool
	to    map[reading]*moment
}

func (e *edge) place(shown reading) reading {
	if e.reads {
		return shown
	}
	return reading{}
}

// locals are the moments of all clients.
type locals struct {
	spec       impls.Spec
	opts       impls.Options
	servers    int
	sessions   bool // the lock is on a ZooKeeper
	clocks     clocks
	undeclared bool // what the lock declares is not asked for
	declares   bool // the lock says what it keeps
	deadline   bool // it has asked for the deadline of its context
	late       bool // it has asked whether a time-out of its own is over for which nothing waits
	sites      bool // see Config.Sites
	limits     bool // the lock limits its holds
	count      int
	running    atomic.Int64 // the run under way
	starts     map[int]*moment
	rests      map[string]*moment
	lives      [2]life
}

func (l *locals) close() {
	for i := range l.lives {
		l.lives[i].end()
	}
}

// host answers what a lock asks in the middle of a step.
type host struct {
	client, tokens int
	shown          reading
	read, sites    bool           // a clock was read; see Config.Sites
	asked          bool           // the session was asked for
	watches        map[int]string // the nodes that are watched, by the numbers of the watches
}

// NotesSites says whether each wait says which lines of the lock's code wait.
func (h *host) NotesSites() bool { return h.sites }

func (h *host) Now() time.Time {
	h.read = true
	return epoch.Add(duration(h.shown.clock + h.shown.ahead))
}

// Monotonic counts from a moment of its own, and does not step.
func (h *host) Monotonic() time.Duration {
	h.read = true
	return duration(h.shown.clock + monotonicZero)
}

// Life is the number of the session.
func (h *host) Life(string) int {
	h.asked = true
	return h.shown.life
}

// Lasts is how long it lasts at least.
func (h *host) Lasts(string) time.Duration {
	h.asked = true
	return duration(h.shown.lasts)
}

func (h *host) Token() string {
	h.tokens++
	if h.tokens > 26 {
		return token(h.client, strconv.Itoa(h.tokens))
	}
	return token(h.client, string(rune('a'+h.tokens-1)))
}

// token is one of a client.
func token(client int, number string) string { return fmt.Sprintf("C%d#%s", client+1, number) }

// start is a client that has not done anything.
func (l *locals) start(client int) (*moment, error) {
	if m := l.starts[client]; m != nil {
		return m, nil
	}
	m, err := l.run(&moment{client: client})
	l.starts[client] = m
	return m, err
}

// after is the client after one more input.
func (l *locals) after(m *moment, in input, shown reading) (*moment, error) {
	text := in.name()
	e := m.next[text]
	if e != nil && e.to[e.place(shown)] != nil {
		return e.to[e.place(shown)], nil
	}
	to, err := l.run(&moment{before: m, client: m.client, given: in, shown: shown, main: m.main})
	if err != nil {
		return nil, err
	}
	if e == nil {
		e = &edge{reads: to.reads, to: map[reading]*moment{}}
		m.next[text] = e
	}
	e.to[e.place(shown)] = to
	if m.twin != nil {
		err = l.sample(to, m.twin)
	}
	return to, err
}

// run has a new process take a client to a moment, and takes down what it waits for then.
func (l *locals) run(m *moment) (*moment, error) {
	l.count++
	m.number, m.next = l.count, map[string]*edge{}
	if err := l.execute(m, 0); err != nil {
		return nil, err
	}
	if l.sessions {
		m.knowNumbers()
	}
	if m.read && l.clocks == differences {
		later := *m
		if err := l.execute(&later, 1); err != nil {
			return nil, err
		}
		if later.outcome() != m.outcome() {
			return nil, errAbsolute
		}
	}
	if m.kept == "" {
		return m, nil
	}
	key := fmt.Sprint(m.client, " ", m.tokens, " ", m.kept)
	rest := l.rests[key]
	if rest == nil {
		l.rests[key] = m
		rest = m
	}
	m.rest = rest
	if rest != m && rest.twin == nil {
		return m, l.pair(rest, m)
	}
	return m, nil
}

// life is a process that has been taken to a moment.
type life struct {
	process *process.Process
	host    *host
	clock   int // what it showed when it was read last
	at      int // the moment's number; 0: there is none yet
}

func (v *life) end() {
	if v.at != 0 {
		v.process.Close()
	}
	*v = life{}
}

// execute gives a process all that the client was given until a moment: the one of the latest moment, if it goes on from there, or a new one.
// There are two, whose clocks began at different times.
func (l *locals) execute(m *moment, which int) error {
	live := &l.lives[which]
	path := []*moment{m}
	if m.before == nil || live.at != m.before.number {
		for n := m.before; n != nil; n = n.before {
			path = append(path, n)
		}
		live.end()
		live.begin(l, m.client, which*777_777)
	}
	live.at = m.number
	l.running.Store(int64(m.number))
	defer l.running.Store(0)
	for _, n := range slices.Backward(path) {
		if n.before == nil {
			continue
		}
		live.host.shown, live.host.read, live.host.asked = n.shown, false, false
		if l.clocks == differences {
			live.host.shown.clock += live.clock
		}
		if err := live.give(n); err != nil {
			return l.impure(err)
		}
		if n != m && n.reads {
			live.clock = live.host.shown.clock
		}
		if n == m.before && which == 0 {
			if err := l.same(n, live); err != nil {
				return err
			}
		}
		if n != m && l.sessions {
			live.host.follow(live.process.Waits())
		}
	}
	return l.note(m, live)
}

// note takes down what a process waits for, and what it has reported and read.
func (l *locals) note(m *moment, live *life) error {
	if err := live.process.Err(); err != nil {
		return l.impure(err)
	}
	m.waits, m.notices, m.busy, m.tokens = live.process.Waits(), live.process.Notices(), live.process.Busy(), live.host.tokens
	m.reads, m.read = live.host.read || live.host.asked, live.host.read || m.before != nil && m.before.read
	live.host.follow(m.waits)
	asleep := func(w process.Wait) bool { return w.Kind == process.Sleep }
	l.deadline, l.late = l.deadline || live.process.AskedDeadline(), l.late || live.process.AskedLate()
	m.sleeps = m.before != nil && m.before.sleeps && !m.idle() || slices.ContainsFunc(m.waits, asleep)
	if err := l.declared(m, live); err != nil {
		return err
	}
	if m.reads {
		live.clock = live.host.shown.clock
	}
	limited := func(n process.Notice) bool { return n.Kind == process.Renewed || n.Answer.Limited }
	switch {
	case live.host.read && l.sessions:
		return errSession
	case live.host.read && l.clocks == unread:
		return errReads
	case !l.limits && slices.ContainsFunc(m.notices, limited):
		return errLimits
	}
	return nil
}

// begin makes a new process, whose clock shows that.
func (v *life) begin(l *locals, client, clock int) {
	v.clock, v.host = clock, &host{client: client, shown: reading{clock: clock}, sites: l.sites, watches: map[int]string{}}
	v.process = process.New(v.host)
	v.process.SendSources()
	if l.count > watchedRuns {
		v.process.Rehearse()
	}
	v.process.Open("lock", l.spec, l.opts, l.servers)
}

// give gives the process what its client was given last.
func (v *life) give(m *moment) error {
	_ = v.process.Notices()
	if m.given.kind == call {
		m.main = v.process.Call("lock", m.given.op, operation(m.given.op, v.process.ResourceServer()))
	} else {
		v.process.Resume(m.given.task, process.Input{Replies: m.given.replies, Lost: m.given.kind == lost, Expired: m.given.kind == expired, Message: m.given.text})
	}
	return v.process.Err()
}

// idle says whether nothing of the client is under way: no operation, and no task.
func (m *moment) idle() bool { return !m.busy && len(m.waits) == 0 }

// declared asks a lock what it keeps, if it says so, while nothing of it is under way. How long ago it read a clock does not matter, then,
// unless it does so for this.
func (l *locals) declared(m *moment, v *life) error {
	if l.undeclared || !m.idle() {
		return nil
	}
	state, read, declares := v.process.StateFrom(duration(v.host.shown.clock))
	l.declares = l.declares || declares
	if err := v.process.Err(); err != nil {
		return l.impure(err)
	}
	if !declares {
		return nil
	}
	m.kept, m.read, m.reads = string(state), read, m.reads || read
	if l.clocks == absolute && read {
		m.kept += fmt.Sprint(m.shown)
	}
	return nil
}

// wait is what a task of the client waits for; nil: there is no such task.
func (m *moment) wait(task int) *process.Wait {
	for i := range m.waits {
		if m.waits[i].Task == task {
			return &m.waits[i]
		}
	}
	return nil
}

// operation is an operation of a client, as in the live world.
func operation(op history.Op, resource impls.Server) process.Operation {
	switch op {
	case history.OpAcquire:
		return acquire
	case history.OpWork:
		return func(ctx process.Context, lock impls.Lock) history.Answer {
			return work.Task{Resource: resource, Key: counterKey}.Under(lock).Do(ctx.Ctx(), history.Counter)
		}
	}
	return func(ctx process.Context, lock impls.Lock) history.Answer {
		return answers.Settled(lock.Release(ctx.Ctx()))
	}
}

func acquire(ctx process.Context, lock impls.Lock) history.Answer {
	held, err := lock.TryAcquire(ctx.Ctx())
	return answers.Granted(lock, held, err)
}
