package reference

import (
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
)

// kind is the kind of a choice.
type kind uint8

const (
	calls    kind = iota // the client calls its next operation
	serves               // a server executes the request of a task
	takes                // the reply reaches the client
	expires              // a time-out is over
	wakes                // a sleep is over
	arrives              // a request arrives that nobody waits for; task is its place
	passes               // time passes
	strikes              // a fault
	notices              // a client that has waited for what is lost waits no more
	vanishes             // a request that nobody waits for is lost with its connection
	breaks               // a client learns that the connection has broken by which it waits for a reply
)

// choice is one step of the whole.
type choice struct {
	kind   kind
	client int // or server
	task   int
	until  int // of time
	paused []int
	busy   []int
	fault  faults.Kind
	unseen bool // it is a loss, and the client waits on
	again  bool // it is a call: of a release once more
}

// next is the operation that a client calls next; none: it has nothing to call.
func (s *search) next(w *world, i int) history.Op {
	c := &w.clients[i]
	switch {
	case c.at.busy:
		return history.OpNone
	case c.phase == waiting:
		return history.OpAcquire
	case c.phase == holding && w.active(i):
		return history.OpWork
	case c.phase == holding, c.phase == worked:
		return history.OpRelease
	}
	return history.OpNone
}

// choices appends all that can come next.
func (s *search) choices(list []choice, w *world) []choice {
	for i := range w.clients {
		list = s.ofClient(list, w, i)
		if w.clients[i].mayReleaseAgain() {
			list = append(list, choice{kind: calls, client: i, again: true})
		}
		list = s.faultsOf(list, w, i)
	}
	for i := range w.servers {
		list = s.faultsAt(list, w, i)
	}
	return s.ofTime(list, w)
}

// mayReleaseAgain says whether a client may release once more.
func (c *client) mayReleaseAgain() bool {
	return c.unsure && !c.at.busy && c.phase != crashed
}

func (s *search) ofClient(list []choice, w *world, i int) []choice {
	c := &w.clients[i]
	for k := range c.travel {
		list = append(list, choice{kind: arrives, client: i, task: k})
		if c.travel[k].torn {
			list = append(list, choice{kind: vanishes, client: i, task: k})
		}
	}
	if c.phase == crashed {
		return list
	}
	if s.next(w, i) != history.OpNone {
		list = append(list, choice{kind: calls, client: i})
	}
	for _, wait := range c.at.waits {
		o := choice{client: i, task: wait.Task}
		if c.waitsInVain(wait.Task) {
			o.kind = notices
			list = append(list, o)
			continue
		}
		over, answered := c.dueAt(wait.Task) <= w.now, c.answer(wait.Task) >= 0
		switch wait.Kind {
		case process.Sleep:
			if o.kind = wakes; over {
				list = append(list, o)
			}
		case process.Request:
			if o.kind = serves; !answered && !c.isBroken(wait.Task) {
				list = append(list, o)
			}
			if o.kind = breaks; slices.Contains(c.torn, wait.Task) || !answered && c.isBroken(wait.Task) {
				list = append(list, o)
			}
			if o.kind = takes; answered && !over {
				list = append(list, o)
			}
			if o.kind = expires; over {
				list = append(list, o)
			}
		}
	}
	return list
}

// isBroken says whether the request of a task has to go by a connection that has broken.
func (c *client) isBroken(task int) bool {
	wait := c.at.wait(task)
	return wait.Conn != 0 && slices.Contains(c.broken, wait.Server)
}

// may says whether the budget has one more fault of a kind.
func (s *search) may(w *world, kind faults.Kind, more int) bool {
	spent := 0
	for _, k := range w.struck {
		if k == kind {
			spent++
		}
	}
	return spent+more <= s.Budget[kind] && w.spent+more <= s.Most
}

func (s *search) faultsOf(list []choice, w *world, i int) []choice {
	c := &w.clients[i]
	if c.phase == crashed || c.phase == finished || c.phase == tired {
		return list
	}
	strike := func(kind faults.Kind, task int) {
		if s.may(w, kind, 1) {
			list = append(list, choice{kind: strikes, client: i, task: task, fault: kind})
		}
	}
	if c.ops == 0 && w.now == 0 && !c.wrong() {
		strike(faults.ClockAhead, 0)
		strike(faults.ClockBehind, 0)
	}
	if s.timed { // else the lock reads no clock
		strike(faults.StepAhead, 0)
		strike(faults.StepBack, 0)
	}
	if c.phase != waiting || c.at.busy {
		strike(faults.Crash, 0)
	}
	for _, wait := range c.at.waits {
		from := len(list)
		switch {
		case wait.Kind != process.Request || c.waitsInVain(wait.Task):
			continue
		case c.answer(wait.Task) >= 0:
			strike(faults.ReplyLost, wait.Task)
		default:
			strike(faults.LateRequest, wait.Task)
		}
		if len(list) > from && c.at.busy && wait.Task == c.at.main && c.dueAt(wait.Task) == never {
			unseen := list[from]
			unseen.unseen = true
			list = append(list, unseen)
		}
		if c.answer(wait.Task) < 0 {
			strike(faults.Duplicate, wait.Task)
		}
	}
	return list
}

