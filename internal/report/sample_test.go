package report

import (
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

const (
	sampleKey   = "lab:lock"
	sampleStock = "lab:stock"
	sampleLease = 500 * time.Millisecond
)

// sample builds a history by hand.
type sample struct {
	events []history.Event
	now    time.Duration
	id     int64
	op     map[string]history.Event // the last call of each client
}

func newSample() *sample { return &sample{op: make(map[string]history.Event)} }

// add appends an event after a while and returns its index.
func (s *sample) add(after time.Duration, e history.Event) int {
	s.now += after
	e.At = s.now
	s.events = append(s.events, e)
	return len(s.events) - 1
}

func (s *sample) step(line int, text string) {
	s.add(20*time.Microsecond, history.Event{Kind: history.KindStep, Detail: &history.Detail{Line: line, Text: text}})
}

func (s *sample) call(client string, op history.Op) int {
	s.id++
	e := history.Event{Kind: history.KindCall, ID: s.id, Client: client, Lock: sampleKey, Op: op}
	s.op[client] = e
	return s.add(100*time.Microsecond, e)
}

func (s *sample) ret(client string, outcome history.Outcome, d *history.Detail) int {
	e := s.op[client]
	e.Kind, e.Outcome, e.Detail = history.KindReturn, outcome, d
	return s.add(200*time.Microsecond, e)
}

func (s *sample) command(client, server, reply string, changes []history.Change, args ...string) int {
	e := s.op[client]
	e.Kind = history.KindCommand
	e.Detail = &history.Detail{Command: &history.Command{
		Server: server, Args: args, Reply: reply, Sent: s.now + 100*time.Microsecond, Asked: 150 * time.Microsecond, Changes: changes,
	}}
	return s.add(300*time.Microsecond, e)
}

func (s *sample) fault(name, target string, phase history.Phase, what string) int {
	return s.add(100*time.Microsecond, history.Event{Kind: history.KindFault, Client: target,
		Detail: &history.Detail{Fault: &history.Fault{Name: name, Target: target, Phase: phase, What: what}}})
}

func held(ttl time.Duration) history.State {
	return history.State{Type: "string", Value: "1", TTL: ttl}
}

func change(key string, before, after history.State) []history.Change {
	return []history.Change{{Key: key, Before: before, After: after}}
}

func (s *sample) acquire(client string) int {
	s.call(client, history.OpAcquire)
	s.command(client, "redis", "OK", change(sampleKey, history.State{}, held(sampleLease)), "SET", sampleKey, "1", "NX", "PX", "500")
	return s.ret(client, history.OK, nil)
}

func (s *sample) stock(value string) history.State {
	return history.State{Type: "string", Value: value}
}

// pastLease is the story of pause-past-lease on setpx-del, with its verdict as the checker would give it.
func pastLease() ([]history.Event, record.Cell) {
	s := newSample()
	for _, client := range []string{"C1", "C2", "C3"} {
		s.add(time.Millisecond, history.Event{Kind: history.KindOpen, Client: client, Lock: sampleKey, Detail: &history.Detail{Lease: sampleLease}})
	}
	s.step(8, "C1 acquire => ok")
	c1 := s.acquire("C1")
	s.step(9, "C1 work hold before first write => held-up")
	s.call("C1", history.OpWork)
	s.command("C1", "resource", `"4"`, change(sampleStock, s.stock("4"), s.stock("4")), "GET", sampleStock)
	s.fault("hold", "C1", history.PhaseEffective, "hold before first write")
	s.step(10, "C1 pause => done")
	s.fault("pause", "C1", history.PhaseInject, "SIGSTOP")
	s.fault("pause", "C1", history.PhaseEffective, "the process is stopped")
	s.step(11, "wait until expired")
	s.now += 511 * time.Millisecond
	s.step(12, "C2 acquire => ok")
	c2 := s.acquire("C2")
	s.step(13, "C2 work => ok")
	s.call("C2", history.OpWork)
	s.command("C2", "resource", `"4"`, change(sampleStock, s.stock("4"), s.stock("4")), "GET", sampleStock)
	s.command("C2", "resource", "OK", change(sampleStock, s.stock("4"), s.stock("3")), "SET", sampleStock, "3")
	s.ret("C2", history.OK, &history.Detail{Read: 4, Wrote: 3})
	s.step(14, "C1 resume => done")
	s.fault("pause", "C1", history.PhaseRecover, "SIGCONT")
	s.step(15, "C1 continue => ok")
	s.fault("hold", "C1", history.PhaseRecover, "hold before first write")
	stale := s.command("C1", "resource", "OK", change(sampleStock, s.stock("3"), s.stock("3")), "SET", sampleStock, "3")
	s.ret("C1", history.OK, &history.Detail{Read: 4, Wrote: 3})
	s.step(16, "C1 release => ok")
	s.call("C1", history.OpRelease)
	del := s.command("C1", "redis", "1", change(sampleKey, held(478*time.Millisecond), history.State{}), "DEL", sampleKey)
	s.ret("C1", history.OK, nil)
	s.step(17, "C3 acquire => ok")
	c3 := s.acquire("C3")
	s.step(18, "C2 release")
	s.call("C2", history.OpRelease)
	del2 := s.command("C2", "redis", "1", change(sampleKey, held(490*time.Millisecond), history.State{}), "DEL", sampleKey)
	s.ret("C2", history.OK, nil)
	final := s.add(time.Millisecond, history.Event{Kind: history.KindFinal, Lock: sampleStock, Detail: &history.Detail{Value: 3}})

	at := func(i int) time.Duration { return s.events[i].At }
	verdict := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{
		{Name: checker.DoubleHolder, Lock: sampleKey, Clients: []string{"C2", "C1"}, At: at(c2), Events: []int{c1, c2},
			Why: "C2's acquire returned ok while C1 had held the lock since its own acquire and had neither released it nor been told of its loss."},
		{Name: checker.StaleWrite, Lock: sampleKey, Clients: []string{"C1", "C2"}, At: at(stale), Events: []int{c2, stale},
			Why: "The resource accepted SET lab:stock 3 from C1, whose lease had ended and whose turn C2 had taken."},
		{Name: checker.WrongfulDelete, Lock: sampleKey, Clients: []string{"C1", "C2"}, At: at(del), Events: []int{c2, del},
			Why: "C1's DEL lab:lock removed the lock that C2 had created; it had 478ms left."},
		{Name: checker.EarlyGrant, Lock: sampleKey, Clients: []string{"C3", "C2"}, At: at(c3), Events: []int{c2, c3},
			Why: "C3 was granted the lock while C2's lease had 476ms left and C2 had not released it."},
		{Name: checker.WrongfulDelete, Lock: sampleKey, Clients: []string{"C2", "C3"}, At: at(del2), Events: []int{c3, del2},
			Why: "C2's DEL lab:lock removed the lock that C3 had created; it had 490ms left."},
		{Name: checker.LostUpdate, Lock: sampleKey, Clients: []string{"C2", "C1"}, At: at(final), Events: []int{stale, final},
			Why: "Two updates of lab:stock were acknowledged, from 4; at the end it is 3 and not 2."},
	}}
	return s.events, record.Cell{
		Lock: "setpx-del", Scenario: "pause-past-lease", Round: 1, Dir: "setpx-del.pause-past-lease.1", Took: 702 * time.Millisecond,
		Verdict: verdict, Expected: record.Expectation{Verdict: verdict, By: "matrix"},
	}
}

