package explore

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
)

// A lock that reads a clock compares what it reads with something: with the end of a lease, or with what it has made up itself. Time passes
// to the ends of waits and leases anyway. The other instants that matter are found by having the lock's code take its next step at many
// times: where it does something else than a moment before, there is a threshold. What it does next is what it asks, tells and waits for,
// but for the numbers in it, which may be times themselves. Of the validity that it tells, it is how that changes with time.

const (
	probesPerLease = 16 // so far apart are the times that are tried, up to as far as the search follows time
	farthest       = ms(48 * 60 * 60 * 1000)
)

// passing is what a search knows of times that may pass.
type passing struct {
	found   *Instants
	steps   map[question]*thresholds // of those
	lived   map[lives][]ms
	usual   learn.UsualReplies
	lengths []ms          // of time, of the state that is expanded
	inputs  []learn.Input // of one of its clients
	long    []ms          // see packMove
	looked  int           // steps; see lookAhead
	chain   *learn.Chain  // the latest
}

// question is what a client is asked to do, at which node, after what else at the same time, and how its wall clock has stepped.
type question struct {
	step  uint64 // node and input
	given uint64
	steps int8
}

// instants appends the lengths of time, up to a limit, after which some client would take another step than before.
func (x *explorer) instants(list []ms, s *state, limit ms) []ms {
	list = x.instantsOfLives(list, s, limit)
	if !x.reads {
		return list
	}
	list = x.instantsOfDrift(list, s, limit)
	for i := range x.clients {
		if s.clients[i].phase == crashed {
			continue
		}
		for _, d := range x.instantsOfClient(s, i, limit) {
			if !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	return list
}

// instantsOfClient are those of one client.
func (x *explorer) instantsOfClient(s *state, i int, limit ms) []ms {
	at := x.situation(s, i)
	at[1] = learn.Blend(at[1], uint64(limit))
	return x.rehearsed.instants.Once(at, func() []ms { return x.findInstantsOfClient(s, i, limit) })
}

func (x *explorer) findInstantsOfClient(s *state, i int, limit ms) (list []ms) {
	c := &s.clients[i]
	if x.wants(c) {
		list = x.instantsOfTry(list, s, i, limit)
	}
	list = x.instantsOfRest(list, s, i, limit)
	x.inputs = x.nextInputs(x.inputs[:0], s, i)
	for _, in := range x.inputs {
		if in.Kind != learn.InputCall || !x.wants(c) {
			list = x.instantsOf(list, s, i, nil, in, limit)
		}
	}
	return list
}

// instantsOf appends those of one client's step, or of the last of some steps that come at the same time.
func (x *explorer) instantsOf(list []ms, s *state, i int, given []learn.Input, in learn.Input, limit ms) []ms {
	c := &s.clients[i]
	until := x.clockAt(c, min(s.now+min(limit, farthest), farthest))
	for _, t := range x.thresholdsOf(s, i, given, in, x.clock(s, i), until) {
		at := x.shows(c, t) - s.now
		for _, d := range [...]ms{at - 1, at} {
			if d > 0 && d < limit && !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	return list
}

// onlyByClock says whether time passes so long for no other reason than that some client would take another step.
func (x *explorer) onlyByClock(s *state, d ms) bool {
	timer, expiry := x.deadlines(s)
	next := min(timer, expiry)
	return slices.Contains(x.instants(nil, s, next), d) && (next == never || !slices.Contains(x.ends(nil, s, timer, expiry), d))
}

// nextInputs appends the inputs that a client may be given next.
func (x *explorer) nextInputs(list []learn.Input, s *state, i int) []learn.Input {
	c := &s.clients[i]
	n := &x.automaton.Nodes[c.node]
	if op, calls := x.next(c); calls && n.Idle {
		list = append(list, learn.Input{Kind: learn.InputCall, Slot: 0, Arg: uint32(op)})
	}
	if x.mayReleaseAgain(s, i) {
		list = append(list, learn.Input{Kind: learn.InputCall, Slot: 0, Arg: uint32(history.OpRelease)})
	}
	for k, sl := range n.Slots[:n.Tasks] {
		in := learn.Input{Kind: learn.InputReply, Slot: uint8(k), Arg: c.replies[k]}
		if x.breaks(c, k) {
			list = append(list, learn.Input{Kind: learn.InputLost, Slot: uint8(k), Arg: 0})
		}
		switch {
		case sl.Kind == process.Sleep && c.due[k] <= 0:
			in.Kind = learn.InputWake
			list = append(list, in)
		case sl.Kind != process.Request:
		case c.has(deaf) && k == 0:
			list = append(list, learn.Input{Kind: learn.InputLost, Slot: uint8(k), Arg: 0})
			continue
		case c.replies[k] != 0:
			list = append(list, in)
		default:
			answer := x.answerNow(s, i, sl.Request)
			in.Arg = answer
			list = append(list, in)
			for _, in.Arg = range x.usual.To(x.texts.Requests[sl.Request].Commands) {
				if in.Arg != answer {
					list = append(list, in)
				}
			}
		}
	}
	return list
}

// answerNow is what the server would answer now.
func (x *explorer) answerNow(s *state, i int, request uint32) uint32 {
	server := x.texts.Requests[request].Server
	if server == process.Resource {
		return x.resource.Serve(s.resource, request, i).Reply
	}
	return x.servers.Serve(s.servers[server], request, i).Reply
}

// thresholdsOf are those of a client's next step, or of one after others that come at the same time, from now to some time at least.
func (x *explorer) thresholdsOf(s *state, i int, given []learn.Input, in learn.Input, now, until ms) []ms {
	node := s.clients[i].node
	key := question{step: uint64(node)<<32 | uint64(in.Packed()), steps: s.clients[i].steps}
	for _, earlier := range given {
		key.given = learn.Mix(key.given+1, uint64(earlier.Packed()))
	}
	known := x.steps[key]
	if known == nil {
		known = x.found.ofStep(x.allGiven(node, given, in, key.steps))
		x.steps[key] = known
	}
	if !known.none && !(known.searched && known.from <= now && until <= known.to) {
		p := x.prober(node, append(slices.Clip(given), in), x.usedTokens(s).Of(i), key.steps, now)
		p.extend(known, now, until, x.lease)
	}
	x.automaton.Told, x.automaton.Deadline = x.automaton.Told || known.told, x.automaton.Deadline || known.deadline
	return known.at
}

// prober has instances take the steps of a chain, up to one of them, at many times.
type prober struct {
	*learn.Chain
	last int
	seen map[ms]string
}

// prober asks about steps that a client takes after a node. They may be the first of those of the latest chain.
func (x *explorer) prober(at uint32, inputs []learn.Input, used uint16, steps int8, now ms) *prober {
	if !x.chain.Begins(at, inputs, used, steps, now) {
		x.chain = x.automaton.Chain(at, inputs, used, steps, now)
	}
	return &prober{Chain: x.chain, last: len(inputs) - 1, seen: map[ms]string{}}
}

// reads says whether a step reads the clock at all.
func (p *prober) reads(now ms) bool {
	if p.last == 0 {
		if known := p.A.Transitions.Of([2]uint64{uint64(p.At+1)<<32 | uint64(p.Inputs[0].Packed())}); known != nil {
			return known.Reads
		}
	}
	_, _, reads := p.execute(now)
	return reads
}

// extend searches a range of times that has not been searched.
func (p *prober) extend(known *thresholds, now, until, lease ms) {
	told, deadline := p.A.Told, p.A.Deadline
	p.A.Told, p.A.Deadline = false, false
	if !known.searched && !p.reads(now) {
		known.none = true
	} else {
		if !known.searched || now < known.from || known.to < now {
			known.searched, known.from, known.to, known.at = true, now, now, nil
		}
		p.does(now) // what the steps are the answers to
		p.search(known, until, lease)
	}
	known.told, known.deadline = known.told || p.A.Told, known.deadline || p.A.Deadline
	p.A.Told, p.A.Deadline = told, deadline
}

// search goes on where it has ended before. It tries times that are evenly spaced for some leases, and then farther and farther apart.
func (p *prober) search(known *thresholds, until, lease ms) {
	for known.to < until {
		t := known.to + lease/probesPerLease
		if passed := known.to - known.from; passed >= horizon*lease {
			t = known.to + passed
		}
		known.at = p.bisect(known.at, known.to, t)
		known.to = t
	}
}

// bisect finds where the step becomes another one between two times, if it differs between them.
func (p *prober) bisect(found []ms, low, high ms) []ms {
	if p.does(low) == p.does(high) {
		return found
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; p.does(middle) == p.does(low) {
			low = middle
		} else {
			high = middle
		}
	}
	return append(found, high)
}

// does is what the step does at a time.
func (p *prober) does(t ms) string {
	if known, asked := p.seen[t]; asked {
		return known
	}
	what, valid, _ := p.execute(t)
	if len(valid) > 0 {
		what += p.course(t, what, valid)
	}
	p.seen[t] = what
	return what
}

// course is how the validities that a step tells change with time about a time, and what they would be at the base then. They may change suddenly just
// before or just after it: where they change less counts.
func (p *prober) course(t ms, what string, valid []time.Duration) string {
	slopes := make([]time.Duration, 0, len(valid))
	for _, by := range [...]ms{1, -1} {
		other, then, _ := p.execute(t + by)
		if other != what || len(then) != len(valid) {
			continue
		}
		for i := range valid {
			slope := (then[i] - valid[i]) * time.Duration(by)
			switch {
			case len(slopes) <= i:
				slopes = append(slopes, slope)
			case slope.Abs() < slopes[i].Abs():
				slopes[i] = slope
			}
		}
	}
	var b []byte
	for i, slope := range slopes {
		b = binary.AppendVarint(b, int64(slope/time.Microsecond))
		b = binary.AppendVarint(b, int64((valid[i] - slope*time.Duration(t)).Round(time.Millisecond)))
	}
	return string(b)
}

// execute takes the steps at a time.
func (p *prober) execute(t ms) (what string, valid []time.Duration, reads bool) {
	to := p.UpTo(p.last, t)
	p.A.Told, p.A.Deadline = p.A.Told || to.Told, p.A.Deadline || to.Deadline
	return to.What, to.Valid, to.Reads
}
