package checker

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// bench is a make-believe laboratory: a correct mutex, a correct counter, and clients that use them in a random order of steps.
// Outcomes get lost, clients crash, leases end. It writes down what a lab would see, but for the commands.
type bench struct {
	dice    *rand.Rand
	lease   time.Duration // zero: the lock has none
	counts  bool          // its holder can take it again
	count   int           // how often the holder has, by the service
	now     time.Duration
	events  []history.Event
	lastID  int64
	users   []user
	holder  int // who the service thinks has the lock; negative: nobody
	until   time.Duration
	counter int64
}

type user struct {
	name    string
	dead    bool
	op      history.Op // under way
	id      int64
	served  bool // the service has carried it out
	success bool
	read    int64
	belief  bool // was told that it has the lock, and has not let go
	taken   int  // how often it was told so since it had it last
	inner   bool // its release is not the last one
	good    time.Duration
}

func newBench(t *rapid.T) *bench {
	b := &bench{dice: newDice(t), holder: -1}
	if rapid.Bool().Draw(t, "lease") {
		b.lease = time.Duration(20+b.dice.IntN(280)) * ms
	}
	b.counts = rapid.Bool().Draw(t, "counts")
	for n := range rapid.IntRange(2, 5).Draw(t, "clients") {
		b.users = append(b.users, user{name: clientName(n)})
		b.events = append(b.events, history.Event{Client: clientName(n), Lock: storyLock, Kind: history.KindOpen,
			Detail: &history.Detail{Lease: b.lease, Contract: history.Contract{Leaseless: b.lease == 0, Reentrant: b.counts}}})
	}
	return b
}

// legal runs the laboratory for a while.
func legal(t *rapid.T) *bench {
	b := newBench(t)
	for range rapid.IntRange(1, 300).Draw(t, "steps") {
		b.step()
	}
	b.record(history.Event{Lock: storyLock, Kind: history.KindFinal, Detail: &history.Detail{Value: b.counter}})
	return b
}

func (b *bench) record(e history.Event) {
	e.At = b.now
	b.events = append(b.events, e)
}

func (b *bench) step() {
	b.now += pick(b.dice, 0, 0, ms, ms, 2*ms, 10*ms, 50*ms)
	if b.holder >= 0 && (b.lease > 0 && b.now >= b.until || b.users[b.holder].dead) {
		b.holder = -1
	}
	n := b.dice.IntN(len(b.users))
	u := &b.users[n]
	switch chance := b.dice.IntN(100); {
	case u.dead:
	case chance < 2:
		u.dead, u.belief, u.op = true, false, history.OpNone
		b.record(history.Event{Client: u.name, Kind: history.KindExit})
	case u.op == history.OpNone:
		b.call(u)
	case !u.served && chance < 80:
		b.serve(n)
	default:
		b.answer(n, chance%5 == 0)
	}
}

func (b *bench) call(u *user) {
	u.op = history.OpAcquire
	if u.belief {
		u.op = pick(b.dice, history.OpRelease, history.OpRelease, history.OpWork, history.OpRenew)
		if b.counts && b.dice.IntN(4) == 0 {
			u.op = history.OpAcquire
		}
	}
	b.lastID++
	u.id, u.served, u.success = b.lastID, false, false
	if u.op == history.OpRelease {
		u.taken--
		u.inner = b.counts && u.taken > 0 && (b.lease == 0 || b.now < u.good)
		u.belief = u.inner
	}
	b.record(history.Event{Client: u.name, Lock: storyLock, Kind: history.KindCall, Op: u.op, ID: u.id})
}

// serve carries the operation out, in one step.
func (b *bench) serve(n int) {
	u := &b.users[n]
	u.served = true
	switch u.op {
	case history.OpAcquire:
		if u.success = b.holder < 0 || b.counts && b.holder == n; u.success {
			if b.holder < 0 {
				b.count = 0
			}
			b.holder, b.until = n, b.now+b.lease
			b.count++
		}
	case history.OpRenew:
		if u.success = b.holder == n; u.success {
			b.until = b.now + b.lease
		}
	case history.OpRelease:
		if u.success = b.holder == n; u.success {
			if b.count--; b.count == 0 || !b.counts {
				b.holder = -1
			}
		}
	case history.OpWork:
		u.success, u.read = true, b.counter
		b.counter++
	}
}

