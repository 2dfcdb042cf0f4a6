package run

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// plan turns flags and arguments into cells, and finds every mistake in them before anything is started. meet introduces the subjects
// of the scripts.
func (f *runFlags) plan(args []string, meet func([]play.Subject, []*scenarios.Script) ([]play.Subject, error)) (plan lab.Plan, table *table, err error) {
	c := &f.campaign
	if f.all && len(args) > 0 {
		return plan, nil, cli.Usagef("--all means every scenario; remove %s or --all", strings.Join(args, " "))
	}
	scripts, err := naming.Scripts(args)
	if err != nil {
		return plan, nil, err
	}
	if scripts, err = f.struckBy(scripts); err != nil {
		return plan, nil, err
	}
	if scripts, err = f.work(scripts); err != nil {
		return plan, nil, err
	}
	subjects, err := c.subjects.In(&c.where)
	if err != nil {
		return plan, nil, err
	}
	if err := c.check(); err != nil {
		return plan, nil, err
	}
	if c.count > maxCells/(len(scripts)*len(subjects)) {
		return plan, nil, cli.Usagef("--count %d makes more than %d cells, too many for one run", c.count, maxCells)
	}
	if table, err = f.expected.table(scripts, len(c.subjects.Programs) > 0); err != nil {
		return plan, nil, err
	}
	if subjects, err = meet(subjects, scripts); err != nil {
		return plan, nil, err
	}
	if plan.Cases, err = f.cases(scripts, subjects, table); err != nil {
		return plan, nil, err
	}
	return plan, table, c.shard.Check(len(plan.Cases))
}

// work lends the scripts the workload of --workload.
func (f *runFlags) work(scripts []*scenarios.Script) ([]*scenarios.Script, error) {
	work, err := naming.Workload(f.campaign.workload)
	if err != nil {
		return nil, err
	}
	if f.expected.update && work != history.Counter {
		return nil, cli.Usagef("--update needs the workload that each scenario was reviewed with; remove --workload")
	}
	return cli.Map(scripts, func(script *scenarios.Script) *scenarios.Script { return script.Under(work) }), nil
}

// struckBy are the scripts in which no other faults strike than those of --faults.
func (f *runFlags) struckBy(scripts []*scenarios.Script) ([]*scenarios.Script, error) {
	if len(f.campaign.faults) == 0 {
		return scripts, nil
	}
	known := append([]string{"none"}, cli.Map(faults.All(), func(fault faults.Fault) string { return string(fault.Kind) })...)
	for _, name := range f.campaign.faults {
		if err := cli.OneOf("faults", name, known, "docs/tables/faults.md lists them"); err != nil {
			return nil, err
		}
	}
	left := slices.DeleteFunc(slices.Clone(scripts), func(script *scenarios.Script) bool {
		return slices.ContainsFunc(script.Faults(), func(kind faults.Kind) bool { return !slices.Contains(f.campaign.faults, string(kind)) })
	})
	if len(left) == 0 {
		return nil, cli.Nothingf("nothing to run: each of these scenarios has faults that --faults does not name")
	}
	return left, nil
}

// cases are all scripts with all subjects. Where nobody chose a lock, the variants that the matrix has in a scenario come along.
func (f *runFlags) cases(scripts []*scenarios.Script, subjects []play.Subject, table *table) ([]lab.Case, error) {
	c, expect := &f.campaign, table.expect()
	var cases []lab.Case
	for _, script := range scripts {
		with := subjects
		if !c.subjects.Chosen() && script.Builtin {
			here := c.where.Locks()
			variants, err := naming.Subjects(slices.DeleteFunc(table.builtin.Variants(script.Name), func(name string) bool {
				_, ok := impls.Lookup(here, name)
				return !ok
			}))
			if err != nil {
				return nil, err
			}
			with = slices.Concat(subjects, variants)
		}
		cases = append(cases, lab.Cases([]*scenarios.Script{script}, with, c.count, expect)...)
	}
	return cases, nil
}
