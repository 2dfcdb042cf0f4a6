package world

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/internal/sim/service"
)

// errWait: only a ZooKeeper has what a task waits for.
var errWait = errors.New("the lock waits for something that the search does not have")

// errTasks: a set has no room for so many.
var errTasks = fmt.Errorf("the lock has more than %d tasks at a time", mostTasks)

// make makes a choice.
func (p *player) make(w *world, o Choice) error {
	if r := p.recorder; r != nil {
		from := len(r.trace.Steps)
		r.choice(w, o)
		defer r.complete(w, from)
	}
	return cmp.Or(p.apply(w, o), p.service.met)
}

func (p *player) apply(w *world, o Choice) error {
	if p.sessions {
		if done, err := p.makeOfSession(w, o); done || err != nil {
			return err
		}
	}
	i, task := int(o.client), int(o.task)
	switch o.kind {
	case passes:
		return p.pass(w, o)
	case strikes, strikesServer:
		return p.strike(w, o)
	case notices:
		return p.notice(w, o)
	case arrives, vanishes:
		c := &w.clients[i]
		m := c.travel[task]
		c.travel = slices.Delete(c.travel, task, task+1)
		if o.kind == arrives {
			p.serve(w, i, m, true)
		}
		if m.conn >= firstLate {
			w.change(m.server).model.Close(connection(i, m.conn))
		}
		return nil
	}
	c := &w.clients[i]
	c.stepped(o)
	switch o.kind {
	case calls:
		op := p.next(c)
		if o.again {
			op = history.OpRelease
		}
		p.calls(w, i, op)
		return p.give(w, i, past.Input{Kind: past.Call, Op: op})
	case breaks:
		c.drop(task)
		c.torn.remove(task)
		return p.give(w, i, past.Input{Kind: past.Lost, Task: task})
	case serves:
		c.torn.remove(task) // it goes by a new connection
		replies := p.serve(w, i, c.message(task), false)
		c.answers = append(c.answers, answer{task, replies})
		slices.SortFunc(c.answers, func(a, b answer) int { return a.task - b.task })
	case takes:
		return p.give(w, i, c.take(task))
	case timesOut:
		if c.at.Wait(task).Kind == process.Request && c.answer(task) < 0 {
			c.depart(task, true)
		}
		c.drop(task)
		c.torn.remove(task)
		return p.give(w, i, past.Input{Kind: past.TimedOut, Task: task})
	case wakes:
		return p.give(w, i, past.Input{Kind: past.Wake, Task: task})
	}
	return nil
}

// stepped: the client is not paused any more, nor in a long hold if it is its operation's step, or its user's.
func (c *client) stepped(o Choice) {
	c.paused = false
	if o.kind == calls || c.at.Operates(int(o.task)) {
		c.busy = false
	}
}

// message is the request of a task.
func (c *client) message(task int) message {
	wait := c.at.Wait(task)
	m := message{conn: wait.Conn, server: wait.Server, commands: wait.Commands}
	if c.at.Operates(task) {
		m.id = c.ops
		m.op = [...]history.Op{acquiring: history.OpAcquire, working: history.OpWork, releasing: history.OpRelease, crashed: history.OpNone}[c.phase]
	}
	return m
}

// depart puts the request of a task on its way.
func (c *client) depart(task int, soon bool) {
	m := c.message(task)
	m.soon, m.torn = soon, soon && c.torn.has(task)
	c.travel = append(c.travel, m)
}

func (c *client) drop(task int) {
	c.answers = slices.DeleteFunc(c.answers, func(a answer) bool { return a.task == task })
}

// give hands a client an input, and notes what comes of it.
func (p *player) give(w *world, i int, in past.Input) error {
	c := &w.clients[i]
	before := c.at
	after, err := p.past.After(before, in, p.shown(w, c))
	if err != nil {
		return err
	}
	// What other tasks have given up arrives soon, unless it has been executed.
	for _, old := range before.Waits {
		if old.Kind != process.Request || in.Kind != past.Call && old.Task == in.Task {
			continue
		}
		if !after.Awaits(&old) {
			if c.answer(old.Task) < 0 && !c.session.gone.has(old.Task) {
				c.depart(old.Task, true)
			}
			c.drop(old.Task)
			c.torn.remove(old.Task)
		}
	}
	if c.at = after; after.Reads {
		c.ago.read, w.reads.clock = 0, true
	}
	if err := c.begin(before); err != nil {
		return err
	}
	if p.sessions {
		p.listen(w, i, before)
	}
	for _, n := range after.Notices {
		p.receive(w, i, n)
	}
	if after.Rest != nil && p.recorder == nil {
		c.at = after.Rest
	}
	return nil
}

