package explore

import (
	"encoding/binary"
	"slices"
	"time"

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
	usual   usualReplies
	lengths []ms    // of time, of the state that is expanded
	inputs  []input // of one of its clients
	long    []ms    // see packMove
	looked  int     // steps; see lookAhead
	chain   *chain  // the latest
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
	at[1] = blend(at[1], uint64(limit))
	return x.rehearsed.instants.once(at, func() []ms { return x.findInstantsOfClient(s, i, limit) })
}

func (x *explorer) findInstantsOfClient(s *state, i int, limit ms) (list []ms) {
	c := &s.clients[i]
	if x.wants(c) {
		list = x.instantsOfTry(list, s, i, limit)
	}
	list = x.instantsOfRest(list, s, i, limit)
	x.inputs = x.nextInputs(x.inputs[:0], s, i)
	for _, in := range x.inputs {
		if in.kind != inputCall || !x.wants(c) {
			list = x.instantsOf(list, s, i, nil, in, limit)
		}
	}
	return list
}

// instantsOf appends those of one client's step, or of the last of some steps that come at the same time.
func (x *explorer) instantsOf(list []ms, s *state, i int, given []input, in input, limit ms) []ms {
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
func (x *explorer) nextInputs(list []input, s *state, i int) []input {
	c := &s.clients[i]
	n := &x.automaton.nodes[c.node]
	if op, calls := x.next(c); calls && n.idle {
		list = append(list, input{inputCall, 0, uint32(op)})
	}
	if x.mayReleaseAgain(s, i) {
		list = append(list, input{inputCall, 0, uint32(history.OpRelease)})
	}
	for k, sl := range n.slots[:n.tasks] {
		in := input{inputReply, uint8(k), c.replies[k]}
		if x.breaks(c, k) {
			list = append(list, input{inputLost, uint8(k), 0})
		}
		switch {
		case sl.kind == process.Sleep && c.due[k] <= 0:
			in.kind = inputWake
			list = append(list, in)
		case sl.kind != process.Request:
		case c.has(deaf) && k == 0:
			list = append(list, input{inputLost, uint8(k), 0})
			continue
		case c.replies[k] != 0:
			list = append(list, in)
		default:
			answer := x.answerNow(s, i, sl.request)
			in.arg = answer
			list = append(list, in)
			for _, in.arg = range x.usual.to(x.texts.requests[sl.request].commands) {
				if in.arg != answer {
					list = append(list, in)
				}
			}
		}
	}
	return list
}

// answerNow is what the server would answer now.
func (x *explorer) answerNow(s *state, i int, request uint32) uint32 {
	server := x.texts.requests[request].server
	if server == process.Resource {
		return x.resource.serve(s.resource, request, i).reply
	}
	return x.servers.serve(s.servers[server], request, i).reply
}

// thresholdsOf are those of a client's next step, or of one after others that come at the same time, from now to some time at least.
func (x *explorer) thresholdsOf(s *state, i int, given []input, in input, now, until ms) []ms {
	node := s.clients[i].node
	key := question{step: uint64(node)<<32 | uint64(in.packed()), steps: s.clients[i].steps}
	for _, earlier := range given {
		key.given = mix(key.given+1, uint64(earlier.packed()))
	}
	known := x.steps[key]
	if known == nil {
		known = x.found.ofStep(x.allGiven(node, given, in, key.steps))
		x.steps[key] = known
	}
	if !known.none && !(known.searched && known.from <= now && until <= known.to) {
		p := x.prober(node, append(slices.Clip(given), in), x.usedTokens(s).of(i), key.steps, now)
		p.extend(known, now, until, x.lease)
	}
	x.automaton.told, x.automaton.deadline = x.automaton.told || known.told, x.automaton.deadline || known.deadline
	return known.at
}

// prober has instances take the steps of a chain, up to one of them, at many times.
type prober struct {
	*chain
	last int
	seen map[ms]string
}

// prober asks about steps that a client takes after a node. They may be the first of those of the latest chain.
func (x *explorer) prober(at uint32, inputs []input, used uint16, steps int8, now ms) *prober {
	if !x.chain.begins(at, inputs, used, steps, now) {
		x.chain = x.automaton.chain(at, inputs, used, steps, now)
	}
	return &prober{chain: x.chain, last: len(inputs) - 1, seen: map[ms]string{}}
}

// reads says whether a step reads the clock at all.
func (p *prober) reads(now ms) bool {
	if p.last == 0 {
		if known := p.a.transitions.of([2]uint64{uint64(p.at+1)<<32 | uint64(p.inputs[0].packed())}); known != nil {
			return known.reads
		}
	}
	_, _, reads := p.execute(now)
	return reads
}

// extend searches a range of times that has not been searched.
func (p *prober) extend(known *thresholds, now, until, lease ms) {
	told, deadline := p.a.told, p.a.deadline
	p.a.told, p.a.deadline = false, false
	if !known.searched && !p.reads(now) {
		known.none = true
	} else {
		if !known.searched || now < known.from || known.to < now {
			known.searched, known.from, known.to, known.at = true, now, now, nil
		}
		p.does(now) // what the steps are the answers to
		p.search(known, until, lease)
	}
	known.told, known.deadline = known.told || p.a.told, known.deadline || p.a.deadline
	p.a.told, p.a.deadline = told, deadline
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
	to := p.upTo(p.last, t)
	p.a.told, p.a.deadline = p.a.told || to.told, p.a.deadline || to.deadline
	return to.what, to.valid, to.reads
}

// validity is for how long the lock is still valid by a notice. That it has ended is no validity.
func validity(n process.Notice) (valid time.Duration, limited bool) {
	valid = n.Answer.Valid
	if n.Kind == process.Renewed {
		valid = n.Valid
	}
	return valid, (n.Kind == process.Renewed || n.Answer.Limited) && valid > history.ExpiryMargin
}

// appendStep appends what a step asks, tells and waits for.
func appendStep(b []byte, s *instance, notices []process.Notice) []byte {
	for _, w := range s.process.Waits() {
		b = append(b, '0'+byte(w.Kind), '0'+byte(w.Task))
		q := requestOf(w)
		b = q.appendText(b)
	}
	for _, notice := range notices {
		b = append(b, string(notice.Op)+string(notice.Answer.Outcome)...)
		if notice.Answer.Limited && notice.Answer.Valid <= history.ExpiryMargin {
			b = append(b, "ended"...)
		}
		b = append(b, '0'+byte(notice.Kind))
	}
	return b
}

// withoutNumbers leaves out what may be a time, but for its length: numbers of two digits or more. A token has but one.
func withoutNumbers(text []byte) []byte {
	for i := 0; i < len(text); {
		begin := i
		for i < len(text) && (text[i] >= '0' && text[i] <= '9' || i > begin && text[i] == '.') {
			i++
		}
		for k := begin; i > begin+1 && k < i; k++ {
			text[k] = '#'
		}
		if i == begin {
			i++
		}
	}
	return text
}
