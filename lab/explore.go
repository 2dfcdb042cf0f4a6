package lab

import (
	"context"

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
