package storm

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// Params are what a storm is a function of.
type Params struct {
	Seed    int64
	Clients int
	Handles int // further locks in the process of every other client, and of those that come after it when it crashes
	For     time.Duration
	Lease   time.Duration
	Work    time.Duration // the longest that a client keeps the lock if nothing hinders it; zero: a quarter of the lease
	Faults  []faults.Kind
	// Servers is how many servers the lock is on; zero: any number. A strike for a taker of more servers is replaced.
	Servers int
	// ZooKeeper: the locks are on one. Breakpoints are for its requests, and the kinds of faults that it lacks are left out.
	ZooKeeper bool
	// Opaque: the lab does not read what clients send to the locks' servers. There are no breakpoints, and so no fault that needs one.
	Opaque bool
	// Outlives: the lock stays its holder's when that has crashed, and is not known to be broken for it. Crashes come late then: after the first of a
	// holder nobody is granted anything more.
	Outlives bool
}

// Restarts says whether servers are restarted.
func (p Params) Restarts() bool { return slices.Contains(p.Faults, faults.Restart) }

// Plan is a storm before it begins: the same parameters give the same plan, whatever the lock.
type Plan struct {
	Params
	Strikes []Strike // in the order of their times
}

// Strike is a fault at a time of the storm.
type Strike struct {
	At     time.Duration // since the storm began
	For    time.Duration // zero: it is over at once
	Client string        // empty: it strikes the server; a Moment: whoever comes to that next, and suffers from nothing else
	Kind   faults.Kind

	Direction faults.Direction // of a partition
	Links     uint8            // where there are several servers, those whose links are disturbed: a bit for each; none: all
	Ahead     time.Duration    // of a clock; negative: behind. Of a server's clock: how far it leaps
	Rate      float64          // of a clock
	Each      time.Duration    // of a delay, each way; of a slow server, each request
	// After its moment it waits for so long.
	After time.Duration
	// Nth: of the servers that give a Taker the lock, this one counts; where there are not so many, none does.
	Nth int
	// Breakpoints wait on the wire for a request, at most for Patience; the first that is reached counts. At a Moment it is the request of the lock object
	// that has the lock. If it is the links that are disturbed, what the same lock object sends to other servers meanwhile is held, too.
	Breakpoints []faults.Breakpoint
	// Free: a request of any lock object of the process counts, but only while the lock is free, so that it is granted if nobody comes before it.
	Free bool
	// Late: of a client that crashed, what was held on the wire arrives For later; otherwise it is never heard of again.
	Late bool
	// Down is the time from a crash to the next client in its place.
	Down time.Duration
}

// Patience is how long a breakpoint waits for its request.
func (p *Plan) Patience() time.Duration { return 3 * p.Lease / 2 }

// New makes the plan.
func New(params Params) *Plan {
	if params.Work == 0 {
		params.Work = params.Lease / 4
	}
	params.Faults = slices.DeleteFunc(slices.Clone(params.Faults), func(k faults.Kind) bool { return params.Lacks(k) != "" })
	p := &Plan{Params: params}
	for i := range params.Clients {
		p.strikeClient(i)
	}
	p.strikeMoment(Holder)
	if !p.Opaque { // whom a server has given the lock is not known before its client says so
		p.strikeMoment(Taker)
	}
	p.strikeServer()
	slices.SortStableFunc(p.Strikes, func(a, b Strike) int { return cmp.Compare(a.At, b.At) })
	return p
}

// Names are the names under which the ith client appears: each time that it crashes it comes back under a new one, as a new
// process that knows nothing of the old.
func (p *Plan) Names(i int) []string {
	names := []string{nameOf(i, 0)}
	for _, s := range p.Strikes {
		if s.Kind == faults.Crash && s.Client == names[len(names)-1] {
			names = append(names, nameOf(i, len(names)))
		}
	}
	return names
}

// HandlesIn names the further locks in the process of a client. Each has a thread of its own; every other one is a lock object of its own.
func (p *Plan) HandlesIn(client string) (handles []string) {
	number, _, _ := strings.Cut(client[1:], "-")
	if n, err := strconv.Atoi(number); err != nil || n%2 == 0 {
		return nil
	}
	for k := range p.Handles {
		object := ""
		if k%2 == 1 {
			object = fmt.Sprintf(".%c", 'b'+k/2)
		}
		handles = append(handles, fmt.Sprintf("%s%s/%d", client, object, k+2))
	}
	return handles
}

func nameOf(i, life int) string {
	if life == 0 {
		return fmt.Sprintf("C%d", i+1)
	}
	return fmt.Sprintf("C%d-%d", i+1, life+1)
}

// lives is how often a client may begin anew, its first time included: a history with more names than it may have is not read back.
func (p *Plan) lives() int {
	odd := (p.Clients + 1) / 2 // each has further locks
	return max(1, history.MaxParties/max(1, p.Clients+odd*p.Handles))
}

