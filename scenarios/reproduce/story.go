package reproduce

import (
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/timeline"
)

// follow follows the lock on each server: which commands changed it, and when its lease had ended.
func (r *historyReader) follow() {
	type key struct {
		holder        string
		there, lapsed bool
		since         time.Duration
	}
	servers := map[string]*key{}
	for _, t := range r.Touches {
		e := &r.Events[t.Event]
		if t.Server == history.Resource || t.Key != e.Lock {
			continue
		}
		k := servers[t.Server]
		if k == nil {
			k = &key{}
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
		overdue := t.Effect == history.EffectReplaced && k.holder != e.Client && e.At-k.since >= r.lease*8/10
		if k.lapsed && exists || overdue {
			r.lapsed[t.Event] = k.holder
		}
		k.lapsed = t.Effect == history.EffectUnclear && !exists
		if t.Effect == history.EffectCreated || t.Effect == history.EffectReplaced || t.Effect == history.EffectUnclear && exists {
			k.holder = e.Client
			r.makers = append(r.makers, t.Event)
		}
		k.there, k.since = exists, e.At
	}
}

// part is an operation of the story, with those of its commands that matter.
type part struct {
	*timeline.OperationSpan
	commands []int
}

func (p *part) changes(r *historyReader) bool {
	return slices.ContainsFunc(p.commands, func(i int) bool { return r.changing[i] })
}

// choose chooses the operations that the anomaly is about: those that show it, how its clients had come to the lock, whose the lock was
// before, and what changed the lock meanwhile.
func (r *historyReader) choose() []*part {
	parts := make([]*part, len(r.Operations))
	byCommand := map[int]*part{}
	for n := range r.Operations {
		parts[n] = &part{&r.Operations[n], r.oneTry(&r.Operations[n])}
		for _, i := range r.Operations[n].Commands {
			byCommand[i] = parts[n]
		}
	}
	s := &selection{r: r, parts: parts, byCommand: byCommand, chosen: map[*part]bool{}, from: len(r.Events)}
	s.extend()
	return slices.DeleteFunc(parts, func(p *part) bool { return !s.chosen[p] })
}

// selection is how far a choice has got.
type selection struct {
	r         *historyReader
	parts     []*part
	byCommand map[int]*part
	chosen    map[*part]bool
	from, to  int // positions between which the story happens
}

// extend chooses the operations.
func (s *selection) extend() {
	a := s.r.anomaly
	for _, i := range a.Events {
		e := &s.r.Events[i]
		if e.Client != "" {
			s.add(s.at(i))
			s.add(s.grant(e.Client, i))
			s.to = max(s.to, i)
		}
	}
	for range 2 { // whose the lock was when the story begins, and before
		if i, found := last(s.r.makers, s.from); found {
			s.add(s.byCommand[i])
		}
	}
	ofData := isOfData(a.Name)
	for _, p := range s.parts {
		if int(p.From) > s.to || p.To < float64(s.from) {
			continue
		}
		if p.changes(s.r) || ofData && p.Op == history.OpWork && slices.Contains(a.Clients, p.Client) {
			s.chosen[p] = true
		}
	}
	for _, p := range s.parts { // nobody gives back what it did not take
		if s.chosen[p] && p.Op != history.OpAcquire {
			if taken := s.grant(p.Client, int(p.From)); taken != nil {
				s.chosen[taken] = true
			}
		}
	}
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
func (r *historyReader) oneTry(o *timeline.OperationSpan) []int {
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

// repeats says whether a command begins another try: it is what the first try began with, and nobody has sent it again for want of a reply.
func (r *historyReader) repeats(tries [][]int, i int) bool {
	first, before := tries[0][0], tries[len(tries)-1]
	return r.name(i) == r.name(first) && r.Events[i].Command().Server == r.Events[first].Command().Server && !r.resends(before[len(before)-1], i)
}

// resends says whether a client sent a command again, on another connection because the first had broken.
func (r *historyReader) resends(before, i int) bool {
	a, b := r.Events[before].Command(), r.Events[i].Command()
	return a.Server == b.Server && a.Conn != b.Conn && slices.Equal(a.Args, b.Args)
}

// ofLock says whether breakpoints count a command: it names the key of the lock, or works on the data.
func (r *historyReader) ofLock(i int) bool {
	e := &r.Events[i]
	return e.Command().Server == history.Resource || slices.Contains(e.Command().Args, e.Lock) || r.name(i) == "EXEC"
}

func (r *historyReader) renews(i int) bool {
	c := r.Events[i].Command()
	return c.Server != history.Resource && slices.ContainsFunc(c.Changes, func(change history.Change) bool {
		return change.Effect(c.Asked) == history.EffectProlonged
	})
}

func (r *historyReader) name(i int) string {
	if args := r.Events[i].Command().Args; len(args) > 0 {
		return nameOf(args)
	}
	return ""
}
