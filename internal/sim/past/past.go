// Package past runs a lock's code for the clients of a search. What a client does next depends on its past alone: on all that it was given, one
// input after the other, and on what its clocks showed then. So the code runs once for each past, from the beginning or from where it stands,
// and any number of states have the result.
//
// It owns the processes of clients (internal/sim/process), which it takes to any past again, and what may be concluded from a lock's declarations (impls.Stateful). It must not know servers, faults,
// other clients, or which input comes next: internal/sim/world decides that.
package past

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// Kind is the kind of an input.
type Kind uint8

// What a client can be given.
const (
	Call Kind = iota
	Reply
	Lost
	TimedOut
	Wake
	Published // a message
)

// Input is what a client is given.
type Input struct {
	Kind    Kind
	Task    int
	Op      history.Op // of a call
	Replies []service.Reply
	Text    string // of a message
}

func (in Input) name() string {
	b := make([]byte, 0, 64)
	for _, n := range [...]int{int(in.Kind), in.Task, int(in.Op)} {
		b = append(strconv.AppendInt(b, int64(n), 10), ' ')
	}
	if in.Kind == Published {
		return string(strconv.AppendQuote(b, in.Text))
	}
	return string(service.AppendReplies(b, in.Replies))
}

// Reading is what a client's clocks show.
type Reading struct {
	Clock time.Duration // of both: since the beginning or, if only differences count, since the lock read one
	Ahead time.Duration // the wall clock has been set ahead by so much since the beginning
	Life  int           // on a ZooKeeper: how many sessions have ended
	Lasts time.Duration // and how long the present one lasts at least
}

// Clocks says which readings of clocks matter to a lock.
type Clocks uint8

// It reads none, nothing but the differences between readings matters, or the readings themselves do.
const (
	Unread Clocks = iota
	Differences
	Absolute
)

// Known is what a search knows of its lock. It begins again when it has learned more.
type Known struct {
	Clocks Clocks
	Limits bool // the lock says for how long it is held
	Lives  bool // it asks how long keys live
	Stays  bool // it leaves its key without an expiry, so the lease is in the value
}

// What a lock has turned out to do.
var (
	ErrLives = errors.New("the lock asks how long keys live")
	ErrStays = errors.New("the lock leaves its key without an expiry")
)

var (
	errReads    = errors.New("the lock reads clocks")
	errLimits   = errors.New("the lock limits its holds")
	errAbsolute = errors.New("the lock depends on what a clock shows, not on differences only")
	errSession  = errors.New("it reads a clock, and of a lock on a ZooKeeper a search follows only how long a session lasts")
)

// Learn adds what an error says of the lock; false: it says something else. differ: clocks are right, so only differences may matter.
func (k Known) Learn(err error, differ bool) (Known, bool) {
	switch {
	case errors.Is(err, errLimits):
		k.Limits = true
	case errors.Is(err, ErrLives):
		k.Lives = true
	case errors.Is(err, ErrStays):
		k.Stays = true
	case errors.Is(err, errReads) && differ:
		k.Clocks = Differences
	case errors.Is(err, errReads), errors.Is(err, errAbsolute):
		k.Clocks = Absolute
	default:
		return k, false
	}
	return k, true
}

// Moment is a client after all that it was given, one after the other. Two moments are one only if that was the same, word for word, with
// the same readings of the client's clock, or if the lock has declared that it keeps the same. Nothing else is concluded about what it remembers.
type Moment struct {
	Number  int
	Client  int
	First   *Moment // of the client, before it was given anything
	Reads   bool    // the lock read a clock in this step
	Read    bool    // what it does may depend on a reading
	Sleeps  bool    // something is under way that has slept
	Top     int     // on a ZooKeeper: one more than the greatest number of a node that the client knows of
	Waits   []process.Wait
	Notices []process.Notice
	Main    int     // the task of the latest operation
	Busy    bool    // that is under way
	Kept    string  // what the lock has declared that it keeps; empty: nothing
	Rest    *Moment // the first one after which it declared the same, if it did

	before *Moment
	given  Input
	shown  Reading
	tokens int // that the client was given
	next   map[string]*edge
	twin   *Moment // another one after which the lock declared the same, or what has come of that
}

