package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// maxCells is how many cells a run may have; all of them are kept in memory.
const maxCells = 100_000

// plan turns flags and arguments into cells, and finds every mistake in them before anything is started.
func (f *runFlags) plan(cmd *cobra.Command, args []string) (plan lab.Plan, table *table, err error) {
	if f.all && len(args) > 0 {
		return plan, nil, usagef("--all means every scenario; remove %s or --all", strings.Join(args, " "))
	}
	scripts, err := selectScripts(args)
	if err != nil {
		return plan, nil, err
	}
	if scripts, err = f.struckBy(scripts); err != nil {
		return plan, nil, err
	}
	if scripts, err = f.work(scripts); err != nil {
		return plan, nil, err
	}
	subjects, err := f.subjects()
	if err != nil {
		return plan, nil, err
	}
	if err := f.checkValues(); err != nil {
		return plan, nil, err
	}
	if f.count > maxCells/(len(scripts)*len(subjects)) {
		return plan, nil, usagef("--count %d makes more than %d cells, too many for one run", f.count, maxCells)
	}
	if table, err = f.table(scripts); err != nil {
		return plan, nil, err
	}
	if len(f.programs) > 0 {
		if subjects, err = f.meet(cmd, subjects); err != nil {
			return plan, nil, err
		}
	}
	if plan.Cases, err = f.cases(scripts, subjects, table); err != nil {
		return plan, nil, err
	}
	return plan, table, checkShard(f.shard, len(plan.Cases))
}

// meet has each client of --client say hello, and says aloud by what it is judged if it does not say so itself.
func (f *runFlags) meet(cmd *cobra.Command, strangers []play.Subject) ([]play.Subject, error) {
	f.Alone = true
	var met []play.Subject
	for _, subject := range strangers {
		subject, err := lab.Meet(cmd.Context(), f.Setting, subject)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(met, func(other play.Subject) bool { return other.Name == subject.Name }) {
			return nil, usagef("--client: two clients say in hello that their lock is called %s, and cells are called after it", subject.Name)
		}
		if subject.Guessed {
			fmt.Fprintf(cmd.ErrOrStderr(), "lab: hello of %s names no promises; it is judged by those of any such lock: %s (else --like LOCK)\n",
				subject.Name, strings.Join(impls.PromiseWordsOf(subject.Spec.Promises), ", "))
		}
		met = append(met, subject)
	}
	return met, nil
}

// checkValues finds what is wrong with the values of flags by themselves.
func (f *runFlags) checkValues() error {
	if f.count < 1 {
		return usagef("--count must be at least 1, not %d", f.count)
	}
	if err := f.outFlags.check(); err != nil {
		return err
	}
	if f.Server == live.Cluster && len(f.programs) > 0 {
		return usagef("--server %s and --client do not go together: the lab cannot tell a program which of its links leads to the server that it is to follow; take --server replicated", f.Server)
	}
	return f.settingFlags.check()
}

// workloadNamed is the workload of --workload.
func (f *runFlags) workloadNamed() (history.Workload, error) {
	work := history.Workload(f.workload)
	if _, ok := scenarios.FindWorkload(work); !ok {
		return "", unknown("workload", f.workload, scenarios.WorkloadNames(), see("lab list workloads"))
	}
	return work, nil
}

// work lends the scripts the workload of --workload.
func (f *runFlags) work(scripts []*scenarios.Script) ([]*scenarios.Script, error) {
	work, err := f.workloadNamed()
	if err != nil {
		return nil, err
	}
	if f.update && work != history.Counter {
		return nil, usagef("--update needs the workload that each scenario was reviewed with; remove --workload")
	}
	lent := make([]*scenarios.Script, len(scripts))
	for i, script := range scripts {
		lent[i] = script.Under(work)
	}
	return lent, nil
}

// struckBy are the scripts in which no other faults strike than those of --faults.
func (f *runFlags) struckBy(scripts []*scenarios.Script) ([]*scenarios.Script, error) {
	if len(f.faults) == 0 {
		return scripts, nil
	}
	known := []string{"none"}
	for _, fault := range faults.All() {
		known = append(known, string(fault.Kind))
	}
	for _, name := range f.faults {
		if !slices.Contains(known, name) {
			return nil, unknown("faults", name, known, "docs/tables/faults.md lists them")
		}
	}
	left := slices.DeleteFunc(slices.Clone(scripts), func(script *scenarios.Script) bool {
		return slices.ContainsFunc(script.Faults(), func(kind faults.Kind) bool { return !slices.Contains(f.faults, string(kind)) })
	})
	if len(left) == 0 {
		return nil, &nothingError{"nothing to run: each of these scenarios has faults that --faults does not name"}
	}
	return left, nil
}

// cases are all scripts with all subjects. Where nobody chose a lock, the variants that the matrix has in a scenario come along.
func (f *runFlags) cases(scripts []*scenarios.Script, subjects []play.Subject, table *table) ([]lab.Case, error) {
	expect := table.expect()
	var cases []lab.Case
	for _, script := range scripts {
		with := subjects
		if len(f.locks) == 0 && len(f.programs) == 0 && script.Builtin {
			variants, err := subjectsOf(f.variants(table.builtin.Variants(script.Name)))
			if err != nil {
				return nil, err
			}
			with = slices.Concat(subjects, variants)
		}
		cases = append(cases, lab.Cases([]*scenarios.Script{script}, with, f.count, expect)...)
	}
	return cases, nil
}