// shown is what a client's clocks show.
func (p *player) shown(w *world, c *client) past.Reading {
	if p.sessions {
		return past.Reading{Life: c.session.life, Lasts: p.Lease - duration(c.session.silence)}
	}
	if p.past.Clocks == past.Differences {
		return past.Reading{Clock: duration(c.ago.read)}
	}
	return past.Reading{Clock: duration(c.shows(w.now)), Ahead: duration(c.ahead)}
}

// begin notes when new waits end.
func (c *client) begin(before *past.Moment) error {
	var list []due
	for _, wait := range c.at.Waits {
		if wait.Task >= mostTasks {
			return errTasks
		}
		at := never
		switch {
		case isEvent(&wait) && wait.Timer == 0: // see session
		case isEvent(&wait), !slices.Contains([]process.Kind{process.Sleep, process.Request, process.Join, process.Message}, wait.Kind):
			return fmt.Errorf("%w: %d", errWait, wait.Kind)
		case before.Awaits(&wait):
			at = c.dueAt(wait.Task)
		case wait.Kind == process.Sleep:
			at = c.takes(wait.Length)
			if wait.Timer != 0 {
				at = min(at, c.takes(wait.Limit))
			}
		case wait.Timer != 0 && wait.Begun:
			at = c.takes(wait.Limit)
		case wait.Timer != 0:
			at = c.dueAt(wait.Task) // it goes on
		}
		if at != never {
			list = append(list, due{wait.Task, at})
		}
	}
	c.due = list
	return nil
}

// receive notes what a lock reports.
func (p *player) receive(w *world, i int, n process.Notice) {
	c := &w.clients[i]
	switch n.Kind {
	case process.Returned:
		c.settle(n.Answer.Outcome == history.OK)
		inner := w.monitor().clients[i].inner
		w.monitor().returned(w, i, n.Op, n.Answer)
		p.recorder.returned(w, i, n.Op, n.Answer)
		p.returned(c, n, inner)
		p.seen.held = p.seen.held || c.phase == holding
		p.seen.refused = p.seen.refused || n.Op == history.OpAcquire && n.Answer.Outcome == history.No
	case process.Lost:
		p.recorder.notice(i, n)
		w.monitor().lost(w, i)
		c.on = false
	case process.Renewed:
		p.recorder.notice(i, n)
		if !c.on {
			return
		}
		if n.Valid <= 0 {
			w.monitor().ends(i)
			c.on = false
			return
		}
		w.monitor().holds(w, i, ms(c.lasts(n.Valid)-history.ExpiryMargin)-c.heard, true)
	case process.Hangup:
		c.broken.remove(n.Server)
		w.leave(i, n)
	}
}

// serve has a server execute a request.
func (p *player) serve(w *world, i int, m message, unheard bool) []service.Reply {
	if p.sessions && asksKeeper(m.server) {
		return p.serveNodes(w, i, m, unheard)
	}
	before, key := w.at(m.server).model, lockKey
	if m.server == process.Resource {
		key = counterKey
	}
	v := w.change(m.server)
	change := history.Change{Key: key, Before: before.State(key)}
	var replies []service.Reply
	for _, command := range m.commands {
		replies = append(replies, v.model.Do(connection(i, m.conn), command...))
		name := strings.ToUpper(command[0])
		p.service.hashes = p.service.hashes || name == "SCRIPT" || strings.HasPrefix(name, "EVALSHA")
		p.service.subscribes = p.service.subscribes || name == "SUBSCRIBE"
	}
	p.meet(m, v.model.Unknown())
	if p.service.subscribes {
		w.publish(m.server)
	}
	if !p.service.hashes {
		asRedis(v.model).ForgetScripts()
	}
	change.After = v.model.State(key)
	p.recorder.served(i, m, change, replies, unheard)
	c := &w.clients[i]
	if m.server == process.Resource {
		c.ago.executed(m)
		w.wrote(i, m, replies[0])
		return replies
	}
	if p.Budget[faults.FailOver] > 0 {
		v.wrote(before, max(p.Lag, 1))
	}
	if !unheard {
		c.heard = 0
	}
	p.seen.named = p.seen.named || change.After.Exists()
	if stays := change.After.Exists() && change.After.TTL == 0; stays && !p.past.Stays && !p.leaseless() {
		p.service.met = cmp.Or(p.service.met, past.ErrStays)
	}
	if m.names(lockKey) {
		w.monitor().commanded(w, i, m, change)
		c.ago.executed(m)
	}
	return replies
}

func (m *message) names(key string) bool {
	return slices.ContainsFunc(m.commands, func(words []string) bool {
		return slices.Contains(words, key) || key == lockNode && len(words) > 1 && path.Dir(words[1]) == key
	})
}