// answer tells the client, who may not hear it.
func (b *bench) answer(n int, lost bool) {
	u := &b.users[n]
	e := history.Event{Client: u.name, Lock: storyLock, Kind: history.KindReturn, Op: u.op, ID: u.id, Outcome: history.No}
	inTime := b.lease == 0 || b.holder == n && b.now < b.until
	switch {
	case !u.served || lost:
		e.Outcome = history.Unknown
	case u.success && u.op == history.OpWork:
		e.Outcome, e.Detail = history.OK, &history.Detail{Read: u.read, Wrote: u.read + 1}
	case u.success && (u.op == history.OpRelease || inTime):
		e.Outcome = history.OK
	}
	if u.op == history.OpRelease && e.Outcome == history.No {
		u.belief = false
	}
	if e.Outcome == history.OK && (u.op == history.OpAcquire || u.op == history.OpRenew) {
		if u.op == history.OpAcquire {
			if !u.belief || b.lease > 0 && b.now >= u.good {
				u.taken = 0
			}
			u.taken++
		}
		u.belief = true
		if b.lease > 0 {
			e.Valid = b.until - b.now
			u.good = e.At + e.Valid
		}
	}
	u.op = history.OpNone
	b.record(e)
}

// A correct mutex is never accused, whatever gets lost.
func TestLegalHistoriesPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := legal(t)
		v := Judge(b.events, Options{Twice: true})
		require.Equal(t, Verdict{Kind: Safe}, v, "%s", seconds(b.now))
	})
}

// If somebody is told that it has the lock while another certainly has it, that is seen.
func TestOverlappingHoldsFail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			b.step()
		}
		victim, cheat := b.holdFor(t), 0
		if cheat == victim {
			cheat = 1
		}
		if b.users[cheat].dead {
			t.Skip("nobody is left to cheat")
		}
		if b.users[cheat].op != history.OpNone {
			b.answer(cheat, true)
		}
		b.lastID++
		e := history.Event{Client: b.users[cheat].name, Lock: storyLock, Kind: history.KindCall, Op: history.OpAcquire, ID: b.lastID}
		b.record(e)
		e.Kind, e.Outcome = history.KindReturn, history.OK
		b.record(e)
		for range rapid.IntRange(0, 30).Draw(t, "more steps") {
			b.step()
		}
		v := Judge(b.events, Options{Twice: true})
		require.False(t, v.CheckerFault, v.Reason)
		require.Contains(t, v.Names(), DoubleHolder)
	})
}

// holdFor makes a live client hold the lock now, and certainly for a while.
func (b *bench) holdFor(t *rapid.T) int {
	for n := range b.users {
		u := &b.users[n]
		if u.dead {
			continue
		}
		if u.op != history.OpNone {
			b.answer(n, true)
		}
		if u.belief {
			b.lastID++
			b.record(history.Event{Client: u.name, Lock: storyLock, Kind: history.KindCall, Op: history.OpRelease, ID: b.lastID})
			b.record(history.Event{Client: u.name, Lock: storyLock, Kind: history.KindReturn, Op: history.OpRelease, ID: b.lastID, Outcome: history.OK})
			u.belief = false
		}
		b.holder = -1
		u.op = history.OpAcquire
		b.lastID++
		u.id = b.lastID
		b.record(history.Event{Client: u.name, Lock: storyLock, Kind: history.KindCall, Op: u.op, ID: u.id})
		b.serve(n)
		b.answer(n, false)
		return n
	}
	t.Skip("everybody is dead")
	return 0
}

