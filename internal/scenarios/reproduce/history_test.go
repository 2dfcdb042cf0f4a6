package reproduce_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/trace"
)

const (
	ms    = time.Millisecond
	lease = time.Second
)

// tale is a history written by hand: each method is one event, one millisecond after the one before unless time is let pass.
type tale struct {
	events []history.Event
	now    time.Duration
	ids    map[string]int64
	ops    map[string]history.Op
	last   int64
	value  string
	conns  map[string]int64
}

func newTale(clients ...string) *tale {
	t := &tale{ids: map[string]int64{}, ops: map[string]history.Op{}}
	for _, client := range clients {
		t.add(history.Event{Kind: history.KindOpen, Client: client, Detail: &history.Detail{Lease: lease}})
	}
	return t
}

func (t *tale) add(e history.Event) int {
	t.now += ms
	e.At, e.Lock = t.now, "lock"
	t.events = append(t.events, e)
	return len(t.events) - 1
}

func (t *tale) call(client string, op history.Op) {
	t.last++
	t.ids[client], t.ops[client] = t.last, op
	t.add(history.Event{Kind: history.KindCall, Client: client, Op: op, ID: t.last})
}

// sends is a command in the time of the client's operation; it leaves the lock with a value ("" is free).
func (t *tale) sends(client, command, leaves string) int {
	change := history.Change{Key: "lock", Before: state(t.value), After: state(leaves)}
	t.value = leaves
	return t.add(history.Event{Kind: history.KindCommand, Client: client, Op: t.ops[client], ID: t.ids[client], Detail: &history.Detail{
		Command: &history.Command{Server: "redis", Conn: t.conns[client], Args: []string{command, "lock"}, Sent: t.now, Asked: ms, Changes: []history.Change{change}},
	}})
}

func state(value string) history.State {
	if value == "" {
		return history.State{}
	}
	return history.State{Type: "string", Value: value, TTL: lease}
}

func (t *tale) returns(client string, outcome history.Outcome, detail *history.Detail) int {
	return t.add(history.Event{Kind: history.KindReturn, Client: client, Op: t.ops[client], ID: t.ids[client], Outcome: outcome, Detail: detail})
}

// takes is a whole acquire of one command.
func (t *tale) takes(client string) {
	t.call(client, history.OpAcquire)
	t.sends(client, "SET", client)
	t.returns(client, history.OK, nil)
}

// expires lets the lease of the lock end.
func (t *tale) expires() {
	t.now += 2 * lease
	t.value = ""
}

// forced is the script that forces what an anomaly is about, without what its operations come to.
func forced(t *testing.T, s *tale, lock string, a checker.Anomaly) string {
	t.Helper()
	return forcedBy(t, s, lock, a, reproduce.Reading{})
}

func forcedBy(t *testing.T, s *tale, lock string, a checker.Anomaly, how reproduce.Reading) string {
	t.Helper()
	spec, ok := impls.Find(lock)
	require.True(t, ok)
	found, err := reproduce.FromHistory(spec, s.events, a, how)
	require.NoError(t, err)
	script, err := reproduce.Script(spec, found)
	require.NoError(t, err)
	for i := range script.Steps {
		script.Steps[i].Want = nil
	}
	return body(script)
}

