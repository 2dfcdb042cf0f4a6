package reproduce

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/timeline"
)

// past is a history, and what it says of the lock that the anomaly is about. It does not change once it is read.
type past struct {
	*timeline.Timeline
	Reading
	lock     impls.Spec
	anomaly  checker.Anomaly
	lease    time.Duration
	servers  int
	changing map[int]bool   // commands that changed the lock
	lapsed   map[int]string // commands before which the lease of a lock had ended, and whose it was
	makers   []int          // commands that made the lock a client's
}

func readPast(lock impls.Spec, events []history.Event, a checker.Anomaly, how Reading) *past {
	if how.Overdue {
		events, _ = overdue(events)
	}
	r := &past{Timeline: timeline.Of(events), Reading: how, lock: lock, anomaly: a, changing: map[int]bool{}, lapsed: map[int]string{}}
	for _, e := range events {
		if e.Kind == history.KindOpen && e.Detail != nil {
			r.lease, r.servers = e.Detail.Lease, max(1, e.Detail.Servers)
		}
	}
	if slices.ContainsFunc(r.Servers, func(name string) bool { return history.ServerOf(name) != name }) {
		r.servers = 1 // the lock has several keys on one, of which a script does not speak
	}
	r.follow()
	return r
}

// server is the number of a server. A script speaks of the server, whichever of its keys a command names.
func (r *past) server(name string) int {
	for i := range r.servers {
		if trace.ServerName(r.servers, i) == history.ServerOf(name) {
			return i
		}
	}
	return -1
}

// follow follows the lock on each server: which commands changed it, and when its lease had ended.
func (r *past) follow() {
	servers := map[string]*ownedKey{}
	looks := r.looks()
	for _, t := range r.Touches {
		e := &r.Events[t.Event]
		if t.Server == history.Resource || t.Key != e.Lock {
			continue
		}
		k := servers[t.Server]
		if k == nil {
			k = &ownedKey{lapse: none}
			servers[t.Server] = k
		}
		if k.there && !t.Change.Before.Exists() {
			k.there, k.lapsed = false, true
		}
		if t.Effect == history.EffectNone {
			continue
		}
		r.changing[t.Event] = true
		exists := t.Change.After.Exists()
		if exists && (k.lapsed || expiredAmid(t)) {
			r.lapsed[t.Event] = k.holder
		} else if e.Op == history.OpAcquire && t.Change.Before.Exists() {
			r.judgedExpired(k, t.Event, looks)
		}
		k.lapsed = t.Effect == history.EffectUnclear && !exists
		if t.Effect == history.EffectCreated || t.Effect == history.EffectReplaced || t.Effect == history.EffectUnclear && exists {
			if k.lapse < k.maker {
				k.lapse = none
			}
			k.before, k.holder, k.maker = k.maker, e.Client, t.Event
			r.makers = append(r.makers, t.Event)
		}
		k.there, k.since = exists, e.At
	}
}

// expiredAmid says whether the key expired between the state probe and the command: another client's is there now.
func expiredAmid(t timeline.Touch) bool {
	return t.Effect == history.EffectUnclear && t.Change.Before.Exists() && t.Change.Before.Value != t.Change.After.Value
}

// ownedKey is whose the lock on a server is.
type ownedKey struct {
	holder        string
	maker, before int // the commands that made it the holder's, and that of the holder before
	there, lapsed bool
	since         time.Duration
	lapse         int // the command before which clients judged that its lease had ended
}

// none is where there is no command.
const none = -1

// looks is, for each command, the one that its operation sent before it.
func (r *past) looks() map[int]int {
	before := map[int]int{}
	for _, o := range r.Operations {
		for n := 1; n < len(o.Commands); n++ {
			before[o.Commands[n]] = o.Commands[n-1]
		}
	}
	return before
}

// judgedExpired notes that a client took a lock whose lease, by what it had read, was over: the lease ends before the client reads. Of
// several that take it, all have read it after that.
func (r *past) judgedExpired(k *ownedKey, at int, looks map[int]int) {
	read, known := looks[at]
	if !known {
		read = at
	}
	switch {
	case r.Events[at].At-k.since >= r.lease*8/10:
		r.lapsed[read], k.lapse = k.holder, read
	case k.lapse >= 0 && known && read < k.lapse && read > k.before:
		owner := r.lapsed[k.lapse]
		delete(r.lapsed, k.lapse)
		r.lapsed[read], k.lapse = owner, read
	}
}

// part is an operation of the story, with those of its commands that matter.
type part struct {
	*timeline.OperationSpan
	commands []int
	plainly  int  // it is one moment, which comes at this event; none: it is as it was
	waits    bool // an acquire that goes on trying until the story has ended
	queues   bool // one that has joined a queue by its first command
}