// genEvents draws events without any sense: few names and numbers, so that they meet.
func genEvents(t *rapid.T) []history.Event {
	now := time.Duration(0)
	event := rapid.Custom(func(t *rapid.T) history.Event {
		e := history.Event{
			At:      rapid.SampledFrom([]time.Duration{0, ms, 5 * ms, 15 * ms}).Draw(t, "later"),
			Kind:    rapid.SampledFrom([]history.Kind{1, 2, 2, 2, 3, 3, 3, 3, 4, 5, 6, 7, 7, 10}).Draw(t, "kind"),
			Client:  rapid.SampledFrom([]string{"C1", "C2", "C3", ""}).Draw(t, "client"),
			Lock:    rapid.SampledFrom([]string{"k", "k", "l", ""}).Draw(t, "lock"),
			ID:      rapid.Int64Range(0, 1).Draw(t, "id"),
			Op:      history.Op(rapid.IntRange(0, 5).Draw(t, "op")),
			Outcome: rapid.SampledFrom([]history.Outcome{history.OK, history.OK, history.No, history.Unknown}).Draw(t, "outcome"),
			Valid:   rapid.SampledFrom([]time.Duration{0, 0, history.ValidityExpired, 3 * ms, 10 * ms, 20 * ms, 40 * ms}).Draw(t, "valid"),
			Fence:   rapid.Int64Range(0, 3).Draw(t, "fence"),
		}
		if rapid.IntRange(0, 30).Draw(t, "malformed") > 0 {
			e.ID += int64(e.Op)*4 + int64(len(e.Lock))*2 // a number means one operation
			if e.Lock == "l" {
				e.ID += 100
			}
		}
		if rapid.Bool().Draw(t, "detail") {
			read := rapid.Int64Range(0, 4).Draw(t, "read")
			e.Detail = &history.Detail{Read: read, Wrote: read + 1, Value: read, Lease: 50 * time.Millisecond}
			e.Detail.Reentrant, e.Detail.Fair = rapid.Bool().Draw(t, "reentrant"), rapid.Bool().Draw(t, "fair")
		}
		if e.Kind == history.KindCommand {
			e.Detail = &history.Detail{Command: genCommand(t)}
		}
		return e
	})
	events := rapid.SliceOfN(event, 0, 60).Draw(t, "events")
	for i := range events {
		now += events[i].At
		events[i].At = now
	}
	return events
}

// genCommand draws a command to a lock, or to the resource.
func genCommand(t *rapid.T) *history.Command {
	value := rapid.SampledFrom([]string{"0", "1", "2", "3", "nil"})
	c := &history.Command{Server: "redis", Args: []string{"SET", "k", value.Draw(t, "put")}, Reply: "OK"}
	c.Late, c.ReplyDropped = rapid.IntRange(0, 5).Draw(t, "late") == 0, rapid.IntRange(0, 5).Draw(t, "dropped") == 0
	if rapid.Bool().Draw(t, "resource") {
		c.Server = history.Resource
		if rapid.Bool().Draw(t, "read") {
			c.Args, c.Reply = []string{"GET", "counter"}, value.Draw(t, "got")
		}
		return c
	}
	if rapid.Bool().Draw(t, "asked") {
		state := rapid.SampledFrom([]history.State{{}, {Type: "string", Value: "a", TTL: 40 * ms}, {Type: "string", Value: "b", TTL: 10 * ms}})
		c.Changes = []history.Change{{Key: "k", Before: state.Draw(t, "before"), After: state.Draw(t, "after")}}
	}
	return c
}

// Whatever the events, the two judges never contradict each other.
func TestJudgesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Judge(genEvents(t), Options{Twice: true})
		require.False(t, v.CheckerFault, v.Reason)
	})
}

// Cut into windows of any size, a history is judged as it is as a whole: a legal one, one with overlapping holds or lost
// updates, and one without any sense.
func TestCutAndUncutAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := genEvents(t)
		if rapid.Bool().Draw(t, "sensible") {
			events = spoilt(t, legal(t).events)
		}
		size := rapid.IntRange(1, 6).Draw(t, "size")
		for _, lock := range overlap.Locks(events) {
			whole := searched(overlap.HoldWindowsOf(lock.Spans, len(lock.Spans)+1))
			require.Equal(t, whole, judgedAsListed(overlap.HoldWindowsOf(lock.Spans, size)))
		}
		for _, c := range overlap.Counters(events) {
			whole := searched(overlap.CounterWindowsOf(c.Updates, len(c.Updates)+1))
			require.Equal(t, whole, judgedAsListed(overlap.CounterWindowsOf(c.Updates, size)))
		}
	})
}

