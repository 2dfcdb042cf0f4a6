package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/live"
)

// plan is what a run is going to do.
type plan struct {
	cases []live.Case
	guard []string
}

// plan turns flags and arguments into cells, and finds every mistake in them before anything is started.
func (f *runFlags) plan(args []string) (*plan, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	scripts, err := selectScripts(args)
	if err != nil {
		return nil, err
	}
	subjects, err := f.subjects([]string{self, "worker"})
	if err != nil {
		return nil, err
	}
	if err := f.checkNumbers(); err != nil {
		return nil, err
	}
	matrix, err := scenarios.BuiltinExpected()
	if err != nil {
		return nil, err
	}
	cases := live.Plan(scripts, subjects, f.count, live.Expect(matrix, impls.All()))
	if cases, err = f.part(cases); err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, &nothingError{"nothing to run: this shard is empty"}
	}
	if f.seed == 0 {
		f.seed = rand.Int64N(1 << 31)
	}
	return &plan{cases: cases, guard: []string{self, "guard"}}, nil
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
		scripts = append(scripts, script)
	}
	return scripts, nil
}

func selectScript(builtin []*scenarios.Script, arg string) (*scenarios.Script, error) {
	if strings.HasSuffix(arg, ".lab") {
		script, err := scenarios.ParseFile(arg)
		if os.IsNotExist(err) || os.IsPermission(err) {
			return nil, usagef("%v", err)
		}
		return script, err
	}
	if script, ok := scenarios.Find(builtin, arg); ok {
		return script, nil
	}
	return nil, unknown("scenario", arg, scenarioNames(builtin))
}

// subjects are the locks to be tested, run by worker, or the client of --client.
func (f *runFlags) subjects(worker []string) ([]live.Subject, error) {
	var subjects []live.Subject
	names := f.locks
	if len(names) == 0 {
		names = lockNames()
	}
	for _, name := range names {
		spec, ok := impls.Find(name)
		if !ok {
			return nil, unknown("lock", name, lockNames())
		}
		subjects = append(subjects, live.SubjectOf(spec, worker))
	}
	if f.client != "" {
		return f.foreign()
	}
	return subjects, nil
}

// foreign is the subject of --client.
func (f *runFlags) foreign() ([]live.Subject, error) {
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
	return []live.Subject{{Name: name, Argv: []string{"/bin/sh", "-c", f.client}}}, nil
}

func (f *runFlags) checkNumbers() error {
	switch {
	case f.parallel < 1:
		return usagef("--parallel must be at least 1, not %d", f.parallel)
	case f.count < 1:
		return usagef("--count must be at least 1, not %d", f.count)
	case f.timeout <= 0:
		return usagef("--timeout must be more than zero, not %v", f.timeout)
	}
	return nil
}

// part is the shard of the cases that --shard asks for.
func (f *runFlags) part(cases []live.Case) ([]live.Case, error) {
	if f.shard == "" {
		return cases, nil
	}
	var i, n int
	var rest string
	if count, _ := fmt.Sscanf(f.shard, "%d/%d%s", &i, &n, &rest); count != 2 || i < 1 || i > n {
		return nil, usagef("--shard is i/n with i from 1 to n, for example 1/4, not %q", f.shard)
	}
	return live.Shard(cases, i, n), nil
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
