package world

import (
	"math/bits"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
)

// kind is the kind of a choice.
type kind uint8

const (
	calls         kind = iota // the client calls its next operation
	serves                    // a server executes the request of a task
	takes                     // the reply reaches the client
	expires                   // a time-out is over
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
	kind   kind
	client uint8 // or server
	task   uint8 // or how many writes are lost, less 1
	paused uint8 // the clients that are, in bits, while time passes
	busy   uint8 // those that are in a long hold
	fault  uint8 // by its place in Space.kinds
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
	if k := &s.parts.strucks.list[r.struck].struck; n == 1 && slices.ContainsFunc(ofServers[:], func(kind faults.Kind) bool { return s.player.may(k, kind, 1) }) {
		var asked uint8
		for i := range s.Clients {
			asked |= s.parts.clients.list[r.clients[i]].asks
		}
		for i := range s.Servers {
			list = s.player.faultsAt(list, k, &s.parts.servers.list[r.servers[i]], i, asked>>i&1 != 0)
		}
	}
	return s.ofTime(list, r, n)
}

// ofPart are the choices of a client. They depend on nothing but it, the faults so far, and whether any time has passed.
func (s *Space) ofPart(r *State, i int) []Choice {
	p, k := &s.parts.clients.list[r.clients[i]], &s.parts.strucks.list[r.struck].struck
	may := s.player.mayStrike(k)
	for n := range p.choices {
		if p.choices[n].may == may {
			return p.choices[n].choices
		}
	}
	list := s.player.ofClient(nil, &p.c, i)
	if p.c.mayReleaseAgain() {
		list = append(list, Choice{kind: calls, client: uint8(i), again: true})
	}
	list = s.player.faultsOf(list, &p.c, i, *k)
	p.choices = append(p.choices, offer{may, list})
	return list
}

// mayStrike are the kinds of faults one of which may strike, in bits.
func (p *player) mayStrike(k *struck) (may uint32) {
	for at, kind := range p.kinds {
		if k.all < p.Most && int(k.kinds[at]) < p.Budget[kind] {
			may |= 1 << at
		}
	}
	return may
}

// mayReleaseAgain says whether a client may release once more.
func (c *client) mayReleaseAgain() bool {
	return c.unsure && !c.at.busy && c.phase != crashed
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
	list = c.library(list, i)
	for k := range c.at.waits {
		list = p.ofWait(list, c, i, &c.at.waits[k])
	}
	return list
}

func (p *player) ofWait(list []Choice, c *client, i int, wait *process.Wait) []Choice {
	add := func(kind kind, may bool) {
		if may {
			list = append(list, Choice{kind: kind, client: uint8(i), task: uint8(wait.Task)})
		}
	}
	over, answered, apart := c.dueAt(wait.Task) <= 0, c.answer(wait.Task) >= 0 || c.messageFor(wait) >= 0, c.isCutOff(wait)
	switch {
	case c.waitsInVain(wait.Task):
		add(notices, true)
	case wait.Kind == process.Sleep:
		add(wakes, over)
	case isEvent(wait):
		add(wakes, slices.Contains(c.session.come, wait.Task))
	case wait.Kind == process.Request, wait.Kind == process.Message:
		add(serves, wait.Kind == process.Request && !answered && !c.isBroken(wait.Task) && !apart && !(p.sessions && c.isBehind(wait)))
		add(breaks, slices.Contains(c.torn, wait.Task) || !answered && c.isBroken(wait.Task))
		add(takes, answered && !over && !apart)
		add(expires, over)
	}
	return list
}

// isBroken says whether the request of a task has to go by a connection that has broken.
func (c *client) isBroken(task int) bool {
	wait := c.at.wait(task)
	return wait.Conn != 0 && slices.Contains(c.broken, wait.Server) || slices.Contains(c.session.gone, task)
}

// may says whether the budget has so many more faults of a kind.
func (p *player) may(k *struck, kind faults.Kind, more int) bool {
	at := p.place(kind)
	return more == 0 || at >= 0 && int(k.kinds[at])+more <= p.Budget[kind] && k.all+more <= p.Most
}

