package learn

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
)

// instance is a process with the lock's own code that stands at a node.
type instance struct {
	Process *process.Process
	host    *host
	at      uint32
	merged  bool            // it has come here by another way than the node's own
	slots   [MostSlots]Slot // what it waited for when it was last described
	waits   [MostSlots]int  // which waits of the process these were
	slot    int             // in the pool
	atCall  []byte          // what there was beside its tasks when its latest operation was called; nil: no task lived, or that cannot be compared
	watches map[int]string  // the nodes of a ZooKeeper that are watched, by the numbers of the watches
}

// host answers what a lock asks in the middle of a step.
type host struct {
	client int
	skew   MS // by so much a clock steps
	when   circumstances
	read   bool
	wall   bool // the wall clock was read
	asked  bool // the session was asked for
	drawn  uint16
	ranOut bool
	sites  bool // see process.Sited
}

// NotesSites says whether each wait says which lines of the lock's code wait.
func (h *host) NotesSites() bool { return h.sites }

func (h *host) Now() time.Time {
	h.read, h.wall = true, true
	return Base.Add(Duration(h.when.Clock + MS(h.when.Steps)*h.skew))
}

// Monotonic is what Now is while no clock has stepped.
func (h *host) Monotonic() time.Duration {
	h.read = true
	return time.Duration(Base.Add(Duration(h.when.Clock)).UnixNano())
}

// Life is the number of the session.
func (h *host) Life(string) int {
	h.asked = true
	return int(h.when.Life)
}

// Lasts is how long the session lasts at least.
func (h *host) Lasts(string) time.Duration {
	h.asked = true
	return Duration(h.when.Lasts)
}

// Token is the first that is not in use.
func (h *host) Token() string {
	n := bits.TrailingZeros16(^(h.when.Used | h.drawn))
	if n == mostTokens {
		h.ranOut = true
		return ""
	}
	h.drawn |= 1 << n
	return tokenName(h.client, n)
}

func (a *Automaton) NewInstance(client int) *instance {
	h := &host{client: client, skew: a.skew, sites: a.texts.Sites != nil}
	p := process.New(h)
	p.Use(&a.coroutines)
	p.SendSources()
	p.Open("lock", a.spec, a.opts, a.servers)
	return &instance{Process: p, host: h, at: uint32(client), watches: map[int]string{}}
}

// noteSites notes which lines of the lock's code wait at the node that an instance has come to.
func (a *Automaton) noteSites(s *instance) {
	if a.texts.Sites == nil {
		return
	}
	var sites []string
	for _, w := range s.Process.Waits() {
		sites = append(sites, w.Sites...)
	}
	a.texts.Sites[s.at] = sites
}

// Close ends all instances.
func (a *Automaton) Close() {
	a.pool.close()
	a.coroutines.Close()
}

// A lock that does not do the same each time is noticed by replaying: the paths to the first executions are replayed from the beginning,
// the very first several times, and later one in so many. There may be few transitions in which chance plays a part, and it may come out
// the same more than once.
const (
	replayedOften = 16
	often         = 4
	replayedFirst = 64
	replayedLater = 32
)

// instanceAt is an instance at a node.
func (a *Automaton) instanceAt(at uint32) (*instance, error) {
	a.executions++
	if a.executions <= replayedOften {
		for range often - 1 {
			s, err := a.goTo(at, true)
			if err != nil {
				return nil, err
			}
			s.Process.Close()
		}
	}
	return a.goTo(at, a.executions <= replayedFirst || a.executions%replayedLater == 0)
}

// goTo takes an instance to a node on the node's own path, the whole of it or from where there is one already. If it finds another node,
// the lock is not a function of its inputs.
func (a *Automaton) goTo(at uint32, whole bool) (*instance, error) {
	var s *instance
	var path []uint32
	for n := at; s == nil; n = a.Nodes[n].Before {
		if !whole {
			s = a.pool.take(n)
		}
		if s == nil && a.Nodes[n].Before == n {
			s = a.NewInstance(int(a.Nodes[at].Client))
		}
		if s == nil {
			path = append(path, n)
		}
	}
	for _, n := range slices.Backward(path) {
		want := &a.Nodes[n]
		if _, err := a.execute(s, want.By, want.When); err != nil {
			s.Process.Close()
			return nil, a.Impure(err)
		}
		met, err := a.describe(s)
		if err != nil {
			s.Process.Close()
			return nil, err
		}
		if met.Slots != want.Slots || met.Idle != want.Idle {
			s.Process.Close()
			if whole && want.direct {
				return nil, a.Impure(errOnce)
			}
			return nil, a.Impure(errForgets)
		}
		if state, ok := s.Process.State(); whole && ok && want.Memory != 0 && a.memoryNumber(want, string(state)) != want.Memory {
			s.Process.Close()
			return nil, a.Impure(errElsewhere)
		}
	}
	s.at = at
	return s, nil
}

