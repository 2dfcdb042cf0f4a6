package explore

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/learn"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/states"
)

// watcher is told what a move does, where somebody wants to know.
type watcher interface {
	// called and returned are the two ends of a client's operation.
	called(client int, op history.Op)
	returned(client int, op history.Op, a history.Answer)
	// notice is a loss or a renewal that a lock reports.
	notice(client int, n process.Notice)
	// sent is a request that a server has executed, with what was under its key before and after.
	sent(q sending, reply uint32, before, after history.State)
	// passed is time.
	passed(d ms)
	// gaveUp: the user of a client has given up its release.
	gaveUp(client int)
	// contacted: the library of a client has made contact with a ZooKeeper; over: its session had ended, and it has got another.
	contacted(client int, over bool)
	// healed: a client is cut off no more.
	healed(client int)
	// departs: a client has given up a request of one of its tasks that is still on its way.
	departs(s *state, client, task int)
	// byServer is what a ZooKeeper did by itself to the node of a client.
	byServer(entry string, client int, node string, before, after history.State)
}

// sending is a request that arrives at a server.
type sending struct {
	client  int
	op      history.Op // that it is part of; none: a background task's
	ended   bool       // that operation has ended
	ok      bool       // well
	age     ms         // how long ago its latest command was, if it has ended
	ago     uint8      // how many acquires ago its client called the one that it is part of
	early   uint8      // the clients that were acquiring already when it did
	passed  bool       // of work: another client has had a turn since that was called
	unheard bool       // nobody waits for the reply
	request uint32
}

// apply makes a move. The anomalies that it shows are with the judge.
func (x *explorer) apply(s *state, m move) error {
	x.judge.s = s
	c := &s.clients[m.client]
	switch m.kind {
	case movePass:
		return x.pass(s, m)
	case moveJump, moveRestart, moveFail:
		x.serverFault(s, m)
		return nil
	case moveArrive:
		x.arrive(s, m)
		return x.asked()
	case moveCut, moveHeal:
		x.part(s, m)
		return nil
	}
	c.stepped(m)
	switch m.kind {
	case moveCall:
		return x.call(s, m)
	case moveContact:
		return x.contact(s, int(m.client))
	case moveServe, moveTwice:
		if c.silence > 0 && x.automaton.Nodes[c.node].Slots[m.slot].Server != process.Resource {
			if err := x.contact(s, int(m.client)); err != nil {
				return err
			}
		}
		x.execute(s, m)
		return x.asked()
	case moveTake:
		reply := c.replies[m.slot]
		c.replies[m.slot] = 0
		return x.give(s, int(m.client), learn.Input{Kind: learn.InputReply, Slot: m.slot, Arg: reply})
	case moveExpire:
		return x.give(s, int(m.client), learn.Input{Kind: learn.InputExpired, Slot: m.slot, Arg: 0})
	case moveWake:
		if bit := uint8(1) << m.slot; c.come&bit != 0 {
			c.come &^= bit
			return x.give(s, int(m.client), eventInput(x.automaton.Nodes[c.node].Slots[m.slot], m.slot))
		}
		return x.give(s, int(m.client), learn.Input{Kind: learn.InputWake, Slot: m.slot, Arg: 0})
	case moveLose:
		x.spendOnMessage(s, m, replyLost)
		c.replies[m.slot] = 0
		return x.give(s, int(m.client), learn.Input{Kind: learn.InputLost, Slot: m.slot, Arg: 0})
	case moveLate:
		x.spendOnMessage(s, m, lateRequest)
		x.depart(c, m.slot, current)
		return x.give(s, int(m.client), learn.Input{Kind: learn.InputLost, Slot: m.slot, Arg: 0})
	case moveCrash:
		s.spent[crash]++
		x.crash(s, int(m.client))
	case moveAhead, moveBehind:
		x.setClock(s, m)
	}
	return nil
}

