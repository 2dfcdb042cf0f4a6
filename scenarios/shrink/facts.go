// Package shrink turns an anomaly of a long history into a short script that shows the same: it takes what the clients concerned did,
// in the order in which their commands reached the server, and forces that order with breakpoints. What is not needed is then left out
// bit by bit. The package is pure; whoever uses it plays the scripts.
package shrink

import (
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
)

// deed is an operation of the story, with those of its commands that matter.
type deed struct {
	client   string
	op       history.Op
	id       int64
	call     int
	ret      int // index of its return; -1 if there was none
	outcome  history.Outcome
	gaveUp   bool
	commands []int
	changed  bool // it changed the lock
}

// forsaken says whether its client went on without knowing what came of it.
func (d *deed) forsaken() bool { return d.gaveUp && d.outcome == history.Unknown }

// facts is what a history says, arranged for telling it again.
type facts struct {
	events []history.Event
	lease  time.Duration
	deeds  []*deed // in the order of their calls
	// expired: at this command the lock was gone, or up for taking, that somebody had had: its lease had ended.
	expired map[int]string // index to the client whose lock it was
	makers  []maker
}

// maker is a command that made the lock somebody's.
type maker struct {
	command int
	client  string
	id      int64
}

// resource is the name of the server that work goes to.
const resource = "resource"

func newFacts(events []history.Event, renews bool) *facts {
	f := &facts{events: events, expired: make(map[int]string)}
	pending := make(map[int64]*deed)
	for i, e := range events {
		switch e.Kind {
		case history.KindOpen:
			f.lease = e.Detail.Lease
		case history.KindCall:
			d := &deed{client: e.Client, op: e.Op, id: e.ID, call: i, ret: -1, outcome: history.Unknown}
			pending[e.ID] = d
			f.deeds = append(f.deeds, d)
		case history.KindReturn:
			if d := pending[e.ID]; d != nil {
				d.ret, d.outcome = i, e.Outcome
				d.gaveUp = e.Detail != nil && e.Detail.GaveUp
			}
		case history.KindCommand:
			if d := pending[e.ID]; d != nil && !e.Detail.Command.Again && !(renews && prolongs(e)) {
				d.commands = append(d.commands, i)
			}
		}
	}
	f.follow()
	return f
}

// prolongs says whether a command prolonged a lock. Of a lock that does so by itself it belongs to no operation, whatever its client was
// at meanwhile.
func prolongs(e history.Event) bool {
	c := e.Detail.Command
	return c.Server != resource && slices.ContainsFunc(c.Changes, func(change history.Change) bool {
		return change.Effect(c.Asked) == history.EffectProlonged
	})
}

// follow follows the key of the lock: who changed it, and when it was gone by itself.
func (f *facts) follow() {
	byID := make(map[int64]*deed)
	for _, d := range f.deeds {
		byID[d.id] = d
	}
	var holder string
	var there, lapsed bool
	var touched time.Duration
	for i, e := range f.events {
		if e.Kind != history.KindCommand || e.Detail.Command.Server == resource || len(e.Detail.Command.Changes) == 0 {
			continue
		}
		change := e.Detail.Command.Changes[0]
		effect := change.Effect(e.Detail.Command.Asked)
		if there && !change.Before.Exists() {
			there, lapsed = false, true
		}
		if effect == history.EffectNone {
			continue
		}
		if lapsed && change.After.Exists() {
			f.expired[i] = holder
		}
		lapsed = effect == history.EffectUnclear && !change.After.Exists()
		if effect == history.EffectReplaced && holder != e.Client && e.At-touched >= f.lease*8/10 {
			f.expired[i] = holder
		}
		if d := byID[e.ID]; d != nil && slices.Contains(d.commands, i) {
			d.changed = true
		}
		if effect == history.EffectCreated || effect == history.EffectReplaced || effect == history.EffectUnclear && change.After.Exists() {
			holder = e.Client
			f.makers = append(f.makers, maker{i, e.Client, e.ID})
		}
		there, touched = change.After.Exists(), e.At
	}
}

