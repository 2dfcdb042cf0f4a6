package checker

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/needs"
)

var seeds = flag.Int("seeds", 0, "how many seeded histories of each kind are judged; 10,000 take a minute, and .ci/run judges so many")

// histories is how many are judged.
func histories(t *testing.T) int {
	return cmp.Or(*seeds, needs.Count(t, "seeded histories", 50, 300))
}

// violation is one thing that a lock, or its client, must not do. do does it, if it is possible now, and returns the event that shows it;
// negative: it is not possible.
type violation struct {
	name Name
	// alone: if the history ends there, nothing else is wrong.
	alone bool
	do    func(s *seeded) (event int)
}

var violations = map[string]violation{
	"double grant":         {DoubleHolder, true, doubleGrant},
	"refusal turned grant": {DoubleHolder, true, refusalTurned},
	"check answered ok":    {DoubleHolder, true, checkTurned},
	"stranger's delete":    {WrongfulDelete, true, strangersDelete},
	"overwrite":            {Overwrite, false, overwritten},
	"stranger's renewal":   {WrongfulRenew, true, strangersRenewal},
	"early grant":          {EarlyGrant, false, grantedEarly},
	"stale write":          {StaleWrite, true, staleWriter},
	"write after release":  {StaleWrite, true, writeAfterRelease},
	"fence swap":           {FenceRegression, true, fenceSwapped},
	"two with one read":    {LostUpdate, true, sameRead},
	"lower final value":    {LostUpdate, true, finalLowered},
	"check answered no":    {FalseAlarm, true, checkDenied},
	"untrue loss":          {FalseAlarm, true, untrueLoss},
	"release without":      {Unreleasable, true, releaseWithout},
	"grant answered no":    {GhostLock, true, grantDenied},
	"lease never set":      {StuckLock, true, leaseNeverSet},
	"waiter not woken":     {MissedWakeup, true, waiterNotWoken},
}

// both are a sure holder and a stranger, if there are such clients now.
func (s *seeded) both() (holder, stranger *seededClient, ok bool) {
	holder, stranger = s.sure(), s.stranger()
	return holder, stranger, holder != nil && stranger != nil
}

func doubleGrant(s *seeded) int {
	_, b, ok := s.both()
	if !ok {
		return -1
	}
	s.calls(b, history.OpAcquire)
	s.now += pick(s.dice, 0, ms)
	s.fences++
	return s.grants(b, s.fences)
}

func refusalTurned(s *seeded) int {
	n := slices.IndexFunc(s.clients, func(c *seededClient) bool {
		declares := max(c.from, c.called)+s.lease-history.ExpiryMargin > s.now // what it declares is not over when it is heard
		return c.op == history.OpAcquire && c.served == 1 && !c.success && (declares || !s.limited)
	})
	if n < 0 || s.sure() == nil {
		return -1
	}
	s.fences++
	return s.grants(s.clients[n], s.fences)
}

func checkTurned(s *seeded) int {
	_, b, ok := s.both()
	if !ok {
		return -1
	}
	s.calls(b, history.OpCheck)
	s.serve(b)
	s.now += pick(s.dice, 0, ms, 5*ms)
	return s.answers(b, history.OK)
}

func strangersDelete(s *seeded) int {
	_, b, ok := s.both()
	if !ok || !s.probes {
		return -1
	}
	release := s.coin()
	id := int64(0)
	if release {
		s.calls(b, history.OpRelease)
		id = b.id
	}
	before := s.state()
	s.key = seededKey{}
	at := s.command(b, id, before, false, "DEL", storyLock)
	if release {
		s.answers(b, pick(s.dice, history.OK, history.Unknown))
	}
	return at
}

func overwritten(s *seeded) int { return s.takenAway(false) }

// grantedEarly: the service has forgotten the lock, and lets the next one have it.
func grantedEarly(s *seeded) int { return s.takenAway(true) }