func broken(names ...checker.Name) checker.Verdict {
	v := checker.Verdict{Kind: checker.Broken}
	for i, name := range names {
		v.Anomalies = append(v.Anomalies, checker.Anomaly{Name: name, Lock: sampleKey, Clients: []string{"C1", "C2"},
			At: time.Duration(i+1) * time.Millisecond, Why: "C1 did it to C2.", Events: []int{i}})
	}
	return v
}

func cellOf(lock, scenario string, v, expected checker.Verdict) record.Cell {
	return record.Cell{Lock: lock, Scenario: scenario, Round: 1, Dir: lock + "." + scenario + ".1", Verdict: v,
		Expected: record.Expectation{Verdict: expected, By: "matrix"}, Took: 40 * time.Millisecond}
}

// sampleRun is a small run with everything in it: expected and surprising verdicts, unknown, n/a, a failure, rounds that differ.
func sampleRun() *record.Run {
	safe := checker.Verdict{Kind: checker.Safe}
	unknown := checker.Verdict{Kind: checker.Undecided, Reason: "a stall of 180ms was longer than a quarter of the lease"}
	notApplicable := checker.Verdict{Kind: checker.NotApplicable, Reason: "the lock has no lease"}
	_, past := pastLease()
	failed := cellOf("setpx-lua", "server-restart", checker.Verdict{Kind: checker.Undecided}, safe)
	failed.Failure = "redis-server did not start: address already in use"
	second := cellOf("setpx-lua", "turns", broken(checker.DoubleHolder), safe)
	second.Round = 2
	run := &record.Run{
		Version: 1, ID: "20260102-150405-ab12", Started: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Seed: 42, World: "live",
		Server: "redis-server 7.0.15, own", Toxiproxy: "2.12.0, in process", Lab: "0.1.0", Platform: "linux/amd64, go1.26.0, 2 cores",
		Command: []string{"run", "--server", "redis-server", "--lock", "set*"}, Dir: "runs/20260102-150405-ab12", Finished: true,
		Cells: []record.Cell{
			cellOf("setnx-del", "turns", safe, safe),
			cellOf("setpx-del", "turns", safe, safe),
			cellOf("setpx-lua", "turns", safe, safe),
			second,
			cellOf("setnx-del", "pause-past-lease", notApplicable, notApplicable),
			past,
			cellOf("setpx-lua", "pause-past-lease", broken(checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate),
				broken(checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate)),
			cellOf("setnx-del", "holder-crashes", broken(checker.StuckLock), broken(checker.StuckLock)),
			cellOf("setpx-del", "holder-crashes", safe, broken(checker.StuckLock)),
			cellOf("setpx-lua", "holder-crashes", unknown, safe),
			cellOf("setnx-del", "server-restart", broken(checker.DoubleHolder), broken(checker.DoubleHolder)),
			failed,
		},
	}
	return run
}
