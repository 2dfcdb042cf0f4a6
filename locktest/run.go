package locktest

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// cellTimeout is how long a scenario may take, in virtual time.
const cellTimeout = 10 * time.Minute

// Run plays every scenario of the lab with a lock, each in a subtest; those that do not apply share one, which is skipped. A subtest fails if the lock
// shows an anomaly that a correct lock with the same promises does not show. What the failures have in common is said first, with the story of
// the smallest.
func Run(t *testing.T, subject Subject) {
	t.Helper()
	suite, err := newSuite(subject)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	defer quiet(t)()
	var cells []*cell // those that -run selects
	test := func(name string, about func() *cell) {
		t.Run(name, func(t *testing.T) {
			c := about()
			cells = append(cells, c)
			t.Parallel() // the test goes on first, and says what the failures have in common
			c.conclude(t)
		})
	}
	selective := selectsSubtests(t)
	var apart []string
	for _, script := range suite.scripts {
		if selective { // then what is not selected is not played
			test(script.Name, func() *cell { return suite.play(t, script) })
			continue
		}
		c := suite.play(t, script)
		if c.Verdict.Kind == checker.NotApplicable {
			apart = append(apart, fmt.Sprintf("%s: %s", script.Name, c.Verdict.Reason))
			continue
		}
		test(script.Name, func() *cell { return c })
	}
	if len(apart) > 0 {
		t.Run("n/a", func(t *testing.T) { t.Skipf("%d scenarios do not apply:\n%s", len(apart), strings.Join(apart, "\n")) })
	}
	suite.sum(t, cells)
	suite.sayBlocked(t)
}

// sayBlocked says which goroutines have not ended. That is only of interest to those who have written a Close.
func (s *suite) sayBlocked(t *testing.T) {
	t.Helper()
	for _, why := range slices.Sorted(maps.Keys(s.blocked)) {
		if testing.Verbose() {
			t.Logf("goroutines of the lock are blocked for ever after its Close, %d times: %s", s.blocked[why], why)
		}
	}
}

// sum says of all cells what is wrong.
func (s *suite) sum(t *testing.T, cells []*cell) {
	t.Helper()
	judged := func(c *cell) bool { return c.Verdict.Kind == checker.Safe || c.Verdict.Kind == checker.Broken }
	failed := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return len(c.against) == 0 })
	switch {
	case len(failed) > 0:
		t.Error(s.page(t, failed))
	case len(cells) > 0 && !slices.ContainsFunc(cells, judged):
		t.Errorf("locktest: none of %d scenarios came to a verdict; %s: %s", len(cells), cells[0].Scenario, cmp.Or(cells[0].Failure, cells[0].Verdict.Reason))
	}
}

// selectsSubtests says whether -run names subtests of the test.
func selectsSubtests(t *testing.T) bool {
	run := flag.Lookup("test.run")
	return run != nil && strings.Count(run.Value.String(), "/") > strings.Count(t.Name(), "/")
}

// cell is a scenario that has been played.
type cell struct {
	record.Cell
	promises string // of the lock
	script   *scenarios.Script
	played   play.Played
	against  []checker.Anomaly // that a correct lock does not show
	causes   []string          // of these
}

// conclude is the subtest of a cell.
func (c *cell) conclude(t *testing.T) {
	t.Helper()
	switch {
	case c.Failure != "":
		t.Fatalf("locktest: the lab failed: %s", c.Failure)
	case c.Verdict.Kind == checker.NotApplicable:
		t.Skipf("n/a: %s", c.Verdict.Reason)
	case c.Verdict.Kind == checker.Undecided:
		t.Skipf("unknown: %s", c.Verdict.Reason)
	case len(c.against) > 0:
		t.Errorf("%s; alone by go test -run '%s' .", strings.Join(c.causes, "; "), pattern(t.Name()))
	case c.Verdict.Kind == checker.Broken:
		t.Logf("%s, as every lock that promises no more than %s", c.Verdict, c.promises)
	}
}

// suite is the scenarios of one subject.
type suite struct {
	subject  Subject
	model    impls.Spec
	contract storm.Contract
	lock     play.Subject
	scripts  []*scenarios.Script
	matrix   *scenarios.Matrix

	mu      sync.Mutex
	blocked map[string]int // bubbles with goroutines that never end, by what the runtime says of them
}

