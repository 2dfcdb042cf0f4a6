package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
)

// maxCells is how many cells a run may have; all of them are kept in memory.
const maxCells = 100_000

// plan is what a run is going to do.
type plan struct {
	cases  []cells.Case
	matrix *scenarios.Matrix
	known  surprises
}

// plan turns flags and arguments into cells, and finds every mistake in them before anything is started.
func (f *runFlags) plan(args []string) (*plan, error) {
	scripts, err := selectScripts(args)
	if err != nil {
		return nil, err
	}
	if scripts, err = f.work(scripts); err != nil {
		return nil, err
	}
	subjects, err := f.subjects()
	if err != nil {
		return nil, err
	}
	if err := f.checkValues(); err != nil {
		return nil, err
	}
	if f.count > maxCells/(len(scripts)*len(subjects)) {
		return nil, usagef("--count %d makes more than %d cells, which are too many for one run", f.count, maxCells)
	}
	p := &plan{}
	if p.known, err = f.known(); err != nil {
		return nil, err
	}
	if p.matrix, err = f.matrix(scripts); err != nil {
		return nil, err
	}
	all, err := f.cases(scripts, subjects, p.matrix)
	if err != nil {
		return nil, err
	}
	p.cases, err = f.part(all)
	if err != nil {
		return nil, err
	}
	if len(p.cases) == 0 {
		return nil, &nothingError{fmt.Sprintf("nothing to run: part %s is empty", f.shard)}
	}
	return p, nil
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
		return nil, usagef("--update is for the work that was reviewed with each scenario; take --workload out")
	}
	lent := make([]*scenarios.Script, len(scripts))
	for i, script := range scripts {
		lent[i] = script.Under(work)
	}
	return lent, nil
}

// cases are all scripts with all subjects. Where nobody chose a lock, the variants that the matrix has in a scenario come along.
func (f *runFlags) cases(scripts []*scenarios.Script, subjects []cells.Subject, matrix *scenarios.Matrix) ([]cells.Case, error) {
	expect := cells.Expect(matrix, impls.All())
	var cases []cells.Case
	for _, script := range scripts {
		with := subjects
		if len(f.locks) == 0 && f.client == "" && script.Builtin {
			variants, err := subjectsOf(matrix.Variants(script.Name))
			if err != nil {
				return nil, err
			}
			with = slices.Concat(subjects, variants)
		}
		cases = append(cases, cells.Plan([]*scenarios.Script{script}, with, f.count, expect)...)
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
	for _, arg := range args {
		script, err := selectScript(builtin, arg)
		if err != nil {
			return nil, err
		}
		if other, ok := scenarios.Find(scripts, script.Name); ok {
			return nil, usagef("scenario %s is named twice: %s and %s", script.Name, other.Path, script.Path)
		}
		scripts = append(scripts, script)
	}
	return scripts, nil
}

func selectScript(builtin []*scenarios.Script, arg string) (*scenarios.Script, error) {
	if script, ok := scenarios.Find(builtin, arg); ok {
		return script, nil
	}
	if !strings.HasSuffix(arg, ".lab") {
		return nil, unknown("scenario", arg, scenarioNames(builtin), see("lab list scenarios")+", or give the path of a .lab file")
	}
	script, err := scenarios.ParseFile(arg)
	if err != nil {
		return nil, usagef("%v", plainly(err))
	}
	return script, nil
}

// subjects are the locks to be tested, or the client of --client.
func (f *runFlags) subjects() ([]cells.Subject, error) {
	names := f.locks
	if len(names) == 0 {
		names = lockNames()
	}
	subjects, err := subjectsOf(names)
	if err != nil || f.client == "" {
		return subjects, err
	}
	return f.foreign()
}

// subjectsOf are the locks of those names.
func subjectsOf(names []string) ([]cells.Subject, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var subjects []cells.Subject
	for i, name := range names {
		spec, ok := impls.Find(name)
		if !ok {
			return nil, unknown("lock", name, lockNames(), see("lab list locks"))
		}
		if slices.Contains(names[:i], name) {
			return nil, usagef("--lock names %s twice; to run it more often, use --count", name)
		}
		subjects = append(subjects, cells.SubjectOf(spec, []string{self, "worker"}))
	}
	return subjects, nil
}

// foreign is the subject of --client.
func (f *runFlags) foreign() ([]cells.Subject, error) {
	if len(f.locks) > 1 {
		return nil, usagef("--client is one lock; --lock names the one whose expectations apply, not %d", len(f.locks))
	}
	if strings.TrimSpace(f.client) == "" {
		return nil, usagef("--client needs a command, for example 'python3 mylock.py'")
	}
	name := "client"
	if len(f.locks) == 1 {
		name = f.locks[0]
	}
	return []cells.Subject{{Name: name, Argv: []string{"/bin/sh", "-c", f.client}}}, nil
}

// part is the shard of the cases that --shard asks for.
func (f *runFlags) part(cases []cells.Case) ([]cells.Case, error) {
	if f.shard == "" {
		return cases, nil
	}
	var i, n int
	var rest string
	if count, _ := fmt.Sscanf(f.shard, "%d/%d%s", &i, &n, &rest); count != 2 || i < 1 || i > n {
		return nil, usagef("--shard is i/n with i from 1 to n, for example 1/4, not %q", f.shard)
	}
	return cells.Shard(cases, i, n), nil
}

func scenarioNames(scripts []*scenarios.Script) []string {
	var names []string
	for _, script := range scripts {
		names = append(names, script.Name)
	}
	return names
}

func lockNames() []string {
	var names []string
	for _, spec := range impls.All() {
		names = append(names, spec.Name)
	}
	return names
}
