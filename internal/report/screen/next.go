package screen

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/rundir"
)

// nextCommands are the commands that a person may want after a run.
func nextCommands(prefix string, run *record.Run, m outcome.Matrix) []format.Command {
	var out []format.Command
	add := func(word, line string) { out = append(out, format.Command{Word: word, Line: line}) }
	if run.Dir != "" && len(run.Cells) > 0 {
		c := worthExplaining(m)
		add("picture", format.ShellWord(filepath.Join(run.Dir, rundir.PageFile)))
		add("explain", explainCommand(prefix, run, c))
		if n := len(c.Client); n > 0 && outcome.StatusOf(c) == outcome.Unknown { // mostly the fault of the adapter
			add("adapter", prefix+" "+format.ShellLine([]string{"doctor", "--client", c.Client[n-1]}))
		}
		caught := func(c record.Cell) bool { return c.Storm != nil && c.Storm.First != nil }
		if i := slices.IndexFunc(run.Cells, caught); i >= 0 {
			if !caught(c) {
				c = run.Cells[i]
			}
			add("shrink", prefix+" "+format.ShellLine(shrinkCommand(run, c)))
		}
		add("check", prefix+" check "+format.ShellWord(run.Dir))
	}
	if len(run.Command) > 0 {
		add("rerun", prefix+" "+format.ShellLine(outcome.WithSeed(outcome.WithoutOut(run.Command), run.Seed)))
	}
	return out
}

// explainCommand is the command that shows what happened in a cell.
func explainCommand(prefix string, run *record.Run, c record.Cell) string {
	return prefix + " explain " + format.ShellWord(run.Dir) + " " + format.ShellWord(c.Lock+"/"+c.Scenario)
}

// worthExplaining is the cell that a person will want to understand first: a surprise, then what is unknown, then a broken
// lock. A failure of the lab itself has nothing to explain.
func worthExplaining(m outcome.Matrix) record.Cell {
	rank := func(g outcome.Group) int {
		c := g.Worst()
		broken := 0
		if c.Verdict.Kind == checker.Broken {
			broken = 1
		}
		switch outcome.StatusOf(c) {
		case outcome.Surprise:
			return 4 + broken
		case outcome.Unknown:
			return 2
		}
		return broken
	}
	return slices.MaxFunc(m.All(), func(a, b outcome.Group) int { return rank(a) - rank(b) }).Worst()
}

// shrinkCommand are the words of the command that makes a script of what a storm found. A program of the user's is started by the same command as
// in the run, on a server of the same kind.
func shrinkCommand(run *record.Run, c record.Cell) []string {
	words := []string{"shrink", run.Dir, c.Lock + "/" + c.Scenario}
	if len(c.Client) == 0 {
		return words
	}
	for _, flag := range []string{"--client", "--like", "--server"} {
		if value := given(run.Command, flag); value != "" && !(flag == "--server" && strings.Contains(value, ":")) { // no script is played at an address
			words = append(words, flag, value)
		}
	}
	return words
}

// given is the value of a flag in a command; empty: it has none.
func given(args []string, flag string) string {
	for i, arg := range args {
		if value, joined := strings.CutPrefix(arg, flag+"="); joined {
			return value
		}
		if arg == flag && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}
