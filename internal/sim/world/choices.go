package world

import (
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/process"
)

// kind is the kind of a choice.
type kind uint8

const (
	calls         kind = iota // the client calls its next operation
	serves                    // a server executes the request of a task
	takes                     // the reply reaches the client
	timesOut                  // a time-out is over
	wakes                     // a sleep is over
	arrives                   // a request arrives that nobody waits for; task is its place
	passes                    // time passes
	strikes                   // a fault of a client or its message
	strikesServer             // one of a server
	notices                   // a client that has waited for what is lost waits no more
	vanishes                  // a request that nobody waits for is lost with its connection
	breaks                    // a client learns that the connection has broken by which it waits for a reply
	contacts                  // the library of a client that was paused or cut off makes contact with its ZooKeeper
	heals                     // a client is cut off no more
)

// Choice is one step of the whole.
type Choice struct {
	time   int32 // that passes
	fault  int32 // by its place in budget.kinds
	kind   kind
	client uint8 // or server
	task   uint8 // or how many writes are lost, less 1
	paused uint8 // the clients that are, in bits, while time passes
	busy   uint8 // those that are in a long hold
	unseen bool  // it is a loss, and the client waits on
	again  bool  // it is a call: of a release once more
	clock  bool  // it is time that passes, and nothing ends then: a client may read its clock
}

// Choices appends all that can come next.
func (s *Space) Choices(list []Choice, r *State) []Choice {
	for n := range s.Most - s.Spent(r) + 1 {
		list = s.Spending(list, r, n)
	}
	return list
}

// Spending appends what can come next by so many faults.
func (s *Space) Spending(list []Choice, r *State, n int) []Choice {
	for i := range s.Clients {
		for _, o := range s.ofPart(r, i) {
			if (o.kind == strikes) == (n == 1) && n <= 1 {
				list = append(list, o)
			}
		}
	}
	if n == 1 && len(s.player.budget.servers) > 0 {
		var asked uint8
		for i := range s.Clients {
			asked |= s.parts.client(r, i).asks
		}
		for i := range s.Servers {
			list = s.player.faultsAt(list, &s.parts.struck(r).struck, s.parts.server(r, i), i, asked>>i&1 != 0)
		}
	}
	return s.ofTime(list, r, n)
}

// ofPart are the choices of a client. They depend on nothing but it, the faults so far, and whether any time has passed.
func (s *Space) ofPart(r *State, i int) []Choice {
	p, k := s.parts.client(r, i), s.parts.struck(r)
	for n := range p.choices {
		if p.choices[n].may == k.may {
			return p.choices[n].choices
		}
	}
	list := s.player.ofClient(nil, &p.c, i)
	if p.c.mayReleaseAgain() {
		list = append(list, Choice{kind: calls, client: uint8(i), again: true})
	}
	list = s.player.faultsOf(list, &p.c, i, k.struck)
	p.choices = append(p.choices, offer{k.may, list})
	return list
}

// mayReleaseAgain says whether a client may release once more.
func (c *client) mayReleaseAgain() bool {
	return c.unsure && !c.at.Busy && c.phase != crashed
}

func (p *player) ofClient(list []Choice, c *client, i int) []Choice {
	for k := range c.travel {
		if c.session.cut && asksKeeper(c.travel[k].server) {
			continue
		}
		list = append(list, Choice{kind: arrives, client: uint8(i), task: uint8(k)})
		if c.travel[k].torn {
			list = append(list, Choice{kind: vanishes, client: uint8(i), task: uint8(k)})
		}
	}
	if c.phase == crashed {
		return list
	}
	if p.next(c) != history.OpNone {
		list = append(list, Choice{kind: calls, client: uint8(i)})
	}
	switch s := &c.session; {
	case s.cut:
		list = append(list, Choice{kind: heals, client: uint8(i)})
	case s.silence > 0:
		list = append(list, Choice{kind: contacts, client: uint8(i)})
	}
	for k := range c.at.Waits {
		list = p.ofWait(list, c, i, &c.at.Waits[k])
	}
	return list
}

func (p *player) ofWait(list []Choice, c *client, i int, wait *process.Wait) []Choice {
	add := func(kind kind, may bool) {
		if may {
			list = append(list, Choice{kind: kind, client: uint8(i), task: uint8(wait.Task)})
		}
	}
	due, answered, apart := c.dueAt(wait.Task) <= 0, c.answer(wait.Task) >= 0 || c.messageFor(wait) >= 0, c.isCutOff(wait)
	switch {
	case c.waitsInVain(wait.Task):
		add(notices, true)
	case wait.Kind == process.Sleep:
		add(wakes, due)
	case isEvent(wait):
		add(wakes, c.session.come.has(wait.Task))
	case wait.Kind == process.Request, wait.Kind == process.Message:
		add(serves, wait.Kind == process.Request && !answered && !c.isBroken(wait.Task) && !apart && !(p.sessions && c.isBehind(wait)))
		add(breaks, c.torn.has(wait.Task) || !answered && c.isBroken(wait.Task))
		add(takes, answered && !due && !apart)
		add(timesOut, due)
	}
	return list
}