// takenAway has a stranger take the lock of a sure holder in an acquire.
func (s *seeded) takenAway(forgotten bool) int {
	_, b, ok := s.both()
	if !ok || !s.probes {
		return -1
	}
	s.calls(b, history.OpAcquire)
	before := s.state()
	if forgotten {
		before = history.State{}
	}
	s.fences++
	s.key = seededKey{b, b.token, s.fresh()}
	at := s.command(b, b.id, before, false, "SET", storyLock, b.token, "PX")
	b.served, b.success, b.fence = 1, true, s.fences
	if forgotten || s.coin() {
		s.grants(b, b.fence)
	}
	return at
}

func strangersRenewal(s *seeded) int {
	_, b, ok := s.both()
	if !ok || !s.probes || s.lease == 0 {
		return -1
	}
	before := s.state()
	s.key.ends += pick(s.dice, 4*ms, s.lease/2, s.lease)
	return s.command(b, 0, before, false, "PEXPIRE", storyLock)
}

func staleWriter(s *seeded) int {
	a, b, ok := s.both()
	if !ok || !s.wired || s.turn != a {
		return -1
	}
	return s.straysWrite(b)
}

func writeAfterRelease(s *seeded) int {
	b := s.turn
	if b == nil || !s.left || b.dead || b.op != history.OpNone || !s.wired {
		return -1
	}
	return s.straysWrite(b)
}

// straysWrite is work of a client that does not hold the lock.
func (s *seeded) straysWrite(c *seededClient) int {
	s.calls(c, history.OpWork)
	s.resource(c, fmt.Sprint(s.counter), "GET", storyCounter)
	c.read = s.counter
	at := s.writes(c, c.read+1)
	s.answers(c, pick(s.dice, history.OK, history.Unknown))
	return at
}

func fenceSwapped(s *seeded) int {
	n := slices.IndexFunc(s.clients, func(c *seededClient) bool {
		return c.op == history.OpAcquire && c.served == 1 && c.success && c.atCall > 0 && s.owns(c)
	})
	if n < 0 {
		return -1
	}
	c := s.clients[n]
	return s.grants(c, 1+s.dice.Int64N(c.atCall))
}

func sameRead(s *seeded) int {
	a := s.sure()
	if a == nil || len(s.reads) == 0 {
		return -1
	}
	s.calls(a, history.OpWork)
	a.read = pick(s.dice, s.reads...)
	s.resource(a, fmt.Sprint(a.read), "GET", storyCounter)
	s.writes(a, a.read+1)
	return s.answers(a, history.OK)
}

func finalLowered(s *seeded) int {
	if s.acks == 0 || s.dice.IntN(8) > 0 {
		return -1
	}
	return s.final(s.dice.Int64N(max(s.acks, slices.Max(s.reads)+1)))
}

func checkDenied(s *seeded) int {
	a := s.sure()
	if a == nil || !s.probes {
		return -1
	}
	s.calls(a, history.OpCheck)
	s.serve(a)
	s.now += pick(s.dice, 0, ms, 5*ms)
	return s.answers(a, history.No)
}

func untrueLoss(s *seeded) int {
	a := s.sure()
	if a == nil || !s.probes {
		return -1
	}
	a.believes = false
	return s.record(history.Event{Client: a.name, Lock: storyLock, Kind: history.KindLost})
}

// releaseWithout is a release that changes nothing, and says that it has.
func releaseWithout(s *seeded) int {
	a := s.sure()
	if a == nil || !s.probes {
		return -1
	}
	s.calls(a, history.OpRelease)
	s.command(a, a.id, s.state(), false, "EVALSHA", "release", "1", storyLock, "another")
	s.answers(a, history.OK)
	b := s.stranger()
	if b == nil {
		b = a
	}
	s.calls(b, history.OpAcquire)
	s.serve(b)
	return s.answers(b, history.No)
}

// twoStrangers are two clients that have nothing under way, while the lock is free and nobody believes to have it.
func (s *seeded) twoStrangers() (b, c *seededClient, ok bool) {
	s.expire()
	var idle []*seededClient
	for _, c := range s.clients {
		if c.believes {
			return nil, nil, false
		}
		if !c.dead && c.op == history.OpNone {
			idle = append(idle, c)
		}
	}
	if s.key.owner != nil || len(idle) < 2 || !s.probes {
		return nil, nil, false
	}
	return idle[0], idle[1], true
}

