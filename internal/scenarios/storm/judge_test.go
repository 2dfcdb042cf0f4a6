package storm_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

const (
	ms    = time.Millisecond
	lease = time.Second
)

// tale is a history written by hand.
type tale struct {
	events []history.Event
	ids    int64
	value  string // of the lock; empty: it is free
}

func newTale(clients ...string) *tale {
	t := &tale{}
	for _, client := range clients {
		t.events = append(t.events, history.Event{Kind: history.KindOpen, Client: client, Lock: "lock", Detail: &history.Detail{Lease: lease}})
	}
	return t
}

func (t *tale) add(at time.Duration, e history.Event) {
	e.At = at
	if e.Lock == "" {
		e.Lock = "lock"
	}
	t.events = append(t.events, e)
}

// takes lets a client get the lock: by a command that creates its key, or replaces what is there.
func (t *tale) takes(at time.Duration, client string, outcome history.Outcome) {
	t.ids++
	t.add(at, history.Event{Kind: history.KindCall, Client: client, Op: history.OpAcquire, ID: t.ids})
	before := history.State{}
	if t.value != "" {
		before = history.State{Type: "string", Value: t.value, TTL: lease / 2}
	}
	t.value = client
	after := history.State{Type: "string", Value: client, TTL: lease}
	t.add(at+ms, history.Event{Kind: history.KindCommand, Client: client, Op: history.OpAcquire, ID: t.ids, Detail: &history.Detail{Command: &history.Command{
		Server: "redis", Args: []string{"SET", "lock", client}, Reply: "OK", Sent: at, Asked: ms, Changes: []history.Change{{Key: "lock", Before: before, After: after}},
	}}})
	t.add(at+2*ms, history.Event{Kind: history.KindReturn, Client: client, Op: history.OpAcquire, ID: t.ids, Outcome: outcome})
}

// expires lets the lock go by itself.
func (t *tale) expires() { t.value = "" }

func (t *tale) fault(at time.Duration, name, target string, phase history.Phase) {
	t.add(at, history.Event{Kind: history.KindFault, Client: target, Detail: &history.Detail{Fault: &history.Fault{Name: name, Target: target, Phase: phase}}})
}

// paused is a pause from one time to another.
func (t *tale) paused(client string, from, to time.Duration, meanwhile func()) {
	t.fault(from, "pause", client, history.PhaseInject)
	t.fault(from, "pause", client, history.PhaseEffective)
	meanwhile()
	t.fault(to, "pause", client, history.PhaseRecover)
}

func (t *tale) stood(at, from, long time.Duration) {
	t.add(at, history.Event{Kind: history.KindFault, Detail: &history.Detail{
		Value: int64(from), Bound: long, Fault: &history.Fault{Name: string(faults.Stall), Target: "machine", Phase: history.PhaseRecover},
	}})
}

func (t *tale) judge(tt *testing.T, lock string) (checker.Verdict, *record.Storm) {
	tt.Helper()
	return t.judgeEnded(tt, lock, history.EndedComplete)
}

func (t *tale) judgeEnded(tt *testing.T, lock, ended string) (checker.Verdict, *record.Storm) {
	tt.Helper()
	spec, ok := impls.Find(lock)
	require.True(tt, ok, lock)
	last := t.events[len(t.events)-1].At
	t.add(last, history.Event{Kind: history.KindEnd, Detail: &history.Detail{Text: ended, Why: "as told"}})
	contract := storm.ContractOf(spec)
	require.Equal(tt, contract, storm.ContractIn(contract.Expected()), "what run.json keeps of a lock's promises must judge as they do")
	v, told := storm.Conclude(t.events, contract, record.Storm{Seed: 7})
	require.Equal(tt, int64(7), told.Seed)
	return v, told
}

