package overlap

import (
	"math"
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/history"
)

// Open is the position of an end that has not come.
const Open = math.MaxInt64

// Never is the end of a hold whose validity is not limited.
const Never = time.Duration(math.MaxInt64)

// Span is one hold of a lock: taken at some point of [call, got], given back at some point of [end, done].
//
// Acquires that were refused constrain nothing, and those with an unknown outcome neither: no client holds by them, and a model in which
// they may have happened or not can always choose that they have not.
type Span struct {
	call, Got, End, done int64 // positions
}

// Lock is the holds of one lock in the order of their beginning.
type Lock struct {
	Name    string
	Spans   []Span
	Holders map[string]*Holder // by client
	Lapsed  time.Duration      // the latest end of a validity
	Permits int                // how many clients may hold it at a time
	Spread  bool               // it is on several servers
	checks  []checkSpan
	grants  []fenceSpan
}

// checkSpan is a check, or a renewal, that was answered ok, of a client that did not hold the lock, and a hold of another client that had not ended then.
type checkSpan struct {
	call, done int64
	other      int // index in the history's spans
}

// Holder is a client's latest hold of a lock while it is being read.
type Holder struct {
	asked   []asked       // pending acquires and renewals
	release int64         // the release that ended the span, while it is pending
	inner   []int64       // pending releases after which the client still has the lock
	count   int           // how often the client has taken it, where that counts
	Before  bool          // it was active before its latest event
	Again   bool          // the client has taken it again while it was
	By      int64         // the latest acquire that was answered ok; of a lock that counts, the one that began the hold
	span    int           // index in the history's spans
	on      bool          // the client has neither released the lock nor lost it
	Active  bool          // and its validity is not over: the span has no end yet
	Ends    time.Duration // by validity; never: not limited
	from    time.Duration // when its latest declaration can have been made at the earliest
}

// asked is an operation under way.
type asked struct {
	id    int64
	call  int           // index of the call
	holds bool          // its client held the lock then
	took  int           // index of the command by which it took the lock; zero: none was seen
	reply time.Duration // when its client got the latest reply, at the earliest; zero: it got none
	freed time.Duration // when something that its client waited for was no longer kept from it; zero: nothing was
}

// Reader reads the holds of all locks out of a history. It is half of the second judge, so it is written apart from package
// timeline on purpose: it shares no arithmetic with it: which replies count for a validity (command), and until when it lasts (validUntil), is worked out here again.
type Reader struct {
	Events  []history.Event
	room    history.Room
	Locks   map[string]*Lock
	order   []*Lock
	Dead    map[string]bool
	Counts  map[string]bool // locks whose holder can take them again
	spread  map[string]bool // locks on several servers
	session map[string]bool // locks that last as long as a session
	Fair    map[string]bool // locks that promise order
	opaque  map[string]bool // locks without commands on record
	replies Replies
	drift   map[string]float64 // by process: how fast its clock runs; none: right
}

func NewReader(events []history.Event) *Reader {
	return &Reader{
		Events: events, Locks: make(map[string]*Lock), Dead: make(map[string]bool), Counts: make(map[string]bool),
		spread: make(map[string]bool), session: make(map[string]bool), Fair: make(map[string]bool), opaque: make(map[string]bool), drift: make(map[string]float64),
	}
}

// Locks reads the holds of each lock, in the order in which the locks appear.
func Locks(events []history.Event) []*Lock {
	r := NewReader(events)
	for i := range events {
		r.Event(i, &events[i])
	}
	return r.Finish()
}

// Finish ends the reading: what lapses has lapsed.
func (r *Reader) Finish() []*Lock {
	for _, lock := range r.order {
		for _, h := range lock.Holders {
			r.lapse(h, lock, Never)
		}
	}
	return r.order
}

// On says whether the client has neither released the lock nor lost it.
func (r *Reader) On(client, lock string) bool {
	h := r.Known(client, lock)
	return h != nil && h.on
}

// Holds says whether it holds the lock at a time.
func (r *Reader) Holds(client, lock string, now time.Duration) bool {
	h := r.Known(client, lock)
	return h != nil && h.Active && h.Ends > now
}

// Outdated says whether a notice of loss is about a hold before the client's latest.
func (r *Reader) Outdated(e *history.Event) bool {
	h := r.Known(e.Client, e.Lock)
	return e.Kind == history.KindLost && h != nil && e.ID > 0 && e.ID < h.By
}

// Inner says whether a release that was called just now is one after which the client still has the lock.
func (r *Reader) Inner(client, lock string, id int64) bool {
	h := r.Known(client, lock)
	return h != nil && slices.Contains(h.inner, id)
}

// Known is what is known of a client's hold; nil: nothing.
func (r *Reader) Known(client, lock string) *Holder {
	if l := r.Locks[lock]; l != nil {
		return l.Holders[client]
	}
	return nil
}