// grantDenied: one takes the lock and is told that it did not get it; another is refused because of that.
func grantDenied(s *seeded) int {
	b, c, ok := s.twoStrangers()
	if !ok {
		return -1
	}
	s.calls(b, history.OpAcquire)
	s.serve(b)
	s.answers(b, history.No)
	s.now += pick(s.dice, 0, ms, 5*ms)
	s.calls(c, history.OpAcquire)
	s.serve(c)
	return s.answers(c, history.No)
}

// leaseNeverSet: one takes the lock and crashes before it sets the lease; another waits for it in vain.
func leaseNeverSet(s *seeded) int {
	b, c, ok := s.twoStrangers()
	if !ok || s.lease == 0 || s.lease == time.Hour {
		return -1
	}
	s.calls(b, history.OpAcquire)
	s.expire()
	before := s.state()
	s.key = seededKey{b, b.token, forever}
	s.command(b, b.id, before, false, "SETNX", storyLock, b.token)
	b.dead, b.op = true, history.OpNone
	s.record(history.Event{Client: b.name, Kind: history.KindExit})
	s.calls(c, history.OpAcquire)
	bound := 2*s.lease + 10*ms
	s.events[len(s.events)-1].Detail = &history.Detail{Bound: bound}
	s.serve(c)
	s.now += bound
	c.served = 0
	s.serve(c)
	return s.answers(c, history.No)
}

// waiterNotWoken: one is refused, and sends nothing more when the lock is free.
func waiterNotWoken(s *seeded) int {
	a, b, ok := s.both()
	if !ok || !s.probes || s.lease == 0 || s.lease == time.Hour {
		return -1
	}
	bound := s.lease + s.lease/50 + 50*ms
	s.calls(b, history.OpAcquire)
	s.events[len(s.events)-1].Detail = &history.Detail{Bound: bound}
	s.serve(b)
	b.served = 1
	s.calls(a, history.OpRelease)
	s.serve(a)
	s.answers(a, history.OK)
	s.now += bound
	return s.answers(b, history.No)
}

// violated is a history with one violation, the event that shows it, and whether the history ends there; nil if none was possible.
func violated(seed uint64, v violation) (s *seeded, event int, ends bool) {
	s = newSeeded(seed)
	for range 120 {
		s.step()
		if event = v.do(s); event < 0 {
			continue
		}
		if ends = s.coin(); !ends {
			for range s.dice.IntN(30) {
				s.step()
			}
		}
		return s, event, ends
	}
	return nil, -1, false
}

// Every violation is found, by the event that shows it; and where nothing follows it, nothing else is.
func TestSeededViolationsAreFound(t *testing.T) {
	for name, v := range violations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done, all := 0, histories(t)
			for seed := uint64(0); done < all; seed++ {
				require.Less(t, seed, uint64(40*all+400), "too few histories allow it")
				s, event, ends := violated(seed, v)
				if s == nil {
					continue
				}
				done++
				got := Judge(s.events, Options{MaxPerName: 1 << 20, Twice: true})
				shown := slices.ContainsFunc(got.Anomalies, func(a Anomaly) bool { return a.Name == v.name && slices.Contains(a.Events, event) })
				require.True(t, shown, "seed %d, event %d, %v: %v\n%s", seed, event, s, got, printed(s.events))
				if ends && v.alone {
					require.Equal(t, []Name{v.name}, got.Names(), "seed %d, event %d, %v\n%s", seed, event, s, printed(s.events))
				}
			}
		})
	}
}

// legalChanges turn a history into another that is as legal, or as illegal.
var legalChanges = map[string]func(seed uint64, events []history.Event) []history.Event{
	"as it is": func(_ uint64, events []history.Event) []history.Event { return events },
	"later": func(seed uint64, events []history.Event) []history.Event {
		return shifted(events, time.Duration(seed%1000)*ms)
	},
	"under new name": func(_ uint64, events []history.Event) []history.Event { return renamed(events, "other-") },
	"twice":          func(_ uint64, events []history.Event) []history.Event { return doubled(events) },
}