// TestInterruptedStorm: a storm that was interrupted concludes nothing, unless a promise was broken before.
func TestInterruptedStorm(t *testing.T) {
	for _, lock := range []string{"setpx-lua", "setpx-getdel"} {
		excused := newTale("C1", "C2")
		excused.takes(10*ms, "C1", history.OK)
		excused.paused("C1", 100*ms, 1400*ms, func() {
			excused.expires()
			excused.takes(1200*ms, "C2", history.OK)
		})
		v, told := excused.judgeEnded(t, lock, history.EndedInterrupted)
		assert.Equal(t, checker.Verdict{Kind: checker.Undecided, Reason: "as told"}, v, lock)
		assert.Nil(t, told.First)

		broken := newTale("C1", "C2")
		broken.takes(10*ms, "C1", history.OK)
		broken.takes(300*ms, "C2", history.OK)
		v, told = broken.judgeEnded(t, lock, history.EndedInterrupted)
		assert.Equal(t, checker.Broken, v.Kind, lock)
		assert.NotNil(t, told.First)
	}
}

// TestPromises holds anomalies against what locks promise.
func TestPromises(t *testing.T) {
	afterItsLease := func() *tale {
		s := newTale("C1", "C2")
		s.takes(10*ms, "C1", history.OK)
		s.expires()
		s.takes(1200*ms, "C2", history.OK)
		return s
	}
	withinIt := func() *tale {
		s := newTale("C1", "C2")
		s.takes(10*ms, "C1", history.OK)
		s.takes(300*ms, "C2", history.OK)
		return s
	}
	afterAPause := func() *tale {
		s := newTale("C1", "C2")
		s.takes(10*ms, "C1", history.OK)
		s.paused("C1", 100*ms, 1400*ms, func() {
			s.expires()
			s.takes(1200*ms, "C2", history.OK)
		})
		return s
	}
	afterARestart := func() *tale {
		s := newTale("C1", "C2")
		s.takes(10*ms, "C1", history.OK)
		s.fault(200*ms, "restart", "redis", history.PhaseInject)
		s.fault(210*ms, "restart", "redis", history.PhaseEffective)
		s.expires()
		s.takes(300*ms, "C2", history.OK)
		return s
	}
	for _, c := range []struct {
		name   string
		tale   func() *tale
		lock   string
		beyond string // "" : a promise is broken
	}{
		{"whose lease is over has no promise left", afterItsLease, "setpx-lua", "C1.s lease had begun 1.192s before, and was over"},
		{"a lease that runs must be respected", withinIt, "setpx-lua", ""},
		{"known to be broken, but not by this", afterItsLease, "setpx-del", "C1.s lease had begun"},
		{"a hold that ends with its lease never overlaps", afterItsLease, "watchdog", ""},
		{"nor does it after a pause", afterAPause, "watchdog", ""},
		{"who renews its lease is not excused by its end", afterItsLease, "redisson", ""},
		{"but by a pause", afterAPause, "redisson", "C1 was hindered for 910ms of its lease"},
		{"no lock survives a server that forgets", afterARestart, "watchdog", "the server's restart at 0.200s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, told := c.tale().judge(t, c.lock)
			require.Equal(t, checker.Broken, v.Kind, v.String())
			var double checker.Anomaly
			for _, a := range v.Anomalies {
				if a.Name == checker.DoubleHolder {
					double = a
				}
			}
			require.NotEmpty(t, double.Name)
			if c.beyond == "" {
				require.Empty(t, double.Beyond)
				require.NotNil(t, told.First)
				return
			}
			require.Regexp(t, "^"+c.beyond, double.Beyond)
			require.Nil(t, told.First)
		})
	}
}

// TestTheFirstBrokenPromiseIsNotCrowdedOut: what breaks a promise is found behind any number of anomalies that do not.
func TestTheFirstBrokenPromiseIsNotCrowdedOut(t *testing.T) {
	s := newTale("C1", "C2")
	at := 10 * ms
	for range 100 {
		s.takes(at, "C1", history.OK)
		s.expires()
		at += 1200 * ms
		s.takes(at, "C2", history.OK)
		s.expires()
		at += 1200 * ms
	}
	s.takes(at, "C1", history.OK)
	s.takes(at+100*ms, "C2", history.OK)
	v, told := s.judge(t, "setpx-lua")
	require.NotNil(t, told.First)
	require.Equal(t, 202, told.Operations)
	require.Equal(t, 202, told.First.Operation)
	require.LessOrEqual(t, len(v.Anomalies), 2*8*len(v.Names()), "and the verdict stays short")
}

