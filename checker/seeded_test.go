package checker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/history"
)

// seeded is a make-believe laboratory whose history follows from a number: a correct lock with a token and a fencing token, a protected
// counter, and clients that use both. Replies and requests get lost, requests arrive late, clients crash and come back, leases end. A
// history of it is legal until something is done to it.
type seeded struct {
	dice    *rand.Rand
	lease   time.Duration // zero: the lock has none
	limited bool          // clients declare how long their holds are good, and leases end while they hold; otherwise none ends
	probes  bool          // commands to the lock are on record
	wired   bool          // commands to the counter are
	now     time.Duration
	events  []history.Event
	lastID  int64
	clients []*seededClient
	stray   []stray
	key     seededKey
	fences  int64 // handed out
	highest int64 // fence of the grants that have returned
	counter int64
	acks    int64         // updates acknowledged
	reads   []int64       // what they read
	turn    *seededClient // who was told last that it has the lock
	left    bool          // and has been told since that it has released it
}

type seededKey struct {
	owner *seededClient
	token string
	ends  time.Duration
}

type seededClient struct {
	name     string
	dead     bool
	op       history.Op // under way
	id       int64
	served   int // how many of its commands have been carried out
	success  bool
	token    string // of its latest acquire
	fence    int64
	atCall   int64 // highest when its operation was called
	read     int64
	believes bool // was told that it has the lock, and has not let go
	good     time.Duration
	called   time.Duration // when its operation was
	from     time.Duration // when its latest declaration can have been made at the earliest, as far as the lab knows
	until    time.Duration // and how long that is good
}

// stray is a request whose operation is over when it arrives.
type stray struct {
	client *seededClient
	id     int64
	token  string
}

const forever = time.Duration(math.MaxInt64)

func newSeeded(seed uint64) *seeded {
	s := &seeded{dice: rand.New(rand.NewPCG(seed, 12))}
	s.limited, s.probes, s.wired = s.coin(), s.dice.IntN(4) > 0, s.coin()
	switch {
	case s.limited:
		s.lease = time.Duration(150+s.dice.IntN(1000)) * ms
	case s.coin():
		s.lease = time.Hour
	}
	for n := range 2 + s.dice.IntN(3) {
		c := &seededClient{name: clientName(n)}
		s.clients = append(s.clients, c)
		s.opens(c)
	}
	return s
}

func (s *seeded) coin() bool { return s.dice.IntN(2) == 0 }

func (s *seeded) opens(c *seededClient) {
	s.record(history.Event{Client: c.name, Lock: storyLock, Kind: history.KindOpen, Detail: &history.Detail{Lease: s.lease, Contract: history.Contract{Leaseless: s.lease == 0}}})
}

func (s *seeded) record(e history.Event) int {
	e.At = s.now
	s.events = append(s.events, e)
	return len(s.events) - 1
}

// final is the end of a history.
func (s *seeded) final(value int64) int {
	return s.record(history.Event{Lock: storyLock, Kind: history.KindFinal, Detail: &history.Detail{Value: value}})
}

func (s *seeded) step() {
	s.now += pick(s.dice, 0, 100*time.Microsecond, ms, ms, 5*ms, 20*ms, 60*ms)
	if len(s.stray) > 0 && s.dice.IntN(8) == 0 {
		late := s.stray[0]
		s.stray = s.stray[1:]
		s.takes(late.client, late.id, late.token, true)
		return
	}
	c := pick(s.dice, s.clients...)
	switch chance := s.dice.IntN(100); {
	case c.dead:
		if chance < 20 {
			c.dead = false
			s.opens(c)
		}
	case chance < 2:
		s.loses(c)
		c.dead, c.believes, c.op = true, false, history.OpNone
		s.record(history.Event{Client: c.name, Kind: history.KindExit})
	case c.op == history.OpNone:
		s.begins(c)
	case c.served == 0 && chance < 8:
		s.loses(c)
		s.answers(c, history.Unknown)
	case !s.done(c):
		s.serve(c)
	case chance < 14:
		s.answers(c, history.Unknown)
	default:
		s.answer(c)
	}
}

// loses has the request of an acquire arrive later, or not at all.
func (s *seeded) loses(c *seededClient) {
	if c.op == history.OpAcquire && c.served == 0 && s.coin() {
		s.stray = append(s.stray, stray{c, c.id, c.token})
	}
}

// holds says whether the lock is the client's, by its own knowledge and by the service's.
func (s *seeded) holds(c *seededClient) bool {
	return c.believes && s.now < c.good && s.owns(c)
}

func (s *seeded) owns(c *seededClient) bool {
	s.expire()
	return s.key.owner == c && s.key.token == c.token
}

