package checker

import (
	"math"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
)

// open is the position of an end that has not come.
const open = math.MaxInt64

// never is the end of a hold whose validity is not limited.
const never = time.Duration(math.MaxInt64)

// span is one hold of a lock: taken at some point of [call, got], given back at some point of [end, done].
//
// Acquires that were refused constrain nothing, and those with an unknown outcome neither: no client holds by them, and a model in which
// they may have happened or not can always choose that they have not.
type span struct {
	call, got, end, done int64 // positions
}

// mutexHistory is the holds of one lock in the order of their beginning.
type mutexHistory struct {
	name    string
	spans   []span
	holders map[string]*holder // by client
	lapsed  time.Duration      // the latest end of a validity
	permits int                // how many clients may hold it at a time
	checks  []checkSpan
	grants  []fenceSpan
}

// checkSpan is a check, or a renewal, that was answered ok, of a client that did not hold the lock, and a hold of another client that had not ended then.
type checkSpan struct {
	call, done int64
	other      int // index in the history's spans
}

// holder is a client's latest hold of a lock while it is being read.
type holder struct {
	asked   []asked       // pending acquires and renewals
	release int64         // the release that ended the span, while it is pending
	inner   []int64       // pending releases after which the client still has the lock
	count   int           // how often the client has taken it, where that counts
	before  bool          // it was active before its latest event
	again   bool          // the client has taken it again while it was
	by      int64         // the latest acquire that was answered ok; of a lock that counts, the one that began the hold
	span    int           // index in the history's spans
	on      bool          // the client has neither released the lock nor lost it
	active  bool          // and its validity is not over: the span has no end yet
	ends    time.Duration // by validity; never: not limited
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

// mutexReader reads the holds of all locks out of a history. It is half of the second judge, so it is written apart from package
// timeline on purpose: it shares no arithmetic with it: which replies count for a validity (command), and until when it lasts (validUntil), is worked out here again.
type mutexReader struct {
	events  []history.Event
	room    history.Room
	locks   map[string]*mutexHistory
	order   []*mutexHistory
	dead    map[string]bool
	counts  map[string]bool // locks whose holder can take them again
	spread  map[string]bool // locks on several servers
	session map[string]bool // locks that last as long as a session
	fair    map[string]bool // locks that promise order
	opaque  map[string]bool // locks without commands on record
	replies replyReader
	drift   map[string]float64 // by process: how fast its clock runs; none: right
	owners  *ownerReader       // reads along; nil: there is no command
}

// lockHistories reads the holds of each lock, in the order in which the locks appear, and whose it was by the commands that reached it;
// all of that, or what may be wrong.
func lockHistories(events []history.Event, all bool) ([]*mutexHistory, []*ownerHistory) {
	r := mutexReader{
		events: events, locks: make(map[string]*mutexHistory), dead: make(map[string]bool), counts: make(map[string]bool),
		spread: make(map[string]bool), session: make(map[string]bool), fair: make(map[string]bool), opaque: make(map[string]bool), drift: make(map[string]float64),
	}
	if matters(events) {
		r.owners = newOwnerReader(&r, all)
	}
	for i := range events {
		r.event(i, &events[i])
		if r.owners != nil && !r.outdated(&events[i]) {
			r.owners.event(i, &events[i])
		}
	}
	for _, lock := range r.order {
		for _, h := range lock.holders {
			r.lapse(h, lock, never)
		}
	}
	if r.owners == nil {
		return r.order, nil
	}
	return r.order, r.owners.finish()
}

// on says whether the client has neither released the lock nor lost it.
func (r *mutexReader) on(client, lock string) bool {
	h := r.known(client, lock)
	return h != nil && h.on
}

// holds says whether it holds the lock at a time.
func (r *mutexReader) holds(client, lock string, now time.Duration) bool {
	h := r.known(client, lock)
	return h != nil && h.active && h.ends > now
}

// outdated says whether a notice of loss is about a hold before the client's latest.
func (r *mutexReader) outdated(e *history.Event) bool {
	h := r.known(e.Client, e.Lock)
	return e.Kind == history.KindLost && h != nil && e.ID > 0 && e.ID < h.by
}

// inner says whether a release that was called just now is one after which the client still has the lock.
func (r *mutexReader) inner(client, lock string, id int64) bool {
	h := r.known(client, lock)
	return h != nil && slices.Contains(h.inner, id)
}

// known is what is known of a client's hold; nil: nothing.
func (r *mutexReader) known(client, lock string) *holder {
	if l := r.locks[lock]; l != nil {
		return l.holders[client]
	}
	return nil
}

func (r *mutexReader) event(i int, e *history.Event) {
	switch e.Kind {
	case history.KindOpen:
		r.dead[e.Client] = false
		if e.Detail != nil {
			r.counts[e.Lock], r.fair[e.Lock], r.opaque[e.Lock] = e.Detail.Reentrant, e.Detail.Fair, e.Detail.Unseen == history.Opaque
			r.session[e.Lock] = e.Detail.Session
			r.spread[e.Lock] = r.spread[e.Lock] || e.Detail.Servers > 1
			_, lock := r.holder(e.Client, e.Lock)
			lock.permits = max(1, e.Detail.Permits)
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
	if e.Client == "" || e.Lock == "" || r.outdated(e) {
		return
	}
	h, lock := r.holder(e.Client, e.Lock)
	r.lapse(h, lock, e.At)
	h.before = h.active
	switch {
	case e.Kind == history.KindLost:
		h.finish(lock, at(i), at(i))
	case e.Kind == history.KindValid:
		r.renewed(h, lock, i, i, 0)
	case e.Kind == history.KindCall:
		r.call(h, lock, i, e)
	default:
		r.back(h, lock, i, e)
	}
}

// command notes the replies after which a client can have declared how long its hold is good.
func (r *mutexReader) command(i int, e *history.Event) {
	c := e.CommandIn(&r.room)
	if e.Client == "" || c == nil {
		return
	}
	arrives := r.replies.sent(e.Client, e.At)
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
		if effect := effectOn(change, c.Asked); mayGrant(effect) || h.on && !r.spread[change.Key] && triesToRenew(e.Op, effect) {
			h.from = arrives
		}
	}
}

// taken notes that an acquire under way may have taken its lock by a command.
func (r *mutexReader) taken(i int, e *history.Event, c *history.Command) {
	for n := range c.Changes {
		if e.ID == 0 {
			continue
		}
		switch effectOn(&c.Changes[n], c.Asked) {
		case history.EffectCreated, history.EffectReplaced, history.EffectUnclear:
			if !r.spread[c.Changes[n].Key] {
				r.took(e.Client, c.Changes[n].Key, e.ID, i)
			}
		}
	}
}

// took notes by which command an acquire under way may have taken the lock.
func (r *mutexReader) took(client, lock string, id int64, command int) {
	if h := r.known(client, lock); h != nil {
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

func (r *mutexReader) holder(client, name string) (*holder, *mutexHistory) {
	lock := r.locks[name]
	if lock == nil {
		lock = &mutexHistory{name: name, permits: 1, holders: make(map[string]*holder)}
		r.locks[name] = lock
		r.order = append(r.order, lock)
	}
	h := lock.holders[client]
	if h == nil {
		h = &holder{}
		lock.holders[client] = h
	}
	return h, lock
}

func (r *mutexReader) call(h *holder, lock *mutexHistory, i int, e *history.Event) {
	switch e.Op {
	case history.OpAcquire, history.OpRenew, history.OpCheck:
		if h.pending(e.ID) < 0 {
			h.asked = append(h.asked, asked{id: e.ID, call: i, holds: h.active})
		}
	case history.OpRelease:
		switch {
		case h.active && h.count > 1 && r.counts[e.Lock]:
			h.count--
			h.inner = append(h.inner, e.ID)
		case h.finish(lock, at(i), open):
			h.release = e.ID
		}
	}
}

func (r *mutexReader) back(h *holder, lock *mutexHistory, i int, e *history.Event) {
	if h.release != 0 && e.ID == h.release {
		lock.spans[h.span].done = at(i)
		h.release = 0
		return
	}
	if n := slices.Index(h.inner, e.ID); n >= 0 {
		h.inner = slices.Delete(h.inner, n, n+1)
		if e.Outcome == history.No {
			h.finish(lock, at(i), at(i))
		}
		return
	}
	n := h.pending(e.ID)
	if n < 0 {
		return
	}
	call, held := h.asked[n].call, h.asked[n].holds
	if r.events[call].Op == history.OpAcquire && e.Outcome == history.OK && e.Fence != 0 {
		from := max(call, h.asked[n].took)
		lock.grants = appendToMany(lock.grants, fenceSpan{call: at(from), done: at(i), number: e.Fence, again: held})
	}
	kind, made := r.events[call].Op, r.made(lock.name, h.asked[n])
	h.asked = slices.Delete(h.asked, n, n+1)
	switch {
	case e.Outcome != history.OK || r.dead[e.Client]:
	case kind == history.OpCheck:
		if !held && !h.active {
			r.checked(h, lock, call, i)
		}
	case kind == history.OpRenew:
		if r.renewed(h, lock, call, i, made); !held && !h.active {
			r.checked(h, lock, call, i)
		}
	case e.Valid == history.ValidityExpired:
		h.finish(lock, at(i), at(i))
	case h.active:
		h.count++
		h.again = true
		if !r.counts[e.Lock] {
			h.by = e.ID
		}
		r.declare(h, lock, i, e, made)
	default:
		h.count = 1
		r.begin(h, lock, call, i, e, made)
		h.by = e.ID
	}
}

// checked takes in a check, or a renewal, that told a client without a hold that it has the lock.
func (r *mutexReader) checked(h *holder, lock *mutexHistory, call, i int) {
	for _, other := range lock.holders {
		if other == h || lock.permits > 1 {
			continue
		}
		if r.lapse(other, lock, r.events[i].At); other.active {
			lock.checks = append(lock.checks, checkSpan{at(call), at(i), other.span})
		}
	}
}

// renewed prolongs a hold, or begins a new one where its validity had lapsed.
func (r *mutexReader) renewed(h *holder, lock *mutexHistory, call, i int, made time.Duration) {
	e := &r.events[i]
	switch {
	case !h.on:
	case e.Valid == history.ValidityExpired:
		h.finish(lock, at(i), at(i))
	case h.active:
		r.declare(h, lock, i, e, made)
	case e.Valid > 0:
		h.count = 1 // at least: an acquire whose answer was not heard may have been the first of a new hold
		again := h.again
		r.begin(h, lock, call, i, e, made)
		h.again = again
	}
}

func (r *mutexReader) exit(i int, client string) {
	r.dead[client] = client != ""
	for _, lock := range r.order {
		if h := lock.holders[client]; h != nil {
			r.lapse(h, lock, r.events[i].At)
			h.finish(lock, at(i), at(i))
			h.asked, h.inner, h.release = nil, nil, 0 // they will not return
			h.before = false                          // who opens the lock next has not held it
		}
	}
}

// pending is the index of an operation among those under way; negative: it is not.
func (h *holder) pending(id int64) int {
	return slices.IndexFunc(h.asked, func(a asked) bool { return a.id == id })
}

// begin begins a hold at event i, unless the validity that comes with it is over already.
func (r *mutexReader) begin(h *holder, lock *mutexHistory, call, i int, e *history.Event, made time.Duration) {
	*h = holder{asked: h.asked, inner: h.inner, count: h.count, on: true, ends: never, from: h.from, before: h.before, by: h.by}
	r.declare(h, lock, i, e, made)
	if h.ends <= e.At {
		return
	}
	h.active, h.span = true, len(lock.spans)
	lock.spans = appendToMany(lock.spans, span{call: at(call), got: at(i), end: open, done: open})
}

// declare takes the validity that event i declares, if any. A hold that is over by it ends with the event.
func (r *mutexReader) declare(h *holder, lock *mutexHistory, i int, e *history.Event, made time.Duration) {
	h.from = max(h.from, made)
	if e.Valid <= 0 {
		return
	}
	h.ends = r.validUntil(e.Client, h.from, e.Valid)
	if r.opaque[lock.name] {
		h.from = e.At // nothing else is known of when the next can have been made
	}
	if h.active && h.ends <= e.At {
		h.active = false
		lock.spans[h.span].end, lock.spans[h.span].done = at(i), at(i)
	}
}

// lapse ends a hold whose validity is over at a time.
func (r *mutexReader) lapse(h *holder, lock *mutexHistory, now time.Duration) {
	if !h.active || h.ends == never || h.ends > now {
		return
	}
	h.active = false
	lock.lapsed = max(lock.lapsed, h.ends)
	s := &lock.spans[h.span]
	s.end = beforeTime(r.events, h.ends)
	s.done = s.end
}

// finish ends a hold for good. It says whether one was left to end.
func (h *holder) finish(lock *mutexHistory, end, done int64) bool {
	was := h.active
	h.on, h.active = false, false
	if !was {
		return false
	}
	lock.spans[h.span].end, lock.spans[h.span].done = end, done
	return true
}