// Repeats has instances do once more what was done first: before a search begins again what is different then must show.
func (a *Automaton) Repeats() error {
	for at := range uint32(min(len(a.Nodes), replayedFirst)) {
		s, err := a.goTo(at, true)
		if errors.Is(err, errOnce) {
			return err
		}
		if err == nil {
			s.Process.Close()
		}
	}
	return nil
}

// errOnce is of a lock that has done something, and does something else after just the same: others in the process have changed what it goes by. In a search
// that began again it would do the same each time.
var errOnce = errors.New("given the same twice, it did not do the same twice: it goes by chance, or by what is not its own, such as a variable of its package")

// errElsewhere is of a lock that keeps what it was not given, such as what a real clock shows.
var errElsewhere = errors.New("given the same twice, its State was not the same twice")

var errNoEnd = errors.New("it does not come back: it waits for what is not its Env's, or never stops asking")

// ErrTokens: where this happens the search goes no further, and is not complete.
var ErrTokens = fmt.Errorf("it has more than %d tokens in use at a time", mostTokens)

// patience is how long one execution may take in real time. A lock only computes. It is counted in looks, lookEvery apart: a host that
// stands still for as long, and the lock with it, is looked at once.
const (
	lookEvery = 500 * time.Millisecond
	patience  = 10
)

// Patiently does something that executes the lock's code, and gives it up when one execution takes too long. It watches from outside:
// to watch each execution by itself takes longer than the execution.
func (a *Automaton) Patiently(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // so that the search ends if the lock comes back after all
	result := make(chan error, 1)
	go func() { result <- do(ctx) }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var last int64
	for looks := 0; ; {
		select {
		case err := <-result:
			return err
		case <-look.C:
			began := a.running.since.Load()
			if began == 0 || began != last {
				last, looks = began, 0
			} else if looks++; looks >= patience {
				return a.Impure(errNoEnd)
			}
		}
	}
}

// execute hands an input to an instance and returns what the lock reports.
func (a *Automaton) execute(s *instance, in Input, when circumstances) ([]process.Notice, error) {
	a.Steps++
	s.host.when, s.host.read, s.host.wall, s.host.asked, s.host.drawn = when, false, false, false, 0
	if in.Kind == InputCall {
		s.atCall, _ = s.Process.Beside()
	}
	s.give(in, a.texts)
	a.Deadline, a.Late = a.Deadline || s.Process.AskedDeadline(), a.Late || s.Process.AskedLate()
	if s.host.ranOut {
		return nil, ErrTokens
	}
	return s.Process.Notices(), s.Process.Err()
}

func (s *instance) give(in Input, texts *Texts) {
	switch in.Kind {
	case InputCall:
		op := history.Op(in.Arg)
		s.Process.Call("lock", op, operationOf(op, s.Process.ResourceServer()))
	case InputReply:
		s.Process.Resume(int(in.Slot), process.Input{Replies: texts.Replies[in.Arg].Replies})
	case InputLost:
		s.Process.Resume(int(in.Slot), process.Input{Lost: true})
	case InputExpired:
		s.Process.Resume(int(in.Slot), process.Input{Expired: true})
	case InputWake:
		s.Process.Resume(int(in.Slot), process.Input{})
	}
}

// stopwatch says since when the lock's own code has been running.
type stopwatch struct {
	born  time.Time
	since atomic.Int64 // from birth; 0: it is not running
}

func (w *stopwatch) begins() { w.since.Store(int64(time.Since(w.born))) }
func (w *stopwatch) ends()   { w.since.Store(0) }
