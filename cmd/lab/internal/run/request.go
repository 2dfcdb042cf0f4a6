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
	"github.com/locklab/locklab/scenarios"
)

// Request is what the button of lab serve starts: what the command line would run, with one lock or all.
type Request struct {
	Where   option.Setting
	Results option.Results
	Lock    string // empty: all, for a scenario
}

// Scenario is lab run with one scenario.
func (r Request) Scenario(scenario, world string) (plan lab.Plan, err error) {
	if err := naming.World(world); err != nil {
		return plan, err
	}
	if world == lab.Sim {
		r.Where.UseModel()
	}
	f := &runFlags{campaign: r.campaign()}
	known := func(locks []play.Subject, _ []*scenarios.Script) ([]play.Subject, error) { return locks, nil }
	if plan, _, err = f.plan([]string{scenario}, known); err != nil {
		return plan, err
	}
	plan.Options = r.options(&f.campaign, "run", scenario, "--world", world)
	return plan, nil
}

// Storm is lab storm with one lock.
func (r Request) Storm(length string) (plan lab.StormPlan, err error) {
	lasts, err := time.ParseDuration(length)
	if err != nil {
		return plan, cli.Usagef("a storm lasts for a duration such as 30s, not %q", length)
	}
	if r.Lock == "" {
		return plan, cli.Usagef("name a lock for the storm; %s", cli.See("lab list locks"))
	}
	f := &stormFlags{campaign: r.campaign(), clients: stormClients, handles: stormHandles, length: lasts}
	f.campaign.faults, f.campaign.parallel = kindNames(), runtime.NumCPU()
	if plan, err = f.plan(); err != nil {
		return plan, err
	}
	if f.campaign.where.Timeout, err = plan.Longest(); err != nil {
		return plan, cli.Usagef("%v", err)
	}
	plan.Options = r.options(&f.campaign, "storm", "--for", length)
	return plan, nil
}

func (r Request) campaign() campaign {
	c := campaign{where: r.Where, results: r.Results, workload: string(history.Counter), count: 1, seed: rand.Int64N(1 << 31)}
	if r.Lock != "" {
		c.subjects.Locks = []string{r.Lock}
	}
	return c
}

// options are those of a run that was requested, with the command that would do the same.
func (r Request) options(c *campaign, command ...string) lab.Options {
	if r.Lock != "" {
		command = append(command, "--lock", r.Lock)
	}
	return lab.Options{Setting: c.where.Setting, Results: c.results.Plan(), Parallel: c.parallel, Seed: c.seed, Command: command}
}
