package lab_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/scenarios"
)

// One scenario on one lock that comes with the lab. It is known to be broken there, so this is no surprise.
func ExampleRunScenarios() {
	lock, _ := impls.Find("setpx-del")
	scripts, err := scenarios.Builtin("pause-past-lease")
	if err != nil {
		log.Fatal(err)
	}
	run, err := lab.RunScenarios(context.Background(), lab.Suite{Locks: []impls.Spec{lock}, Scenarios: scripts}, lab.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Cells[0].Verdict)
	fmt.Println(run.Outcome())
	// Output:
	// double-holder, wrongful-delete, stale-write, lost-update
	// as expected
}

// A lock of your own: its card says what it promises, and what it breaks is a surprise.
func ExampleRunScenarios_ownLock() {
	scripts, err := scenarios.Builtin("take-turns", "pause-past-lease")
	if err != nil {
		log.Fatal(err)
	}
	run, err := lab.RunScenarios(context.Background(), lab.Suite{Locks: []impls.Spec{ownLock()}, Scenarios: scripts}, lab.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, cell := range run.Cells {
		fmt.Printf("%s: %s (%s)\n", cell.Scenario, cell.Verdict, cell.Outcome)
	}
	// Output:
	// take-turns: safe (as expected)
	// pause-past-lease: double-holder, wrongful-delete, stale-write, lost-update (surprise)
}

// ownLock takes a key that expires, and releases it without looking whose it is.
func ownLock() impls.Spec {
	return impls.Spec{
		Card: impls.Card{Name: "mylock", Promises: []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner}, Needs: impls.OneServer, EqualTokens: true},
		New:  func(env impls.Env, opts impls.Options) impls.Lock { return &own{env, opts} },
	}
}

type own struct {
	env  impls.Env
	opts impls.Options
}

// State says that the lock keeps nothing between two operations.
func (l *own) State() any { return nil }

func (l *own) TryAcquire(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "SET", l.opts.Key, l.env.Token(), "NX", "PX", l.opts.Lease.Milliseconds())
	return reply == "OK", err
}

func (l *own) Release(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "DEL", l.opts.Key)
	return reply == int64(1), err
}

// A table of your own says what is expected: here that the lock breaks.
func ExampleSuite_expected() {
	expected, err := scenarios.ParseExpected("mylock.expected", []byte("pause-past-lease  mylock  double-holder, wrongful-delete, stale-write, lost-update\n"))
	if err != nil {
		log.Fatal(err)
	}
	scripts, err := scenarios.Builtin("pause-past-lease")
	if err != nil {
		log.Fatal(err)
	}
	suite := lab.Suite{Locks: []impls.Spec{ownLock()}, Scenarios: scripts, Expected: expected}
	run, err := lab.RunScenarios(context.Background(), suite, lab.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Outcome())
	// Output:
	// as expected
}

// A scenario of your own, in the language of docs/scripts.md.
func ExampleRunScenarios_ownScenario() {
	script, err := scenarios.Parse("late-release.lab", []byte(`# A holder releases late.
lease 1s
clients C1 C2

C1  acquire => ok
wait until expired
C2  acquire => ok
C1  release
`))
	if err != nil {
		log.Fatal(err)
	}
	run, err := lab.RunScenarios(context.Background(), lab.Suite{Locks: []impls.Spec{ownLock()}, Scenarios: []*scenarios.Script{script}}, lab.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Cells[0].Verdict.Anomalies[1].Why)
	// Output:
	// C1's DEL at 1.006s removed the lock that C2 had held since 1.004s.
}

// Options.Cell receives each cell with its history as soon as it has ended.
func ExampleOptions() {
	scripts, err := scenarios.Builtin("take-turns", "pause-past-lease", "acquire-reply-lost")
	if err != nil {
		log.Fatal(err)
	}
	opts := lab.Options{Parallel: 1, Cell: func(cell lab.Cell, events []history.Event) {
		acquires := 0
		for _, e := range events {
			if e.Kind == history.KindCall && e.Op == history.OpAcquire {
				acquires++
			}
		}
		fmt.Println(cell.Scenario, "with", acquires, "acquires")
	}}
	if _, err := lab.RunScenarios(context.Background(), lab.Suite{Locks: []impls.Spec{ownLock()}, Scenarios: scripts}, opts); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// take-turns with 8 acquires
	// pause-past-lease with 4 acquires
	// acquire-reply-lost with 3 acquires
}