// TestOrderIsForced: what came in between is let in by breakpoints, and what had expired is waited for.
func TestOrderIsForced(t *testing.T) {
	s := newTale("C1", "C2-3", "C9")
	s.takes("C9") // what nobody needs
	s.call("C9", history.OpRelease)
	s.sends("C9", "DEL", "")
	s.returns("C9", history.OK, nil)
	s.takes("C1")
	s.call("C1", history.OpRelease)
	s.sends("C1", "GET", "C1")
	s.expires()
	s.call("C2-3", history.OpAcquire)
	s.sends("C2-3", "SET", "C2-3")
	s.returns("C2-3", history.OK, nil)
	deed := s.sends("C1", "DEL", "")
	s.returns("C1", history.OK, nil)
	a := checker.Anomaly{Name: checker.WrongfulDelete, Clients: []string{"C1", "C2-3"}, Events: []int{deed - 2, deed - 1, deed}}
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
C1  release
C2  acquire
C2  release hold before first DEL
    wait until expired
C3  acquire
C2  continue
`, "\n"), forced(t, s, "setpx-getdel", a))
}

// TestKeyOfAnotherName: a client may call the key of the lock otherwise on its server, and repeat within one acquire the SET that was refused.
func TestKeyOfAnotherName(t *testing.T) {
	s := newTale("C1", "C2")
	s.takes("C1")
	s.call("C2", history.OpAcquire)
	s.sends("C2", "GET", "C1")
	s.events[s.sends("C2", "SET", "C1")].Command().Reply = "nil"
	s.expires()
	deed := s.sends("C2", "SET", "C2")
	s.returns("C2", history.OK, nil)
	for i := range s.events {
		if c := s.events[i].Command(); c != nil {
			c.Args[1] = "mutex:lock"
		}
	}
	a := checker.Anomaly{Name: checker.DoubleHolder, Clients: []string{"C1", "C2"}, Events: []int{deed, deed + 1}}
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
    wait until expired
C2  acquire
`, "\n"), forced(t, s, "setpx-lua", a))
}

