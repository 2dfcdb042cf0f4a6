package sim

import (
	"slices"

	"github.com/locklab/locklab/faults/commands"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
)

// background as the operation of a trap means the requests that belong to no operation under way.
const background = -1

// trap is a breakpoint of the script. It springs once.
type trap struct {
	want   scenarios.Trap
	match  commands.Match
	client string
	op     int64
	work   bool // it is for the resource, and not for the lock's servers
	seen   int

	args      []string // of the request that it has sprung at
	reached   bool
	delivered bool // the request has been carried out
	released  bool
	goOn      func() // what is held; nil: nothing is
}

// arm sets a trap. It counts the requests of an operation to all of the lock's servers, or, of work, to the resource.
func (c *cell) arm(client string, op int64, work bool, want scenarios.Trap) *trap {
	t := &trap{want: want, match: cells.MatchOf(want.What), client: client, op: op, work: work}
	c.traps = append(c.traps, t)
	return t
}

// disarm takes a trap away, and lets go what it holds.
func (c *cell) disarm(t *trap) {
	c.traps = slices.DeleteFunc(c.traps, func(other *trap) bool { return other == t })
	t.release()
}

func (t *trap) release() {
	t.released = true
	if goOn := t.goOn; goOn != nil {
		t.goOn = nil
		goOn()
	}
}

// hold keeps back what is to come, until the trap is released.
func (t *trap) hold(then func()) {
	t.reached = true
	if t.released {
		then()
		return
	}
	t.goOn = then
}

// spring finds the traps that wait for this very request, and takes them away.
func (c *cell) spring(f *flight) {
	if f.BySHA() && len(f.words) > 1 && !f.server.knows(f.words[1]) {
		return // EVAL will follow, and is the same request
	}
	for _, t := range c.traps {
		if t.work != (f.server == c.resource) || !t.counts(f) {
			continue
		}
		if t.seen++; t.seen == t.want.Nth {
			t.args = f.args
			f.traps = append(f.traps, t)
		}
	}
	c.traps = slices.DeleteFunc(c.traps, func(t *trap) bool { return t.args != nil })
}

func (t *trap) counts(f *flight) bool {
	inTime := t.op == f.id || t.op == background && f.id == 0
	onServer := t.want.Server == "" || t.want.Server == f.server.name
	return t.client == f.from.name && onServer && inTime && t.match.Counts(f.Traits, f.queued)
}

// of are the traps of a request that do such a thing.
func (f *flight) of(do scenarios.Action) []*trap {
	return slices.DeleteFunc(slices.Clone(f.traps), func(t *trap) bool { return t.want.Do != do })
}
