package timeline

import (
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// A command is on record at the time at which its server sent the reply. The reply reaches the client later if a fault withholds it: a
// breakpoint that holds it, a pause of the process, or a link that is cut off or slow. Whatever the client declares by that reply, it declares
// after it got it. (A session lasts for some time from what its server has heard, whenever its client learns of that.) So what was withheld counts as delivered when the end of the fault was ordered.

// withholding is a fault in effect that keeps replies from a client.
type withholding struct {
	kind   faults.Kind
	target string
	since  time.Duration // replies that were sent then or later are withheld
	each   time.Duration // of a slow link: how late each reply is; zero: for as long as the fault lasts
}

// keeps says whether the fault withholds replies to a client.
func (w withholding) keeps(client string) bool {
	return client == w.target || w.kind != faults.HoldReply && history.ProcessOf(client) == w.target
}

// withhold takes in a fault that begins to keep replies from a client, or ends.
func (v *Cursor) withhold(e *history.Event) {
	said := e.Fault()
	if said == nil || !faults.Kind(said.Name).WithholdsReplies() {
		return
	}
	w := withholding{kind: faults.Kind(said.Name), target: said.Target, since: e.At}
	same := func(other withholding) bool { return other.kind == w.kind && other.target == w.target }
	switch said.Phase {
	case history.PhaseEffective:
		if slices.ContainsFunc(v.withheld, same) {
			return
		}
		switch w.kind {
		case faults.HoldReply:
			w.since = v.latestReply(said.Target) // the one that is held was sent before
		case faults.Delay:
			w.each = faults.DelayOf(said.What)
		}
		v.withheld = append(v.withheld, w)
	case history.PhaseEnding, history.PhaseRecover:
		n := slices.IndexFunc(v.withheld, same)
		if n < 0 {
			return
		}
		w = v.withheld[n]
		v.withheld = slices.Delete(v.withheld, n, n+1)
		v.letGo(w, e.At)
	}
}

// letGo delivers what a fault has withheld.
func (v *Cursor) letGo(w withholding, at time.Duration) {
	for client := 1; client < len(v.Dead); client++ {
		if !w.keeps(v.Clients.Name(client)) {
			continue
		}
		arrived := v.arrives(client, at)
		waits := w.kind == faults.HoldReply || w.kind == faults.Pause && v.heldUp(client) // it may be held at what is not on record
		for n := range v.Ops.Pending {
			o := &v.Ops.Pending[n]
			if o.Client == client && !v.Locks[o.Lock].Session && (w.withheld(o.heard, at) || waits) {
				o.heard, o.letGo = arrived, arrived
			}
		}
		for lock := 1; lock < len(v.Locks); lock++ {
			if h := v.hold(client, lock); !v.Locks[lock].Session && w.withheld(h.from, at) {
				h.from = arrived
			}
		}
	}
}

// heldUp says whether an operation of the client waits for a message that is held: whether that comes or a time-out, it comes after a pause.
func (v *Cursor) heldUp(client int) bool {
	return slices.ContainsFunc(v.Faults, func(f FaultSpan) bool {
		return f.Kind.Holds() && f.InEffect() && f.Target == v.Clients.Name(client)
	})
}

// withheld says whether a reply that would have arrived at a time was withheld until the fault ended.
func (w withholding) withheld(arrival, ended time.Duration) bool {
	if w.each > 0 {
		return arrival > ended
	}
	return arrival > 0 && arrival >= w.since
}

// arrives is when a reply that is sent to a client at a time arrives at the earliest, unless a fault that withholds it ends.
func (v *Cursor) arrives(client int, at time.Duration) time.Duration {
	for _, w := range v.withheld {
		if w.each > 0 && w.keeps(v.Clients.Name(client)) {
			at += w.each
		}
	}
	return at
}

// latestReply is when the latest reply to a client was sent; zero: none was.
func (v *Cursor) latestReply(name string) time.Duration {
	if client := v.Clients.Find(name); client > 0 && client < len(v.replied) {
		return v.replied[client]
	}
	return 0
}

// noteReply notes that a reply to a client was sent.
func (v *Cursor) noteReply(client int, at time.Duration) {
	for len(v.replied) <= client {
		v.replied = append(v.replied, 0)
	}
	v.replied[client] = at
}