func (s *seeded) expire() {
	if s.key.owner != nil && s.now >= s.key.ends {
		s.key = seededKey{}
	}
}

func (s *seeded) begins(c *seededClient) {
	switch chance := s.dice.IntN(100); {
	case c.believes && s.now >= c.good && chance < 50:
		c.believes = false
		s.record(history.Event{Client: c.name, Lock: storyLock, Kind: history.KindLost})
	case c.believes && chance < 15:
		s.renews(c)
	case c.believes:
		s.calls(c, pick(s.dice, history.OpRelease, history.OpRelease, history.OpWork, history.OpWork, history.OpCheck, history.OpRenew))
	case chance < 90:
		s.calls(c, history.OpAcquire)
	default:
		s.calls(c, history.OpCheck)
	}
}

func (s *seeded) calls(c *seededClient, op history.Op) {
	s.lastID++
	c.op, c.id, c.served, c.success, c.atCall, c.called = op, s.lastID, 0, false, s.highest, s.now
	switch op {
	case history.OpAcquire:
		c.token, c.good = c.name+"#"+strconv.FormatInt(c.id, 10), 0
	case history.OpRelease:
		c.believes = false
	}
	e := history.Event{Client: c.name, Lock: storyLock, Kind: history.KindCall, Op: op, ID: c.id}
	if op == history.OpAcquire && s.lease > 0 && s.coin() { // without a lease, the lock of a crashed client would be stuck
		e.Detail = &history.Detail{Bound: pick(s.dice, 5*ms, 50*ms, 500*ms)}
	}
	s.record(e)
}

// done says whether all commands of the client's operation have been carried out.
func (s *seeded) done(c *seededClient) bool {
	return c.served > 1 || c.served == 1 && c.op != history.OpWork
}

// serve carries out a command of the client's operation.
func (s *seeded) serve(c *seededClient) {
	c.served++
	switch c.op {
	case history.OpAcquire:
		if c.success = s.takes(c, c.id, c.token, false); c.success {
			c.fence = s.fences
		} else if s.dice.IntN(3) == 0 {
			c.served-- // it tries again
		}
	case history.OpRelease:
		before := s.state()
		if c.success = s.owns(c); c.success {
			s.key = seededKey{}
		}
		s.command(c, c.id, before, false, "EVALSHA", "release", "1", storyLock, c.token)
	case history.OpRenew:
		c.success = s.prolongs(c, c.id)
	case history.OpCheck:
		c.success = s.owns(c)
		s.command(c, c.id, s.state(), false, "GET", storyLock)
	case history.OpWork:
		s.works(c)
	}
}

// takes carries out the command of an acquire.
func (s *seeded) takes(c *seededClient, id int64, token string, late bool) bool {
	s.expire()
	before, free := s.state(), s.key.owner == nil
	if free {
		s.fences++
		s.key = seededKey{c, token, s.fresh()}
	}
	s.command(c, id, before, late, "SET", storyLock, token, "NX", "PX")
	return free
}

// fresh is the end of a lease that begins now.
func (s *seeded) fresh() time.Duration {
	if s.lease == 0 {
		return forever
	}
	return s.now + s.lease
}

func (s *seeded) prolongs(c *seededClient, id int64) bool {
	before, mine := s.state(), s.owns(c)
	if mine {
		s.key.ends = s.fresh()
	}
	s.command(c, id, before, false, "EVALSHA", "renew", "1", storyLock, c.token)
	return mine
}

// renews is a renewal from the background.
func (s *seeded) renews(c *seededClient) {
	switch {
	case !s.prolongs(c, 0):
		c.believes = false
		s.record(history.Event{Client: c.name, Lock: storyLock, Kind: history.KindLost})
	case s.limited:
		s.declares(c, s.key.ends-s.now)
		s.record(history.Event{Client: c.name, Lock: storyLock, Kind: history.KindValid, Valid: s.key.ends - s.now})
	}
}

// works reads the counter, and then writes it, each while the client has the lock.
func (s *seeded) works(c *seededClient) {
	switch {
	case !s.holds(c):
		c.served = 2
	case c.served == 1:
		c.read = s.counter
		s.resource(c, strconv.FormatInt(s.counter, 10), "GET", storyCounter)
	default:
		s.writes(c, c.read+1)
		c.success = true
	}
}

func (s *seeded) writes(c *seededClient, value int64) int {
	s.counter = value
	return s.resource(c, "OK", "SET", storyCounter, strconv.FormatInt(value, 10))
}