// TestGhosts: a client that never learned what came of its acquire may leave a ghost; one that was told no may not.
func TestGhosts(t *testing.T) {
	for outcome, caught := range map[history.Outcome]bool{history.Unknown: false, history.No: true} {
		s := newTale("C1", "C2")
		s.takes(10*ms, "C1", outcome)
		s.events[len(s.events)-1].Detail = &history.Detail{GaveUp: outcome == history.Unknown}
		// C2 is refused because of it.
		s.add(20*ms, history.Event{Kind: history.KindCall, Client: "C2", Op: history.OpAcquire, ID: 9})
		there := history.State{Type: "string", Value: "C1", TTL: 900 * ms}
		s.add(22*ms, history.Event{Kind: history.KindCommand, Client: "C2", Op: history.OpAcquire, ID: 9, Detail: &history.Detail{Command: &history.Command{
			Server: "redis", Args: []string{"SET", "lock", "C2"}, Sent: 21 * ms, Asked: ms, Changes: []history.Change{{Key: "lock", Before: there, After: there}},
		}}})
		s.add(23*ms, history.Event{Kind: history.KindReturn, Client: "C2", Op: history.OpAcquire, ID: 9, Outcome: history.No})
		v, told := s.judge(t, "setpx-lua")
		require.Equal(t, []checker.Name{checker.GhostLock}, v.Names())
		require.Equal(t, caught, told.First != nil, outcome)
	}
}

// TestFaultsAreCounted, and not the links to several servers that one disturbs.
func TestFaultsAreCounted(t *testing.T) {
	s := newTale("C1", "C2")
	for _, phase := range []history.Phase{history.PhaseInject, history.PhaseEffective} {
		for range 3 { // links
			s.fault(10*ms, "partition", "C1", phase)
		}
	}
	s.fault(12*ms, "partition", "C2", history.PhaseInject) // and is over before it takes effect
	for range 3 {
		s.fault(20*ms, "partition", "C1", history.PhaseRecover)
	}
	s.fault(21*ms, "hold", "C1", history.PhaseEffective)
	s.fault(22*ms, "crash", "C1", history.PhaseInject)
	s.add(23*ms, history.Event{Kind: history.KindExit, Client: "C1"})
	s.fault(24*ms, "crash", "C1", history.PhaseEffective)
	s.fault(30*ms, "duplicate", "C2", history.PhaseEffective)
	s.takes(40*ms, "C2", history.OK)
	_, told := s.judge(t, "redlock")
	require.Equal(t, 3, told.Faults)
}

// TestSurprise: a sound lock must break no promise, and a broken one must be caught.
func TestSurprise(t *testing.T) {
	beyond := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.StaleWrite, Beyond: "a pause"}}}
	broken := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.StaleWrite}}}
	safe := checker.Verdict{Kind: checker.Safe}
	for _, c := range []struct {
		lock    string
		verdict checker.Verdict
		want    bool
	}{
		{"setpx-lua", safe, false}, {"setpx-lua", beyond, false}, {"setpx-lua", broken, true},
		{"setpx-del", safe, true}, {"setpx-del", beyond, true}, {"setpx-del", broken, false},
		{"setpx-lua", checker.Verdict{Kind: checker.Undecided}, false}, {"setpx-del", checker.Verdict{Kind: checker.Undecided}, false},
	} {
		spec, ok := impls.Find(c.lock)
		require.True(t, ok)
		cell := record.Cell{Lock: c.lock, Verdict: c.verdict, Expected: storm.ContractOf(spec).Expected()}
		require.Equal(t, c.want, cell.Surprise(), "%s %v", c.lock, c.verdict)
	}
}