// Of lists the strikes at a client or, with the empty name, at the server.
func (p *Plan) Of(client string) []Strike {
	var own []Strike
	for _, s := range p.Strikes {
		if s.Client == client {
			own = append(own, s)
		}
	}
	return own
}

// dice are the seed's choices for one purpose: that one client needs more of them changes nothing for the others.
type dice struct{ *rand.Rand }

func (p Params) dice(purpose string) dice {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s", purpose)
	return dice{rand.New(rand.NewPCG(uint64(p.Seed), hash.Sum64()))}
}

// between is a time from a to b leases, in whole milliseconds.
func (d dice) between(lease time.Duration, a, b float64) time.Duration {
	return time.Duration((a + d.Float64()*(b-a)) * float64(lease)).Round(time.Millisecond)
}

// short and long are less than a lease, and more.
func (d dice) short(lease time.Duration) time.Duration { return d.between(lease, 0.05, 0.4) }
func (d dice) long(lease time.Duration) time.Duration  { return d.between(lease, 1.1, 1.7) }

func (d dice) either(lease time.Duration, chanceOfLong float64) time.Duration {
	if d.Float64() < chanceOfLong {
		return d.long(lease)
	}
	return d.short(lease)
}

// strikeClient draws one fault after the other for the ith client. A client has one at a time.
func (p *Plan) strikeClient(i int) {
	d := p.dice(fmt.Sprintf("client %d", i))
	var weighted []Kind
	for _, k := range Mixture() {
		if slices.Contains(p.Faults, k.Kind) {
			weighted = append(weighted, slices.Repeat([]Kind{k}, k.weight)...)
		}
	}
	if len(weighted) == 0 {
		return
	}
	life, last := 0, p.lives()-1
	for at := d.between(p.Lease, 0.1, 1); ; {
		s := p.draw(d, weighted)
		s.At, s.Client = at, nameOf(i, life)
		took := s.For + s.Down
		if len(s.Breakpoints) > 0 {
			took += p.Patience()
		}
		if at+took > p.For {
			return
		}
		early := p.Outlives && at < p.For*2/3
		if s.Kind != faults.Crash || life < last && !early {
			p.Strikes = append(p.Strikes, s)
		}
		if s.Kind == faults.Crash && !early {
			life = min(life+1, last)
		}
		at += took + d.between(p.Lease, 0.2, 1.2)
	}
}

// draw draws a strike of one of the kinds.
func (p *Plan) draw(d dice, kinds []Kind) Strike {
	kind := kinds[d.IntN(len(kinds))]
	s := Strike{Kind: kind.Kind}
	kind.draw(p, d, &s)
	return s
}

// drawLoss may wait for a try, or for a release: few are granted, so that chance alone seldom loses the reply to one that is.
func (p *Plan) drawLoss(d dice, s *Strike) {
	s.For, s.Links = d.between(p.Lease, 0.1, 0.45), d.links()
	if d.IntN(2) == 0 && !p.Opaque {
		match := []faults.MatchKind{faults.MatchWrite, faults.MatchWrite, faults.MatchWrite, faults.MatchRemoval}[d.IntN(4)]
		s.trap(faults.ActHoldRequest, match)
		s.Free = match == faults.MatchWrite && d.IntN(3) > 0
	}
}

func (p *Plan) drawHold(d dice, s *Strike) {
	s.For = d.either(p.Lease, 0.7)
	s.Breakpoints = p.traps(d, []faults.Action{faults.ActHoldRequest, faults.ActHoldRequest, faults.ActHoldReply}[d.IntN(3)])
	if d.IntN(4) == 0 { // the reply by which a client learns that it has the lock: it comes late, while the lease runs, or after that
		s.trap(faults.ActHoldReply, faults.MatchWrite)
		s.Free = true
		if d.IntN(2) == 0 {
			s.For = d.between(p.Lease, 0.2, 0.45)
		}
	}
}

func (p *Plan) drawSkew(d dice, s *Strike) {
	s.For, s.Rate = d.between(p.Lease, 0.5, 3), 1
	switch d.IntN(4) {
	case 0:
		s.Rate = 2
	case 1:
		s.Ahead = -d.between(p.Lease, 0.5, 3)
	default:
		s.Ahead = d.between(p.Lease, 0.5, 3)
	}
}

// trap has the strike wait for a request of its client.
func (s *Strike) trap(do faults.Action, what faults.MatchKind) {
	s.Breakpoints = []faults.Breakpoint{{Action: do, Nth: 1, Match: faults.Match{Kind: what}}}
}

// links draws, with even odds, all links or some of them.
func (d dice) links() uint8 {
	some := uint8(d.IntN(1 << 8))
	if d.IntN(2) == 0 {
		return 0
	}
	return some
}