// waitsInVain says whether a task waits for what is lost. Only an operation without a time-out of its own does so for long.
func (c *client) waitsInVain(task int) bool { return c.deaf && c.at.busy && task == c.at.main }

func (s *search) faultsAt(list []choice, w *world, i int) []choice {
	for _, kind := range []faults.Kind{faults.ClockJump, faults.ClockBack, faults.Restart, faults.FailOver} {
		may := len(w.servers[i].model.State(lockKey).Type) > 0 || len(w.servers[i].model.Expiries()) > 0
		switch kind {
		case faults.Restart:
			may = may || w.busy(i)
		case faults.FailOver:
			may = w.servers[i].behind != nil
		}
		if may && s.may(w, kind, 1) {
			list = append(list, choice{kind: strikes, client: i, fault: kind})
		}
	}
	return list
}

// busy says whether something is on its way to or from a server.
func (w *world) busy(i int) bool {
	return slices.ContainsFunc(w.clients, func(c client) bool {
		asks := func(wait process.Wait) bool { return wait.Kind == process.Request && wait.Server == i }
		return c.phase != crashed && slices.ContainsFunc(c.at.waits, asks) || slices.ContainsFunc(c.travel, func(m message) bool { return m.server == i })
	})
}

// ready says whether a client has a step to make at once: in its operation or between two, and in a background task. A client that
// wants the lock need not ask for it at once.
func (s *search) ready(w *world, i int) (main, beside bool) {
	c := &w.clients[i]
	if c.phase == crashed {
		return false, false
	}
	main = c.phase != waiting && s.next(w, i) != history.OpNone
	for _, wait := range c.at.waits {
		step := wait.Kind == process.Request && !c.waitsInVain(wait.Task) || wait.Kind == process.Sleep && c.dueAt(wait.Task) <= w.now
		if c.at.busy && wait.Task == c.at.main {
			main = main || step
		} else {
			beside = beside || step
		}
	}
	return main, beside
}

// ofTime appends the choices by which time passes. A client that has a step to make is paused meanwhile; or it is in a long hold, if it is
// its user's turn.
func (s *search) ofTime(list []choice, w *world) []choice {
	var pausing, either []int
	for i := range w.clients {
		c := &w.clients[i]
		if slices.ContainsFunc(c.travel, func(m message) bool { return m.soon }) {
			return list
		}
		main, beside := s.ready(w, i)
		idle := !c.at.busy && (c.phase == holding || c.phase == worked)
		switch {
		case c.paused || !main && !beside:
		case beside, !c.busy && !idle:
			pausing = append(pausing, i)
		case !c.busy:
			either = append(either, i)
		}
	}
	for set := range 1 << len(either) {
		o := choice{kind: passes, paused: slices.Clone(pausing)}
		for k, i := range either {
			if set>>k&1 == 0 {
				o.paused = append(o.paused, i)
			} else {
				o.busy = append(o.busy, i)
			}
		}
		if !s.may(w, faults.Pause, len(o.paused)) || !s.may(w, faults.LongHold, len(o.busy)) || w.spent+len(o.paused)+len(o.busy) > s.Most {
			continue
		}
		for _, t := range s.instants(w, o.paused) {
			o.until = t
			list = append(list, o)
		}
	}
	return list
}

// instants are those to which time may pass: not beyond the end of a wait of a client that is not paused. Where nothing ends any more, and
// the lock reads no clock, no time passes; nor before the first step, unless clocks drift.
func (s *search) instants(w *world, paused []int) []int {
	limit, coming := ms(s.Horizon), s.timed && (w.moved() || s.ClockRate != 0)
	var list []int
	add := func(t int) {
		list = append(list, t)
		coming = coming || t > w.now
	}
	for i := range w.clients {
		c := &w.clients[i]
		for _, d := range c.due {
			if add(d.at); !c.paused && !slices.Contains(paused, i) && d.at > w.now {
				limit = min(limit, d.at)
			}
		}
		if c.on && c.ends != never {
			around(add, c.ends)
		}
	}
	for i := range w.servers {
		for _, left := range w.servers[i].model.Expiries() {
			around(add, w.now+ms(left))
		}
	}
	if end := w.monitor.owner.ends; end != never {
		around(add, end)
	}
	for t := 0; t <= limit && coming; t += ms(s.Grid) {
		add(t)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(t int) bool { return t <= w.now || t > limit })
}

// moved says whether anything has happened.
func (w *world) moved() bool {
	return slices.ContainsFunc(w.clients, func(c client) bool { return c.ops > 0 })
}

// around adds an end, a moment before it and one after, and the last one at which a lease certainly runs.
func around(add func(int), end int) {
	for _, t := range [...]int{end - safely, end - 1, end, end + 1} {
		add(t)
	}
}

// safely is more than the margin by which the checker lets a lease end early.
const safely = 30