// clocksMatter says whether it can make a difference that a clock is wrong from the start.
func (p *player) clocksMatter() bool { return p.locals.clocks != unread || p.ClockRate != 0 }

func (p *player) faultsOf(list []Choice, c *client, i int, k struck) []Choice {
	if c.phase == crashed || c.phase == finished || c.phase == tired {
		return list
	}
	strike := func(kind faults.Kind, task int) {
		if p.may(&k, kind, 1) {
			list = append(list, Choice{kind: strikes, client: uint8(i), task: uint8(task), fault: uint8(p.place(kind))})
		}
	}
	if p.clocksMatter() && !c.begun && !c.wrong() {
		strike(faults.ClockAhead, 0)
		strike(faults.ClockBehind, 0)
	}
	if p.locals.clocks != unread {
		strike(faults.StepAhead, 0)
		strike(faults.StepBack, 0)
	}
	if c.phase != waiting || c.at.busy {
		strike(faults.Crash, 0)
	}
	if p.mayBeCutOff(c) {
		strike(faults.Partition, 0)
	}
	for k := range c.at.waits {
		wait := &c.at.waits[k]
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
	return !p.sessions && c.at.busy && task == c.at.main && c.dueAt(task) == never
}

// waitsInVain says whether a task waits for what is lost. Only an operation without a time-out of its own does so for long.
func (c *client) waitsInVain(task int) bool { return c.deaf && c.at.busy && task == c.at.main }

// ofClocks are the faults of clients' clocks.
var ofClocks = [...]faults.Kind{faults.ClockAhead, faults.ClockBehind, faults.StepAhead, faults.StepBack}

// ofServers are the faults of servers.
var ofServers = [...]faults.Kind{faults.ClockJump, faults.ClockBack, faults.Restart, faults.FailOver}

// faultsAt are those of a server; asked: something is on its way to it or from it.
func (p *player) faultsAt(list []Choice, k *struck, v *serverPart, i int, asked bool) []Choice {
	for _, kind := range ofServers {
		ways, may := 1, v.holds
		switch kind {
		case faults.Restart:
			may = may || asked
		case faults.FailOver:
			may, ways = true, len(v.behind)
		}
		for way := range ways {
			if may && p.may(k, kind, 1) {
				list = append(list, Choice{kind: strikesServer, client: uint8(i), task: uint8(way), fault: uint8(p.place(kind))})
			}
		}
	}
	return list
}

// holds says whether a server has the lock, or anything that ends.
func (v *server) holds() bool {
	return len(v.model.State(lockKey).Type) > 0 || len(v.model.Expiries()) > 0
}

// asks are the servers to which or from which something of a client is on its way, in bits.
func (c *client) asks() (servers uint8) {
	for _, wait := range c.at.waits {
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
	for _, wait := range c.at.waits {
		step := wait.Kind == process.Request && !c.waitsInVain(wait.Task) && !c.isCutOff(&wait) || wait.Kind == process.Sleep && c.dueAt(wait.Task) <= 0 ||
			c.hears(&wait) || slices.Contains(c.session.come, wait.Task)
		if c.at.busy && wait.Task == c.at.main {
			main = main || step
		} else {
			beside = beside || step
		}
	}
	return main, beside
}

// over says whether a client will not do anything any more unless time passes.
func (p *player) over(c *client) bool {
	main, beside := p.ready(c)
	return !main && !beside && len(c.travel) == 0 && c.phase >= finished && !c.session.cut
}

// ofTime appends the choices by which time passes. A client that has a step to make is paused meanwhile; or it is in a long hold, if it is
// its user's turn.
func (s *Space) ofTime(list []Choice, r *State, n int) []Choice {
	var pausing uint8
	var either []int
	for i := range s.Clients {
		p := &s.parts.clients.list[r.clients[i]]
		switch {
		case p.soon:
			return list
		case p.c.paused || !p.main && !p.beside:
		case p.beside, !p.c.busy && !p.user:
			pausing |= 1 << i
		case !p.c.busy:
			either = append(either, i)
		}
	}
	k := &s.parts.strucks.list[r.struck].struck
	for set := range 1 << len(either) {
		o := Choice{kind: passes, paused: pausing}
		for at, i := range either {
			if set>>at&1 == 0 {
				o.paused |= 1 << i
			} else {
				o.busy |= 1 << i
			}
		}
		paused, busy := bits.OnesCount8(o.paused), bits.OnesCount8(o.busy)
		if paused+busy != n || !s.player.may(k, faults.Pause, paused) || !s.player.may(k, faults.LongHold, busy) || k.all+paused+busy > s.Most {
			continue
		}
		for _, t := range s.instants(r, o.paused) {
			o.time, o.clock = int32(t.at), t.clock
			list = append(list, o)
		}
	}
	return list
}

// instant is a time that may pass. clock: nothing ends then, but a client may read its clock.
type instant struct {
	at    int
	clock bool
}

// instants are the times that may pass: not beyond the end of a wait of a client that is not paused. Where nothing ends any more, no time
// passes, unless clocks drift, or a client is under way that has read its clock. A lock that reads clocks sees more: quarters of a lease since it did,
// or since the beginning; and one that asks how long keys live sees quarters of a lease before they end.
func (s *Space) instants(r *State, paused uint8) []instant {
	due, horizon := s.limits(r, paused)
	limit, coming := min(due, horizon), false
	list := s.scratch.times[:0]
	add := func(t int) {
		if t > 0 {
			list, coming = append(list, instant{at: t}), true
		}
	}
	for i := range s.Clients {
		p := &s.parts.clients.list[r.clients[i]]
		for _, t := range p.times {
			add(t)
		}
		coming = coming || s.clocked(p)
	}
	for i := range s.Servers {
		p := &s.parts.servers.list[r.servers[i]]
		for _, t := range p.times {
			add(t)
		}
		for _, t := range p.quarters {
			list = append(list, instant{t, true})
		}
	}
	if s.player.sessions {
		s.ofSessions(add, r, paused)
	}
	if end := s.parts.monitors.list[r.monitor].owner.ends; end != never {
		around(add, end)
	}
	if coming {
		list = s.readings(list, r, limit)
	}
	slices.SortFunc(list, func(a, b instant) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.clock == b.clock:
			return 0
		case a.clock:
			return 1
		}
		return -1
	})
	s.scratch.times = list
	list = slices.CompactFunc(list, func(a, b instant) bool { return a.at == b.at })
	for len(list) > 0 && list[len(list)-1].at > limit {
		s.player.seen.beyond = s.player.seen.beyond || horizon < due
		list = list[:len(list)-1]
	}
	return list
}

