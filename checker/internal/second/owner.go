package second

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// The model of whose lock it is, by the commands that changed its key and by what their clients were told. It is the second judge of what
// clients do to the locks of others, and of writes to the resource. A command is one moment, because one passes the tap at a time; what it was
// good for is known from the whole history.

// ownerNames are the anomalies that the model judges.
var ownerNames = [...]string{"early-grant", "wrongful-delete", "wrongful-renew", "overwrite", "stale-write"}

// offences is a set of them.
type offences uint8

const (
	offendsGrant offences = 1 << iota
	offendsDelete
	offendsRenew
	offendsOverwrite
	offendsWrite
	allOffences = 1<<iota - 1
)

// asking is an operation as the second judge reads it, with how it ended.
type asking struct {
	id      int64
	client  int
	op      history.Op
	lock    string
	call    int // index of the call
	called  time.Duration
	bound   time.Duration
	back    int // index of the return; zero: it has none
	outcome history.Outcome
	gaveUp  bool
	inner   bool          // a release after which its client still has the lock
	last    time.Duration // when its latest command was through
	server  string        // of that command, with the connection
	conn    int64
	took    int  // index of the command by which it took the lock
	failed  bool // it was not told ok in the end
}

// possession is a client's claim on the lock.
type possession struct {
	client  int     // 0: nobody's
	began   int     // index of the command by which it did
	acquire *asking // nil: it rests on none
	told    bool    // without one: its client believed that it had the lock
	lease   time.Duration
	ends    time.Duration
	over    bool // its client has called release, or was told that the lock is lost
	dead    bool
}

// standing of a possession at an event.
type standing uint8

const (
	awaited standing = iota // its acquire has not returned
	certain                 // its client was told that it has the lock
	declined
	doubtful
)

func (p possession) standing(event int) standing {
	a := p.acquire
	switch {
	case a == nil && p.told:
		return certain
	case a == nil:
		return doubtful
	case a.back == 0 || a.back > event:
		return awaited
	case a.outcome == history.OK:
		return certain
	case a.outcome == history.No || a.gaveUp:
		return declined
	}
	return doubtful
}

// runs says whether the lease has time left, with some room for clocks.
func (p possession) runs(at time.Duration) bool {
	return p.ends == overlap.Never || p.ends-at > clockRoom(p.lease)
}

// rival is one who has replaced the value of a lock that was somebody's.
type rival struct {
	possession
	next *rival
}

// without is the list without the rivals of an acquire, and the latest of them.
func (r *rival) without(a *asking) (left *rival, found *possession) {
	if r == nil {
		return nil, nil
	}
	next, found := r.next.without(a)
	switch {
	case r.acquire == a:
		return next, &r.possession
	case found == nil:
		return r, nil
	}
	return &rival{r.possession, next}, found
}

// since is the list without those who began before an event: what they had written is gone.
func (r *rival) since(event int) *rival {
	if r == nil || r.began < event {
		return nil // the latest comes first
	}
	return &rival{r.possession, r.next.since(event)}
}

// ownerState is whose the lock is, and whose turn it is to write.
type ownerState struct {
	owner    possession
	rivals   *rival
	on       uint64 // clients that believe that they have the lock
	turn     int    // the client that was granted the lock last, in the service's order; 0: none
	order    int    // index of the command, or else of the answer, that places the grant in that order
	told     int    // index of its answer
	others   int    // that of the latest answer of this kind to another client
	released bool   // and its release was answered ok
}

// What can happen to a lock.
type ownerKind uint8

const (
	ownerTouch ownerKind = iota // a command of the client
	ownerBack                   // the client's operation returns
	ownerOn                     // the client believes from now on that it has the lock
	ownerOff                    // it does no longer
	ownerExit                   // it ends
	ownerWrite                  // a write of it to the resource is accepted
)