// Updates under way at the same time, with values in about the order of their returns.
func TestCutAndUncutCountersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dice := newDice(t)
		var updates []overlap.UpdateSpan
		value, position := int64(0), int64(10)
		for range rapid.IntRange(1, 12).Draw(t, "updates") {
			position += pick(dice, int64(1), 2, 5)
			value += pick(dice, int64(1), 1, 1, 2, -1)
			u := overlap.UpdateSpan{Call: position - pick(dice, int64(1), 3, 8), Done: position, Value: max(0, value)}
			updates = append(updates, u)
		}
		whole := searched(overlap.CounterWindowsOf(updates, len(updates)+1))
		for size := 1; size <= 4; size++ {
			require.Equal(t, whole, judgedAsListed(overlap.CounterWindowsOf(updates, size)), "%v", updates)
		}
	})
}

// judgedAsListed judges windows as those of a long history.
func judgedAsListed(windows iter.Seq[overlap.Window]) porcupine.CheckResult {
	return overlap.Judge{Timeout: time.Minute}.Windows(windows)
}

// searched leaves a history to porcupine, without looking at the order in which its operations are listed. It is judged as one
// window.
func searched(windows iter.Seq[overlap.Window]) porcupine.CheckResult {
	for w := range windows {
		return porcupine.CheckOperationsTimeout(w.Model, w.Operations, time.Minute)
	}
	return porcupine.Ok
}

// In whichever order the operations of a window are listed, it is judged as porcupine judges it.
func TestTheOrderListedIsNotTakenOnTrust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dice := newDice(t)
		w := overlap.Window{Model: overlap.MutexModel(0)}
		for n := range rapid.IntRange(1, 5).Draw(t, "holds") {
			length := func() int64 { return pick(dice, int64(0), 1, 2, 5) }
			call := pick(dice, int64(0), 3, 6, 9, 12)
			got := call + length()
			end := got + length()
			w.Operations = append(w.Operations,
				porcupine.Operation{Input: overlap.MutexTake(n + 1), Call: call, Return: got},
				porcupine.Operation{Input: overlap.MutexGive(n + 1), Call: end, Return: end + length()})
		}
		dice.Shuffle(len(w.Operations)*rapid.IntRange(0, 1).Draw(t, "shuffled"), func(i, j int) {
			w.Operations[i], w.Operations[j] = w.Operations[j], w.Operations[i]
		})
		require.Equal(t, porcupine.CheckOperationsTimeout(w.Model, w.Operations, time.Minute), overlap.Judge{Timeout: time.Minute}.Window(w))
	})
}

// What a client had asked for before its process ended is answered by nobody, also when the client is started again.
func TestNobodyAnswersForAClientThatHasEnded(t *testing.T) {
	event := func(id int64, client string, kind history.Kind) history.Event {
		return history.Event{ID: id, Client: client, Lock: storyLock, Kind: kind, Op: history.OpAcquire}
	}
	ok := func(e history.Event) history.Event { e.Outcome = history.OK; return e }
	events := []history.Event{
		event(1, "C1", history.KindCall), event(0, "C1", history.KindExit), event(0, "C1", history.KindOpen),
		event(2, "C2", history.KindCall), ok(event(2, "C2", history.KindReturn)),
		ok(event(1, "C1", history.KindReturn)),
	}
	require.Equal(t, Verdict{Kind: Safe}, Judge(events, Options{Twice: true}))
}

// spoilt turns some answers of a legal history round: refusals into grants, readings into older ones, answers into none.
func spoilt(t *rapid.T, events []history.Event) []history.Event {
	for range rapid.IntRange(0, 2).Draw(t, "lies") {
		e := &events[rapid.IntRange(0, len(events)-1).Draw(t, "lie")]
		if e.Kind != history.KindReturn {
			continue
		}
		switch {
		case e.Op == history.OpWork && e.Detail != nil:
			e.Detail.Read = max(0, e.Detail.Read-1)
			e.Detail.Wrote = e.Detail.Read + 1
		case e.Outcome == history.OK:
			e.Outcome = history.Unknown
		default:
			e.Outcome = history.OK
		}
	}
	return events
}

