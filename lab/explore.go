package lab

import (
	"context"
	"runtime"
	"slices"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/sim/explore"
	"github.com/locklab/locklab/sim/points"
)

// ExplorePlan says which lock to explore, and how far. Of what is zero, explore.Config.Usual says what it means: with a Lock alone, three
// clients go through one round, and up to two faults of any kind strike. An empty Budget that is not nil allows no fault. Progress is
// called now and then.
type ExplorePlan explore.Config

// Exploration is what came of exploring a lock.
type Exploration struct {
	Config explore.Config // with every bound
	*explore.Result
	// Expected is what the reviewed table of breaking points, or else the lock's card, makes of the bounds.
	Expected points.Expectation
}

// Config is the search of the plan, with every bound. The error is an *explore.BoundError.
func (p ExplorePlan) Config() (explore.Config, error) {
	config := explore.Config(p).Usual()
	return config, config.Check()
}

// Explore runs every interleaving of a lock within the plan's bounds. The error is of a plan that cannot be, of a lock that cannot be
// explored, or of the context.
func Explore(ctx context.Context, plan ExplorePlan) (*Exploration, error) {
	config, err := plan.Config()
	if err != nil {
		return nil, err
	}
	reviewed, err := points.Reviewed()
	if err != nil {
		return nil, err
	}
	result, err := explore.Explore(ctx, config)
	if err != nil {
		return nil, err
	}
	return &Exploration{Config: config, Result: result, Expected: points.Expect(reviewed, config)}, nil
}

// Outcome compares the result with what was expected.
func (e *Exploration) Outcome() Outcome {
	switch {
	case len(e.Disputed) > 0:
		return Failed
	case e.Found == nil && !e.Complete(), e.Vacuous():
		return Unknown
	case !e.Expected.Meets(e.Result, e.Config.Lock.Card):
		return Surprise
	}
	return Expected
}

// PointsPlan says for which locks to find breaking points: how few faults of each kind break them.
type PointsPlan struct {
	Locks []impls.Spec // nil: all that come with the lab
	// States is how many states each search may find; zero: enough to find most of the reviewed table again.
	States int
	// Done is told each line as it comes, one call at a time; nil: nobody is.
	Done func(points.Line)
}

// BreakingPoints are the lines of a table, held against the reviewed ones.
type BreakingPoints struct {
	Lines       []points.Line
	Differences []string // one sentence each
}

// FindBreakingPoints finds breaking points on all cores, and compares them with the reviewed table.
func FindBreakingPoints(ctx context.Context, plan PointsPlan) (*BreakingPoints, error) {
	if plan.Locks == nil {
		plan.Locks = impls.All()
	}
	if plan.States == 0 {
		plan.States = points.UsualStates
	}
	search := points.Search{Locks: plan.Locks, States: plan.States, Parallel: runtime.NumCPU(), Done: plan.Done}
	lines, err := search.Find(ctx)
	if err != nil {
		return nil, err
	}
	reviewed, err := points.Reviewed()
	return &BreakingPoints{Lines: lines, Differences: points.Differences(lines, reviewed)}, err
}

// Disputed says whether explorer and checker disagree about a trace.
func (b *BreakingPoints) Disputed() bool {
	return slices.ContainsFunc(b.Lines, func(l points.Line) bool { return len(l.Disputed) > 0 })
}

// Outcome compares the lines with the reviewed ones.
func (b *BreakingPoints) Outcome() Outcome {
	switch {
	case b.Disputed():
		return Failed
	case len(b.Differences) > 0:
		return Surprise
	}
	return Expected
}
