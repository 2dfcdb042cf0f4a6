package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

// Search bounds a search. The zero Search lasts ten seconds, with two clients that take two turns each.
type Search struct {
	For       time.Duration // of real time
	Schedules int           // at most so many; zero: as many as there is time for
	// Seed is that of the first schedule; zero: a random one. A schedule is replayed by its seed alone.
	Seed    uint64
	Clients int
	Turns   int // of each client
	// AtOnce is how many schedules are played at the same time, each with locks of its own; zero: one for each processor that Go uses.
	AtOnce int
	// Faults is how many connections break, and operations are given up, at most; negative: none.
	Faults int
	Lease  time.Duration
	// Expect are anomalies that the lock is known to show. The search then ends with one of these only, and fails if it finds none.
	Expect []AnomalyName
}

// AnomalyName is the name of an anomaly, as docs/concepts.md lists them.
type AnomalyName = checker.Name

// seedVariable names the seed of the only schedule to be played.
const seedVariable = "LOCKTEST_SEED"

// Explored is what a search has done.
type Explored struct {
	Schedules, Commands int
	Unknown             int // schedules that came to no verdict
	Took                time.Duration
	// Seed is that of the schedule that showed something, and Anomalies is what; empty: none did. That is no proof.
	Seed      uint64
	Anomalies []checker.Anomaly
}

// Explore searches schedules of the lock's messages: in which order they arrive, what is late, which connections break. It ends with the first
// that shows an anomaly against the lock's promises, which fails the test unless it is expected. The search is random and bounded, and never complete.
func Explore(t *testing.T, subject Subject, search Search) Explored {
	t.Helper()
	s, err := newSuite(subject)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if wrong := search.wrong(); wrong != "" {
		t.Fatalf("locktest: Search.%s: it is greater than 0, or 0 for the default", wrong)
	}
	search = search.withDefaults()
	if text := os.Getenv(seedVariable); text != "" {
		if search.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("locktest: %s=%s is no seed: it is a number", seedVariable, text)
		}
		search.Schedules = 1
	}
	found := s.explore(t, search)
	rate := float64(found.Commands) / found.Took.Seconds()
	t.Logf("%d schedules (%d unknown), %d commands in %v (%.0f a second), seeds from %d; a random search, not a proof",
		found.Schedules, found.Unknown, found.Commands, found.Took.Round(time.Millisecond), rate, search.Seed)
	return found
}

// wrong is the bound that makes no sense, or empty.
func (s Search) wrong() string {
	for _, bound := range []struct {
		name     string
		value    any
		negative bool
	}{
		{"For", s.For, s.For < 0}, {"Schedules", s.Schedules, s.Schedules < 0}, {"Clients", s.Clients, s.Clients < 0}, {"Turns", s.Turns, s.Turns < 0},
		{"AtOnce", s.AtOnce, s.AtOnce < 0}, {"Lease", s.Lease, s.Lease < 0},
	} {
		if bound.negative {
			return fmt.Sprintf("%s is %v", bound.name, bound.value)
		}
	}
	return ""
}

func (s Search) withDefaults() Search {
	orDefault := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	orDefault(&s.Clients, 2)
	orDefault(&s.Turns, 2)
	orDefault(&s.Faults, 2)
	orDefault(&s.AtOnce, runtime.GOMAXPROCS(0))
	if s.For == 0 {
		s.For = 10 * time.Second
	}
	if s.Lease == 0 {
		s.Lease = 2 * time.Second
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64() >> 1
	}
	return s
}

// schedule is the schedule with a seed. Seeds also say how many priorities change: few, mostly, because most races need few.
func (s Search) schedule(seed uint64) sim.Search {
	return sim.Search{Seed: seed, Clients: s.Clients, Turns: s.Turns, Faults: s.Faults, Depth: int(seed % 5), Lease: s.Lease}
}

// explore plays schedules, several at a time. Of those that show something it reports the one with the smallest seed, whichever ends first.
func (s *suite) explore(t *testing.T, search Search) Explored {
	defer collectRarely()()
	x := &exploration{suite: s, t: t, search: search, began: time.Now(), said: time.Now(), next: search.Seed}
	var workers sync.WaitGroup
	for range min(search.AtOnce, cmp.Or(search.Schedules, search.AtOnce)) {
		workers.Go(x.work)
	}
	workers.Wait()
	x.found.Took = time.Since(x.began)
	switch {
	case x.shown != nil:
		x.found.Seed, x.found.Anomalies = x.shown.seed, x.shown.against
		s.tell(t, x.shown, len(search.Expect) > 0)
	case x.failed != nil:
		t.Fatalf("locktest: %v", x.failed)
	case x.cutOff:
		t.FailNow()
	case x.found.Unknown == x.found.Schedules:
		t.Errorf("locktest: no schedule came to a verdict: %s", x.why)
	case len(search.Expect) > 0:
		t.Errorf("locktest: %v was expected, and not found", search.Expect)
	}
	return x.found
}