// TestAStarvedHost: a release that waits its turn at the tap, behind the commands of others that the lab takes long to probe, is not the
// lock's fault. Nor is it shown to be no fault of the lock.
func TestAStarvedHost(t *testing.T) {
	for _, c := range []struct {
		asked time.Duration
		also  bool // another anomaly, which a promise forbids
		want  checker.Kind
		why   string
	}{
		{45 * ms, false, checker.Undecided, `^hung-operation at 2\.600s, which the host explains: C1's release was hindered for 1\.\d+s \(the host was slow\)$`},
		{45 * ms, true, checker.Broken, "^$"},
		{2 * ms, false, checker.Broken, "^$"},
	} {
		s := newTale("C1", "C2")
		s.takes(10*ms, "C1", history.OK)
		s.expires()
		s.add(1300*ms, history.Event{Kind: history.KindCall, Client: "C1", Op: history.OpRelease, ID: 8, Detail: &history.Detail{Bound: 1250 * ms}})
		for at := 1320 * ms; at < 2500*ms; at += 50 * ms {
			s.add(at, history.Event{Kind: history.KindCommand, Client: "C2", Detail: &history.Detail{Command: &history.Command{
				Server: "redis", Args: []string{"GET", "lock"}, Sent: at - ms, Asked: c.asked, Changes: []history.Change{{Key: "lock"}},
			}}})
		}
		s.add(2600*ms, history.Event{Kind: history.KindReturn, Client: "C1", Op: history.OpRelease, ID: 8, Outcome: history.Unknown, Detail: &history.Detail{GaveUp: true}})
		if c.also {
			s.takes(2700*ms, "C1", history.OK)
			s.takes(2800*ms, "C2", history.OK)
		}
		v, told := s.judge(t, "setpx-lua")
		require.Equal(t, c.want, v.Kind, "%s", v)
		require.Regexp(t, c.why, v.Reason)
		require.Equal(t, c.want == checker.Broken, told.First != nil)
	}
}

// TestAStall: nor is a hold that outlived its lease, of a lock that could not renew it while the host stalled.
func TestAStall(t *testing.T) {
	s := newTale("C1", "C2")
	s.takes(10*ms, "C1", history.OK)
	s.expires()
	s.takes(1200*ms, "C2", history.OK)
	s.stood(1300*ms, 400*ms, 550*ms)
	v, told := s.judge(t, "redisson")
	require.Equal(t, "unknown: double-holder at 1.202s, which the host explains: C1 was hindered for 550ms of its lease (the host stalled)", v.String())
	require.Nil(t, told.First)
}

// TestALockThatIsBeingReleased is not stuck through its own fault, but through whatever keeps its owner from releasing it. That its
// owner died over it is another matter.
func TestALockThatIsBeingReleased(t *testing.T) {
	for _, dies := range []bool{false, true} {
		s := newTale("C1", "C2")
		s.takes(10*ms, "C1", history.OK)
		s.add(20*ms, history.Event{Kind: history.KindCall, Client: "C1", Op: history.OpRelease, ID: 8})
		s.fault(21*ms, "hold", "C1", history.PhaseEffective)
		if dies {
			s.fault(22*ms, "crash", "C1", history.PhaseInject)
			s.add(23*ms, history.Event{Kind: history.KindExit, Client: "C1"})
			s.fault(24*ms, "crash", "C1", history.PhaseEffective)
		}
		s.add(30*ms, history.Event{Kind: history.KindCall, Client: "C2", Op: history.OpAcquire, ID: 9, Detail: &history.Detail{Bound: 2 * lease}})
		there := history.State{Type: "string", Value: "C1", TTL: 900 * ms}
		s.add(2090*ms, history.Event{Kind: history.KindCommand, Client: "C2", Op: history.OpAcquire, ID: 9, Detail: &history.Detail{Command: &history.Command{
			Server: "redis", Args: []string{"SET", "lock", "C2"}, Sent: 2089 * ms, Asked: ms, Changes: []history.Change{{Key: "lock", Before: there, After: there}},
		}}})
		s.add(2130*ms, history.Event{Kind: history.KindReturn, Client: "C2", Op: history.OpAcquire, ID: 9, Outcome: history.No})
		v, told := s.judge(t, "setpx-lua")
		require.Equal(t, dies, slices.Contains(v.Names(), checker.StuckLock), v.Reason)
		require.Equal(t, dies, told.First != nil, "%v", v.Anomalies)
	}
}