func (p *part) changes(r *past) bool {
	return slices.ContainsFunc(p.commands, func(i int) bool { return r.changing[i] })
}

// choose chooses the operations that the anomaly is about: those that show it, how its clients had come to the lock, whose the lock was
// before, and what changed the lock meanwhile.
func (r *past) choose() *story {
	parts := make([]*part, len(r.Operations))
	byCommand := map[int]*part{}
	for n := range r.Operations {
		parts[n] = &part{&r.Operations[n], r.oneTry(&r.Operations[n]), none, false, false}
		for _, i := range r.Operations[n].Commands {
			byCommand[i] = parts[n]
		}
	}
	s := &selection{r: r, parts: parts, byCommand: byCommand, chosen: map[*part]bool{}, places: map[int]int{}, from: len(r.Events)}
	s.extend()
	told := &story{past: r, cast: map[string]bool{}, places: s.places}
	for _, p := range parts {
		if s.chosen[p] {
			told.parts, told.cast[p.Client] = append(told.parts, p), true
		}
	}
	return told
}

// story is what of a history the anomaly is about.
type story struct {
	past   *past
	parts  []*part
	cast   map[string]bool // the clients whose parts they are
	places map[int]int     // events that come at another place in the story than in the history
}

// selection is how far a choice has got.
type selection struct {
	r         *past
	parts     []*part
	byCommand map[int]*part
	chosen    map[*part]bool
	places    map[int]int // see story
	from, to  int         // positions between which the story happens
}

// extend chooses the operations.
func (s *selection) extend() {
	if s.r.Alone {
		s.alone()
		return
	}
	if s.queue() {
		return
	}
	a := s.r.anomaly
	for _, i := range a.Events {
		e := &s.r.Events[i]
		if e.Client != "" {
			s.add(s.at(i))
			s.add(s.grant(e.Client, i))
			s.to = max(s.to, i)
		}
	}
	if p := s.last(); s.r.Handles && a.Name == checker.HungOperation && p != nil {
		s.to = int(p.From) // what it waits for has happened
	}
	for range s.owners() {
		if i, found := last(s.r.makers, s.from); found {
			s.add(s.byCommand[i])
		}
	}
	for range mostExtensions {
		from := s.from
		s.fill()
		for _, p := range s.parts { // nobody gives back what it did not take
			if s.chosen[p] && p.Op != history.OpAcquire {
				s.add(s.grant(p.Client, int(p.From)))
			}
		}
		if s.from == from {
			break
		}
	}
	s.inherit()
	if s.r.Handles {
		s.siblings()
	}
}

// mostExtensions bounds how often a story begins earlier, because what is given back in it was taken before.
const mostExtensions = 4

// fill chooses what changes the lock while the story happens and, where it is about data, the work of its clients.
func (s *selection) fill() {
	ofData := isOfData(s.r.anomaly.Name)
	for _, p := range s.parts {
		if int(p.From) > s.to || p.To < float64(s.from) {
			continue
		}
		changes := slices.ContainsFunc(p.commands, func(i int) bool { return s.r.changing[i] && i >= s.from && i <= s.to })
		if changes || ofData && p.Op == history.OpWork && slices.Contains(s.r.anomaly.Clients, p.Client) {
			s.chosen[p] = true
		}
	}
}

// inherit adds whose the lock was when the first of the story took it over: it acquires the lock in one go, however it had come to it.
func (s *selection) inherit() {
	for _, i := range s.r.makers {
		first := s.byCommand[i]
		if first == nil || !s.chosen[first] {
			continue
		}
		n := slices.IndexFunc(first.commands, func(i int) bool { return s.r.changing[i] })
		if n < 0 || !s.r.existed(first.commands[n]) {
			return
		}
		before, found := last(s.r.makers, first.commands[n])
		if p := s.byCommand[before]; found && p != nil && !s.chosen[p] {
			p.plainly, p.commands = before, nil
			s.chosen[p] = true
		}
		return
	}
}

// existed says whether the lock was there before a command.
func (r *past) existed(i int) bool {
	e := &r.Events[i]
	return slices.ContainsFunc(e.Command().Changes, func(c history.Change) bool { return c.Key == e.Lock && c.Before.Exists() })
}

// owners is how many of those belong to the story whose the lock was before it begins.
func (s *selection) owners() int {
	switch {
	case !s.r.Handles:
		return 2
	case s.r.anomaly.Name == checker.StuckLock:
		return 1
	}
	return 0
}

func (s *selection) add(p *part) {
	if p == nil {
		return
	}
	s.chosen[p] = true
	begins := int(p.From)
	if p.Op == history.OpAcquire && len(p.commands) > 0 {
		begins = p.commands[0]
	}
	s.from, s.to = min(s.from, begins), max(s.to, begins)
}

