package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/scenarios"
)

// ReplayPlan says which counterexamples are played, where, and how often.
type ReplayPlan struct {
	Counterexamples []reproduce.Counterexample
	Count           int // plays of each; zero: one
	Options
	// Played is told of each play, one at a time; nil: nobody is.
	Played func(Played)
}

// Played is one play of a counterexample.
type Played struct {
	*Replay
	Cell  record.Cell
	Shown bool   // it showed the anomalies
	Why   string // what it showed instead
}

// Replay is a counterexample, and how often it was played.
type Replay struct {
	reproduce.Counterexample
	Err    error // why there is no script; nil: it was played
	Played int
	Shown  int // plays that showed its anomalies
}

// replaysAtATime is how many counterexamples are played side by side in the live world, for each core: they mostly wait.
const replaysAtATime = 4

// longestWait is how long a counterexample may have real time pass.
const longestWait = time.Minute

// ErrLongWait is of a counterexample that takes too long for the live world.
var ErrLongWait = errors.New("it waits for too long")

// Replays plays counterexamples as scripts, in the model or on real servers. It returns them in the order of the plan.
func Replays(ctx context.Context, plan ReplayPlan) ([]*Replay, error) {
	replays := make([]*Replay, len(plan.Counterexamples))
	byName := replaySink{plays: map[string]*Replay{}, told: plan.Played}
	var cases []Case
	for i, c := range plan.Counterexamples {
		replays[i] = &Replay{Counterexample: c}
		script, err := reproduce.Script(c.Lock, c.Trace)
		if err == nil && plan.World != Sim && script.Waits() > longestWait {
			err = fmt.Errorf("%w: %v; --world sim plays it at once", ErrLongWait, script.Waits())
		}
		if err != nil {
			replays[i].Err = err
			continue
		}
		for script.Name = c.Name(); byName.plays[script.Name] != nil; script.Name += "-again" {
		}
		byName.plays[script.Name] = replays[i]
		cases = append(cases, Cases([]*scenarios.Script{script}, []play.Subject{play.SubjectOf(c.Lock)}, max(1, plan.Count), Expect(nil))...)
	}
	opts := plan.Options
	opts.Sink = report.Tee(append([]report.Sink{byName}, nonNil(plan.Sink)...)...)
	if opts.World != Sim {
		opts.Parallel = cmp.Or(opts.Parallel, replaysAtATime*runtime.NumCPU())
	}
	_, err := Run(ctx, Plan{Cases: cases, Options: opts})
	return replays, err
}

func nonNil(sink report.Sink) []report.Sink {
	if sink == nil {
		return nil
	}
	return []report.Sink{sink}
}

// replaySink counts what counterexamples show.
type replaySink struct {
	plays map[string]*Replay
	told  func(Played)
}

func (s replaySink) Handle(e report.Event) error {
	if e.Kind != report.CellEnd {
		return nil
	}
	played := Played{Replay: s.plays[e.Cell.Scenario], Cell: *e.Cell}
	played.Why, played.Shown = played.Counterexample.Shown(*e.Cell)
	played.Replay.Played++
	if played.Shown {
		played.Replay.Shown++
	}
	if s.told != nil {
		s.told(played)
	}
	return nil
}

// Found is what a search for the counterexamples of one line of the table of breaking points came to.
type Found struct {
	Line            points.Line
	Counterexamples []reproduce.Counterexample
	Missed          []error // those that were not found again
}

// Counterexamples finds those that lines of the table of breaking points name. found is told how many of the lines are done, one call at
// a time; nil: nobody is.
func Counterexamples(ctx context.Context, lines []points.Line, found func(done, lines int)) ([]Found, error) {
	all := make([]Found, len(lines))
	slots := make(chan struct{}, runtime.NumCPU())
	var group sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i, line := range lines {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			all[i] = counterexamplesOf(ctx, line)
			mu.Lock()
			defer mu.Unlock()
			if done++; found != nil {
				found(done, len(lines))
			}
		})
	}
	group.Wait()
	return all, context.Cause(ctx)
}

func counterexamplesOf(ctx context.Context, line points.Line) Found {
	found := Found{Line: line}
	lock, known := impls.Find(line.Lock)
	if !known {
		found.Missed = append(found.Missed, fmt.Errorf("%s is in the table of breaking points, and no lock", line.Lock))
		return found
	}
	limits := search.Config{States: points.LongestStates}
	for _, point := range line.Points() {
		t, err := point.Find(ctx, lock, limits)
		if err != nil {
			found.Missed = append(found.Missed, err)
			continue
		}
		found.Counterexamples = append(found.Counterexamples, reproduce.Counterexample{Lock: lock, Faults: point.Faults, Trace: t})
	}
	return found
}
