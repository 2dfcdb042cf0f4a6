package reference

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/internal/sim/service"
)

// errWait: no server of this model publishes, and no task waits for another's end for long.
var errWait = errors.New("the lock waits for something that the search does not have")

// make makes a choice.
func (s *search) make(w *world, o choice) error {
	s.recorder.choice(w, o)
	switch o.kind {
	case passes:
		s.pass(w, o)
		return nil
	case strikes:
		return s.strike(w, o)
	case notices:
		return s.notice(w, o)
	case arrives, vanishes:
		c := &w.clients[o.client]
		m := c.travel[o.task]
		c.travel = slices.Delete(c.travel, o.task, o.task+1)
		if o.kind == arrives {
			s.serve(w, o.client, m, true)
		}
		if m.conn >= firstLate {
			w.change(m.server).model.Close(connection(o.client, m.conn))
		}
		return nil
	}
	c := &w.clients[o.client]
	c.stepped(o)
	switch o.kind {
	case calls:
		op := s.next(w, o.client)
		if o.again {
			op = history.OpRelease
		}
		c.ops++
		c.calledAt, c.delayed = w.now, slices.ContainsFunc(w.struck, func(k faults.Kind) bool { return k != faults.Pause && k != faults.LongHold })
		w.monitor.called(w, o.client, op)
		s.recorder.called(o.client, c.ops, op)
		return s.give(w, o.client, input{kind: call, op: op})
	case breaks:
		c.drop(o.task)
		c.torn = without(c.torn, o.task)
		return s.give(w, o.client, input{kind: lost, task: o.task})
	case serves:
		c.torn = without(c.torn, o.task) // it goes by a new connection
		m := c.message(o.task)
		replies := s.serve(w, o.client, m, false)
		c.answers = append(c.answers, answer{o.task, replies})
		slices.SortFunc(c.answers, func(a, b answer) int { return a.task - b.task })
	case takes:
		in := input{kind: reply, task: o.task, replies: c.answers[c.answer(o.task)].replies}
		c.torn = without(c.torn, o.task)
		c.drop(o.task)
		return s.give(w, o.client, in)
	case expires:
		if c.answer(o.task) < 0 {
			c.depart(o.task, true)
		}
		c.drop(o.task)
		c.torn = without(c.torn, o.task)
		return s.give(w, o.client, input{kind: expired, task: o.task})
	case wakes:
		return s.give(w, o.client, input{kind: wake, task: o.task})
	}
	return nil
}

// stepped: the client is not paused any more, nor in a long hold if it is its operation's step, or its user's.
func (c *client) stepped(o choice) {
	c.paused = false
	if o.kind == calls || c.at.busy && o.task == c.at.main {
		c.busy = false
	}
}

// message is the request of a task.
func (c *client) message(task int) message {
	wait := c.at.wait(task)
	m := message{conn: wait.Conn, server: wait.Server, commands: wait.Commands}
	if c.at.busy && task == c.at.main {
		m.id, m.passed = c.ops, c.passed
		m.op = map[phase]history.Op{acquiring: history.OpAcquire, working: history.OpWork, releasing: history.OpRelease}[c.phase]
	}
	return m
}

// depart puts the request of a task on its way.
func (c *client) depart(task int, soon bool) {
	m := c.message(task)
	m.soon, m.torn = soon, soon && slices.Contains(c.torn, task)
	c.travel = append(c.travel, m)
}

func (c *client) drop(task int) {
	c.answers = slices.DeleteFunc(c.answers, func(a answer) bool { return a.task == task })
}

// give hands a client an input, and takes in what comes of it.
func (s *search) give(w *world, i int, in input) error {
	c := &w.clients[i]
	before := c.at
	after, err := s.locals.after(before, in, reading{c.shows(w.now), c.ahead})
	if err != nil {
		return err
	}
	// What other tasks have given up arrives soon, unless it has been executed.
	for _, old := range before.waits {
		if old.Kind != process.Request || in.kind != call && old.Task == in.task {
			continue
		}
		if now := after.wait(old.Task); now == nil || now.Seq != old.Seq {
			if c.answer(old.Task) < 0 {
				c.depart(old.Task, true)
			}
			c.drop(old.Task)
			c.torn = without(c.torn, old.Task)
		}
	}
	c.at = after
	if err := c.begin(before, w.now); err != nil {
		return err
	}
	for _, n := range after.notices {
		s.receive(w, i, n)
	}
	return nil
}