// TestLateRequests: who gave up is followed by what he had sent.
func TestLateRequests(t *testing.T) {
	s := newTale("C1", "C2")
	s.takes("C1")
	s.call("C1", history.OpRelease)
	s.returns("C1", history.Unknown, &history.Detail{GaveUp: true})
	s.expires()
	s.takes("C2")
	deed := s.sends("C1", "DEL", "")
	a := checker.Anomaly{Name: checker.WrongfulDelete, Clients: []string{"C1", "C2"}, Events: []int{deed - 2, deed - 1, deed}}
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
C1  release hold before first DEL
C1  give up
    wait until expired
C2  acquire
C1  arrives late
`, "\n"), forced(t, s, "setpx-getdel", a))
}

// TestErrorsTakenForAnswers: a release that removed the lock is answered no, because its reply was lost on the way.
func TestErrorsTakenForAnswers(t *testing.T) {
	for fault, want := range map[string]string{
		"reply-lost": "C1  acquire\nC1  release hold reply of first EVAL\nC1  lose replies\nC1  heal\nC1  await\n",
		"skew":       "C1  acquire\nC1  release\n",
	} {
		s := newTale("C1")
		s.takes("C1")
		s.call("C1", history.OpRelease)
		s.add(history.Event{Kind: history.KindFault, Client: "C1", Detail: &history.Detail{
			Fault: &history.Fault{Name: fault, Target: "C1", Phase: history.PhaseEffective, What: "offset 1s, rate 1"},
		}})
		removed := s.sends("C1", "EVAL", "")
		answered := s.returns("C1", history.No, nil)
		a := checker.Anomaly{Name: checker.FalseAlarm, Clients: []string{"C1"}, Events: []int{removed, answered}}
		require.Equal(t, want, forced(t, s, "setex-lua-published", a), fault)
	}
}

// TestTheDead: a crash stays a crash, and whose lock it left is part of the story; of many tries the last one counts.
func TestTheDead(t *testing.T) {
	s := newTale("C1", "C2")
	s.takes("C1")
	s.add(history.Event{Kind: history.KindExit, Client: "C1"})
	s.call("C2", history.OpAcquire)
	from := len(s.events) - 1
	for range 5 {
		s.sends("C2", "SETNX", "C1")
	}
	seen := s.returns("C2", history.No, nil)
	a := checker.Anomaly{Name: checker.StuckLock, Clients: []string{"C2", "C1"}, Events: []int{from, seen - 1, seen}}
	require.Equal(t, "C1  acquire\nC1  crash\nC2  acquire within 3 leases\n", forced(t, s, "setpx-getdel", a))
}

// TestWhoRenewsIsStopped: a lease that its owner prolongs ends only if its owner is paused, if a renewal fails, or if the lock itself does
// not renew it.
func TestWhoRenewsIsStopped(t *testing.T) {
	s := newTale("C1", "C2")
	s.takes("C1")
	s.expires()
	s.takes("C2")
	last := len(s.events) - 1
	a := checker.Anomaly{Name: checker.DoubleHolder, Clients: []string{"C2", "C1"}, Events: []int{4, last}}
	for renewal, steps := range map[reproduce.Renewal]string{
		reproduce.RenewalPaused: "C1  pause\n    wait until expired\nC2  acquire\nC1  resume\n",
		reproduce.RenewalFails: "C1  renews hold reply of first request\nC1  lose replies\nC1  heal\nC1  continue\n" +
			"    wait until expired\nC2  acquire\n",
		reproduce.RenewalStays: "    wait until expired\nC2  acquire\n",
	} {
		require.Equal(t, "C1  acquire\n"+steps, forcedBy(t, s, "watchdog-published", a, reproduce.Reading{Renewal: renewal}))
	}
}

// TestWhatNobodyCanTell is an error and no script.
func TestWhatNobodyCanTell(t *testing.T) {
	s := newTale("C1")
	s.add(history.Event{Kind: history.KindFinal})
	_, err := reproduce.FromHistory(impls.Spec{}, s.events, checker.Anomaly{Name: checker.LostUpdate, Events: []int{1}}, reproduce.Reading{})
	require.ErrorContains(t, err, "no operation of a client has a part in it")
}

// TestTheDeathOfAProcess: each of its locks is a client of its own in the script, and only those that have a part in it are there.
func TestTheDeathOfAProcess(t *testing.T) {
	s := newTale("C1", "C1.b", "C2")
	s.takes("C1.b")
	s.add(history.Event{Kind: history.KindExit, Client: "C1"})
	s.add(history.Event{Kind: history.KindExit, Client: "C1.b"})
	s.call("C2", history.OpAcquire)
	from := len(s.events) - 1
	s.sends("C2", "SETNX", "C1.b")
	seen := s.returns("C2", history.No, nil)
	a := checker.Anomaly{Name: checker.StuckLock, Clients: []string{"C2", "C1.b"}, Events: []int{from, seen - 1, seen}}
	require.Equal(t, "C1  acquire\nC1  crash\nC2  acquire within 3 leases\n", forced(t, s, "setpx-getdel", a))
}

// TestLeasesThatClientsJudge: whose value says when the lease ends, is found expired when it is read; so the lease ends before the first
// client reads it that takes the lock. Whose lock it was acquires it in one go, however it had come to it.
func TestLeasesThatClientsJudge(t *testing.T) {
	s := newTale("C1", "C2", "C3")
	s.call("C1", history.OpAcquire)
	s.sends("C1", "SETNX", "C3")
	s.returns("C1", history.OK, nil)
	s.value = "C1"
	s.call("C1", history.OpAcquire)
	s.sends("C1", "GETSET", "C1 again")
	s.returns("C1", history.OK, nil)
	s.now += 2 * lease
	s.call("C2", history.OpAcquire)
	s.call("C3", history.OpAcquire)
	s.sends("C2", "SETNX", "C1 again")
	s.sends("C3", "SETNX", "C1 again")
	s.sends("C3", "GET", "C1 again")
	s.sends("C2", "GET", "C1 again")
	s.sends("C2", "GETSET", "C2")
	taken := s.returns("C2", history.OK, nil)
	deed := s.sends("C3", "GETSET", "C3")
	s.returns("C3", history.No, nil)
	a := checker.Anomaly{Name: checker.Overwrite, Clients: []string{"C3", "C2"}, Events: []int{taken - 1, taken, deed}}
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
C1  acquire
C2  acquire hold before first GET
C3  acquire hold before first GET, hold before first GETSET
    wait until expired
C3  continue
C2  continue
C3  continue
`, "\n"), forced(t, s, "getset", a))
}

// TestOnlyATrial: where all that is left is the client that is refused in the end, there is nothing to put in order.
func TestOnlyATrial(t *testing.T) {
	s := newTale("C1")
	s.call("C1", history.OpAcquire)
	s.sends("C1", "SETNX", "somebody")
	seen := s.returns("C1", history.No, nil)
	a := checker.Anomaly{Name: checker.StuckLock, Clients: []string{"C1"}, Events: []int{seen - 2, seen - 1, seen}}
	require.Equal(t, "C1  acquire within 3 leases\n", forced(t, s, "getset-nil-lost", a))
}