// stepped: the client is not paused any more, nor is it in a long hold if the step is its operation's.
func (c *client) stepped(m move) {
	c.clear(asleep)
	if m.slot == 0 || m.kind == moveCall {
		c.clear(busy)
	}
}

// spendOnMessage spends a fault, unless it has been spent when the client began to wait for what is lost, or its connection has broken.
func (x *explorer) spendOnMessage(s *state, m move, f fault) {
	c := &s.clients[m.client]
	switch {
	case f != duplicate && x.losesAnyway(c, m):
		return
	case m.slot == 0 && c.has(deaf):
		c.clear(deaf)
		return
	}
	s.spent[f]++
	x.judge.disturbForGood(c)
}

// execute has a server execute the request of a client's task. A client that was paused before had not sent it yet.
func (x *explorer) execute(s *state, m move) {
	c := &s.clients[m.client]
	request := x.automaton.Nodes[c.node].Slots[m.slot].Request
	op := x.operationOf(c, int(m.slot))
	if m.kind == moveTwice {
		x.spendOnMessage(s, m, duplicate)
		x.depart(c, m.slot, current)
	}
	c.mend(int(m.slot)) // it has sent it by a new connection
	c.replies[m.slot] = x.serve(s, sending{client: int(m.client), op: op, passed: op == history.OpWork && c.passed, request: request})
}

// operationOf is the operation that a task of a client is part of; none for a background task.
func (x *explorer) operationOf(c *client, slot int) history.Op {
	if slot != 0 || x.automaton.Nodes[c.node].Idle {
		return history.OpNone
	}
	switch c.phase {
	case acquiring:
		return history.OpAcquire
	case working:
		return history.OpWork
	case releasing:
		return history.OpRelease
	}
	return history.OpNone
}

func (x *explorer) call(s *state, m move) error {
	i := int(m.client)
	op, _ := x.next(&s.clients[i])
	if m.slot == anew {
		op = history.OpRelease
	}
	if x.watcher != nil {
		x.watcher.called(i, op)
	}
	x.judge.called(i, op)
	return x.give(s, i, learn.Input{Kind: learn.InputCall, Slot: 0, Arg: uint32(op)})
}

// give hands a client an input, and takes in what comes of it.
func (x *explorer) give(s *state, i int, in learn.Input) error {
	c := &s.clients[i]
	t, err := x.automaton.Step(c.node, in, x.reading(s, i), func() uint16 { return x.usedTokens(s).Of(i) })
	if err != nil {
		return err
	}
	// What a task has given up is still on its way, and arrives soon.
	for k := range x.automaton.Nodes[c.node].Tasks {
		if t.Dropped&(1<<k) == 0 {
			continue
		}
		switch {
		case c.replies[k] != 0:
		case c.room() < 0:
			x.cut = errTravel
		default:
			if x.watcher != nil {
				x.watcher.departs(s, i, k)
			}
			x.depart(c, uint8(k), current|surely)
		}
		c.replies[k] = 0
		c.mend(k)
	}
	from, before := x.automaton.CalledAt(c.node, in), c.node
	c.moveTo(t, &x.automaton.Nodes[t.To], x.slow)
	if x.sessions {
		x.awaitWatches(s, i, before, &t)
	}
	for _, n := range x.automaton.Outputs.Reported[t.Output] {
		heard := c.from
		if n.Kind == process.Renewed && !x.sessions && !x.hears(before, in) {
			return x.automaton.Impure(errUnasked)
		}
		if x.receive(s, i, n, from); x.followsDeclarations(c) {
			c.from = heard // what it declares next counts from there, too; see ageDeclaration
		}
	}
	if was := &x.automaton.Nodes[before]; x.sessions && was.Idle && was.Tasks > 0 && c.phase == waiting && !x.isTired(s, i) {
		c.clear(futile) // what its tries have left behind is done
	}
	x.resetFinished(c, i)
	return nil
}

