package run

import (
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// Order is one lock, or all, for lab serve: what its button starts is what the command line would run.
type Order struct {
	Where   option.Setting
	Results option.Results
	Lock    string // empty: all, for a scenario
}

// Scenario is lab run with one scenario.
func (o Order) Scenario(scenario, world string) (plan lab.Plan, err error) {
	if err := naming.World(world); err != nil {
		return plan, err
	}
	if world == lab.Sim {
		o.Where.Model()
	}
	f := &runFlags{campaign: o.campaign()}
	known := func(locks []play.Subject) ([]play.Subject, error) { return locks, nil }
	if plan, _, err = f.plan([]string{scenario}, known); err != nil {
		return plan, err
	}
	plan.Options = o.options(&f.campaign, "run", scenario, "--world", world)
	return plan, nil
}

// Storm is lab storm with one lock.
func (o Order) Storm(length string) (plan lab.StormPlan, err error) {
	lasts, err := time.ParseDuration(length)
	if err != nil {
		return plan, cli.Usagef("a storm lasts for a duration such as 30s, not %q", length)
	}
	if o.Lock == "" {
		return plan, cli.Usagef("name a lock for the storm; %s", cli.See("lab list locks"))
	}
	f := &stormFlags{campaign: o.campaign(), clients: stormClients, handles: stormHandles, length: lasts}
	f.campaign.faults, f.campaign.parallel = kindNames(), runtime.NumCPU()
	if plan, err = f.plan(); err != nil {
		return plan, err
	}
	if f.campaign.where.Timeout, err = plan.Longest(); err != nil {
		return plan, cli.Usagef("%v", err)
	}
	plan.Options = o.options(&f.campaign, "storm", "--for", length)
	return plan, nil
}

func (o Order) campaign() campaign {
	c := campaign{where: o.Where, results: o.Results, workload: string(history.Counter), count: 1, seed: rand.Int64N(1 << 31)}
	if o.Lock != "" {
		c.subjects.Locks = []string{o.Lock}
	}
	return c
}

// options are those of a run that was ordered, with the command that would do the same.
func (o Order) options(c *campaign, command ...string) lab.Options {
	if o.Lock != "" {
		command = append(command, "--lock", o.Lock)
	}
	return lab.Options{Setting: c.where.Setting, Results: c.results.Plan(), Parallel: c.parallel, Seed: c.seed, Command: command}
}
