package reporttest

import (
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

const (
	SampleKey   = "lab:lock"
	SampleStock = "lab:stock"
	SampleLease = 500 * time.Millisecond
)

// sample builds a history by hand.
type sample struct {
	Events []history.Event
	Now    time.Duration
	Id     int64
	op     map[string]history.Event // the last call of each client
}

func NewSample() *sample { return &sample{op: make(map[string]history.Event)} }

// Add appends an event after a while and returns its index.
func (s *sample) Add(after time.Duration, e history.Event) int {
	s.Now += after
	e.At = s.Now
	s.Events = append(s.Events, e)
	return len(s.Events) - 1
}

func (s *sample) Step(line int, text string) {
	s.Add(20*time.Microsecond, history.Event{Kind: history.KindStep, Detail: &history.Detail{Line: line, Text: text}})
}

func (s *sample) Call(client string, op history.Op) int {
	s.Id++
	e := history.Event{Kind: history.KindCall, ID: s.Id, Client: client, Lock: SampleKey, Op: op}
	s.op[client] = e
	return s.Add(100*time.Microsecond, e)
}

func (s *sample) Ret(client string, outcome history.Outcome, d *history.Detail) int {
	e := s.op[client]
	e.Kind, e.Outcome, e.Detail = history.KindReturn, outcome, d
	return s.Add(200*time.Microsecond, e)
}

func (s *sample) Command(client, server, reply string, changes []history.Change, args ...string) int {
	e := s.op[client]
	e.Kind = history.KindCommand
	e.Detail = &history.Detail{Command: &history.Command{
		Server: server, Args: args, Reply: reply, Sent: s.Now + 100*time.Microsecond, Asked: 150 * time.Microsecond, Changes: changes,
	}}
	return s.Add(300*time.Microsecond, e)
}

func (s *sample) Fault(name, target string, phase history.Phase, what string) int {
	return s.Add(100*time.Microsecond, history.Event{Kind: history.KindFault, Client: target,
		Detail: &history.Detail{Fault: &history.Fault{Name: name, Target: target, Phase: phase, What: what}}})
}

func Held(ttl time.Duration) history.State {
	return history.State{Type: "string", Value: "1", TTL: ttl}
}

func Change(key string, before, after history.State) []history.Change {
	return []history.Change{{Key: key, Before: before, After: after}}
}

func (s *sample) Acquire(client string) int {
	s.Call(client, history.OpAcquire)
	s.Command(client, "redis", "OK", Change(SampleKey, history.State{}, Held(SampleLease)), "SET", SampleKey, "1", "NX", "PX", "500")
	return s.Ret(client, history.OK, nil)
}

func (s *sample) Stock(value string) history.State {
	return history.State{Type: "string", Value: value}
}

// PastLease is the story of pause-past-lease on setpx-del, with its verdict as the checker would give it.
func PastLease() ([]history.Event, record.Cell) {
	s := NewSample()
	for _, client := range []string{"C1", "C2", "C3"} {
		s.Add(time.Millisecond, history.Event{Kind: history.KindOpen, Client: client, Lock: SampleKey, Detail: &history.Detail{Lease: SampleLease}})
	}
	s.Step(8, "C1 acquire => ok")
	c1 := s.Acquire("C1")
	s.Step(9, "C1 work hold before first write => held-up")
	s.Call("C1", history.OpWork)
	s.Command("C1", "resource", `"4"`, Change(SampleStock, s.Stock("4"), s.Stock("4")), "GET", SampleStock)
	s.Fault("hold", "C1", history.PhaseEffective, "hold before first write")
	s.Step(10, "C1 pause => done")
	s.Fault("pause", "C1", history.PhaseInject, "SIGSTOP")
	s.Fault("pause", "C1", history.PhaseEffective, "the process is stopped")
	s.Step(11, "wait until expired")
	s.Now += 511 * time.Millisecond
	s.Step(12, "C2 acquire => ok")
	c2 := s.Acquire("C2")
	s.Step(13, "C2 work => ok")
	s.Call("C2", history.OpWork)
	s.Command("C2", "resource", `"4"`, Change(SampleStock, s.Stock("4"), s.Stock("4")), "GET", SampleStock)
	s.Command("C2", "resource", "OK", Change(SampleStock, s.Stock("4"), s.Stock("3")), "SET", SampleStock, "3")
	s.Ret("C2", history.OK, &history.Detail{Read: 4, Wrote: 3})
	s.Step(14, "C1 resume => done")
	s.Fault("pause", "C1", history.PhaseRecover, "SIGCONT")
	s.Step(15, "C1 continue => ok")
	s.Fault("hold", "C1", history.PhaseRecover, "hold before first write")
	stale := s.Command("C1", "resource", "OK", Change(SampleStock, s.Stock("3"), s.Stock("3")), "SET", SampleStock, "3")
	s.Ret("C1", history.OK, &history.Detail{Read: 4, Wrote: 3})
	s.Step(16, "C1 release => ok")
	s.Call("C1", history.OpRelease)
	del := s.Command("C1", "redis", "1", Change(SampleKey, Held(478*time.Millisecond), history.State{}), "DEL", SampleKey)
	s.Ret("C1", history.OK, nil)
	s.Step(17, "C3 acquire => ok")
	c3 := s.Acquire("C3")
	s.Step(18, "C2 release")
	s.Call("C2", history.OpRelease)
	del2 := s.Command("C2", "redis", "1", Change(SampleKey, Held(490*time.Millisecond), history.State{}), "DEL", SampleKey)
	s.Ret("C2", history.OK, nil)
	final := s.Add(time.Millisecond, history.Event{Kind: history.KindFinal, Lock: SampleStock, Detail: &history.Detail{Value: 3}})

	at := func(i int) time.Duration { return s.Events[i].At }
	verdict := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{
		{Name: checker.DoubleHolder, Lock: SampleKey, Clients: []string{"C2", "C1"}, At: at(c2), Events: []int{c1, c2},
			Why: "C2's acquire returned ok while C1 had held the lock since its own acquire and had neither released it nor been told of its loss."},
		{Name: checker.StaleWrite, Lock: SampleKey, Clients: []string{"C1", "C2"}, At: at(stale), Events: []int{c2, stale},
			Why: "The resource accepted SET lab:stock 3 from C1, whose lease had ended and whose turn C2 had taken."},
		{Name: checker.WrongfulDelete, Lock: SampleKey, Clients: []string{"C1", "C2"}, At: at(del), Events: []int{c2, del},
			Why: "C1's DEL lab:lock removed the lock that C2 had created; it had 478ms left."},
		{Name: checker.EarlyGrant, Lock: SampleKey, Clients: []string{"C3", "C2"}, At: at(c3), Events: []int{c2, c3},
			Why: "C3 was granted the lock while C2's lease had 476ms left and C2 had not released it."},
		{Name: checker.WrongfulDelete, Lock: SampleKey, Clients: []string{"C2", "C3"}, At: at(del2), Events: []int{c3, del2},
			Why: "C2's DEL lab:lock removed the lock that C3 had created; it had 490ms left."},
		{Name: checker.LostUpdate, Lock: SampleKey, Clients: []string{"C2", "C1"}, At: at(final), Events: []int{stale, final},
			Why: "Two updates of lab:stock were acknowledged, from 4; at the end it is 3 and not 2."},
	}}
	return s.Events, record.Cell{
		Lock: "setpx-del", Scenario: "pause-past-lease", Round: 1, Dir: "setpx-del.pause-past-lease.1", Took: 702 * time.Millisecond,
		Verdict: verdict, Expected: record.Expectation{Verdict: verdict, By: "matrix"},
	}
}