// resetFinished: a finished client's memory is dead state, so it is reset when its tasks have ended.
func (x *explorer) resetFinished(c *client, i int) {
	if c.phase != finished || c.has(unsure) || x.automaton.Nodes[c.node].Tasks > 0 || x.config.Plain {
		return
	}
	last := *c
	*c = freshClient(i)
	c.phase, c.round, c.skew, c.steps = finished, last.round, last.skew, last.steps
	c.flights, c.queued = last.flights.alone(), last.queued
	c.flags, c.challenger = last.flags&challenge, last.challenger
}

// moveTo takes the client to the node that a transition leads to, and begins the waits there.
func (c *client) moveTo(t learn.Transition, to *learn.Node, slow slowRate) {
	c.node = t.To
	for k := range to.Slots {
		switch {
		case to.Slots[k].Kind == 0:
			c.due[k] = never
			c.mend(k)
		case t.Fresh&(1<<k) != 0 && to.Slots[k].Due != learn.GoesOn:
			c.due[k] = slow.takes(c, to.Slots[k].Due)
			c.mend(k)
		case t.Fresh&(1<<k) != 0:
			c.mend(k)
		}
	}
	if to.Listens || c.come != 0 {
		c.settleEvents(&t, to)
	}
}

// receive takes in what a lock reports. Its operation was called at the node from.
func (x *explorer) receive(s *state, i int, n process.Notice, from uint32) {
	switch n.Kind {
	case process.Returned:
		if x.watcher != nil {
			x.watcher.returned(i, n.Op, n.Answer)
		}
		c := &s.clients[i]
		age := c.since
		if !x.followsAges() {
			age = 0
		}
		if x.sessions && n.Op == history.OpAcquire {
			c.makers.end(makerOf(n.Answer.Outcome == history.OK, x.judge.acquirers(i)))
		}
		x.judge.returned(i, n.Op, n.Answer)
		x.retries(s, i, from)
		c.settleTravel(n.Answer.Outcome == history.OK, x.judge.acquirers(i), age)
		if c.phase == waiting && int(c.round) == x.config.Rounds {
			c.phase = finished
		}
		return
	case process.Lost:
		x.judge.lost(i)
	case process.Renewed:
		x.judge.renewed(i, n.Valid)
	case process.Hangup:
		x.hangUp(s, i, n)
	}
	if x.watcher != nil {
		x.watcher.notice(i, n)
	}
}

// serve has a server execute a request and returns the number of the reply.
func (x *explorer) serve(s *state, q sending) uint32 {
	server := x.texts.Requests[q.request].Server
	if server == process.Resource {
		return x.serveResource(s, q)
	}
	if x.sessions {
		return x.serveNodes(s, q)
	}
	before := s.servers[server]
	done := x.servers.Serve(before, q.request, q.client)
	s.servers[server] = done.Next
	was, is := x.servers.States[before].Lock, x.servers.States[done.Next].Lock
	if x.watcher != nil {
		x.watcher.sent(q, done.Reply, was, is)
	}
	if done.Next != before {
		x.allowRetries(s)
		if x.failsOver() {
			s.replicas[server] = x.replicas.Wrote(s.replicas[server], before, done.Next)
		}
	}
	if done.Named {
		cmd := command{sending: q, effect: done.Effect, before: was.Exists(), unlimited: was.Exists() && was.TTL == 0, after: is, server: server}
		if cmd.effect == history.EffectUnclear {
			cmd.sameValue = was.Type == is.Type && was.Value == is.Value
		}
		if cmd.effect == history.EffectReplaced {
			cmd.counts, cmd.prolongs = x.counts(q.request, was, is)
		}
		if x.failsOver() {
			cmd.found, cmd.left = x.servers.Value(before), x.servers.Value(done.Next)
		}
		x.judge.commanded(cmd)
		x.judge.commandInQueue(cmd)
		if q.op != history.OpNone && !q.ended {
			s.clients[q.client].since = 0
		}
	}
	return done.Reply
}