func newSuite(subject Subject) (*suite, error) {
	subject.Name = cmp.Or(subject.Name, "lock")
	s := &suite{subject: subject, blocked: map[string]int{}}
	if subject.New == nil {
		return nil, fmt.Errorf("Subject.New is missing: it makes one client's lock")
	}
	if len(subject.Keys) > 1 && subject.Servers > 1 {
		return nil, fmt.Errorf("Subject.Keys: several keys of a lock on several servers; a lock has one key on each of several servers, or several on one")
	}
	if err := play.NewLockKeys(subject.Name, "").Name(subject.Name, subject.Keys, subject.Most); err != nil {
		return nil, fmt.Errorf("Subject.Keys %w", err)
	}
	if err := s.measure(); err != nil {
		return nil, err
	}
	s.contract = storm.ContractOf(s.model)
	if !slices.Contains(s.contract.Promises, impls.RenewByOwner) { // no lock that can be renewed may prolong another client's
		s.contract.Promises = append(slices.Clone(s.contract.Promises), impls.RenewByOwner)
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

// measure finds the lock that the subject is measured by: the one with its promises, or its own card.
func (s *suite) measure() error {
	if spec := s.subject.spec; spec != nil {
		if !slices.Contains([]impls.Need{impls.OneServer, impls.MostServers}, spec.Needs) {
			return fmt.Errorf("OfSpec: %s needs %s, and a bubble has one Redis, or several of which most are enough", spec.Name, spec.Needs)
		}
		s.model = *spec
		return nil
	}
	var ok bool
	if s.model, ok = s.subject.Promises.model(); !ok {
		return fmt.Errorf("Subject.Promises %q: it is one of Lease, Watchdog, Fenced and Majority", s.subject.Promises)
	}
	return nil
}

// traits are what scripts need to know of the lock.
func (s Subject) traits(model impls.Spec) play.Traits {
	return play.Traits{
		Known: true, Separate: true, Resends: protocol.ResendsIf(s.Resends),
		Contract: history.Contract{Leaseless: s.Leaseless, Permits: s.Permits, Renews: model.Renews},
		Servers:  s.Servers, Majority: s.Servers > 1,
		Verbs:     []string{protocol.Reconnect, protocol.Renew, protocol.Check},
		Workloads: scenarios.WorkloadNames(),
	}
}

// play plays one scenario.
func (s *suite) play(t *testing.T, script *scenarios.Script) *cell {
	c := &cell{promises: "a " + string(s.subject.Promises), script: script}
	if s.subject.spec != nil {
		c.promises = "its card"
	}
	c.Lock, c.Scenario, c.Dir, c.Round, c.Expected = s.subject.Name, script.Name, script.Name, 1, s.expected(script)
	began := time.Now()
	world := bubbleWorld{t, s, sim.OpenBubble(sim.Config{CellTimeout: cellTimeout}, s.subject.library())}
	var err error
	if c.played, err = world.Play(context.Background(), s.lock, script, ""); err != nil {
		c.Failure = err.Error()
		return c
	}
	c.Took = time.Since(began)
	c.Data, c.Skipped = checker.Tally(c.played.Events), checker.Skipped(c.played.Events)
	c.Verdict = checker.Conclude(c.played.Events, storm.Options())
	if c.Verdict.Kind == checker.Broken {
		promised, _ := storm.Excuse(c.Verdict, c.played.Events, s.contract, record.Storm{})
		c.against = s.against(script, promised)
	}
	return c
}

// bubbleWorld plays each cell in a bubble.
type bubbleWorld struct {
	t     *testing.T
	suite *suite
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
	defer watch()()
	defer func() {
		if what := recover(); what != nil {
			if !ended {
				panic(what)
			}
			w.suite.noteBlocked(fmt.Sprint(what))
		}
	}()
	synctest.Test(w.t, func(*testing.T) {
		do()
		ended = true
	})
}

// noteBlocked notes that goroutines of a bubble never end.
func (s *suite) noteBlocked(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked[why]++
}

// library is the lock as the world of bubbles knows it.
func (s Subject) library() sim.Library {
	return sim.Library{
		Name: s.Name, Keys: s.Keys, Most: s.Most, Settle: synctest.Wait, Linger: time.Minute,
		Open: func(access sim.Access) (impls.Lock, func(), error) {
			lock, err := s.New(Env{
				Addrs: access.Addrs, Dial: access.Dial, Name: access.Name, Client: access.Client, Lease: access.Lease,
				Lost: access.Lost, Renewed: access.Renewed, awaits: access.Awaits, env: access.Env,
				Do: func(ctx context.Context, args ...any) (any, error) {
					reply, err := access.Ask(ctx, access.Addrs[0], args...)
					if refusal, is := reply.(error); is {
						return nil, refusal
					}
					return reply, err
				},
			})
			if err == nil {
				err = s.wrong(lock)
			}
			return lock, func() {
				if closer, ok := lock.(interface{ Close() }); ok {
					closer.Close()
				}
			}, err
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