func Broken(names ...checker.Name) checker.Verdict {
	v := checker.Verdict{Kind: checker.Broken}
	for i, name := range names {
		v.Anomalies = append(v.Anomalies, checker.Anomaly{Name: name, Lock: SampleKey, Clients: []string{"C1", "C2"},
			At: time.Duration(i+1) * time.Millisecond, Why: "C1 did it to C2.", Events: []int{i}})
	}
	return v
}

func CellOf(lock, scenario string, v, expected checker.Verdict) record.Cell {
	return record.Cell{Lock: lock, Scenario: scenario, Round: 1, Dir: lock + "." + scenario + ".1", Verdict: v,
		Expected: record.Expectation{Verdict: expected, By: "matrix"}, Took: 40 * time.Millisecond}
}

// SampleRun is a small run with everything in it: expected and surprising verdicts, unknown, n/a, a failure, rounds that differ.
func SampleRun() *record.Run {
	safe := checker.Verdict{Kind: checker.Safe}
	unknown := checker.Verdict{Kind: checker.Undecided, Reason: "a stall of 180ms was longer than a quarter of the lease"}
	notApplicable := checker.Verdict{Kind: checker.NotApplicable, Reason: "the lock has no lease"}
	_, past := PastLease()
	failed := CellOf("setpx-lua", "server-restart", checker.Verdict{Kind: checker.Undecided}, safe)
	failed.Failure = "redis-server did not start: address already in use"
	second := CellOf("setpx-lua", "turns", Broken(checker.DoubleHolder), safe)
	second.Round = 2
	run := &record.Run{
		Version: 1, ID: "20260102-150405-ab12", Started: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Seed: 42, World: "live",
		Server: "redis-server 7.0.15, own", Toxiproxy: "2.12.0, in process", Lab: "0.1.0", Platform: "linux/amd64, go1.26.0, 2 cores",
		Command: []string{"run", "--server", "redis-server", "--lock", "set*"}, Dir: "runs/20260102-150405-ab12", Finished: true,
		Cells: []record.Cell{
			CellOf("setnx-del", "turns", safe, safe),
			CellOf("setpx-del", "turns", safe, safe),
			CellOf("setpx-lua", "turns", safe, safe),
			second,
			CellOf("setnx-del", "pause-past-lease", notApplicable, notApplicable),
			past,
			CellOf("setpx-lua", "pause-past-lease", Broken(checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate),
				Broken(checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate)),
			CellOf("setnx-del", "holder-crashes", Broken(checker.StuckLock), Broken(checker.StuckLock)),
			CellOf("setpx-del", "holder-crashes", safe, Broken(checker.StuckLock)),
			CellOf("setpx-lua", "holder-crashes", unknown, safe),
			CellOf("setnx-del", "server-restart", Broken(checker.DoubleHolder), Broken(checker.DoubleHolder)),
			failed,
		},
	}
	return run
}