// selectScripts resolves names of scenarios and paths of .lab files; none means all that come with the lab.
func selectScripts(args []string) ([]*scenarios.Script, error) {
	builtin, err := scenarios.Builtin()
	if err != nil || len(args) == 0 {
		return builtin, err
	}
	var scripts []*scenarios.Script
	var wrong []error
	for _, arg := range args {
		script, err := selectScript(builtin, arg)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if other, ok := scenarios.Find(scripts, script.Name); ok {
			return nil, usagef("scenario %s is given twice: %s and %s", script.Name, other.Path, script.Path)
		}
		scripts = append(scripts, script)
	}
	return scripts, errors.Join(wrong...)
}

func selectScript(builtin []*scenarios.Script, arg string) (*scenarios.Script, error) {
	if script, ok := scenarios.Find(builtin, arg); ok {
		return script, nil
	}
	if !strings.HasSuffix(arg, ".lab") {
		return nil, unknownScenario("scenario", arg, scenarioNames(builtin), see("lab list scenarios")+", or give the path of a .lab file")
	}
	script, err := scenarios.ParseFile(arg)
	if err != nil {
		return nil, usagef("%v", plainly(err))
	}
	if err := lab.CheckName(script.Name); err != nil {
		return nil, usagef("%s: a scenario cannot be called %q: %v; rename the file", arg, script.Name, err)
	}
	return script, nil
}

// subjects are the locks to be tested, or the clients of --client.
func (f *runFlags) subjects() ([]play.Subject, error) {
	switch {
	case len(f.programs) > 0:
		return f.foreign()
	case f.forPrograms():
		return nil, f.needsProgram()
	case len(f.locks) == 0:
		return subjectsOf(namesOf(f.suite()))
	}
	return subjectsOf(f.locks)
}

// subjectsOf are the locks of those names.
func subjectsOf(names []string) ([]play.Subject, error) {
	var subjects []play.Subject
	var wrong []error
	for i, name := range names {
		spec, ok := impls.Find(name)
		if !ok {
			wrong = append(wrong, unknown("lock", name, lockNames(), see("lab list locks")))
			continue
		}
		if slices.Contains(names[:i], name) {
			return nil, usagef("--lock names %s twice; use --count to repeat it", name)
		}
		subjects = append(subjects, play.SubjectOf(spec))
	}
	return subjects, errors.Join(wrong...)
}

// foreign are the subjects of --client, before they have said hello.
func (f *runFlags) foreign() ([]play.Subject, error) {
	var subjects []play.Subject
	promises, err := impls.ParsePromises(f.judged.promises)
	if err != nil {
		return nil, usagef("--promises: %v", err)
	}
	for _, command := range f.programs {
		subject := play.Subject{Name: "client", Argv: []string{"/bin/sh", "-c", command}, Like: f.judged.like, Told: promises}
		if f.judged.like != "" {
			like, err := subjectsOf([]string{f.judged.like})
			if err != nil {
				return nil, err
			}
			subject.Spec = like[0].Spec
		}
		subjects = append(subjects, subject)
	}
	return subjects, nil
}

func scenarioNames(scripts []*scenarios.Script) []string {
	var names []string
	for _, script := range scripts {
		names = append(names, script.Name)
	}
	return names
}

// variants are those of the names, of locks with selected bugs, whose service is the server.
func (f *settingFlags) variants(names []string) []string {
	suite := f.suite()
	return slices.DeleteFunc(names, func(name string) bool {
		_, here := impls.Lookup(suite, name)
		return !here
	})
}

// suite are the locks whose service is the server.
func (f *settingFlags) suite() []impls.Spec {
	switch {
	case f.World == lab.Sim:
		return impls.Every()
	case live.OnZooKeeper(f.Server):
		return impls.OnZooKeeper()
	case f.Server == live.Replicated:
		return slices.Concat(impls.All(), impls.OnReplicas())
	case f.Server == live.Cluster:
		return slices.Concat(impls.All(), impls.OnCluster())
	}
	return impls.All()
}

// forPrograms says whether only programs of one's own have locks on the server.
func (f *settingFlags) forPrograms() bool {
	return f.World != lab.Sim && slices.Contains(live.ProgramServers(), f.Server)
}

func (f *settingFlags) needsProgram() error {
	return usagef("--server %s needs --client: no lock of the lab runs there; adapters/%s has a client", f.Server, f.Server)
}

// needsOther says that a lock cannot be explored because the explorer has no such service.
func needsOther(lock impls.Spec) error {
	service := map[impls.Need]string{impls.Replicas: "a server with replicas", impls.Masters: "a cluster"}[lock.Needs]
	if service == "" {
		return nil
	}
	return &nothingError{fmt.Sprintf("nothing to explore: %s is n/a, because it needs %s and the explorer has none; lab run has it", lock.Name, service)}
}

func lockNames() []string { return namesOf(impls.Every()) }

func namesOf(locks []impls.Spec) []string {
	names := make([]string, len(locks))
	for i, spec := range locks {
		names[i] = spec.Name
	}
	return names
}