// TestSplitVotes: that many are after a lock on several servers, and none gets it, is not the lock's fault. That one alone does not get
// it is.
func TestSplitVotes(t *testing.T) {
	for _, alone := range []bool{false, true} {
		s := newTale("C1", "C2", "C3")
		for i := range s.events {
			s.events[i].Detail.Servers = 3
		}
		here := func(value string) history.State { return history.State{Type: "string", Value: value} }
		send := func(at time.Duration, client string, id int64, server string, before, after history.State) {
			s.add(at, history.Event{Kind: history.KindCommand, Client: client, Op: history.OpAcquire, ID: id, Detail: &history.Detail{Command: &history.Command{
				Server: server, Args: []string{"SET", "lock", client}, Sent: at, Asked: ms,
				Changes: []history.Change{{Key: "lock", Before: before, After: after}},
			}}})
		}
		call := func(at time.Duration, client string, id int64, bound time.Duration) {
			s.add(at, history.Event{Kind: history.KindCall, Client: client, Op: history.OpAcquire, ID: id, Detail: &history.Detail{Bound: bound}})
		}
		call(10*ms, "C1", 1, 0)
		send(11*ms, "C1", 1, "S1", history.State{}, here("a"))
		send(11*ms, "C1", 1, "S2", history.State{}, here("a"))
		s.add(12*ms, history.Event{Kind: history.KindReturn, Client: "C1", Op: history.OpAcquire, ID: 1, Outcome: history.OK})
		s.add(13*ms, history.Event{Kind: history.KindExit, Client: "C1"})
		if !alone {
			call(20*ms, "C3", 2, 0)
		}
		call(30*ms, "C2", 3, 4*lease)
		for _, at := range []time.Duration{31 * ms, 3900 * ms} {
			send(at, "C2", 3, "S1", here("a"), here("a"))
			send(at, "C2", 3, "S2", here("a"), here("a"))
		}
		s.add(4100*ms, history.Event{Kind: history.KindReturn, Client: "C2", Op: history.OpAcquire, ID: 3, Outcome: history.No})
		v, told := s.judge(t, "redlock")
		require.Equal(t, []checker.Name{checker.StuckLock}, v.Names(), v.Reason)
		require.Equal(t, alone, told.First != nil, "%v", v.Anomalies)
	}
}

// TestLateGhosts: a request of an acquire that was given up comes when its client is at the next one, which is told no. It came by a
// connection that the client used no more; where it goes on by the same, the lock has no such excuse.
func TestLateGhosts(t *testing.T) {
	for _, conn := range []int64{7, 8} {
		s := newTale("C1", "C2")
		at := 10 * ms
		send := func(client string, id int64, by int64, before, after history.State) {
			at += ms
			s.add(at, history.Event{Kind: history.KindCommand, Client: client, Op: history.OpAcquire, ID: id, Detail: &history.Detail{Command: &history.Command{
				Server: "redis", Conn: by, Args: []string{"SET", "lock", client}, Sent: at, Asked: ms,
				Changes: []history.Change{{Key: "lock", Before: before, After: after}},
			}}})
		}
		called := func(client string, id int64) {
			at += ms
			s.add(at, history.Event{Kind: history.KindCall, Client: client, Op: history.OpAcquire, ID: id})
		}
		back := func(client string, id int64, outcome history.Outcome) {
			at += ms
			s.add(at, history.Event{Kind: history.KindReturn, Client: client, Op: history.OpAcquire, ID: id, Outcome: outcome,
				Detail: &history.Detail{GaveUp: outcome == history.Unknown}})
		}
		there := history.State{Type: "string", Value: "C1", TTL: 900 * ms}
		called("C1", 1)
		back("C1", 1, history.Unknown)
		called("C1", 2)
		send("C1", 2, 7, history.State{}, there) // late: the tap cannot know
		send("C1", 2, conn, there, there)
		back("C1", 2, history.No)
		called("C2", 3)
		send("C2", 3, 9, there, there)
		back("C2", 3, history.No)
		v, told := s.judge(t, "setpx-lua")
		require.Equal(t, []checker.Name{checker.GhostLock}, v.Names(), v.Reason)
		require.Equal(t, conn == 7, told.First != nil, "%v", v.Anomalies)
	}
}
