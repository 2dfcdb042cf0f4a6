package sim

import (
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// breakpoint is one of the script. It meets one request.
type breakpoint struct {
	faults.Breakpoint
	cell   *cell
	client string
	op     int64 // the operation whose requests it counts; play.Background: those of none
	work   bool  // it is for the resource, and not for the lock's servers
	seen   int

	args      []string // of the request that it has met
	reached   bool
	delivered bool
	released  bool
	goOn      func() // what is held; nil: nothing is
}

// Arm sets a breakpoint. It counts the requests of an operation to all of the lock's servers, or, of work, to the resource.
func (c *cell) Arm(at faults.Breakpoint, client string, op int64, work bool) play.Armed {
	b := &breakpoint{Breakpoint: at, cell: c, client: client, op: op, work: work}
	c.waiting = append(c.waiting, b)
	return b
}

func (b *breakpoint) Reached() bool   { return b.reached }
func (b *breakpoint) Delivered() bool { return b.delivered }
func (b *breakpoint) Args() []string  { return b.args }

// Disarm takes the breakpoint away, and lets go what it holds.
func (b *breakpoint) Disarm() {
	b.cell.waiting = slices.DeleteFunc(b.cell.waiting, func(other *breakpoint) bool { return other == b })
	b.Release()
}

// Release lets go what is held, or what would be.
func (b *breakpoint) Release() {
	b.released = true
	if goOn := b.goOn; goOn != nil {
		b.goOn = nil
		goOn()
	}
}

// hold keeps back what is to come, until the breakpoint is released.
func (b *breakpoint) hold(then func()) {
	b.reached = true
	if b.released {
		then()
		return
	}
	b.goOn = then
}

// meet finds the breakpoints that wait for this very request, and takes them away.
func (c *cell) meet(f *flight) {
	if len(c.waiting) == 0 || f.traits.BySHA() && len(f.words) > 1 && !f.server.knows(f.words[1]) {
		return // if the server lacks the script, EVAL will follow, and is the same request
	}
	for _, b := range c.waiting {
		if b.work != (f.server == c.resource) || !b.counts(f) {
			continue
		}
		if b.seen++; b.seen == b.Nth {
			b.args = f.args
			f.met = append(f.met, b)
		}
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(b *breakpoint) bool { return b.args != nil })
}

func (b *breakpoint) counts(f *flight) bool {
	inTime := b.op == f.id || b.op == play.Background && f.id == 0
	onServer := b.Server == "" || b.Server == f.server.name
	return b.client == f.from.Name && onServer && inTime && f.traits.Counts(b.Match, f.queued)
}

// of are the breakpoints that a request has met, and that do such a thing.
func (f *flight) of(action faults.Action) []*breakpoint {
	return slices.DeleteFunc(slices.Clone(f.met), func(b *breakpoint) bool { return b.Action != action })
}