func (r *Reader) Event(i int, e *history.Event) {
	switch e.Kind {
	case history.KindOpen:
		r.Dead[e.Client] = false
		if e.Detail != nil {
			r.Counts[e.Lock], r.Fair[e.Lock], r.opaque[e.Lock] = e.Detail.Reentrant, e.Detail.Fair, e.Detail.Unseen == history.Opaque
			r.session[e.Lock] = e.Detail.Session
			r.spread[e.Lock] = r.spread[e.Lock] || e.Detail.Servers > 1
			_, lock := r.holder(e.Client, e.Lock)
			lock.Permits, lock.Spread = max(1, e.Detail.Permits), r.spread[e.Lock]
		}
		return
	case history.KindExit:
		r.exit(i, e.Client)
		return
	case history.KindCommand:
		r.command(i, e)
		return
	case history.KindFault:
		r.drifts(e)
		r.fault(e)
		return
	case history.KindCall, history.KindReturn, history.KindLost, history.KindValid:
	default:
		return
	}
	if e.Client == "" || e.Lock == "" || r.Outdated(e) {
		return
	}
	h, lock := r.holder(e.Client, e.Lock)
	r.lapse(h, lock, e.At)
	h.Before = h.Active
	switch {
	case e.Kind == history.KindLost:
		h.finish(lock, At(i), At(i))
	case e.Kind == history.KindValid:
		r.renewed(h, lock, i, i, 0)
	case e.Kind == history.KindCall:
		r.call(h, lock, i, e)
	default:
		r.back(h, lock, i, e)
	}
}

// command notes the replies after which a client can have declared how long its hold is good.
func (r *Reader) command(i int, e *history.Event) {
	c := e.CommandIn(&r.room)
	if e.Client == "" || c == nil {
		return
	}
	arrives := r.replies.Sent(e.Client, e.At)
	if c.Server == history.Resource {
		return
	}
	r.taken(i, e, c)
	if c.Late || c.ReplyDropped {
		return
	}
	r.replied(e, arrives)
	if len(c.Changes) == 0 && e.Lock != "" {
		h, _ := r.holder(e.Client, e.Lock)
		h.from = arrives
	}
	for n := range c.Changes {
		change := &c.Changes[n]
		if change.Key == "" {
			continue
		}
		h, _ := r.holder(e.Client, change.Key)
		if effect := EffectOn(change, c.Asked); mayGrant(effect) || h.on && !r.spread[change.Key] && triesToRenew(e.Op, effect) {
			h.from = arrives
		}
	}
}

// taken notes that an acquire under way may have taken its lock by a command.
func (r *Reader) taken(i int, e *history.Event, c *history.Command) {
	for n := range c.Changes {
		if e.ID == 0 {
			continue
		}
		switch EffectOn(&c.Changes[n], c.Asked) {
		case history.EffectCreated, history.EffectReplaced, history.EffectUnclear:
			if !r.spread[c.Changes[n].Key] {
				r.Took(e.Client, c.Changes[n].Key, e.ID, i)
			}
		}
	}
}

// Took notes by which command an acquire under way may have taken the lock.
func (r *Reader) Took(client, lock string, id int64, command int) {
	if h := r.Known(client, lock); h != nil {
		if n := h.pending(id); n >= 0 {
			h.asked[n].took = command
		}
	}
}

// mayGrant says whether a command with an effect may have begun or prolonged the lease.
func mayGrant(effect history.Effect) bool {
	return effect != history.EffectNone && effect != history.EffectRemoved && effect != history.EffectShortened
}

// triesToRenew says whether a command may have been a renewal that was refused: one beside the client's acquires, checks and releases that
// left everything as it was.
func triesToRenew(op history.Op, effect history.Effect) bool {
	return effect == history.EffectNone && op != history.OpAcquire && op != history.OpCheck && op != history.OpRelease
}

func (r *Reader) holder(client, name string) (*Holder, *Lock) {
	lock := r.Locks[name]
	if lock == nil {
		lock = &Lock{Name: name, Permits: 1, Holders: make(map[string]*Holder)}
		r.Locks[name] = lock
		r.order = append(r.order, lock)
	}
	h := lock.Holders[client]
	if h == nil {
		h = &Holder{}
		lock.Holders[client] = h
	}
	return h, lock
}

func (r *Reader) call(h *Holder, lock *Lock, i int, e *history.Event) {
	switch e.Op {
	case history.OpAcquire, history.OpRenew, history.OpCheck:
		if h.pending(e.ID) < 0 {
			h.asked = append(h.asked, asked{id: e.ID, call: i, holds: h.Active})
		}
	case history.OpRelease:
		switch {
		case h.Active && h.count > 1 && r.Counts[e.Lock]:
			h.count--
			h.inner = append(h.inner, e.ID)
		case h.finish(lock, At(i), Open):
			h.release = e.ID
		}
	}
}