// ownerStep is an input of the model.
type ownerStep struct {
	kind   ownerKind
	client int
	event  int
	at     time.Duration
	op     *asking // of a return, and of a write
	// Of a command: what it did to the key, and the possession that it founds if it took the lock.
	effect    history.Effect
	mine      possession
	there     bool // the key is there after it
	same      bool // with the value from before
	counts    bool // it counted the key's number up or down; see countsOn
	longer    bool // and gave it more time
	unlimited bool // the key was there without an expiry
	unseen    bool // the key was there, though it was not when it was last seen
	// Of a write.
	probed bool // it is known by commands whose the lock is
	unsure int  // index of the return of the client's latest acquire, if that ended unknown
	held   bool // the client whose turn it is holds the lock
	begun  int  // index of the call of the work that it is part of; zero: the write has changed something
}

// after is the state after a step, and the anomalies that the step shows.
func (s ownerState) after(in *ownerStep) (ownerState, offences) {
	bit := uint64(1) << in.client
	switch in.kind {
	case ownerTouch:
		return s.touched(in)
	case ownerBack:
		return s.answered(in), 0
	case ownerOn:
		s.on |= bit
	case ownerOff:
		s.on &^= bit
		s.owner.over = s.owner.over || s.owner.client == in.client
	case ownerExit:
		s.on &^= bit
		s.owner.dead = s.owner.dead || s.owner.client == in.client
	case ownerWrite:
		if s.writesTooLate(in) {
			return s, offendsWrite
		}
	}
	return s, 0
}

func (s ownerState) believes(client int) bool { return s.on&(1<<client) != 0 }

// touched takes in a command that named the key.
func (s ownerState) touched(in *ownerStep) (ownerState, offences) {
	if in.unseen {
		s.owner, s.rivals = possession{}, nil
	}
	mine := in.mine
	mine.told = mine.acquire == nil && s.believes(in.client)
	mine.over = mine.acquire != nil && mine.standing(in.event) == certain && !s.believes(in.client)
	o := s.owner
	mustRespect := o.client != 0 && s.mustRespect(o, in)
	var found offences
	if mustRespect && o.client != in.client {
		found = s.offends(in, mine)
	}
	return s.changed(in, mine, mustRespect), found
}

// changed is whose the lock is after a command.
func (s ownerState) changed(in *ownerStep, mine possession, mustRespect bool) ownerState {
	own := s.owner.client != 0 && s.owner.client == in.client
	taken := s
	taken.owner, taken.rivals = mine, nil
	freed := s
	freed.owner, freed.rivals = possession{}, nil
	prolonged := s
	prolonged.owner.ends = mine.ends
	switch in.effect {
	case history.EffectCreated:
		return taken
	case history.EffectRemoved:
		return freed
	case history.EffectReplaced:
		switch {
		case own && (mustRespect || mine.acquire == nil):
			prolonged.rivals = nil // what they had written is gone
			return prolonged
		case s.tallies(in) && mine.standing(in.event) != awaited:
			return s
		case mustRespect, s.tallies(in):
			s.rivals = &rival{mine, s.rivals}
			return s
		}
		return taken
	case history.EffectProlonged:
		if own {
			return prolonged
		}
	case history.EffectShortened:
		if own && in.unlimited || mine.ends < s.owner.ends {
			return prolonged
		}
	case history.EffectUnclear:
		return s.unclear(in, own, mine.acquire != nil, taken, freed, prolonged)
	}
	return s
}

// tallies says whether a command of an acquire counts what is another's: it takes nothing from that one, and has something if it is told so.
func (s ownerState) tallies(in *ownerStep) bool {
	return in.counts && in.mine.acquire != nil && s.owner.client != in.client
}

// unclear chooses among what a change can have been that may be the key's own expiry.
func (s ownerState) unclear(in *ownerStep, own, acquires bool, taken, freed, prolonged ownerState) ownerState {
	switch {
	case !in.there:
		return freed
	case own && in.same:
		return prolonged
	case !in.same || acquires:
		return taken
	}
	return s
}