// begin notes when new waits end.
func (c *client) begin(before *moment, now int) error {
	var list []due
	for _, wait := range c.at.waits {
		old := before.wait(wait.Task)
		at := never
		switch {
		case wait.Kind != process.Sleep && wait.Kind != process.Request && wait.Kind != process.Join:
			return fmt.Errorf("%w: %d", errWait, wait.Kind)
		case old != nil && old.Seq == wait.Seq:
			at = c.dueAt(wait.Task)
		case wait.Kind == process.Sleep:
			at = now + c.takes(wait.Length)
			if wait.Timer != 0 {
				at = min(at, now+c.takes(wait.Limit))
			}
		case wait.Timer != 0 && wait.Begun:
			at = now + c.takes(wait.Limit)
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

// receive takes in what a lock reports.
func (s *search) receive(w *world, i int, n process.Notice) {
	c := &w.clients[i]
	switch n.Kind {
	case process.Returned:
		for k := range c.travel {
			if m := &c.travel[k]; m.id == c.ops && m.op != history.OpNone && !m.ended {
				m.ended, m.ok = true, n.Answer.Outcome == history.OK
			}
		}
		w.monitor.returned(w, i, n.Op, n.Answer)
		s.recorder.returned(i, c.ops, n.Op, n.Answer)
		s.returned(c, n)
	case process.Lost:
		s.recorder.notice(i, n)
		w.monitor.lost(w, i)
		c.on = false
	case process.Renewed:
		s.recorder.notice(i, n)
		if !c.on {
			return
		}
		if n.Valid <= 0 {
			w.monitor.ends(i)
			c.on = false
			return
		}
		w.monitor.holds(w, i, c.heard+ms(c.lasts(n.Valid)-history.ExpiryMargin), true)
	case process.Hangup:
		c.broken = without(c.broken, n.Server)
		w.leave(i, n)
	}
}

// firstLate is the first of the numbers of connections that clients have given up.
const firstLate = 7

// leave closes a client's connection, or numbers it anew for what is still on its way by it.
func (w *world) leave(i int, n process.Notice) {
	c, model := &w.clients[i], w.change(n.Server).model
	other := firstLate
	for slices.ContainsFunc(c.travel, func(m message) bool { return m.conn == other }) {
		other++
	}
	for k := range c.travel {
		if m := &c.travel[k]; m.conn == n.Conn && m.server == n.Server {
			m.conn = other
		}
	}
	model.Renumber(connection(i, n.Conn), connection(i, other))
	if !slices.ContainsFunc(c.travel, func(m message) bool { return m.conn == other }) {
		model.Close(connection(i, other))
	}
}

// returned moves the client on in its round.
func (s *search) returned(c *client, n process.Notice) {
	switch n.Op {
	case history.OpAcquire:
		c.phase, c.unsure = waiting, false
		if c.tries++; n.Answer.Outcome == history.OK {
			c.phase = holding
		} else if c.tries >= s.Tries {
			c.phase = tired
		}
	case history.OpWork:
		c.phase = worked
	case history.OpRelease:
		c.phase, c.tries = waiting, 0
		again := c.unsure
		c.unsure = s.ReleaseAgain && !again && n.Answer.Outcome == history.Unknown
		if !again {
			c.round++
		}
		if c.round == s.Rounds {
			c.phase = finished
		}
	}
}

func connection(client, conn int) int { return client*100 + conn }

func namesScripts(command string) bool {
	name := strings.ToUpper(command)
	return name == "SCRIPT" || strings.HasPrefix(name, "EVALSHA")
}

// serve has a server execute a request.
func (s *search) serve(w *world, i int, m message, unheard bool) []service.Reply {
	before, key := w.at(m.server).model, lockKey
	if m.server == process.Resource {
		key = counterKey
	}
	v := w.change(m.server)
	change := history.Change{Key: key, Before: before.State(key)}
	var replies []service.Reply
	for _, command := range m.commands {
		replies = append(replies, v.model.Do(connection(i, m.conn), command...))
		s.hashes = s.hashes || namesScripts(command[0])
	}
	if !s.hashes {
		v.model.ForgetScripts()
	}
	change.After = v.model.State(key)
	s.recorder.served(i, m, change, replies, unheard)
	c := &w.clients[i]
	if m.server == process.Resource {
		w.monitor.wrote(w, i, m, replies[0])
		return replies
	}
	if s.Budget[faults.FailOver] > 0 {
		if behind := before.Promoted(); string(behind.AppendState(nil)) != string(v.model.Promoted().AppendState(nil)) {
			v.behind = behind
		}
	}
	if !unheard {
		c.heard = w.now
	}
	if m.names(lockKey) {
		w.monitor.commanded(w, i, m, change)
	}
	return replies
}

func (m *message) names(key string) bool {
	return slices.ContainsFunc(m.commands, func(words []string) bool { return slices.Contains(words, key) })
}

// pass lets time pass.
func (s *search) pass(w *world, o choice) {
	for _, i := range o.paused {
		c := &w.clients[i]
		c.paused, c.delayed = true, true
		if c.heard == w.now { // a reply that has just been sent reaches it at the end of the pause
			c.heard = o.until
		}
		w.struck = append(w.struck, faults.Pause)
	}
	for _, i := range o.busy {
		w.clients[i].busy = true
		w.struck = append(w.struck, faults.LongHold)
	}
	w.spent = len(w.struck)
	d := duration(o.until - w.now)
	for i := range w.servers {
		v := w.change(i)
		v.model.Advance(d)
		if v.behind != nil {
			v.behind = v.behind.Clone()
			v.behind.Advance(d)
		}
	}
	w.now = o.until
	w.monitor.passed(w)
}

// strike spends a fault on a client, its message, or a server.
func (s *search) strike(w *world, o choice) error {
	w.struck = append(w.struck, o.fault)
	w.spent = len(w.struck)
	for i := range w.clients {
		w.clients[i].delayed = true
	}
	switch o.fault {
	case faults.ClockJump, faults.ClockBack, faults.Restart, faults.FailOver:
		s.strikeServer(w, o)
		return nil
	}
	c := &w.clients[o.client]
	switch o.fault {
	case faults.ClockAhead, faults.ClockBehind:
		switch {
		case s.ClockRate != 0:
			c.drift(s.ClockRate, o.fault)
		case o.fault == faults.ClockAhead:
			c.skew = ms(s.Skew)
		default:
			c.skew = -ms(s.Skew)
		}
	case faults.StepAhead:
		c.ahead += ms(s.Skew)
	case faults.StepBack:
		c.ahead -= ms(s.Skew)
	case faults.Crash:
		w.monitor.crashed(o.client)
		*c = client{at: c.at, phase: crashed, ops: c.ops, travel: c.travel, ends: never}
	case faults.Duplicate:
		c.stepped(o)
		m := c.message(o.task)
		m.again = true
		c.travel = append(c.travel, m)
		m.again = false
		c.answers = append(c.answers, answer{o.task, s.serve(w, o.client, m, false)})
	case faults.ReplyLost, faults.LateRequest:
		if c.deaf = o.unseen; o.unseen {
			return nil
		}
		return s.notice(w, o)
	}
	return nil
}

// notice has a client learn that it gets no reply.
func (s *search) notice(w *world, o choice) error {
	c := &w.clients[o.client]
	c.stepped(o)
	if c.deaf = false; c.answer(o.task) < 0 && !c.isBroken(o.task) {
		c.depart(o.task, false)
	}
	c.drop(o.task)
	return s.give(w, o.client, input{kind: lost, task: o.task})
}

func (s *search) strikeServer(w *world, o choice) {
	before := w.servers[o.client].model
	v := w.change(o.client)
	switch o.fault {
	case faults.ClockJump:
		v.model.Advance(2 * s.Lease)
	case faults.ClockBack:
		v.model.Advance(-2 * s.Lease)
	case faults.Restart:
		v.model.Restart(false)
		v.behind = nil
	case faults.FailOver:
		v.model, v.behind = v.behind, nil
	}
	if o.fault == faults.Restart || o.fault == faults.FailOver {
		for i := range w.clients {
			w.clients[i].disconnect(i, o.client, before)
		}
	}
}

// disconnect breaks a client's connections to a server. What was on its way there and back may be lost.
func (c *client) disconnect(i, server int, before *redis.Server) {
	watches := func(conn int) bool { return conn != 0 && before.Watching(connection(i, conn)) }
	for conn := range len(c.at.waits) + 1 {
		if watches(conn) && !slices.Contains(c.broken, server) {
			c.broken = append(c.broken, server)
		}
	}
	if c.phase != crashed {
		for _, wait := range c.at.waits {
			if wait.Kind == process.Request && wait.Server == server && !c.waitsInVain(wait.Task) && !slices.Contains(c.torn, wait.Task) {
				c.torn = append(c.torn, wait.Task)
			}
		}
	}
	c.travel = slices.DeleteFunc(c.travel, func(m message) bool { return m.server == server && watches(m.conn) })
	for k := range c.travel {
		c.travel[k].torn = c.travel[k].torn || c.travel[k].soon && c.travel[k].server == server
	}
}

// without is a list without a number.
func without(list []int, n int) []int {
	return slices.DeleteFunc(list, func(other int) bool { return other == n })
}