// TestWhoDiedInTheQueue: a lock that is free and yet refused has a dead client at the head of its queue. That client asks and dies while
// somebody holds the lock, whatever happened between that and its death.
func TestWhoDiedInTheQueue(t *testing.T) {
	s := newTale("C1", "C2", "C3", "C4")
	s.takes("C1")
	s.call("C2", history.OpAcquire)
	s.sends("C2", "EVAL", "C1")
	s.call("C1", history.OpRelease)
	s.sends("C1", "EVAL", "")
	s.returns("C1", history.OK, nil)
	s.call("C3", history.OpAcquire)
	s.sends("C3", "EVAL", "C3")
	s.returns("C3", history.OK, nil)
	s.call("C3", history.OpRelease)
	s.sends("C3", "EVAL", "")
	s.returns("C3", history.OK, nil)
	s.add(history.Event{Kind: history.KindExit, Client: "C2"})
	s.call("C4", history.OpAcquire)
	from := len(s.events) - 1
	refused := s.sends("C4", "EVAL", "")
	s.returns("C4", history.No, nil)
	a := checker.Anomaly{Name: checker.StuckLock, Clients: []string{"C4"}, Events: []int{from, refused, refused + 1}}
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
C2  acquire within 10 leases in background
C2  waits
C2  crash
C1  release
C3  acquire within 3 leases
`, "\n"), forced(t, s, "redisson-fair", a))
}

// TestFirstOwnerDiedAmidItsAcquire: the first owner of the story took the lock by a command whose reply it did not live to read.
func TestFirstOwnerDiedAmidItsAcquire(t *testing.T) {
	s := newTale("C1", "C2", "C3", "C4")
	s.call("C1", history.OpAcquire)
	s.sends("C1", "SETNX", "C1")
	s.add(history.Event{Kind: history.KindExit, Client: "C1"})
	deed := 0
	for _, client := range []string{"C2", "C3", "C4"} {
		s.now += 2 * lease
		s.call(client, history.OpAcquire)
		deed = s.sends(client, "GETSET", client)
		s.returns(client, history.OK, nil)
	}
	a := checker.Anomaly{Name: checker.Overwrite, Clients: []string{"C4"}, Events: []int{deed}}
	require.Equal(t, strings.TrimPrefix(`
C1  acquire hold reply of first SETNX
C1  crash
    wait until expired
C2  acquire
    wait until expired
C3  acquire
    wait until expired
C4  acquire
`, "\n"), forced(t, s, "getset", a))
}

// TestExpiredAmidACommand: the lock was still there when its state was asked for, and another client's after the command.
func TestExpiredAmidACommand(t *testing.T) {
	s := newTale("C1", "C2")
	s.takes("C1")
	s.now += lease
	s.call("C2", history.OpAcquire)
	taken := s.sends("C2", "SET", "C2")
	s.events[taken].Detail.Command.Changes[0].Before.TTL = ms
	s.returns("C2", history.OK, nil)
	a := checker.Anomaly{Name: checker.DoubleHolder, Clients: []string{"C2", "C1"}, Events: []int{4, taken + 1}}
	require.Equal(t, "C1  acquire\n    wait until expired\nC2  acquire\n", forced(t, s, "setpx-lua", a))
}

// TestRenewalFailsAmidAnOperation: an operation of the owner is held while a renewal of it fails.
func TestRenewalFailsAmidAnOperation(t *testing.T) {
	s := newTale("C1", "C2")
	s.takes("C1")
	s.call("C1", history.OpRelease)
	s.sends("C1", "GET", "C1")
	s.expires()
	s.takes("C2")
	deed := s.sends("C1", "DEL", "")
	s.returns("C1", history.OK, nil)
	a := checker.Anomaly{Name: checker.WrongfulDelete, Clients: []string{"C1", "C2"}, Events: []int{deed - 2, deed - 1, deed}}
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
C1  release hold before first DEL
    wait until renewed
C1  lose replies
    wait until renewed
C1  heal
    wait until expired
C2  acquire
C1  continue
`, "\n"), forcedBy(t, s, "watchdog-published", a, reproduce.Reading{Renewal: reproduce.RenewalFails}))
}

