package checker

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/history"
)

const ms = time.Millisecond

// service is a make-believe Redis with one key, seen through a make-believe tap, and clients of a lock with a token and a lease
// (SET NX PX, compare and delete). Requests are held up, replies get lost, clients give up, crash and are paused; the key
// expires whenever its time is over, also between the two probes of the tap.
type service struct {
	dice    *rand.Rand
	lease   time.Duration
	blind   bool // release and renewal do not look at the token
	limited bool // the lock declares its validity
	now     time.Duration
	events  []history.Event
	lastID  int64
	users   []*shopper
	stray   []request // requests whose operation is over
	key     record
	deeds   []deed
}

// record is the key as it truly is.
type record struct {
	there bool
	value string
	user  *shopper
	ends  time.Duration
}

// deed is what a command truly did to somebody else's lock.
type deed struct {
	event           int
	effect          history.Effect
	culprit, victim string
	certain         bool // the victim was in a hold, and had much of its lease left
}

type shopper struct {
	name   string
	dead   bool
	op     history.Op
	id     int64
	token  string
	first  time.Duration // when the operation was called
	asked  *request
	belief bool
}

type request struct {
	user  *shopper
	id    int64
	op    history.Op
	args  []string
	token string
}

func newService(t *rapid.T, blind bool) *service {
	s := &service{dice: newDice(t), blind: blind, limited: rapid.Bool().Draw(t, "limited")}
	s.lease = time.Duration(60+s.dice.IntN(340)) * ms
	for n := range rapid.IntRange(2, 4).Draw(t, "clients") {
		u := &shopper{name: clientName(n)}
		s.users = append(s.users, u)
		s.record(history.Event{Client: u.name, Lock: storyLock, Kind: history.KindOpen, Detail: &history.Detail{Lease: s.lease}})
	}
	for range rapid.IntRange(1, 200).Draw(t, "steps") {
		s.step()
	}
	return s
}

// newDice makes even draws, where rapid's own prefer what is small; the length of a history is left for rapid to shrink.
func newDice(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
}

func (s *service) record(e history.Event) {
	e.At = s.now
	s.events = append(s.events, e)
}

// wait lets one of the lengths of time pass.
func (s *service) wait(lengths ...time.Duration) { s.now += pick(s.dice, lengths...) }

func pick[T any](dice *rand.Rand, from ...T) T { return from[dice.IntN(len(from))] }

func (s *service) step() {
	s.wait(0, 0, 100*time.Microsecond, ms, 3*ms, 20*ms, 70*ms)
	chance := s.dice.IntN(100)
	if len(s.stray) > 0 && chance%7 == 0 {
		r := s.stray[0]
		s.stray = s.stray[1:]
		s.carryOut(r, true)
		return
	}
	u := pick(s.dice, s.users...)
	switch {
	case u.dead:
	case chance < 2:
		s.leave(u)
		u.dead, u.belief = true, false
		s.record(history.Event{Client: u.name, Kind: history.KindExit})
	case u.op == history.OpNone:
		s.call(u)
	case chance < 8:
		s.leave(u)
		s.answer(u, history.Unknown, true)
	default:
		s.serve(u, chance)
	}
}

// leave leaves the client's request on its way.
func (s *service) leave(u *shopper) {
	if u.asked != nil {
		s.stray = append(s.stray, *u.asked)
		u.asked = nil
	}
}

func (s *service) call(u *shopper) {
	s.lastID++
	u.op, u.id, u.first = history.OpAcquire, s.lastID, s.now
	e := history.Event{Client: u.name, Lock: storyLock, Kind: history.KindCall, ID: u.id}
	if u.belief || s.dice.IntN(10) == 0 {
		u.op = pick(s.dice, history.OpRelease, history.OpRelease, history.OpCheck, history.OpRenew)
	} else if s.dice.IntN(2) == 0 {
		e.Detail = &history.Detail{Bound: s.lease * 3 / 2}
	}
	if u.op == history.OpAcquire {
		u.token = u.name + "-" + seconds(time.Duration(u.id)*time.Second)
	}
	if u.op == history.OpRelease {
		u.belief = false
	}
	e.Op = u.op
	s.record(e)
	s.ask(u)
}

func (s *service) ask(u *shopper) {
	args := map[history.Op][]string{
		history.OpAcquire: {"SET", storyLock, u.token, "NX", "PX"},
		history.OpRelease: {"EVALSHA", "release", "1", storyLock, u.token},
		history.OpRenew:   {"EVALSHA", "renew", "1", storyLock, u.token},
		history.OpCheck:   {"GET", storyLock},
	}
	u.asked = &request{user: u, id: u.id, op: u.op, args: args[u.op], token: u.token}
}

func (s *service) serve(u *shopper, chance int) {
	called := s.now
	success := s.carryOut(*u.asked, false)
	switch {
	case chance < 12: // the reply is lost, and the client told so
		u.asked = nil
		s.answer(u, history.Unknown, false)
	case u.op == history.OpAcquire && !success && s.bounded(u) && s.now < u.first+s.lease*3/2:
		// it tries again
	case success && (u.op == history.OpAcquire || u.op == history.OpRenew) && s.limited && s.now >= called+s.lease:
		u.asked = nil
		s.answer(u, history.Unknown, false)
	case success:
		u.asked = nil
		s.wait(0, 0, ms, 30*ms, s.lease)
		s.grant(u, called)
	default:
		u.asked = nil
		s.answer(u, history.No, false)
	}
}

func (s *service) bounded(u *shopper) bool {
	for i := len(s.events) - 1; i >= 0; i-- {
		if e := &s.events[i]; e.Kind == history.KindCall && e.ID == u.id {
			return e.Detail != nil
		}
	}
	return false
}