// drawCrash lets a client die at any time, or just when it has sent something: then its last request is late, or does not arrive at
// all, or it does not hear the reply and sends nothing more.
func (p *Plan) drawCrash(d dice, s *Strike) {
	s.Down = d.between(p.Lease, 0.1, 0.8)
	switch how := d.IntN(4); {
	case how == 0, p.Opaque:
	case how == 1:
		s.Breakpoints, s.Late, s.For = p.traps(d, faults.ActHoldRequest), true, d.either(p.Lease, 0.5)
	case how == 2:
		s.Breakpoints = p.traps(d, faults.ActHoldRequest)
	default:
		s.Breakpoints = p.traps(d, faults.ActHoldReply)
	}
}

// traps draws breakpoints: for whatever removes the lock or may, for any request, or for some of the commands that locks are made of.
func (p *Plan) traps(d dice, do faults.Action) []faults.Breakpoint {
	switch d.IntN(6) {
	case 0:
		return []faults.Breakpoint{{Action: do, Nth: 1 + d.IntN(3), Match: faults.Match{Kind: faults.MatchAny}}}
	case 1, 2:
		return []faults.Breakpoint{{Action: do, Nth: 1, Match: faults.Match{Kind: faults.MatchRemoval}}}
	}
	commands := []string{"DEL", "EVAL", "EXEC", "EXPIRE", "GETSET", "GET"}
	if p.ZooKeeper {
		commands = []string{"CREATE", "GETCHILDREN", "EXISTS", "DELETE"}
	}
	var traps []faults.Breakpoint
	for _, i := range d.Perm(len(commands))[:3] {
		traps = append(traps, faults.Breakpoint{Action: do, Nth: 1, Match: faults.Match{Kind: faults.MatchCommand, Command: commands[i]}})
	}
	return traps
}

// strikeServer draws the faults of the server, which are rare: each spoils all that was going on.
func (p *Plan) strikeServer() {
	d := p.dice("server")
	var kinds []Kind
	for _, k := range Mixture() {
		if k.OnServer() && slices.Contains(p.Faults, k.Kind) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return
	}
	for at := d.between(p.Lease, 2, 6); at < p.For; at += d.between(p.Lease, 4, 10) {
		s := p.draw(d, kinds)
		if s.At = at; at+s.For > p.For {
			return
		}
		p.Strikes = append(p.Strikes, s)
		at += s.For
	}
}

// String lists the plan, one strike a line.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# seed %d, %d clients, for %v, lease %v, work up to %v\n", p.Seed, p.Clients, p.For, p.Lease, p.Work)
	if p.Handles > 0 {
		fmt.Fprintf(&b, "# further locks in the process of every other client: %s …\n", strings.Join(p.HandlesIn("C1"), " "))
	}
	for _, s := range p.Strikes {
		fmt.Fprintf(&b, "%9.3fs  %s\n", s.At.Seconds(), s)
	}
	return b.String()
}

// String is the strike in one line, without its time.
func (s Strike) String() string {
	who := s.Client
	if who == "" {
		who = "server"
	}
	kind := string(s.Kind)
	if written, ok := map[faults.Kind]string{faults.Skew: "clock", faults.ClockJump: "server-jump", faults.Restart: "server-restart"}[s.Kind]; ok {
		kind = written // plans have always been written so
	}
	words := []string{fmt.Sprintf("%-6s %s", who, kind)}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	for _, trap := range s.Breakpoints {
		add("%s", trap)
	}
	if s.Free {
		add("while the lock is free")
	}
	if s.After > 0 {
		add("after %v", s.After)
	}
	if s.Nth > 1 {
		add("at %d of several servers", s.Nth)
	}
	if s.Direction != faults.Both {
		add("%s", s.Direction)
	}
	if s.Links != 0 {
		add("of several servers %s", s.links())
	}
	switch {
	case s.Each > 0 && s.Kind.OnServer():
		add("%v each", s.Each)
	case s.Each > 0:
		add("%v each way", s.Each)
	case s.Rate != 0 && s.Rate != 1:
		add("rate %g", s.Rate)
	case s.Ahead > 0:
		add("ahead %v", s.Ahead)
	case s.Ahead < 0:
		add("behind %v", -s.Ahead)
	}
	if s.For > 0 {
		add("for %v", s.For)
	}
	if s.Down > 0 {
		add("down %v", s.Down)
	}
	return strings.Join(words, ", ")
}

// links lists the numbers of the servers whose links are disturbed.
func (s Strike) links() string {
	var numbers []string
	for i := range 8 {
		if s.Hits(i, 8) {
			numbers = append(numbers, strconv.Itoa(i+1))
		}
	}
	return strings.Join(numbers, " ")
}

// Hits says whether a strike at a client's links disturbs that to the ith of so many servers.
func (s Strike) Hits(i, servers int) bool {
	among := s.Links & (1<<servers - 1)
	return among == 0 || among>>i&1 == 1
}