// pass lets time pass for a world: where sessions depend on each other, and where it is recorded. Space.pass does the same to a state.
func (p *player) pass(w *world, o Choice) error {
	w.struck = p.budget.spend(w.struck, o)
	if p.sessions {
		if err := p.passSessions(w, o); err != nil {
			return err
		}
	} else {
		p.recorder.elapse(int(o.time))
		w.monitor().passes(int(o.time), o.paused)
		for i := range w.clients {
			w.clients[i].passes(int(o.time), o.paused>>i&1 != 0, o.busy>>i&1 != 0)
		}
		for i := range w.servers {
			w.servers[i] = w.servers[i].passes(int(o.time))
		}
	}
	w.now += int(o.time)
	if slices.ContainsFunc(w.clients, func(c client) bool { return c.late(ms(p.Lease)) }) && !w.struck.hurts {
		w.monitor().hangs()
	}
	return nil
}

// strike spends a fault on a client, its message, or a server.
func (p *player) strike(w *world, o Choice) error {
	w.struck = p.budget.spend(w.struck, o)
	i, task, fault := int(o.client), int(o.task), p.budget.kinds[o.fault]
	if o.kind == strikesServer {
		p.strikeServer(w, i, fault, task)
		return nil
	}
	c := &w.clients[i]
	if p.Queue && fault.Of().Target != faults.OnClock {
		w.monitor().queue.Disturbs(1 << i)
	}
	switch fault {
	case faults.ClockAhead, faults.ClockBehind:
		switch {
		case p.ClockRate != 0:
			c.drift(p.ClockRate, fault)
		case fault == faults.ClockAhead:
			c.skew = ms(p.Skew)
		default:
			c.skew = -ms(p.Skew)
		}
	case faults.StepAhead:
		c.ahead += ms(p.Skew)
	case faults.StepBack:
		c.ahead -= ms(p.Skew)
	case faults.Partition:
		c.cutOff()
	case faults.Crash:
		w.monitor().crashed(i)
		if p.service.subscribes {
			w.unsubscribe(i)
		}
		*c = client{at: c.at, phase: crashed, ops: c.ops, travel: c.travel, ends: never, session: session{made: c.session.made, ended: c.session.ended}}
	case faults.Duplicate:
		c.stepped(o)
		m := c.message(task)
		m.again = true
		c.travel = append(c.travel, m)
		m.again = false
		c.answers = append(c.answers, answer{task, p.serve(w, i, m, false)})
	case faults.ReplyLost, faults.LateRequest:
		if c.deaf = o.unseen; o.unseen {
			return nil
		}
		return p.notice(w, o)
	}
	return nil
}

// notice has a client learn that it gets no reply.
func (p *player) notice(w *world, o Choice) error {
	task := int(o.task)
	c := &w.clients[o.client]
	c.stepped(o)
	if c.deaf = false; c.answer(task) < 0 && !c.isBroken(task) {
		c.depart(task, false)
	}
	c.drop(task)
	return p.give(w, int(o.client), past.Input{Kind: past.Lost, Task: task})
}

// strikeServer spends a fault on a server. So many writes are lost with it by a fail-over, and one more.
func (p *player) strikeServer(w *world, number int, fault faults.Kind, lost int) {
	if p.Queue {
		w.monitor().queue.Disturbs(math.MaxUint8)
	}
	before := w.at(number).model
	v := w.change(number)
	switch fault {
	case faults.ClockJump:
		v.model.Advance(2 * p.Lease)
	case faults.ClockBack:
		v.model.Advance(-2 * p.Lease)
	case faults.Restart:
		asRedis(v.model).Restart(false)
		v.behind = nil
	case faults.FailOver:
		v.model, v.behind = v.behind[lost], nil
		if p.Servers > 1 {
			w.monitor().shares.doubt(number)
		}
	}
	if fault == faults.Restart || fault == faults.FailOver {
		for i := range w.clients {
			w.clients[i].disconnect(i, number, asRedis(before))
		}
	}
}

// disconnect breaks a client's connections to a server. What was on its way there and back may be lost.
func (c *client) disconnect(i, server int, before *redis.Server) {
	watches := func(conn int) bool { return conn != 0 && before.Watching(connection(i, conn)) }
	for conn := range len(c.at.Waits) + 1 {
		if watches(conn) {
			c.broken.add(server)
		}
	}
	if c.phase != crashed {
		for _, wait := range c.at.Waits {
			if (wait.Kind == process.Request || wait.Kind == process.Message) && wait.Server == server && !c.waitsInVain(wait.Task) {
				c.torn.add(wait.Task)
			}
		}
	}
	c.travel = slices.DeleteFunc(c.travel, func(m message) bool { return m.server == server && watches(m.conn) })
	for k := range c.travel {
		c.travel[k].torn = c.travel[k].torn || c.travel[k].soon && c.travel[k].server == server
	}
}
