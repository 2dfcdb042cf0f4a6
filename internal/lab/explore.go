package lab

import (
	"cmp"
	"context"
	"fmt"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
)

// ExplorePlan says which lock to explore, and how far. Of what is zero, search.Config.Usual says what it means: with a Lock alone, three
// clients go through one round, and up to two faults of any kind strike. An empty Budget that is not nil allows no fault. Progress is
// called now and then.
type ExplorePlan search.Config

// Exploration is what came of exploring a lock.
type Exploration struct {
	Config search.Config // with every bound
	*search.Result
	// Expected is what the reviewed table of breaking points, or else the lock's card, makes of the bounds.
	Expected points.Expectation
}

// Config is the search of the plan, with every bound. The error is an *search.BoundError.
func (p ExplorePlan) Config() (search.Config, error) {
	config := search.Config(p).Usual()
	return config, config.Check()
}

// AnyCode says how to search a lock that the explorer cannot follow.
const AnyCode = "locktest.Explore(t, locktest.OfSpec(lock), locktest.Search{Every: &locktest.Every{Faults: 1}}) searches every schedule of any code; see docs/locktest.md"

// searched is what came of a search. An error that is about what the lock does says how to search it instead.
func searched(ctx context.Context, config search.Config) (*search.Result, error) {
	result, err := search.Search(ctx, config)
	if needs := config.Lock.Needs; err != nil && ctx.Err() == nil && (needs == impls.OneServer || needs == impls.MostServers) {
		err = fmt.Errorf("%w; %s", err, AnyCode)
	}
	return result, err
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
	expected := points.Expect(reviewed, config)
	if expected == points.PerCard && len(config.Only) == 0 { // what is looked for by name is not let pass
		config.Excuses = points.Excuses(config.Lock.Card)
	}
	result, err := searched(ctx, config)
	if err != nil {
		return nil, err
	}
	if result.Found == nil && config.Servers < config.Lock.Servers {
		if config, result, err = exploreAllServers(ctx, config, result); err != nil {
			return nil, err
		}
	}
	return &Exploration{Config: config, Result: result, Expected: points.Expect(reviewed, config)}, nil
}

// exploreAllServers searches once more, with as many servers as the lock's card names, unless the plan says how many: a lock may count a
// majority by itself, which fewer servers make a larger part of them. Without faults that takes a second.
func exploreAllServers(ctx context.Context, config search.Config, result *search.Result) (search.Config, *search.Result, error) {
	fewer := fmt.Sprintf("the search has %d servers, and the lock's card names %d", config.Servers, config.Lock.Servers)
	if !config.FewerServers {
		result.FewerServers = fewer
		return config, result, nil
	}
	all := config
	all.FewerServers = false
	all.Clients, all.Rounds, all.Reenter = min(config.Clients, 2), 1, 0
	all.Servers, all.Budget, all.MostFaults = min(config.Lock.Servers, search.MostServers), search.Budget{}, 0
	all.States = cmp.Or(config.States, mostStatesOfAll)
	found, err := searched(ctx, all)
	switch {
	case err != nil:
		return config, nil, err
	case found.Found != nil:
		return all, found, nil
	case !found.Complete():
		result.FewerServers = fewer + ": a search with all was not complete"
	default:
		result.FewerServers = fmt.Sprintf("%s: with %d and %d clients that acquire once, without a fault, nothing was wrong", fewer, all.Servers, all.Clients)
	}
	return config, result, nil
}

// mostStatesOfAll is how many states a search with all servers may find without a limit. The lab's locks need 30,000.
const mostStatesOfAll = 1_000_000

// Outcome compares the result with what was expected.
func (e *Exploration) Outcome() Outcome {
	switch {
	case e.Found == nil && !e.Complete(), e.Vacuous(), len(e.Config.Unstruck(e.Result)) > 0:
		return Unknown
	case !e.Expected.Meets(e.Result, e.Config.Lock.Card):
		return Surprise
	}
	return AsExpected
}