// progressEvery is how often a search says how far it has come.
const progressEvery = 10 * time.Second

// exploration is a search under way.
type exploration struct {
	*suite
	t      *testing.T
	search Search
	began  time.Time

	mu     sync.Mutex
	said   time.Time // when progress was reported
	next   uint64    // seed
	found  Explored
	why    string    // the last schedule was unknown
	shown  *schedule // that shows something, with the smallest seed; nil: none does
	failed error
	cutOff bool // a bubble has failed by itself, and said why: the race detector does so
}

// schedule is one that has been played.
type schedule struct {
	seed    uint64
	played  play.Played
	verdict checker.Verdict
	against []checker.Anomaly
}

// work plays one schedule after the other.
func (x *exploration) work() {
	ended := false
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.cutOff = x.cutOff || !ended
	}()
	world := bubbleWorld{x.t, sim.OpenBubble(sim.Config{CellTimeout: cellTimeout}, x.subject.library())}
	for {
		seed, more := x.take()
		if !more {
			ended = true
			return
		}
		played, commands, err := world.explore(x.lock, x.search.schedule(seed))
		if err != nil {
			x.fail(fmt.Errorf("seed %d: the lab failed: %w", seed, err))
			ended = true
			return
		}
		verdict, against := x.judgeSchedule(played, x.search.Expect)
		x.add(&schedule{seed, played, verdict, against}, commands)
	}
}

// take is the next seed, if there is to be one more schedule.
func (x *exploration) take() (seed uint64, more bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	seed = x.next
	taken := int(seed - x.search.Seed)
	if x.shown != nil || x.failed != nil || x.cutOff || taken > 0 && (taken == x.search.Schedules || time.Since(x.began) > x.search.For) {
		return 0, false
	}
	x.next++
	return seed, true
}

func (x *exploration) add(s *schedule, commands int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.found.Schedules++
	x.found.Commands += commands
	if s.verdict.Kind == checker.Undecided {
		x.found.Unknown++
		x.why = s.verdict.Reason
	}
	if since := time.Since(x.said); since >= progressEvery {
		x.said = x.said.Add(since)
		x.t.Logf("%d schedules, %d commands in %v so far", x.found.Schedules, x.found.Commands, time.Since(x.began).Round(time.Second))
	}
	if len(s.against) > 0 && (x.shown == nil || s.seed < x.shown.seed) {
		x.shown = s
	}
}

func (x *exploration) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failed = errors.Join(x.failed, err)
}

// judgeSchedule returns the anomalies that count against the lock: those that no fault explains which the lock does not promise to survive.
func (s *suite) judgeSchedule(played play.Played, only []AnomalyName) (verdict checker.Verdict, against []checker.Anomaly) {
	opts := storm.Options()
	opts.ListedFirst = true
	verdict = checker.Conclude(played.Events, opts)
	if len(verdict.Anomalies) == 0 {
		return verdict, nil
	}
	verdict, _ = storm.Excuse(verdict, played.Events, contractOf(s.model), record.Storm{})
	for _, a := range verdict.Anomalies {
		if a.Beyond == "" && (len(only) == 0 || slices.Contains(only, a.Name)) {
			against = append(against, a)
		}
	}
	return verdict, against
}

func (w bubbleWorld) explore(subject play.Subject, search sim.Search) (out play.Played, commands int, err error) {
	w.inBubble(func() { out, commands, err = w.Bubble.Explore(context.Background(), subject, search) })
	return out, commands, err
}

// tell reports a schedule that counts against the lock, which fails the test unless that was expected.
func (s *suite) tell(t *testing.T, shown *schedule, expected bool) {
	t.Helper()
	seed, played, verdict := shown.seed, shown.played, shown.verdict
	verdict.Anomalies = shown.against
	cell := record.Cell{
		Lock: s.subject.Name, Scenario: "explore", Round: 1, Dir: "explore", Verdict: verdict, Expected: contractOf(s.model).Expected(),
	}
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s\n\n", seed, names(shown.against))
	if err := report.Explain(&b, cell, played.Events, report.ExplainOptions{Width: storyWidth, Limit: storyEvents}); err != nil {
		fmt.Fprintf(&b, "the story cannot be told: %v\n", err)
	}
	if expected {
		t.Logf("as expected, %s", b.String())
		return
	}
	s.close(&b, t, cell, played, fmt.Sprintf("%s=%d ", seedVariable, seed))
	t.Error(b.String())
}