func (x *explorer) serveResource(s *state, q sending) uint32 {
	before := s.resource
	done := x.resource.Serve(before, q.request, q.client)
	s.resource = done.Next
	was, is := x.resource.States[before].Lock, x.resource.States[done.Next].Lock
	if x.watcher != nil {
		x.watcher.sent(q, done.Reply, was, is)
	}
	if x.accepted(q.request, done) {
		x.judge.wrote(q.client, was.Type == is.Type && was.Value == is.Value, q.passed)
	}
	return done.Reply
}

// accepted says whether a request to the resource was a write, and was not refused. One that does not name the counter shows a fence.
func (x *explorer) accepted(request uint32, done states.Serving) bool {
	word := x.texts.Requests[request].Commands[0][0]
	return done.Named && word != "GET" && x.texts.Replies[done.Reply].Replies[0].Kind != service.Error
}

// allowRetries: something has changed, so a try that was refused may now come to something else.
func (x *explorer) allowRetries(s *state) {
	for i := range x.clients {
		if x.sessions && x.isTired(s, i) {
			continue
		}
		s.clients[i].clear(futile)
		s.clients[i].tries = 0
	}
}

func (x *explorer) pass(s *state, m move) error {
	if x.watcher != nil && !x.sessions {
		x.watcher.passed(m.d)
	}
	for f, spends := range s.delays(m) {
		s.spent[f] += spends
	}
	for i := range x.clients {
		c := &s.clients[i]
		switch bit := uint8(1) << i; {
		case m.paused&m.busy&bit != 0:
			c.set(deaf)
			x.judge.disturbForGood(c)
		case m.paused&bit != 0:
			c.set(asleep)
			x.judge.disturb(c)
		case m.busy&bit != 0:
			c.set(busy)
		}
		for k, due := range c.due {
			if due != never {
				c.due[k] = max(due-m.d, 0)
			}
		}
		if x.followsAges() {
			c.ageTravel(m.d, x.lease)
		}
	}
	if x.sessions {
		if err := x.passSessions(s, m.d); err != nil {
			return err
		}
	} else {
		x.passServers(s, m.d)
		x.judge.pass(m.d, false)
	}
	for i := range x.clients {
		if x.judge.releaseWaited(&s.clients[i], m.d) && x.watcher != nil {
			x.watcher.gaveUp(i)
		}
	}
	if x.timed {
		s.now += m.d
	}
	x.allowRetries(s)
	return nil
}

func (x *explorer) serverFault(s *state, m move) {
	i := m.client
	before := s.servers[i]
	switch m.kind {
	case moveJump:
		f, by := clockJump, 2*x.lease
		if m.slot == backwards {
			f, by = clockBack, -by
		}
		s.spent[f]++
		s.servers[i] = x.servers.Tick(s.servers[i], by)
	case moveRestart:
		s.spent[restart]++
		s.servers[i] = x.servers.Restart(s.servers[i])
	case moveFail:
		s.spent[failOver]++
		s.servers[i], s.replicas[i] = x.replicas.Known[s.replicas[i]][m.slot]-1, 0
	}
	if m.kind != moveJump {
		x.breakConnections(s, i, before)
	}
	x.judge.doubt(i)
	for i := range x.clients {
		x.judge.disturb(&s.clients[i])
	}
	x.allowRetries(s)
}

// crash ends a client's process. What it had sent and no server has executed dies with it.
func (x *explorer) crash(s *state, i int) {
	c := &s.clients[i]
	x.judge.settleProvisional(i, false)
	x.judge.crashesInQueue(i)
	x.judge.crashesKept(i)
	flights, challenged, challenger := c.flights.alone(), c.flags&challenge, c.challenger // the value that it has put in another's place is still there
	*c = freshClient(i)
	c.phase, c.flights, c.flags, c.challenger = crashed, flights, challenged, challenger
	c.claims = 0
	c.makers.end(byTask)
	c.session = session{makers: c.makers}
	c.passed = false
}