// TestOverdueCommands: what had been sent before a partition belongs to the release that was given up, though the client was in its next when it arrived.
func TestOverdueCommands(t *testing.T) {
	s := newTale("C1", "C2")
	s.conns = map[string]int64{"C1": 9, "C2": 5}
	s.takes("C1")
	s.call("C1", history.OpRelease)
	s.returns("C1", history.Unknown, &history.Detail{GaveUp: true})
	s.call("C1", history.OpRelease)
	s.sends("C1", "DEL", "")
	s.takes("C2")
	s.returns("C1", history.Unknown, &history.Detail{GaveUp: true})
	s.conns["C1"] = 45
	removes := s.sends("C1", "DEL", "")
	a := checker.Anomaly{Name: checker.WrongfulDelete, Clients: []string{"C1", "C2"}, Events: []int{removes - 3, removes}}
	how := reproduce.Reading{Overdue: true}
	require.Equal(t, []reproduce.Reading{{}, how}, reproduce.Readings(impls.Spec{}, s.events))
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
C1  release hold before first DEL
C1  give up
C1  release hold before first DEL
C1  arrives late
C2  acquire
C1  give up
C1  arrives late
`, "\n"), forcedBy(t, s, "setpx-del", a, how))

	s = newTale("C1")
	s.conns = map[string]int64{"C1": 9}
	s.takes("C1")
	s.call("C1", history.OpRelease)
	s.returns("C1", history.Unknown, &history.Detail{GaveUp: true})
	for range 2 { // it goes on over the connection that it had
		s.takes("C1")
	}
	require.Equal(t, []reproduce.Reading{{}}, reproduce.Readings(impls.Spec{}, s.events))
}

// TestReadings: only what can make a difference is tried, and handles come last.
func TestReadings(t *testing.T) {
	plain, renews := impls.Spec{}, impls.Spec{Card: impls.Card{Contract: history.Contract{Renews: true}}}
	require.Equal(t, []reproduce.Reading{{}}, reproduce.Readings(plain, newTale("C1", "C2").events))
	require.Equal(t, []reproduce.Reading{{}, {Handles: true}}, reproduce.Readings(plain, newTale("C1", "C1.b").events))
	require.Equal(t, []reproduce.Reading{
		{Renewal: reproduce.RenewalPaused}, {Renewal: reproduce.RenewalFails}, {Renewal: reproduce.RenewalStays},
		{Handles: true, Renewal: reproduce.RenewalPaused}, {Handles: true, Renewal: reproduce.RenewalFails}, {Handles: true, Renewal: reproduce.RenewalStays},
	}, reproduce.Readings(renews, newTale("C1", "C1.b").events))
	several := impls.Spec{Card: impls.Card{Servers: 3}}
	require.Equal(t, []reproduce.Reading{{}, {Alone: true}}, reproduce.Readings(several, newTale("C1").events))
}

// asks is a command at one of three servers, by which a client gets the lock there from nobody, or is refused.
func (t *tale) asks(client, server string, granted bool) {
	change := history.Change{Key: "lock", Before: state("another"), After: state("another")}
	if granted {
		change = history.Change{Key: "lock", After: state(client)}
	}
	t.add(history.Event{Kind: history.KindCommand, Client: client, Op: t.ops[client], ID: t.ids[client], Detail: &history.Detail{
		Command: &history.Command{Server: server, Args: []string{"EVAL", "script", "1", "lock"}, Sent: t.now, Asked: ms, Changes: []history.Change{change}},
	}})
}

// TestSeveralServers: of all that clients do on single servers, only what gave the anomaly's clients the lock belongs to it. All leases of
// an owner end together, before the other client asks for what the owner has in the script, and may not have had in the history.
func TestSeveralServers(t *testing.T) {
	s := newTale("C1", "C2", "C3")
	for i := range s.events {
		s.events[i].Detail.Servers = 3
	}
	s.call("C3", history.OpAcquire)
	s.asks("C3", "S1", true)
	s.call("C1", history.OpAcquire)
	s.asks("C1", "S1", false)
	s.asks("C1", "S2", true)
	s.asks("C1", "S3", true)
	held := s.returns("C1", history.OK, nil)
	s.returns("C3", history.No, nil)
	s.now += 2 * lease
	s.call("C2", history.OpAcquire)
	s.asks("C2", "S1", true)
	s.asks("C2", "S2", true)
	s.asks("C2", "S3", true)
	last := s.returns("C2", history.OK, nil)
	a := checker.Anomaly{Name: checker.DoubleHolder, Clients: []string{"C2", "C1"}, Events: []int{held, last}}
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
    wait until renewed
C1  lose replies
    wait until renewed
C1  heal
    wait until expired
C2  acquire
`, "\n"), forcedBy(t, s, "redisson-redlock", a, reproduce.Reading{Alone: true, Renewal: reproduce.RenewalFails}))
}

