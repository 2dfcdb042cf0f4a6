package naming

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/explain"
	"github.com/locklab/locklab/internal/find"
	"github.com/locklab/locklab/internal/spelling"
	"github.com/locklab/locklab/scenarios"
)

// UnknownScenario is the error for a name that no scenario has. A name that was misspelt is corrected; else its words are looked for, as lab find does.
func UnknownScenario(kind, name string, names []string, help string) error {
	near := spelling.Nearest(name, names)
	if _, isScenario := scenarios.Source(near); near != "" && !(isScenario && isPart(name, near)) {
		return cli.UnknownName(kind, name, names, help)
	}
	index, err := find.Builtin()
	if err != nil {
		return err
	}
	hits := index.Find(name)
	if len(hits) == 0 {
		return cli.UnknownName(kind, name, names, help)
	}
	return cli.Usagef("%s", suggested(fmt.Sprintf("unknown %s %q; did you mean:", kind, name), hits))
}

// isPart says whether a name is only a part of the nearest one, and not that one misspelt.
func isPart(name, near string) bool {
	return strings.Contains(near, name) && len(near)-len(name) > len(name)/3
}

// suggested are the lines of an error about a name that may mean one of the first scenarios, each after the name of the program.
func suggested(lead string, hits []find.Hit) string {
	const most, width, program = 3, 80, "lab: "
	lines := lead + "\n"
	for _, hit := range hits[:min(most, len(hits))] {
		lines += cli.Hang("  ", "    ", fmt.Sprintf("%s (%s)", hit.Scenario, strings.TrimSuffix(hit.Title, ".")), width-len(program))
	}
	return strings.TrimSuffix(lines, "\n")
}

// UnknownRun is the error of explain for what is neither a run nor a name: a misspelt name leads to the name, a word to a scenario about it.
func UnknownRun(name string, err error) error {
	var none *cli.UsageError
	if _, exists := os.Stat(name); exists == nil || !errors.As(err, &none) || strings.ContainsAny(name, `/\.`) {
		return err
	}
	explained, failed := explain.New()
	if failed != nil {
		return failed
	}
	names := cli.Map(explained.Names(), func(n explain.Name) string { return n.Name })
	if near := spelling.Nearest(name, names); near != "" && !isPart(name, near) {
		return cli.Usagef("no run and no name %q; did you mean %q?", name, near)
	}
	index, failed := find.Builtin()
	if failed != nil {
		return failed
	}
	hits := index.Find(name)
	if len(hits) == 0 {
		return cli.Usagef("no run and no name %q; lab list prints the names, and a run is a directory, for example runs/latest", name)
	}
	return cli.Usagef("%s\n  %s explain %s", suggested(fmt.Sprintf("no run and no name %q. Did you mean:", name), hits), cli.Program(), hits[0].Scenario)
}

// UnknownCell is the error for a cell that a run does not have: the scenario may be meant by its words.
func UnknownCell(name string, known []string) error {
	if near := spelling.Nearest(name, known); near != "" && !isPart(name, near) {
		return cli.UnknownName("cell", name, known, "")
	}
	index, err := find.Builtin()
	if err != nil {
		return err
	}
	words := name
	if lock, scenario, ok := strings.Cut(name, "/"); ok && slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, lock+"/") }) {
		words = scenario
	}
	var hits []find.Hit
	for _, hit := range index.Find(words) {
		if at := slices.IndexFunc(known, func(k string) bool { return strings.HasSuffix(k, "/"+hit.Scenario) }); at >= 0 {
			hit.Scenario = known[at]
			hits = append(hits, hit)
		}
	}
	if len(hits) == 0 {
		return cli.UnknownName("cell", name, known, "a cell is LOCK/SCENARIO, for example "+known[0])
	}
	return cli.Usagef("%s", suggested(fmt.Sprintf("unknown cell %q; did you mean:", name), hits))
}