// limits are how much time may pass: until a client that is not paused waits no more, and until the horizon of one that reads clocks, or sleeps.
func (s *Space) limits(r *State, paused uint8) (due, horizon int) {
	due, horizon = never, never
	if s.player.locals.clocks == absolute {
		horizon = ms(s.Horizon) - int(r.now)
	}
	for i := range s.Clients {
		p := &s.parts.clients.list[r.clients[i]]
		if !p.c.paused && paused>>i&1 == 0 {
			due = min(due, p.due)
		}
		if p.c.at.sleeps {
			horizon = min(horizon, ms(s.Horizon)-p.c.ago.slept)
		}
		if s.player.locals.clocks == differences {
			horizon = min(horizon, ms(s.Horizon)-p.c.ago.read)
		}
	}
	return due, horizon
}

// around adds an end, a moment before it and one after, and the last one at which a lease certainly runs.
func around(add func(int), end int) {
	for _, t := range [...]int{end - safely, end - 1, end, end + 1} {
		add(t)
	}
}

// safely is more than the margin by which the checker lets a lease end early.
const safely = 30

// ofSessions adds when sessions end of clients that are dead, paused or cut off.
func (s *Space) ofSessions(add func(int), r *State, paused uint8) {
	for i := range s.Clients {
		c := &s.parts.clients.list[r.clients[i]].c
		ends := c.phase == crashed && len(c.session.made)+len(c.travel) > 0
		if left := s.parts.servers.list[r.servers[0]].left[i]; left > 0 && (ends || c.phase != crashed && (c.paused || paused>>i&1 != 0 || c.session.cut)) {
			around(add, left)
		}
	}
}