func (r *Reader) back(h *Holder, lock *Lock, i int, e *history.Event) {
	if h.release != 0 && e.ID == h.release {
		lock.Spans[h.span].done = At(i)
		h.release = 0
		return
	}
	if n := slices.Index(h.inner, e.ID); n >= 0 {
		h.inner = slices.Delete(h.inner, n, n+1)
		if e.Outcome == history.No {
			h.finish(lock, At(i), At(i))
		}
		return
	}
	n := h.pending(e.ID)
	if n < 0 {
		return
	}
	call, held := h.asked[n].call, h.asked[n].holds
	if r.Events[call].Op == history.OpAcquire && e.Outcome == history.OK && e.Fence != 0 {
		from := max(call, h.asked[n].took)
		lock.grants = list.Append(lock.grants, fenceSpan{call: At(from), done: At(i), number: e.Fence, again: held})
	}
	kind, made := r.Events[call].Op, r.made(lock.Name, h.asked[n])
	h.asked = slices.Delete(h.asked, n, n+1)
	switch {
	case e.Outcome != history.OK || r.Dead[e.Client]:
	case kind == history.OpCheck:
		if !held && !h.Active {
			r.checked(h, lock, call, i)
		}
	case kind == history.OpRenew:
		if r.renewed(h, lock, call, i, made); !held && !h.Active {
			r.checked(h, lock, call, i)
		}
	case e.Valid == history.ValidityExpired:
		h.finish(lock, At(i), At(i))
	case h.Active:
		h.count++
		h.Again = true
		if !r.Counts[e.Lock] {
			h.By = e.ID
		}
		r.declare(h, lock, i, e, made)
	default:
		h.count = 1
		r.begin(h, lock, call, i, e, made)
		h.By = e.ID
	}
}

// checked takes in a check, or a renewal, that told a client without a hold that it has the lock.
func (r *Reader) checked(h *Holder, lock *Lock, call, i int) {
	for _, other := range lock.Holders {
		if other == h || lock.Permits > 1 {
			continue
		}
		if r.lapse(other, lock, r.Events[i].At); other.Active {
			lock.checks = append(lock.checks, checkSpan{At(call), At(i), other.span})
		}
	}
}

// renewed prolongs a hold, or begins a new one where its validity had lapsed.
func (r *Reader) renewed(h *Holder, lock *Lock, call, i int, made time.Duration) {
	e := &r.Events[i]
	switch {
	case !h.on:
	case e.Valid == history.ValidityExpired:
		h.finish(lock, At(i), At(i))
	case h.Active:
		r.declare(h, lock, i, e, made)
	case e.Valid > 0:
		h.count = 1 // at least: an acquire whose answer was not heard may have been the first of a new hold
		again := h.Again
		r.begin(h, lock, call, i, e, made)
		h.Again = again
	}
}

func (r *Reader) exit(i int, client string) {
	r.Dead[client] = client != ""
	for _, lock := range r.order {
		if h := lock.Holders[client]; h != nil {
			r.lapse(h, lock, r.Events[i].At)
			h.finish(lock, At(i), At(i))
			h.asked, h.inner, h.release = nil, nil, 0 // they will not return
			h.Before = false                          // who opens the lock next has not held it
		}
	}
}

// pending is the index of an operation among those under way; negative: it is not.
func (h *Holder) pending(id int64) int {
	return slices.IndexFunc(h.asked, func(a asked) bool { return a.id == id })
}

// begin begins a hold at event i, unless the validity that comes with it is over already.
func (r *Reader) begin(h *Holder, lock *Lock, call, i int, e *history.Event, made time.Duration) {
	*h = Holder{asked: h.asked, inner: h.inner, count: h.count, on: true, Ends: Never, from: h.from, Before: h.Before, By: h.By}
	r.declare(h, lock, i, e, made)
	if h.Ends <= e.At {
		return
	}
	h.Active, h.span = true, len(lock.Spans)
	lock.Spans = list.Append(lock.Spans, Span{call: At(call), Got: At(i), End: Open, done: Open})
}

// declare takes the validity that event i declares, if any. A hold that is over by it ends with the event.
func (r *Reader) declare(h *Holder, lock *Lock, i int, e *history.Event, made time.Duration) {
	h.from = max(h.from, made)
	if e.Valid <= 0 {
		return
	}
	h.Ends = r.validUntil(e.Client, h.from, e.Valid)
	if r.opaque[lock.Name] {
		h.from = e.At // nothing else is known of when the next can have been made
	}
	if h.Active && h.Ends <= e.At {
		h.Active = false
		lock.Spans[h.span].End, lock.Spans[h.span].done = At(i), At(i)
	}
}

// lapse ends a hold whose validity is over at a time.
func (r *Reader) lapse(h *Holder, lock *Lock, now time.Duration) {
	if !h.Active || h.Ends == Never || h.Ends > now {
		return
	}
	h.Active = false
	lock.Lapsed = max(lock.Lapsed, h.Ends)
	s := &lock.Spans[h.span]
	s.End = BeforeTime(r.Events, h.Ends)
	s.done = s.End
}

// finish ends a hold for good. It says whether one was left to end.
func (h *Holder) finish(lock *Lock, end, done int64) bool {
	was := h.Active
	h.on, h.Active = false, false
	if !was {
		return false
	}
	lock.Spans[h.span].End, lock.Spans[h.span].done = end, done
	return true
}
