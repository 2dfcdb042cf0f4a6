package locktest

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// cellTimeout is how long a scenario may take, in virtual time.
const cellTimeout = 10 * time.Minute

// Run plays every scenario of the lab with a lock, each in a subtest. A scenario that does not apply is skipped, with the reason. A subtest fails
// if the lock shows an anomaly that a correct lock with the same promises does not show.
func Run(t *testing.T, subject Subject) {
	t.Helper()
	suite, err := newSuite(subject)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	for _, script := range suite.scripts {
		t.Run(script.Name, func(t *testing.T) { suite.play(t, script) })
	}
	if suite.judged == 0 && !t.Failed() && suite.played > 0 {
		t.Errorf("locktest: none of %d scenarios came to a verdict about %q; the skipped subtests say why", suite.played, subject.Name)
	}
}

// suite is the scenarios of one subject.
type suite struct {
	subject Subject
	model   impls.Spec
	lock    play.Subject
	scripts []*scenarios.Script
	matrix  *scenarios.Matrix

	played, judged int
}

func newSuite(subject Subject) (*suite, error) {
	s := &suite{subject: subject}
	if err := lab.CheckName(subject.Name); err != nil {
		return nil, fmt.Errorf("Subject.Name %q: %w", subject.Name, err)
	}
	if subject.New == nil {
		return nil, fmt.Errorf("Subject.New is missing: it makes one client's lock")
	}
	if len(subject.Keys) > 1 && subject.Servers > 1 {
		return nil, fmt.Errorf("Subject.Keys: several keys of a lock on several servers; a lock has one key on each of several servers, or several on one")
	}
	if err := play.NewLockKeys(subject.Name, "").Name(subject.Name, subject.Keys, subject.Most); err != nil {
		return nil, fmt.Errorf("Subject.Keys %w", err)
	}
	var ok bool
	if s.model, ok = subject.Promises.model(); !ok {
		return nil, fmt.Errorf("Subject.Promises %q: it is one of Lease, Watchdog, Fenced and Majority", subject.Promises)
	}
	var err error
	if s.scripts, err = scenarios.Builtin(); err != nil {
		return nil, err
	}
	if s.matrix, err = scenarios.BuiltinExpected(); err != nil {
		return nil, err
	}
	s.lock = play.Subject{Name: subject.Name, Traits: subject.traits(s.model)}
	return s, nil
}

// traits are what scripts need to know of the lock.
func (s Subject) traits(model impls.Spec) play.Traits {
	return play.Traits{
		Known: true, Separate: true, Leaseless: s.Leaseless, Permits: s.Permits, Resends: protocol.ResendsIf(s.Resends), Renews: model.Renews,
		Servers: s.Servers, Majority: s.Servers > 1,
		Verbs:     []string{protocol.Reconnect, protocol.Renew, protocol.Check},
		Workloads: scenarios.WorkloadNames(),
	}
}

// play plays one scenario.
func (s *suite) play(t *testing.T, script *scenarios.Script) {
	s.played++
	world := bubbleWorld{t, sim.OpenBubble(sim.Config{CellTimeout: cellTimeout}, s.subject.library())}
	cs := lab.Case{Subject: s.lock, Script: script, Round: 1, Expected: record.Expectation{Verdict: checker.Verdict{Kind: checker.Safe}, By: record.ByDefault}}
	began := time.Now()
	played, err := world.Play(context.Background(), s.lock, script, "")
	if err != nil {
		t.Fatalf("locktest: the lab failed: %v", err)
	}
	cell := lab.Settled(cs.Planned(), played.Events, true)
	cell.Took = time.Since(began)
	switch cell.Verdict.Kind {
	case checker.NotApplicable:
		t.Skipf("n/a: %s", cell.Verdict.Reason)
	case checker.Undecided:
		t.Skipf("unknown: %s", cell.Verdict.Reason)
	}
	s.judged++
	promised, _ := storm.Conclude(played.Events, contractOf(s.model), record.Storm{})
	against := judge(s.model, s.matrix, script.Name, cell, promised)
	if len(against) > 0 {
		s.fail(t, script, cell, played, against)
		return
	}
	if cell.Verdict.Kind == checker.Broken {
		t.Logf("%s, as every lock that promises no more than a %s", cell.Verdict, s.subject.Promises)
	}
}

// bubbleWorld plays each cell in a bubble.
type bubbleWorld struct {
	t *testing.T
	*sim.Bubble
}

func (w bubbleWorld) Play(ctx context.Context, subject play.Subject, script *scenarios.Script, dir string) (out play.Played, err error) {
	w.inBubble(func() { out, err = w.Bubble.Play(ctx, subject, script, dir) })
	return out, err
}

// inBubble calls do in a bubble. Goroutines of the lock that never end stay behind, blocked.
func (w bubbleWorld) inBubble(do func()) {
	w.t.Helper()
	ended := false
	defer func() {
		if what := recover(); what != nil {
			if !ended {
				panic(what)
			}
			w.t.Logf("goroutines of the lock are blocked for ever after its Close: %v", what)
		}
	}()
	synctest.Test(w.t, func(*testing.T) {
		do()
		ended = true
	})
}

// library is the lock as the world of bubbles knows it.
func (s Subject) library() sim.Library {
	return sim.Library{
		Name: s.Name, Keys: s.Keys, Most: s.Most, Settle: synctest.Wait, Linger: time.Minute,
		Open: func(access sim.Access) (impls.Lock, func(), error) {
			clients := connect(access, s.Resends)
			inProcess := func(ctx context.Context, args ...any) (any, error) {
				return access.Ask(ctx, access.Addrs[0], args...)
			}
			lock := s.New(Env{
				Redis: clients[0], Servers: clients, Scripter: scripter{clients[0], inProcess}, Addrs: access.Addrs, Dial: access.Dial, Name: access.Name, Client: access.Client,
				Lease: access.Lease, Lost: access.Lost, Renewed: access.Renewed,
			})
			end := func() {
				if closer, ok := lock.(interface{ Close() }); ok {
					closer.Close()
				}
				for _, client := range clients {
					_ = client.Close()
				}
			}
			return lock, end, s.wrong(lock)
		},
	}
}

// wrong says what is wrong with a lock that New has made.
func (s Subject) wrong(lock Lock) error {
	if lock == nil {
		return fmt.Errorf("Subject.New returned nil")
	}
	if _, limited := lock.(Limited); s.Promises == Majority && !limited {
		return fmt.Errorf("a lock that promises %s says how long it is valid: it has the method Valid, or Funcs.Valid", Majority)
	}
	return nil
}
