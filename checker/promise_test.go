package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/history"
)

// bank is a lock service with a queue, whose lock can be taken again by its holder. It keeps its promises, unless it is told to let
// somebody in out of order. It writes down what a lab would see, with the commands.
type bank struct {
	dice    *rand.Rand
	now     time.Duration
	events  []history.Event
	lastID  int64
	clients []*customer
	holder  *customer
	count   int
	made    int
	queue   []*customer
	cut     []overtake // who was let in though somebody certainly was before
}

type overtake struct{ second, first string }

type customer struct {
	name  string
	dead  bool
	op    history.Op // under way
	id    int64
	seen  int // length of the history when it was called
	asked int // and when its first command was back; 0: it has not asked
	taken int // how often it was told that it has the lock
}

func newBank(t *rapid.T) *bank {
	b := &bank{dice: newDice(t)}
	for n := range rapid.IntRange(2, 5).Draw(t, "clients") {
		b.clients = append(b.clients, &customer{name: clientName(n)})
		b.record(history.Event{Client: clientName(n), Kind: history.KindOpen,
			Detail: &history.Detail{Lease: time.Hour, Contract: history.Contract{Reentrant: true, Fair: true}}})
	}
	return b
}

func (b *bank) record(e history.Event) {
	b.now += pick(b.dice, 0, 100*time.Microsecond, ms, 10*ms)
	e.At = b.now
	if e.Kind != history.KindExit {
		e.Lock = storyLock
	}
	b.events = append(b.events, e)
}

func (b *bank) step(cheats bool) {
	c := pick(b.dice, b.clients...)
	chance := b.dice.IntN(100)
	switch {
	case c.dead:
	case chance == 0 && b.holder != c:
		c.dead = true
		b.leave(c)
		b.record(history.Event{Client: c.name, Kind: history.KindExit})
	case c.op == history.OpNone:
		b.call(c, c.taken > 0 && b.dice.IntN(3) > 0)
	case c.op == history.OpAcquire && chance < 5 && b.holder != c:
		b.leave(c)
		b.answer(c, history.Unknown)
	default:
		b.serve(c, cheats)
	}
}

func (b *bank) call(c *customer, release bool) {
	c.op = history.OpAcquire
	if release {
		c.op = history.OpRelease
		c.taken--
	}
	b.lastID++
	c.id, c.seen, c.asked = b.lastID, len(b.events), 0
	e := history.Event{Client: c.name, Kind: history.KindCall, Op: c.op, ID: c.id}
	if c.op == history.OpAcquire {
		e.Detail = &history.Detail{Bound: time.Hour}
	}
	b.record(e)
}

func (b *bank) leave(c *customer) {
	b.queue = slices.DeleteFunc(b.queue, func(q *customer) bool { return q == c })
}

func (b *bank) answer(c *customer, outcome history.Outcome) {
	b.record(history.Event{Client: c.name, Kind: history.KindReturn, Op: c.op, ID: c.id, Outcome: outcome,
		Detail: &history.Detail{GaveUp: outcome == history.Unknown}})
	c.op = history.OpNone
}

func (b *bank) state() history.State {
	if b.holder == nil {
		return history.State{}
	}
	return history.State{Type: "hash", Value: fmt.Sprint(b.holder.name, b.made, ":", b.count), TTL: time.Hour}
}

// serve carries the operation out and answers, unless the client has to wait.
func (b *bank) serve(c *customer, cheats bool) {
	change := history.Change{Key: storyLock, Before: b.state()}
	done := true
	if c.op == history.OpAcquire {
		done = b.enter(c, cheats && b.dice.IntN(3) == 0)
	} else if b.count--; b.count == 0 {
		b.holder = nil
	}
	change.After = b.state()
	b.record(history.Event{Client: c.name, Kind: history.KindCommand, Op: c.op, ID: c.id, Detail: &history.Detail{Command: &history.Command{
		Server: "redis", Args: []string{"EVALSHA", c.op.String(), "1", storyLock}, Reply: "0", Sent: b.now, Changes: []history.Change{change},
	}}})
	if c.asked == 0 {
		c.asked = len(b.events)
	}
	if done {
		if c.op == history.OpAcquire {
			c.taken++
		}
		b.answer(c, history.OK)
	}
}

func (b *bank) enter(c *customer, pushes bool) bool {
	if b.holder == c {
		b.count++
		return true
	}
	if !slices.Contains(b.queue, c) {
		b.queue = append(b.queue, c)
	}
	if b.holder != nil || b.queue[0] != c && !pushes {
		return false
	}
	for _, q := range b.queue {
		if q == c {
			break
		}
		if q.asked != 0 && q.asked <= c.seen {
			b.cut = append(b.cut, overtake{c.name, q.name})
		}
	}
	b.leave(c)
	b.holder, b.count = c, 1
	b.made++
	return true
}

// drain lets everybody who waits have the lock in the end, in the order of the queue.
func (b *bank) drain() {
	for range 100 {
		for _, c := range b.clients {
			switch {
			case c.dead:
			case c.op != history.OpNone:
				b.serve(c, false)
			case c.taken > 0:
				b.call(c, true)
			}
		}
	}
}

// A lock that keeps its promises is accused of nothing: it serves in the order of asking, and is its holder's until as many
// releases, whoever crashes in the queue or gives up.
func TestKeptPromisesPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBank(t)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			b.step(false)
		}
		require.Equal(t, Verdict{Kind: Safe}, Judge(b.events, Options{Twice: true}))
	})
}

// Whoever was let in out of order is named, with whom it overtook; and nobody else.
func TestOvertakingIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBank(t)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			b.step(true)
		}
		b.drain()
		v := Judge(b.events, Options{Twice: true})
		require.False(t, v.CheckerFault, v.Reason)
		gone := func(name string) bool {
			return slices.ContainsFunc(b.events, func(e history.Event) bool {
				return e.Client == name && (e.Kind == history.KindExit || e.Outcome == history.Unknown)
			})
		}
		named := make(map[overtake]int)
		for _, a := range v.Anomalies {
			require.Equal(t, Unfair, a.Name, a.Why)
			named[overtake{a.Clients[0], a.Clients[1]}]++
		}
		if len(v.Anomalies) == maxPerName {
			t.Skip("not all are listed")
		}
		certain := make(map[overtake]int)
		for _, o := range b.cut {
			certain[o]++
		}
		for o, n := range certain {
			if !gone(o.first) && !gone(o.second) {
				require.Equal(t, n, named[o], "%v", o)
			}
		}
		for o, n := range named {
			require.LessOrEqual(t, n, certain[o], "%v in %s", o, strings.Join(v.Anomalies[0].Clients, " "))
		}
	})
}