// A run that was saved is read later, without a server.
func ExampleReadRun() {
	dir, remove := saved()
	defer remove()
	run, err := lab.ReadRun(dir)
	if err != nil {
		log.Fatal(err)
	}
	cell, err := run.Cell("mylock", "pause-past-lease")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cell.Outcome)
	for _, anomaly := range cell.Verdict.Anomalies {
		fmt.Println(anomaly.Name, strings.Join(anomaly.Clients, " "))
	}
	// Output:
	// surprise
	// double-holder C2 C1
	// stale-write C1 C2
	// lost-update C1 C2
	// wrongful-delete C1 C2
	// double-holder C3 C2
	// lost-update C3 C2
	// lost-update C2
}

// saved is the directory of a run of mylock, and what removes it.
func saved() (dir string, remove func()) {
	above, err := os.MkdirTemp("", "lab")
	if err != nil {
		log.Fatal(err)
	}
	scripts, err := scenarios.Builtin("pause-past-lease")
	if err != nil {
		log.Fatal(err)
	}
	dir = filepath.Join(above, "run")
	_, err = lab.RunScenarios(context.Background(), lab.Suite{Locks: []impls.Spec{ownLock()}, Scenarios: scripts}, lab.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(above) }
}

// A saved cell is judged again by the checker of today.
func ExampleRun_History() {
	dir, remove := saved()
	defer remove()
	run, err := lab.ReadRun(dir)
	if err != nil {
		log.Fatal(err)
	}
	again, events, err := run.History(context.Background(), run.Cells[0])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(events), "events")
	fmt.Println("the same verdict:", again.Verdict.Same(run.Cells[0].Verdict))
	// Output:
	// 116 events
	// the same verdict: true
}

// What a cell showed becomes a short script.
func ExampleRun_Shrink() {
	dir, remove := saved()
	defer remove()
	run, err := lab.ReadRun(dir)
	if err != nil {
		log.Fatal(err)
	}
	script, err := run.Shrink(context.Background(), run.Cells[0], ownLock())
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range script.Steps {
		fmt.Println(step.Text)
	}
	// Output:
	// C1  acquire
	// wait until expired
	// C2  acquire
	// C1  release
}

// The explorer searches every interleaving for the one with the fewest faults and steps.
func ExampleExplore() {
	found, err := lab.Explore(context.Background(), ownLock(), lab.Bounds{Clients: 2, Anomalies: []checker.Name{checker.WrongfulDelete}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Outcome, found.Counterexample.Anomalies, found.Counterexample.Faults)
	// Output:
	// surprise [wrongful-delete] [late-request]
}

// Within these bounds the lock holds: nothing befalls its clients but two crashes.
func ExampleExplore_bounds() {
	lock, _ := impls.Find("setpx-lua")
	found, err := lab.Explore(context.Background(), lock, lab.Bounds{Clients: 2, Faults: map[faults.Kind]int{faults.Crash: 2}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Outcome, "complete:", found.Complete, "counterexample:", found.Counterexample != nil)
	// Output:
	// as expected complete: true counterexample: false
}

// A counterexample becomes a scenario, which real servers play, too.
func ExampleCounterexample_Script() {
	found, err := lab.Explore(context.Background(), ownLock(), lab.Bounds{Clients: 2, Anomalies: []checker.Name{checker.WrongfulDelete}})
	if err != nil {
		log.Fatal(err)
	}
	script, err := found.Counterexample.Script()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", scenarios.Format(script))
	// Output:
	// # mylock after late-request: wrongful-delete.
	// # Found by trying every order of what clients, server and time can do; within those bounds fewer faults do not show it.
	// # late-request: a request is given up by its client, and arrives later.
	// source   lab explore mylock
	// lease    2s
	// clients  C1 C2
	// expect   mylock wrongful-delete
	//
	// C1  acquire => ok
	// C1  work hold before first GET => held-up
	//     wait until expired
	// C1  give up => unknown
	// C2  acquire => ok
	// C1  release
}

// Storms are random faults on busy clients, in the live world. The program's main, or TestMain, calls Serve first.
func ExampleRunStorms() {
	storms := lab.Storms{Locks: []impls.Spec{ownLock()}, Seed: 1, Faults: []faults.Kind{faults.Pause, faults.Crash}}
	run, err := lab.RunStorms(context.Background(), storms, lab.Options{Dir: "storm"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Cells[0].Verdict.BreaksPromise())
}
