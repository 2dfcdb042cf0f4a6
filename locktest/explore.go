package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
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
	"github.com/locklab/locklab/internal/findings"
	"github.com/locklab/locklab/internal/record"
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
	Expect []checker.Name
	// Except are anomalies that the lock is known to show, which are passed over with all that follows them in a schedule.
	Except []checker.Name
	// Every has all schedules within bounds searched after random ones, which usually find sooner; nil: random ones only.
	Every *Every
}

// Every bounds a search of all schedules.
type Every struct {
	// Faults is how many may strike in a schedule. It searches those without one first, then those with one at most, and so on.
	Faults int
	// Turns is how often each client acquires, works and releases; zero: once.
	Turns int
	For   time.Duration // of real time, after the random search; zero: a minute
}

// Within is what a search of all schedules with so many faults at most has come to.
type Within struct {
	Faults int
	// Complete: there is no other schedule within these bounds, and a sample of them came to the same when it was played twice. Why says why not.
	Complete  bool
	Why       string
	Schedules float64 // that there are; zero if the search did not get to its end
	Played    int     // all others go on like one of these from some state on
	Unknown   int     // that came to no verdict
	Merged    int     // ended where another one had been, without a verdict until then

	drawn bool // the lock has drawn numbers of math/rand
}

// shortSearch is how long a search lasts with -short, and goOn how long after the first finding.
const shortSearch, goOn = time.Second, time.Second

// These variables name the only schedule to be played: a random one by its seed, or one of all by its way.
const (
	seedVariable = "LOCKTEST_SEED"
	wayVariable  = "LOCKTEST_SCHEDULE"
)

// Explored is what a search has done.
type Explored struct {
	Schedules, Commands int
	Unknown             int // schedules that came to no verdict
	Took                time.Duration
	Findings            []Finding // by seed; that there is none is no proof, unless Every says so
	Every               []Within  // by faults
}

// Finding is one way in which schedules broke a promise.
type Finding struct {
	Cause     string            // the promise, the command and what it did, as far as these are known
	Schedules int               // that showed it
	Seed      uint64            // of the first of these, if it is random
	Schedule  string            // the first of these, if it is one of all; LOCKTEST_SCHEDULE plays it again
	Anomalies []checker.Anomaly // that the first showed
}

// Explore searches schedules of the lock's messages: in which order they arrive, what is late, which connections break. What shows an anomaly against the
// lock's promises fails the test, unless it is expected; the search then goes on for a second, to find others. It is random and bounded, and never
// complete, but for what Search.Every adds. With -short each part lasts a second.
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
	if testing.Short() {
		search.For = min(search.For, shortSearch)
		if search.Every != nil {
			search.Every.For = min(search.Every.For, shortSearch)
		}
	}
	way := os.Getenv(wayVariable)
	if way != "" && search.Every == nil {
		t.Fatalf("locktest: %s=%s is for a search of every schedule, and Search.Every is nil", wayVariable, way)
	}
	if text := os.Getenv(seedVariable); text != "" {
		if search.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("locktest: %s=%s is no seed: it is a number", seedVariable, text)
		}
		search.Schedules = 1
	}
	defer quiet(t)()
	found := s.explore(t, search, way)
	for _, w := range found.Every {
		t.Log(w)
	}
	if way != "" {
		return found
	}
	rate := float64(found.Commands) / found.Took.Seconds()
	t.Logf("%d schedules (%d unknown), %d commands in %v (%.0f a second), seeds from %d; a random search, not a proof",
		found.Schedules, found.Unknown, found.Commands, found.Took.Round(time.Millisecond), rate, search.Seed)
	return found
}