// Operations with an unknown outcome may have happened or not. The models leave them out; models that have them judge the same.
func TestUnknownOperationsPutNoConstraint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := spoilt(t, legal(t).events)
		for _, lock := range overlap.Locks(events) {
			require.Equal(t, judgedAsListed(overlap.HoldWindows(lock.Spans)), wholeMutex(events, lock.Spans))
		}
		for _, c := range overlap.Counters(events) {
			require.Equal(t, judgedAsListed(overlap.CounterWindows(c.Updates)), wholeCounter(events, c.Updates))
		}
	})
}

// maybe is the input of an operation with an unknown outcome.
type maybe int

// unknowns are the operations of one kind with an unknown outcome, as operations that may take effect at any time after their
// call; at most a few, because porcupine tries them all.
func unknowns(events []history.Event, kind history.Op) []porcupine.Operation {
	var found []porcupine.Operation
	returned := make(map[int64]history.Outcome)
	for i := range events {
		if events[i].Kind == history.KindReturn {
			returned[events[i].ID] = events[i].Outcome
		}
	}
	for i := range events {
		e := &events[i]
		out, back := returned[e.ID]
		if e.Kind == history.KindCall && e.Op == kind && (!back || out == history.Unknown) && len(found) < 4 {
			found = append(found, porcupine.Operation{Input: maybe(1000 + i), Call: overlap.At(i), Return: overlap.Open})
		}
	}
	return found
}

func wholeMutex(events []history.Event, spans []overlap.Span) porcupine.CheckResult {
	var w overlap.Window
	for w = range overlap.HoldWindowsOf(spans, len(spans)+1) {
	}
	sure := overlap.MutexModel(0)
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{overlap.MutexHolder(0)} },
		Step: func(state, input, output any) []any {
			if in, ok := input.(maybe); ok {
				if state.(overlap.MutexHolder) != 0 {
					return []any{state}
				}
				return []any{state, overlap.MutexHolder(in)}
			}
			ok, next := sure.Step(state, input, output)
			if !ok {
				return nil
			}
			return []any{next}
		},
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), append(w.Operations, unknowns(events, history.OpAcquire)...), time.Minute)
}

func wholeCounter(events []history.Event, updates []overlap.UpdateSpan) porcupine.CheckResult {
	var w overlap.Window
	for w = range overlap.CounterWindowsOf(updates, len(updates)+1) {
	}
	sure := overlap.CounterModel(overlap.CounterState{})
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{overlap.CounterState{}} },
		Step: func(state, input, output any) []any {
			if _, ok := input.(maybe); ok {
				s := state.(overlap.CounterState)
				return []any{s, overlap.CounterState{Least: s.Least + 1, Updates: s.Updates}}
			}
			ok, next := sure.Step(state, input, output)
			if !ok {
				return nil
			}
			return []any{next}
		},
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), append(w.Operations, unknowns(events, history.OpWork)...), time.Minute)
}

func TestFirstAnomaliesOfAKindAreEnough(t *testing.T) {
	var events []history.Event
	for n := range 100 {
		at := time.Duration(n) * time.Millisecond
		call := history.Event{At: at, ID: int64(n + 1), Client: fmt.Sprint("C", n), Lock: storyLock, Kind: history.KindCall, Op: history.OpAcquire}
		ret := call
		ret.Kind, ret.Outcome = history.KindReturn, history.OK
		events = append(events, call, ret)
	}
	require.Len(t, Judge(events, Options{Twice: true}).Anomalies, maxPerName)
}

// An acquire of nobody, which no history that is read can have, is none to either judge.
func TestAGrantOfNobodyIsNotDead(t *testing.T) {
	events := []history.Event{
		{Client: "C1", Lock: "k", Kind: history.KindOpen, Detail: &history.Detail{Lease: 50 * ms}},
		{Lock: "k", Kind: history.KindCall, Op: history.OpAcquire, ID: 7},
		{Lock: "k", Kind: history.KindReturn, Op: history.OpAcquire, ID: 7, Outcome: history.OK, Valid: history.ValidityExpired},
	}
	v := Judge(events, Options{Twice: true})
	require.False(t, v.CheckerFault, v.Reason)
	require.NotContains(t, v.Names(), DeadGrant)
}