func (s *seeded) resource(c *seededClient, reply string, args ...string) int {
	if !s.wired {
		return -1
	}
	return s.record(history.Event{Client: c.name, Kind: history.KindCommand, ID: c.id, Op: history.OpWork, Detail: &history.Detail{
		Command: &history.Command{Server: history.Resource, Args: args, Reply: reply, Sent: s.now}}})
}

// state is what a probe of the key finds.
func (s *seeded) state() history.State {
	s.expire()
	switch {
	case s.key.owner == nil:
		return history.State{}
	case s.key.ends == forever:
		return history.State{Type: "string", Value: s.key.token}
	}
	return history.State{Type: "string", Value: s.key.token, TTL: s.key.ends - s.now}
}

// command records a command to the lock, after it was carried out; it returns its index.
func (s *seeded) command(c *seededClient, id int64, before history.State, late bool, args ...string) int {
	if !s.probes {
		return -1
	}
	if !late {
		c.from = s.now
	}
	op := c.op
	if id == 0 || late {
		op = history.OpNone
	}
	return s.record(history.Event{Client: c.name, Kind: history.KindCommand, ID: id, Op: op, Detail: &history.Detail{Command: &history.Command{
		Server: "redis", Args: args, Reply: "1", Sent: s.now, Asked: 50 * time.Microsecond, Late: late,
		Changes: []history.Change{{Key: storyLock, Before: before, After: s.state()}},
	}}})
}

// answer tells the client what has become of its operation.
func (s *seeded) answer(c *seededClient) {
	takes := c.op == history.OpAcquire || c.op == history.OpRenew
	switch {
	case !c.success && c.op == history.OpWork:
		s.answers(c, history.Unknown)
	case !c.success:
		s.answers(c, history.No)
	case takes && !s.owns(c):
		s.answers(c, history.Unknown)
	case takes:
		s.grants(c, c.fence)
	default:
		s.answers(c, history.OK)
	}
}

// grants tells the client that it has the lock, with the validity that is left.
func (s *seeded) grants(c *seededClient, fence int64) int {
	c.good, c.until = forever, forever
	e := history.Event{Outcome: history.OK}
	if s.limited {
		e.Valid = s.fresh() - s.now
		if s.key.owner == c {
			e.Valid = s.key.ends - s.now
		}
		c.from = max(c.from, c.called)
		s.declares(c, e.Valid)
	}
	if c.op == history.OpAcquire {
		e.Fence = fence
		s.highest = max(s.highest, fence)
		s.turn, s.left = c, false
		c.believes = true
	}
	return s.returns(c, e)
}

// declares has the client hold the lock for so long. The lab does not know how long an answer, or a notice, was on its way.
func (s *seeded) declares(c *seededClient, valid time.Duration) {
	c.good, c.until = s.now+valid, c.from+valid-history.ExpiryMargin
}

func (s *seeded) answers(c *seededClient, outcome history.Outcome) int {
	e := history.Event{Outcome: outcome}
	switch {
	case c.op == history.OpWork && outcome == history.OK:
		e.Detail = &history.Detail{Read: c.read, Wrote: c.read + 1}
		s.acks++
		s.reads = append(s.reads, c.read)
	case c.op == history.OpRelease && outcome == history.OK && s.turn == c:
		s.left = true
	case outcome == history.No:
		c.believes = false
	}
	return s.returns(c, e)
}

func (s *seeded) returns(c *seededClient, e history.Event) int {
	e.Client, e.Lock, e.Kind, e.Op, e.ID = c.name, storyLock, history.KindReturn, c.op, c.id
	c.op = history.OpNone
	return s.record(e)
}

// legalSeeded is a legal history.
func legalSeeded(seed uint64) *seeded {
	s := newSeeded(seed)
	for range 1 + s.dice.IntN(80) {
		s.step()
	}
	s.final(s.counter)
	return s
}

// sure is a client that certainly holds the lock, and for a while, and which has nothing under way.
func (s *seeded) sure() *seededClient {
	for _, c := range s.clients {
		long := max(5*ms, s.lease/50) + 30*ms
		if !c.dead && c.op == history.OpNone && s.holds(c) && s.now+long < c.until && s.now+long < s.key.ends {
			return c
		}
	}
	return nil
}

// stranger is a client that does not hold the lock and has nothing under way.
func (s *seeded) stranger() *seededClient {
	n := s.dice.IntN(len(s.clients))
	for _, c := range slices.Concat(s.clients[n:], s.clients[:n]) {
		if !c.dead && c.op == history.OpNone && !(c.believes && s.now < c.good) {
			return c
		}
	}
	return nil
}

func (s *seeded) String() string {
	return fmt.Sprintf("lease %v, limited %v, probes %v, wired %v", s.lease, s.limited, s.probes, s.wired)
}