// wrong is the bound that makes no sense, or empty.
func (s Search) wrong() string {
	var every Every
	if s.Every != nil {
		every = *s.Every
	}
	for _, bound := range []struct {
		name     string
		value    any
		negative bool
	}{
		{"For", s.For, s.For < 0}, {"Schedules", s.Schedules, s.Schedules < 0}, {"Clients", s.Clients, s.Clients < 0}, {"Turns", s.Turns, s.Turns < 0},
		{"AtOnce", s.AtOnce, s.AtOnce < 0}, {"Lease", s.Lease, s.Lease < 0},
		{"Every.Faults", every.Faults, every.Faults < 0}, {"Every.Turns", every.Turns, every.Turns < 0}, {"Every.For", every.For, every.For < 0},
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
	if s.Every != nil {
		every := *s.Every
		orDefault(&every.Turns, 1)
		every.For = cmp.Or(every.For, time.Minute)
		s.Every = &every
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
func (s *suite) explore(t *testing.T, search Search, way string) Explored {
	defer collectRarely()()
	x := &exploration{suite: s, t: t, search: search, began: time.Now(), said: time.Now(), next: search.Seed}
	if way == "" {
		var workers sync.WaitGroup
		for range min(search.AtOnce, cmp.Or(search.Schedules, search.AtOnce)) {
			workers.Go(x.work)
		}
		workers.Wait()
	}
	if search.Every != nil && len(x.shown) == 0 && x.failed == nil && !x.cutOff {
		x.every(way)
	}
	s.sayBlocked(t)
	x.found.Took = time.Since(x.began)
	switch {
	case len(x.shown) > 0:
		x.found.Findings = x.tell()
	case x.failed != nil:
		t.Fatalf("locktest: %v", x.failed)
	case x.cutOff:
		t.FailNow()
	case x.found.Unknown == x.found.Schedules && way == "":
		t.Errorf("locktest: no schedule came to a verdict: %s", x.why)
	case len(search.Expect) > 0 && testing.Short():
		t.Skipf("%v was expected, and not found in so short a time", search.Expect)
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
	why    string      // the last schedule was unknown
	shown  []*schedule // that show something
	until  time.Time   // when the search ends after the first
	failed error
	cutOff bool // a bubble has failed by itself, and said why: the race detector does so
}

// schedule is one that has been played.
type schedule struct {
	seed    uint64
	way     string // of one among all; empty: it is random
	played  play.Played
	against []checker.Anomaly
}

// among is how many schedules there were of the kind that was searched last.
func (x *exploration) among() (n int) {
	for _, w := range x.found.Every {
		n += w.Played
	}
	return cmp.Or(n, x.found.Schedules)
}

// variable plays it again.
func (s *schedule) variable() string {
	if s.way != "" {
		return wayVariable + "=" + s.way
	}
	return fmt.Sprintf("%s=%d", seedVariable, s.seed)
}

func (s *schedule) name() string {
	if s.way != "" {
		return "schedule " + s.way
	}
	return fmt.Sprintf("seed %d", s.seed)
}

// work plays one schedule after the other.
func (x *exploration) work() {
	ended := false
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.cutOff = x.cutOff || !ended
	}()
	world := bubbleWorld{x.t, x.suite, sim.OpenBubble(sim.Config{CellTimeout: cellTimeout}, x.subject.library())}
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
		verdict, against := x.judgeSchedule(played)
		x.add(&schedule{seed: seed, played: played, against: against}, verdict, commands)
	}
}

// take is the next seed, if there is to be one more schedule.
func (x *exploration) take() (seed uint64, more bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	seed = x.next
	taken := int(seed - x.search.Seed)
	if x.failed != nil || len(x.shown) > 0 && (len(x.search.Expect) > 0 || time.Now().After(x.until)) || x.cutOff || taken > 0 && (taken == x.search.Schedules || time.Since(x.began) > x.search.For) {
		return 0, false
	}
	x.next++
	return seed, true
}

func (x *exploration) add(s *schedule, verdict checker.Verdict, commands int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.found.Schedules++
	x.found.Commands += commands
	if verdict.Kind == checker.Undecided {
		x.found.Unknown++
		x.why = verdict.Reason
	}
	if since := time.Since(x.said); since >= progressEvery {
		x.said = x.said.Add(since)
		x.t.Logf("%d schedules, %d commands in %v so far", x.found.Schedules, x.found.Commands, time.Since(x.began).Round(time.Second))
	}
	x.show(s)
}

// show notes a schedule if it shows something. The caller has mu, or is alone.
func (x *exploration) show(s *schedule) {
	if len(s.against) == 0 {
		return
	}
	if len(x.shown) == 0 {
		x.until = time.Now().Add(goOn)
	}
	x.shown = append(x.shown, s)
}

func (x *exploration) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failed = errors.Join(x.failed, err)
}

// judgeSchedule returns the anomalies that count against the lock: those that no fault explains which the lock does not promise to survive, up to one
// that is passed over.
func (x *exploration) judgeSchedule(played play.Played) (verdict checker.Verdict, against []checker.Anomaly) {
	verdict = checker.Conclude(played.Events, storm.Options())
	if len(verdict.Anomalies) == 0 {
		return verdict, nil
	}
	passedOver := time.Duration(math.MaxInt64)
	for _, a := range verdict.Anomalies {
		if slices.Contains(x.search.Except, a.Name) {
			passedOver = min(passedOver, a.At)
		}
	}
	verdict, _ = storm.Excuse(verdict, played.Events, x.contract, record.Storm{})
	for _, a := range verdict.Anomalies {
		if a.Beyond == "" && a.At < passedOver && (len(x.search.Expect) == 0 || slices.Contains(x.search.Expect, a.Name)) {
			against = append(against, a)
		}
	}
	return verdict, against
}

func (w bubbleWorld) explore(subject play.Subject, search sim.Search) (out play.Played, commands int, err error) {
	w.inBubble(func() { out, commands, err = w.Bubble.Explore(context.Background(), subject, search) })
	return out, commands, err
}

// tell reports the schedules that count against the lock, which fails the test unless they were expected: each finding in a line, and the story of
// the one with the smallest seed.
func (x *exploration) tell() []Finding {
	t := x.t
	t.Helper()
	bySeed := func(a, b *schedule) int { return cmp.Compare(a.seed, b.seed) }
	slices.SortFunc(x.shown, bySeed)
	if len(x.search.Expect) > 0 {
		x.shown = x.shown[:1]
	}
	cells := make([]*cell, len(x.shown))
	for i, s := range x.shown {
		cells[i] = &cell{played: s.played, against: s.against}
		name := strings.ReplaceAll(s.name(), " ", "-")
		cells[i].Lock, cells[i].Scenario, cells[i].Round, cells[i].Dir = x.subject.Name, name, 1, name
		cells[i].Verdict, cells[i].Expected = checker.Verdict{Kind: checker.Broken, Anomalies: s.against}, x.contract.Expected()
	}
	var out []Finding
	var b strings.Builder
	groups := group(cells)
	first := func(f findings.Finding) findings.Place {
		return slices.MinFunc(f.Places, func(a, b findings.Place) int { return cmp.Compare(a.Cell, b.Cell) })
	}
	slices.SortStableFunc(groups, func(a, b findings.Finding) int { return cmp.Compare(first(a).Cell, first(b).Cell) })
	for _, f := range groups {
		s := x.shown[first(f).Cell]
		out = append(out, Finding{f.Cause.String(), len(f.Places), s.seed, s.way, s.against})
		fmt.Fprintf(&b, "%s, in %d of %d schedules; first: %s go test -run '%s' .\n", f.Cause, len(f.Places), x.among(), s.variable(), pattern(t.Name()))
	}
	place := first(groups[0])
	fmt.Fprintf(&b, "\n%s: ", x.shown[place.Cell].name())
	steps(&b, x.shown[place.Cell].played, place.Anomaly, x.shown[place.Cell].against)
	if len(x.search.Expect) > 0 {
		t.Logf("as expected, %s", b.String())
		return out
	}
	b.WriteString(strings.TrimSpace(x.keep(t, cells[:min(len(cells), maxKept)])))
	t.Error(b.String())
	return out
}

// maxKept is how many schedules are kept as artifacts.
const maxKept = 20