// TestOvertakenAmidItsAcquire: a client has the servers, and learns of it when another has them.
func TestOvertakenAmidItsAcquire(t *testing.T) {
	s := newTale("C1", "C2")
	for i := range s.events {
		s.events[i].Detail.Servers = 3
	}
	s.call("C1", history.OpAcquire)
	for _, server := range []string{"S1", "S2", "S3"} {
		s.asks("C1", server, true)
	}
	s.now += 2 * lease
	s.call("C2", history.OpAcquire)
	for _, server := range []string{"S1", "S2", "S3"} {
		s.asks("C2", server, true)
	}
	held := s.returns("C2", history.OK, nil)
	last := s.returns("C1", history.OK, nil)
	a := checker.Anomaly{Name: checker.DoubleHolder, Clients: []string{"C1", "C2"}, Events: []int{held, last}}
	require.Equal(t, strings.TrimPrefix(`
C1  acquire hold reply of first EVAL on S3
C1  pause
    wait until expired
C2  acquire
C1  resume
C1  continue
`, "\n"), forcedBy(t, s, "redisson-redlock", a, reproduce.Reading{Alone: true}))
}

// TestAnsweredWithoutAServer: a client that has a majority does not wait for the last server, whose answer the script has come in time.
func TestAnsweredWithoutAServer(t *testing.T) {
	s := newTale("C1", "C2")
	for i := range s.events {
		s.events[i].Detail.Servers = 3
	}
	s.call("C1", history.OpAcquire)
	s.asks("C1", "S1", true)
	s.asks("C1", "S2", true)
	held := s.returns("C1", history.OK, nil)
	s.asks("C1", "S3", true)
	s.now += 2 * lease
	s.call("C2", history.OpAcquire)
	s.asks("C2", "S1", true)
	s.asks("C2", "S2", true)
	last := s.returns("C2", history.OK, nil)
	a := checker.Anomaly{Name: checker.DoubleHolder, Clients: []string{"C2", "C1"}, Events: []int{held, last}}
	require.Equal(t, "C1  acquire\n    wait until expired\nC2  acquire\n", forcedBy(t, s, "redlock-endless", a, reproduce.Reading{}))
}

// TestIncoherentTraces: what a damaged history leaves of a schedule may lack what a step belongs to.
func TestIncoherentTraces(t *testing.T) {
	lock, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	call := history.Event{Kind: history.KindCall, Client: "C1", Lock: "k", Op: history.OpAcquire, ID: 1}
	for what, incoherent := range map[string]trace.Trace{
		"a return of no operation":      {Steps: []trace.Step{{Kind: trace.Return}}},
		"a try again of no operation":   {Steps: []trace.Step{{Kind: trace.Return, Retries: true}}},
		"a return without its event":    {Events: []history.Event{call}, Steps: []trace.Step{{Kind: trace.Call, ID: 1}, {Kind: trace.Return, ID: 1}}},
		"a request without its event":   {Steps: []trace.Step{{Kind: trace.Serve}}},
		"a reply to no operation":       {Steps: []trace.Step{{Kind: trace.Reply}}},
		"a time-out of no operation":    {Steps: []trace.Step{{Kind: trace.Expire}}},
		"a lost reply to no operation":  {Steps: []trace.Step{{Kind: trace.Fault, Fault: faults.ReplyLost}}},
		"a late request of nobody":      {Steps: []trace.Step{{Kind: trace.Fault, Fault: faults.LateRequest}}},
		"a time-out, then a late reply": {Steps: []trace.Step{{Kind: trace.Expire, Request: [][]string{{"GET", "k"}}}, {Kind: trace.Reply}}},
	} {
		incoherent.Clients, incoherent.Servers, incoherent.Lease = 1, 1, lease
		_, err := reproduce.Script(lock, &incoherent)
		require.Error(t, err, what)
	}
}