// oneTry leaves of an acquire that tried again and again only one try: the last that shows an anomaly, else the last. A try begins as the
// first one did.
func (f *facts) oneTry(d *deed, shows []int) {
	if d.op != history.OpAcquire || len(d.commands) < 2 {
		return
	}
	var tries [][]int
	for _, i := range d.commands {
		if len(tries) == 0 || f.name(i) == f.name(d.commands[0]) {
			tries = append(tries, nil)
		}
		last := &tries[len(tries)-1]
		*last = append(*last, i)
	}
	d.commands = tries[len(tries)-1]
	for _, try := range tries {
		if slices.ContainsFunc(try, func(i int) bool { return slices.Contains(shows, i) }) {
			d.commands = try
		}
	}
}

// name is a command's name as scripts write it.
func (f *facts) name(i int) string {
	args := f.events[i].Detail.Command.Args
	if len(args) == 0 {
		return ""
	}
	switch name := strings.ToUpper(args[0]); name {
	case "EVALSHA":
		return "EVAL"
	default:
		return name
	}
}

// with is the operation of a client that an event belongs to; nil if it belongs to none.
func (f *facts) with(i int) *deed {
	e := f.events[i]
	for _, d := range f.deeds {
		if d.id == e.ID && d.client == e.Client {
			return d
		}
	}
	return nil
}

// story chooses the operations that an anomaly is about: those that show it, how its clients had come to the lock, and whose the lock
// was before.
func (f *facts) story(a checker.Anomaly) []*deed {
	for _, d := range f.deeds {
		f.oneTry(d, a.Events)
	}
	chosen := make(map[*deed]bool)
	from, to := len(f.events), 0
	add := func(d *deed) {
		if d == nil {
			return
		}
		chosen[d] = true
		begin := d.call
		if d.op == history.OpAcquire && len(d.commands) > 0 {
			begin = d.commands[0]
		}
		from, to = min(from, begin), max(to, begin)
	}
	for _, i := range a.Events {
		if f.events[i].Client == "" {
			continue
		}
		add(f.with(i))
		add(f.cameBy(f.events[i].Client, i))
		to = max(to, i)
	}
	for range 2 { // whose the lock was when the story begins, and before
		add(f.makerBefore(from))
	}
	work := a.Name == checker.StaleWrite || a.Name == checker.LostUpdate
	for _, d := range f.deeds {
		if d.call > to || f.end(d) < from {
			continue
		}
		inCast := slices.ContainsFunc(a.Clients, func(c string) bool { return c == d.client })
		if d.changed || inCast && d.op == history.OpWork && work {
			chosen[d] = true
		}
	}
	for _, d := range f.deeds { // nobody gives back what it did not take
		if chosen[d] && d.op != history.OpAcquire {
			chosen[f.cameBy(d.client, d.call)] = true
		}
	}
	var out []*deed
	for _, d := range f.deeds {
		if chosen[d] {
			out = append(out, d)
		}
	}
	return out
}

// end is where the last of an operation is on record.
func (f *facts) end(d *deed) int {
	end := max(d.call, d.ret)
	if n := len(d.commands); n > 0 {
		end = max(end, d.commands[n-1])
	}
	return end
}

// cameBy is how a client had come to the lock before an event: its last acquire that did something, or succeeded.
func (f *facts) cameBy(client string, i int) *deed {
	for _, d := range slices.Backward(f.deeds) {
		if d.client == client && d.op == history.OpAcquire && d.call <= i && (d.changed || d.outcome == history.OK) {
			return d
		}
	}
	return nil
}

// makerBefore is the operation by which the lock was somebody's at an event, if it was still there then.
func (f *facts) makerBefore(i int) *deed {
	for _, m := range slices.Backward(f.makers) {
		if m.command < i {
			return f.with(m.command)
		}
	}
	return nil
}