// grant answers ok, with the validity that is left counted from the request.
func (s *service) grant(u *shopper, called time.Duration) {
	if u.op != history.OpAcquire && u.op != history.OpRenew {
		s.answer(u, history.OK, false)
		return
	}
	valid := called + s.lease - s.now
	if s.limited && valid <= 0 {
		s.answer(u, history.Unknown, false)
		return
	}
	u.belief = true
	e := history.Event{Client: u.name, Lock: storyLock, Kind: history.KindReturn, Op: u.op, ID: u.id, Outcome: history.OK}
	if s.limited {
		e.Valid = valid
	}
	u.op = history.OpNone
	s.record(e)
}

func (s *service) answer(u *shopper, outcome history.Outcome, gaveUp bool) {
	e := history.Event{Client: u.name, Lock: storyLock, Kind: history.KindReturn, Op: u.op, ID: u.id, Outcome: outcome}
	if gaveUp {
		e.Detail = &history.Detail{GaveUp: true}
	}
	u.op = history.OpNone
	s.record(e)
}

// expire frees the key if its time is over.
func (s *service) expire() {
	if s.key.there && s.now >= s.key.ends {
		s.key = record{}
	}
}

// state is what the tap is told about the key.
func (s *service) state() history.State {
	s.expire()
	if !s.key.there {
		return history.State{}
	}
	return history.State{Type: "string", Value: s.key.value, TTL: max(ms, (s.key.ends - s.now).Truncate(ms))}
}

// carryOut lets a request through, with the tap's questions around it.
func (s *service) carryOut(r request, late bool) (success bool) {
	c := &history.Command{Server: "redis", Args: r.args, Sent: s.now, Late: late}
	s.wait(0, 50*time.Microsecond)
	asked := s.now
	change := history.Change{Key: storyLock, Before: s.state()}
	s.wait(0, 50*time.Microsecond, ms)
	s.expire()
	was := s.key
	success = s.run(r)
	s.wait(0, 50*time.Microsecond, ms, 4*ms)
	change.After = s.state()
	c.Asked = s.now - asked
	c.Changes = []history.Change{change}
	s.note(r, was, c)
	s.record(history.Event{
		Client: r.user.name, Lock: storyLock, Kind: history.KindCommand, ID: r.id, Op: r.op, Detail: &history.Detail{Command: c},
	})
	return success
}

func (s *service) run(r request) bool {
	mine := s.key.there && (s.key.value == r.token || s.blind)
	switch {
	case r.op == history.OpAcquire && !s.key.there:
		s.key = record{there: true, value: r.token, user: r.user, ends: s.now + s.lease}
		return true
	case r.op == history.OpRelease && mine:
		s.key = record{}
		return true
	case r.op == history.OpRenew && mine:
		s.key.ends = s.now + s.lease
		return true
	case r.op == history.OpCheck:
		return s.key.there && s.key.value == r.token
	}
	return false
}

// note writes down what the request truly did to somebody else's lock.
func (s *service) note(r request, was record, c *history.Command) {
	if !was.there || was.user == r.user || r.op != history.OpRelease && r.op != history.OpRenew || !s.blind {
		return
	}
	d := deed{event: len(s.events), culprit: r.user.name, victim: was.user.name, effect: history.EffectRemoved}
	if r.op == history.OpRenew {
		d.effect = history.EffectProlonged
	}
	left := was.ends - s.now
	d.certain = was.user.belief && was.user.token == was.value && left > s.lease/4+10*ms && s.lease-left > 30*ms && !s.renewed()
	s.deeds = append(s.deeds, d)
}

// renewed says whether a blind renewal may have moved the end of a lease: nothing is certain then.
func (s *service) renewed() bool {
	for i := range s.events {
		if c := s.events[i].Detail; c != nil && c.Command != nil && c.Command.Args[1] == "renew" {
			return true
		}
	}
	return false
}

// A lock with a token is never accused of harming another client's lock, and if it declares how long its holds are good, of
// nothing at all but the ghosts that requests of clients who gave up leave behind, one after the other at times, and of waiters that do not try again in time: when they send is random.
func TestTokenLockIsNotAccused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newService(t, false)
		v := Judge(s.events, Options{Twice: true})
		require.False(t, v.CheckerFault, v.Reason)
		for _, a := range v.Anomalies {
			allowed := a.Name == GhostLock || a.Name == StuckLock || a.Name == MissedWakeup || a.Name == DoubleHolder && !s.limited
			require.True(t, allowed, "%s: %s", a.Name, a.Why)
		}
	})
}

// A lock that does not look at the token is accused of what it truly did, and of nothing else.
func TestBlindLockIsAccusedOfWhatItDid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newService(t, true)
		v := Judge(s.events, Options{Twice: true})
		require.False(t, v.CheckerFault, v.Reason)
		accused := make(map[int]Anomaly)
		for _, a := range v.Anomalies {
			require.NotContains(t, []Name{EarlyGrant, Overwrite, FenceRegression, Unreleasable}, a.Name, a.Why)
			if a.Name == WrongfulDelete || a.Name == WrongfulRenew {
				accused[s.eventAt(a)] = a
			}
		}
		for _, d := range s.deeds {
			a, found := accused[d.event]
			require.True(t, found || !d.certain, "%+v went unseen", d)
			if found {
				require.Equal(t, []string{d.culprit, d.victim}, a.Clients, a.Why)
			}
			delete(accused, d.event)
		}
		require.Empty(t, accused)
	})
}

// eventAt is the command of which an anomaly speaks.
func (s *service) eventAt(a Anomaly) int {
	for _, i := range a.Events {
		if s.events[i].Kind == history.KindCommand && s.events[i].Client == a.Clients[0] && s.events[i].At == a.At {
			return i
		}
	}
	return -1
}
