package past

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
)

// Config says whose code runs, and how.
type Config struct {
	Lock       impls.Spec
	Options    impls.Options
	Counter    string // the resource's key
	Servers    int
	Queue      bool // an acquire is one operation with many tries
	Undeclared bool // what the lock declares is not asked for
	Sites      bool // each wait says which lines of the lock's code wait
}

// Moments are those of all clients of a lock, as far as they have been needed. They are used by one goroutine.
type Moments struct {
	Config
	Known
	Declares bool // the lock says what it keeps
	Runs     int  // how often its code was run

	running atomic.Int64  // the run under way
	noted   process.Noted // of all runs
	starts  map[int]*Moment
	rests   map[string]*Moment
	replays [2]replay
}

// New is no moments yet. They are to be closed.
func New(config Config, known Known) *Moments {
	if config.Queue {
		config.Lock.New = untilHeld(config.Lock.New)
	}
	return &Moments{Config: config, Known: known, starts: map[int]*Moment{}, rests: map[string]*Moment{}}
}

// Close ends the processes of clients.
func (l *Moments) Close() {
	for i := range l.replays {
		l.replays[i].end()
	}
}

// sessions: the lock is on a ZooKeeper.
func (l *Moments) sessions() bool { return l.Lock.Needs == impls.OneZooKeeper }

// Start is a client that has not done anything.
func (l *Moments) Start(client int) (*Moment, error) {
	if m := l.starts[client]; m != nil {
		return m, nil
	}
	m := &Moment{Client: client}
	m.First = m
	m, err := l.run(m)
	l.starts[client] = m
	return m, err
}

// After is the client after one more input.
func (l *Moments) After(m *Moment, in Input, shown Reading) (*Moment, error) {
	text := in.name()
	e := m.next[text]
	if e != nil && e.to[e.place(shown)] != nil {
		return e.to[e.place(shown)], nil
	}
	to, err := l.run(m.and(in, shown))
	if err != nil {
		return nil, err
	}
	if e == nil {
		e = &edge{reads: to.Reads, to: map[Reading]*Moment{}}
		m.next[text] = e
	}
	e.to[e.place(shown)] = to
	if m.twin != nil {
		err = l.sample(to, m.twin)
	}
	return to, err
}

// and is a moment with one more input, of which nothing has come yet.
func (m *Moment) and(in Input, shown Reading) *Moment {
	return &Moment{before: m, Client: m.Client, First: m.First, given: in, shown: shown, Main: m.Main}
}

// Listens says what a client reports by contact with its ZooKeeper, and whether nothing else comes of it, once more either.
func (l *Moments) Listens(m *Moment, contact Input, shown Reading) (notices []process.Notice, same bool, err error) {
	after, err := l.After(m, contact, shown)
	if err != nil || !after.listensOn(m) {
		return nil, false, err
	}
	again, err := l.After(after, contact, shown)
	if err != nil || !again.same(after) {
		return nil, false, err
	}
	return after.Notices, true, nil
}

// run has a process take a client to a moment, and notes what it waits for then.
func (l *Moments) run(m *Moment) (*Moment, error) {
	l.Runs++
	m.Number, m.next = l.Runs, map[string]*edge{}
	if err := l.execute(m, 0); err != nil {
		return nil, err
	}
	if l.sessions() {
		m.knowNumbers()
	}
	if m.Read && l.Clocks == Differences {
		later := *m
		if err := l.execute(&later, 1); err != nil {
			return nil, err
		}
		if !later.same(m) {
			return nil, errAbsolute
		}
	}
	if m.Kept == "" {
		return m, nil
	}
	key := fmt.Sprint(m.Client, " ", m.tokens, " ", m.Kept)
	rest := l.rests[key]
	if rest == nil {
		l.rests[key] = m
		rest = m
	}
	m.Rest = rest
	if rest != m && rest.twin == nil {
		return m, l.pair(rest, m)
	}
	return m, nil
}

// pair has a moment stand for another one after which the lock declared the same, and takes that one on as a sample wherever it is taken on.
func (l *Moments) pair(m, twin *Moment) error {
	m.twin = twin
	for _, e := range m.next {
		for _, to := range e.to {
			if err := l.sample(to, twin); err != nil {
				return err
			}
		}
	}
	return nil
}

// sample takes a twin of the moment before on, by the same step. The same must come of it.
func (l *Moments) sample(m, twin *Moment) error {
	l.Runs++
	other := twin.and(m.given, m.shown)
	other.Number = l.Runs
	if err := l.execute(other, 0); err != nil {
		return err
	}
	if !m.same(other) {
		return fmt.Errorf("the State of %s is the same after two histories, and yet it goes on in two ways; let it return all that the lock keeps:\n%d %+v %+v %q\n%d %+v %+v %q",
			l.Lock.Name, m.tokens, m.Notices, m.Waits, m.Kept, other.tokens, other.Notices, other.Waits, other.Kept)
	}
	if m.Kept != "" {
		return nil
	}
	return l.pair(m, other)
}

// Noticed says what the lock does that no search follows; empty: nothing was noticed.
func (l *Moments) Noticed() string {
	switch {
	case l.noted.AskedDeadline:
		return "it asks for the deadline of its context, which in a search has none"
	case l.noted.AskedLate:
		return "it asks whether a time-out of its own is over for which nothing waits, and in a search a time-out ends only what waits for it"
	}
	return ""
}

// waits are the methods by which the lab has a client wait for a lock.
var waits = []string{"Acquire", "Enter", "Leave", "Pause", "WaitedEnough", "Wakeups"}

// Uncalled are those that the lock has, and that no client calls.
func (l *Moments) Uncalled() (names []string) {
	p := process.New(&host{})
	defer p.Close()
	p.Open(handle, l.Lock, l.Options, l.Servers)
	made := p.Lock(handle)
	if waits, queues := made.(interface{ patient() impls.Lock }); queues {
		made = waits.patient()
	}
	for _, name := range waits {
		_, has := reflect.TypeOf(made).MethodByName(name)
		if called := l.Queue && (name == "Enter" || name == "Leave"); has && !called {
			names = append(names, name)
		}
	}
	return names
}