// isBroken says whether the request of a task has to go by a connection that has broken.
func (c *client) isBroken(task int) bool {
	wait := c.at.Wait(task)
	return wait.Conn != 0 && c.broken.has(wait.Server) || c.session.gone.has(task)
}

// clocksMatter says whether it can make a difference that a clock is wrong from the start.
func (p *player) clocksMatter() bool { return p.past.Clocks != past.Unread || p.ClockRate != 0 }

func (p *player) faultsOf(list []Choice, c *client, i int, k struck) []Choice {
	if c.phase == crashed || c.phase == finished || c.phase == tired {
		return list
	}
	strike := func(kind faults.Kind, task int) {
		if p.budget.may(&k, kind, 1) {
			list = append(list, Choice{kind: strikes, client: uint8(i), task: uint8(task), fault: int32(p.budget.place(kind))})
		}
	}
	if p.clocksMatter() && !c.begun && !c.wrong() {
		strike(faults.ClockAhead, 0)
		strike(faults.ClockBehind, 0)
	}
	if p.past.Clocks != past.Unread {
		strike(faults.StepAhead, 0)
		strike(faults.StepBack, 0)
	}
	if c.phase != waiting || c.at.Busy {
		strike(faults.Crash, 0)
	}
	if p.mayBeCutOff(c) {
		strike(faults.Partition, 0)
	}
	for k := range c.at.Waits {
		wait := &c.at.Waits[k]
		from := len(list)
		switch {
		case wait.Kind != process.Request || c.waitsInVain(wait.Task) || c.isApart(wait):
			continue
		case c.answer(wait.Task) >= 0:
			strike(faults.ReplyLost, wait.Task)
		default:
			strike(faults.LateRequest, wait.Task)
		}
		if len(list) > from && p.mayWaitOn(c, wait.Task) {
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

// mayWaitOn says whether a task may wait for what is lost until its client gives up. The library of a ZooKeeper does not wait so long.
func (p *player) mayWaitOn(c *client, task int) bool {
	return !p.sessions && c.at.Operates(task) && c.dueAt(task) == never
}

// waitsInVain says whether a task waits for what is lost. Only an operation without a time-out of its own does so for long.
func (c *client) waitsInVain(task int) bool { return c.deaf && c.at.Operates(task) }

// faultsAt are those of a server; asked: something is on its way to it or from it.
func (p *player) faultsAt(list []Choice, k *struck, v *serverPart, i int, asked bool) []Choice {
	for _, kind := range p.budget.servers {
		ways, may := 1, v.occupied
		switch kind {
		case faults.Restart:
			may = may || asked
		case faults.FailOver:
			may, ways = true, len(v.behind)
		}
		for way := range ways {
			if may && p.budget.may(k, kind, 1) {
				list = append(list, Choice{kind: strikesServer, client: uint8(i), task: uint8(way), fault: int32(p.budget.place(kind))})
			}
		}
	}
	return list
}

// asks are the servers to which or from which something of a client is on its way, in bits.
func (c *client) asks() (servers uint8) {
	for _, wait := range c.at.Waits {
		if c.phase != crashed && wait.Kind == process.Request && wait.Server >= 0 {
			servers |= 1 << wait.Server
		}
	}
	for _, m := range c.travel {
		if m.server >= 0 {
			servers |= 1 << m.server
		}
	}
	return servers
}

// ready says whether a client has a step to make at once: in its operation or between two, and in a background task. A client that
// wants the lock need not ask for it at once, nor for some time again if it queues.
func (p *player) ready(c *client) (main, beside bool) {
	if c.phase == crashed {
		return false, false
	}
	main = (c.phase != waiting || p.queues(c) && c.called >= p.patient()) && p.next(c) != history.OpNone
	main = main && !c.session.cut // the user of one that is cut off takes its time
	beside = c.session.silence > 0 && !c.session.cut
	for _, wait := range c.at.Waits {
		step := wait.Kind == process.Request && !c.waitsInVain(wait.Task) && !c.isCutOff(&wait) || wait.Kind == process.Sleep && c.dueAt(wait.Task) <= 0 ||
			c.hears(&wait) || c.session.come.has(wait.Task)
		if c.at.Operates(wait.Task) {
			main = main || step
		} else {
			beside = beside || step
		}
	}
	return main, beside
}

// done says whether a client will not do anything any more unless time passes.
func (p *player) done(c *client) bool {
	main, beside := p.ready(c)
	return !main && !beside && len(c.travel) == 0 && c.phase >= finished && !c.session.cut
}