// last is the last of some positions before one.
func last(sorted []int, before int) (int, bool) {
	n, _ := slices.BinarySearch(sorted, before)
	if n == 0 {
		return 0, false
	}
	return sorted[n-1], true
}

// at is the operation that an event belongs to; nil if it belongs to none.
func (s *selection) at(i int) *part {
	if p := s.byCommand[i]; p != nil {
		return p
	}
	for _, p := range s.parts {
		if p.ID == s.r.Events[i].ID && p.Client == s.r.Events[i].Client {
			return p
		}
	}
	return nil
}

// grant is how a client had come to the lock before an event: its last acquire that succeeded, or changed the lock.
func (s *selection) grant(client string, i int) *part {
	for _, p := range slices.Backward(s.parts) {
		if p.Client == client && p.Op == history.OpAcquire && int(p.From) <= i && (p.Outcome == history.OK || p.changes(s.r)) {
			return p
		}
	}
	return nil
}

// oneTry leaves of an acquire that tried again and again one try: the last that shows the anomaly, else the last. A try begins with the
// same command as the first one. Renewals belong to no operation, whatever their client was doing.
func (r *past) oneTry(o *timeline.OperationSpan) []int {
	var tries [][]int
	for _, i := range o.Commands {
		if r.Events[i].Command().Again || r.lock.Renews && r.renews(i) || !r.ofLock(i) {
			continue
		}
		if len(tries) == 0 || o.Op == history.OpAcquire && r.repeats(tries, i) {
			tries = append(tries, nil)
		}
		tries[len(tries)-1] = append(tries[len(tries)-1], i)
	}
	if len(tries) == 0 {
		return nil
	}
	chosen := tries[len(tries)-1]
	for _, try := range tries {
		if slices.ContainsFunc(try, func(i int) bool { return slices.Contains(r.anomaly.Events, i) }) {
			chosen = try
		}
	}
	return chosen
}

// repeats says whether a command begins another try: it is what the first try began with, or the SET that this try was refused by; and nobody has
// sent it again for want of a reply.
func (r *past) repeats(tries [][]int, i int) bool {
	first, now := tries[0][0], tries[len(tries)-1]
	again := func(before int) bool {
		return r.name(i) == r.name(before) && r.Events[i].Command().Server == r.Events[before].Command().Server
	}
	refused := func(before int) bool {
		reply := r.Events[before].Command().Reply
		return r.name(before) == "SET" && reply == "nil" || r.name(before) == "SETNX" && reply == "0"
	}
	return (again(first) || slices.ContainsFunc(now, func(j int) bool { return again(j) && refused(j) })) && !r.resends(now[len(now)-1], i)
}

// resends says whether a client sent a command again, on another connection because the first had broken.
func (r *past) resends(before, i int) bool {
	a, b := r.Events[before].Command(), r.Events[i].Command()
	return a.Server == b.Server && a.Conn != b.Conn && slices.Equal(a.Args, b.Args)
}

// ofLock says whether breakpoints count a command: it names the key of the lock, or works on the data.
func (r *past) ofLock(i int) bool {
	e := &r.Events[i]
	return e.Command().Server == history.Resource || namesLock(e) || r.name(i) == "EXEC"
}

// namesLock says whether a command names the key of the lock. A client may call that otherwise on its server: the state probes then tell.
func namesLock(e *history.Event) bool {
	return slices.Contains(e.Command().Args, e.Lock) ||
		slices.ContainsFunc(e.Command().Changes, func(c history.Change) bool { return c.Key == e.Lock })
}

func (r *past) renews(i int) bool {
	c := r.Events[i].Command()
	return c.Server != history.Resource && slices.ContainsFunc(c.Changes, func(change history.Change) bool {
		return change.Effect(c.Asked) == history.EffectProlonged
	})
}

func (r *past) name(i int) string {
	if args := r.Events[i].Command().Args; len(args) > 0 {
		return nameOf(args)
	}
	return ""
}

// unheard says whether a release that removed the lock was answered no because a fault kept its reply from the client, and the lock took the
// error for an answer.
func (r *past) unheard(p *part) bool {
	if p.Op != history.OpRelease || p.Outcome != history.No || len(p.commands) == 0 {
		return false
	}
	removed := p.commands[len(p.commands)-1]
	if e := &r.Events[removed]; !r.changing[removed] || slices.ContainsFunc(e.Command().Changes, func(c history.Change) bool { return c.After.Exists() }) {
		return false
	}
	return slices.ContainsFunc(r.Faults, func(f timeline.FaultSpan) bool {
		hit := f.Target == p.Client || f.Target == history.ProcessOf(p.Client)
		return hit && f.Kind != faults.Skew && f.From <= p.To && f.To >= p.From
	})
}