// mustRespect says whether others must leave the lock alone: its lease runs, and its client was told that it has the lock, or is about to
// be, and has not let go of it. A crash does not end that.
func (s ownerState) mustRespect(o possession, in *ownerStep) bool {
	if o.over || !o.runs(in.at) {
		return false
	}
	switch o.standing(in.event) {
	case certain:
		return o.dead || s.believes(o.client)
	case awaited:
		return !o.dead
	}
	return false
}

// offends is what a command does to the lock of somebody else. It counts only if that one was told in the end that it has the lock; and a
// grant only if that was told, too.
func (s ownerState) offends(in *ownerStep, mine possession) (found offences) {
	if a := s.owner.acquire; a != nil && a.failed {
		return 0
	}
	a := mine.acquire
	takes := in.effect == history.EffectCreated || in.effect == history.EffectReplaced && !(s.tallies(in) && s.owner.standing(in.event) == awaited)
	if takes && a != nil && !a.failed && mine.standing(in.event) == awaited {
		found |= offendsGrant
	}
	switch in.effect {
	case history.EffectReplaced:
		switch {
		case !s.tallies(in):
			found |= offendsOverwrite
		case in.longer:
			found |= offendsRenew
		}
	case history.EffectRemoved:
		found |= offendsDelete
	case history.EffectProlonged:
		found |= offendsRenew
	}
	return found
}

// answered takes in the return of an operation.
func (s ownerState) answered(in *ownerStep) ownerState {
	a := in.op
	switch a.op {
	case history.OpAcquire:
		left, found := s.rivals.without(a)
		s.rivals = left
		if a.outcome != history.OK {
			break
		}
		if found != nil {
			s.owner, s.rivals = *found, left.since(found.began)
		}
		order := a.took
		if order == 0 {
			order = in.event
		}
		if s.turn == 0 || order > s.order {
			if s.turn != in.client {
				s.others = s.told
			}
			s.turn, s.order, s.told, s.released = in.client, order, in.event, false
		}
	case history.OpRelease:
		if a.outcome == history.OK && !a.inner && s.turn == in.client && a.call > s.told {
			s.released = true
		}
	}
	return s
}

// writesTooLate says whether a write is one of a client that has released the lock, or that somebody else has been granted it since, unless its
// client may have the lock without having been told.
func (s ownerState) writesTooLate(in *ownerStep) bool {
	if s.turn == 0 || s.turn == in.client && !s.released {
		return false
	}
	if s.turn == in.client && in.begun > s.others {
		return false // the copy of a write, while nobody else has had the lock
	}
	since := func(event int) bool { return event > s.told && in.op != nil && in.op.call > event }
	if !in.probed {
		return in.held || !since(in.unsure)
	}
	o := s.owner
	switch {
	case o.client != in.client:
		return true
	case s.turn != in.client:
		return o.standing(in.event) == declined
	}
	return o.standing(in.event) != doubtful || o.acquire == nil || !since(o.acquire.back)
}

// ownerWindow is a part of a lock's history: the state before it, and what happened then.
type ownerWindow struct {
	begin ownerState
	steps []ownerStep
}

// model is the lock from the beginning of the window on, where nothing of wanted may happen.
func (w *ownerWindow) model(wanted offences) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return w.begin },
		Step: func(state, input, _ any) (bool, any) {
			next, found := state.(ownerState).after(input.(*ownerStep))
			return found&wanted == 0, next
		},
	}
}

// window is the window for porcupine, with respect to one anomaly.
func (w *ownerWindow) window(wanted offences) overlap.Window {
	out := overlap.Window{Model: w.model(wanted)}
	for n := range w.steps {
		out.Operations = append(out.Operations, overlap.OneAfterAnother(n, &w.steps[n]))
	}
	return out
}