// No legal history is accused, whichever of its outcomes are not known.
func TestSeededLegalHistoriesPass(t *testing.T) {
	changes := map[string]func(uint64, []history.Event) []history.Event{"outcomes unknown": outcomesUnknown}
	for name, change := range legalChanges {
		changes[name] = change
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(histories(t)) {
				s := legalSeeded(seed)
				events := change(seed, s.events)
				require.Equal(t, Verdict{Kind: Safe}, Judge(events, Options{Twice: true}), "seed %d, %v\n%s", seed, s, printed(events))
			}
		})
	}
}

// What changes nothing in a history changes nothing in its verdict.
func TestSeededVerdictsDoNotDependOnNamesAndTimes(t *testing.T) {
	each := max(1, histories(t)/len(violations))
	for name, v := range violations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(each) {
				s, _, _ := violated(seed, v)
				if s == nil {
					continue
				}
				want := Judge(s.events, Options{Twice: true}).Names()
				for change, changed := range legalChanges {
					events := changed(seed, s.events)
					require.Equal(t, want, Judge(events, Options{Twice: true}).Names(), "seed %d, %v, %s\n%s", seed, s, change, printed(events))
				}
			}
		})
	}
}

// copied is a deep copy, as far as anything is changed here.
func copied(events []history.Event) []history.Event {
	events = slices.Clone(events)
	for i := range events {
		e := &events[i]
		if e.Detail == nil {
			continue
		}
		d := *e.Detail
		e.Detail = &d
		if d.Command != nil {
			c := *d.Command
			c.Args, c.Changes = slices.Clone(c.Args), slices.Clone(c.Changes)
			d.Command = &c
		}
		if d.Fault != nil {
			f := *d.Fault
			d.Fault = &f
		}
	}
	return events
}

func shifted(events []history.Event, by time.Duration) []history.Event {
	events = copied(events)
	for i := range events {
		events[i].At += by
		if c := events[i].Command(); c != nil {
			c.Sent += by
		}
	}
	return events
}

// renamed gives clients, lock and tokens other names.
func renamed(events []history.Event, prefix string) []history.Event {
	events = copied(events)
	rename := func(name *string) {
		if *name != "" {
			*name = prefix + *name
		}
	}
	for i := range events {
		e := &events[i]
		rename(&e.Client)
		rename(&e.Lock)
		if c := e.Command(); c != nil && c.Server != history.Resource {
			for n := range c.Changes {
				rename(&c.Changes[n].Key)
				rename(&c.Changes[n].Before.Value)
				rename(&c.Changes[n].After.Value)
			}
		}
	}
	return events
}

// doubled has the same happen to another lock at the same time.
func doubled(events []history.Event) []history.Event {
	again := renamed(events, "other-")
	both := make([]history.Event, 0, 2*len(events))
	for i := range events {
		if again[i].ID != 0 {
			again[i].ID += 1_000_000
		}
		both = append(both, events[i], again[i])
	}
	return both
}

// outcomesUnknown has some answers get lost.
func outcomesUnknown(seed uint64, events []history.Event) []history.Event {
	events = copied(events)
	dice := newSeeded(seed).dice
	often := 1 + dice.IntN(8)
	for i := range events {
		if e := &events[i]; e.Kind == history.KindReturn && dice.IntN(often) == 0 {
			e.Outcome, e.Valid, e.Fence, e.Detail = history.Unknown, 0, 0, nil
		}
	}
	return events
}

// printed is a history as it is printed when a test fails, and not before: writing all of them took a quarter of the time.
type printed []history.Event

func (p printed) String() string {
	var b strings.Builder
	for i, e := range p {
		fmt.Fprintf(&b, "%d %v %s %v", i, e.At, e.Client, e)
		if c := e.Command(); c != nil {
			fmt.Fprintf(&b, " %v %+v", c.Args, c.Changes)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func TestSeededHistoriesFollowFromTheirNumber(t *testing.T) {
	assert.Equal(t, legalSeeded(7).events, legalSeeded(7).events)
	assert.NotEqual(t, legalSeeded(7).events, legalSeeded(8).events)
}