// edge leads from one moment by an input: to one, or, if the lock read its clock, to one for each time.
type edge struct {
	reads bool
	to    map[Reading]*Moment
}

func (e *edge) place(shown Reading) Reading {
	if e.reads {
		return shown
	}
	return Reading{}
}

// Idle says whether nothing of the client is under way: no operation, and no task.
func (m *Moment) Idle() bool { return !m.Busy && len(m.Waits) == 0 }

// Operates says whether a task carries out the client's operation.
func (m *Moment) Operates(task int) bool { return m.Busy && task == m.Main }

// Wait is what a task of the client waits for; nil: there is no such task.
func (m *Moment) Wait(task int) *process.Wait {
	for i := range m.Waits {
		if m.Waits[i].Task == task {
			return &m.Waits[i]
		}
	}
	return nil
}

// Awaits says whether it is what a task waits for.
func (m *Moment) Awaits(wait *process.Wait) bool {
	own := m.Wait(wait.Task)
	return own != nil && own.Seq == wait.Seq
}

// Under names a moment as it would be if its client were another one, and all tokens were called otherwise: by what the client was given, or
// what its lock has declared since.
func (m *Moment) Under(client int, rename func(string) string, number func(*Moment) int) string {
	switch {
	case m.Rest == m:
		return fmt.Sprint("rest ", client, " ", m.tokens, rename(m.Kept))
	case m.before == nil:
		return fmt.Sprint("start ", client)
	}
	text := fmt.Sprint("moment ", number(m.before), rename(m.given.name()))
	if m.Reads {
		text += fmt.Sprint(m.shown)
	}
	return text
}

// same says whether nothing can be seen of a moment that tells it from another.
func (m *Moment) same(other *Moment) bool {
	alike := func(a, b process.Wait) bool {
		return a.Task == b.Task && a.Kind == b.Kind && a.Server == b.Server && a.Conn == b.Conn && slices.EqualFunc(a.Commands, b.Commands, slices.Equal) &&
			a.Length == b.Length && a.Limit == b.Limit && (a.Timer != 0) == (b.Timer != 0) && a.Begun == b.Begun
	}
	return m.Busy == other.Busy && m.tokens == other.tokens && m.Kept == other.Kept && slices.Equal(m.Notices, other.Notices) && slices.EqualFunc(m.Waits, other.Waits, alike)
}

// knowNumbers notes the greatest number of a node that the client knows of.
func (m *Moment) knowNumbers() {
	if m.Kept != "" {
		m.Top = max(zookeeper.TopNumber(m.Kept), topInteger(m.Kept))
		return
	}
	if m.before != nil {
		m.Top = max(m.before.Top, zookeeper.TopNumber(m.given.name()))
	}
	for _, w := range m.Waits {
		for _, words := range w.Commands {
			m.Top = max(m.Top, zookeeper.TopNumber(strings.Join(words, " ")))
		}
	}
}

// topInteger is one more than the greatest integer that a lock declares: it may keep the number of a node without the node's name.
func topInteger(kept string) (top int) {
	for _, word := range strings.Split(kept, " ") {
		digits := word[:len(word)-len(strings.TrimLeft(word, "0123456789"))]
		if n, err := strconv.ParseUint(digits, 10, 31); err == nil {
			top = max(top, int(n)+1)
		}
	}
	return top
}

// listensOn says whether a client waits for the same as at a moment before, and has reported no more than for how long its lock is held.
func (m *Moment) listensOn(before *Moment) bool {
	same := func(a, b process.Wait) bool {
		return a.Task == b.Task && a.Kind == b.Kind && a.Number == b.Number && (a.Kind == process.Contact || a.Seq == b.Seq)
	}
	more := func(n process.Notice) bool { return n.Kind != process.Renewed }
	return m.Busy == before.Busy && m.tokens == before.tokens && slices.EqualFunc(m.Waits, before.Waits, same) && !slices.ContainsFunc(m.Notices, more)
}
