package naming

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/scenarios"
)

// Scripts are the scenarios of those names, and the scripts at those paths; none means all that come with the lab.
func Scripts(args []string) ([]*scenarios.Script, error) {
	builtin, err := scenarios.Builtin()
	if err != nil || len(args) == 0 {
		return builtin, err
	}
	var scripts []*scenarios.Script
	var wrong []error
	for _, arg := range args {
		script, err := Script(builtin, arg)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if other, ok := scenarios.Find(scripts, script.Name); ok {
			return nil, cli.Usagef("scenario %s is given twice: %s and %s", script.Name, other.Path, script.Path)
		}
		scripts = append(scripts, script)
	}
	return scripts, errors.Join(wrong...)
}

// Script is one of the scenarios, or the script at a path.
func Script(builtin []*scenarios.Script, arg string) (*scenarios.Script, error) {
	if script, ok := scenarios.Find(builtin, arg); ok {
		return script, nil
	}
	if !strings.HasSuffix(arg, ".lab") {
		return nil, UnknownScenario("scenario", arg, ScenarioNames(builtin), cli.See("lab list scenarios")+", or give the path of a .lab file")
	}
	script, err := scenarios.ParseFile(arg)
	if err != nil {
		return nil, cli.Usagef("%v", cli.Plainly(err))
	}
	if err := lab.CheckName(script.Name); err != nil {
		return nil, cli.Usagef("%s: a scenario cannot be called %q: %v; rename the file", arg, script.Name, err)
	}
	return script, nil
}

// ScenarioNames are the names of scripts.
func ScenarioNames(scripts []*scenarios.Script) []string {
	return cli.Map(scripts, func(script *scenarios.Script) string { return script.Name })
}

// CompleteScenarios completes the names of scenarios, and of .lab files.
func CompleteScenarios(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	scripts, err := scenarios.Builtin()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return cli.Completions(scripts, func(script *scenarios.Script) (string, string) { return script.Name, script.Title }), cobra.ShellCompDirectiveDefault
}
