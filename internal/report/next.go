package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// command is a command line to copy, and a word for what it does.
type command struct{ word, line string }

// Next is the block of commands that ends a screen of that width. Each is given as a word for what it does, then its arguments.
func Next(prefix string, width int, commands ...[]string) string {
	out := make([]command, len(commands))
	for i, args := range commands {
		out[i] = command{args[0], prefix + " " + ShellLine(args[1:])}
	}
	return "Next\n" + listed(out, width)
}

// listed are commands, each on a line or, if it is wider, on several.
func listed(commands []command, width int) string {
	var b strings.Builder
	for _, c := range commands {
		head := "  " + pad(c.word, 8) + " "
		fmt.Fprintf(&b, "%s%s\n", head, FoldCommand(c.line, len(head), width))
	}
	return b.String()
}

// FoldCommand continues a command that is wider than the room beside an indent on further lines, as a POSIX shell reads it.
func FoldCommand(line string, indent, width int) string {
	room := max(leastBeside, width-indent-len(" \\"))
	if utf8.RuneCountInString(line) <= room+len(" \\") {
		return line
	}
	const more = 2 // by which further lines are indented
	lines := fill(quotedFields(line), room-more)
	return strings.Join(lines, " \\\n"+blanks(indent+more))
}

// quotedFields are the words of a command, with their quotes.
func quotedFields(line string) []string {
	var words []string
	open := false
	for word := range strings.SplitSeq(line, " ") {
		if open {
			words[len(words)-1] += " " + word
		} else {
			words = append(words, word)
		}
		open = open != (strings.Count(word, "'")%2 == 1)
	}
	return words
}

// nextCommands are the commands that a person may want after a run.
func nextCommands(prefix string, run *record.Run, m matrix) []command {
	var out []command
	if run.Dir != "" && len(run.Cells) > 0 {
		c := worthExplaining(m)
		out = append(out, command{"picture", shellWord(filepath.Join(run.Dir, PageFile))}, command{"explain", explainCommand(prefix, run, c)})
		if n := len(c.Client); n > 0 && statusOf(c) == statusUnknown { // mostly the fault of the adapter
			out = append(out, command{"adapter", prefix + " " + ShellLine([]string{"doctor", "--client", c.Client[n-1]})})
		}
		caught := func(c record.Cell) bool { return c.Storm != nil && c.Storm.First != nil }
		if i := slices.IndexFunc(run.Cells, caught); i >= 0 {
			if !caught(c) {
				c = run.Cells[i]
			}
			out = append(out, command{"shrink", prefix + " " + ShellLine(shrinkCommand(run, c))})
		}
		out = append(out, command{"check", prefix + " check " + shellWord(run.Dir)})
	}
	if len(run.Command) > 0 {
		out = append(out, command{"rerun", prefix + " " + ShellLine(withSeed(withoutOut(run.Command), run.Seed))})
	}
	return out
}

// explainCommand is the command that shows what happened in a cell.
func explainCommand(prefix string, run *record.Run, c record.Cell) string {
	return prefix + " explain " + shellWord(run.Dir) + " " + shellWord(c.Lock+"/"+c.Scenario)
}

// worthExplaining is the cell that a person will want to understand first: a surprise, then what is unknown, then a broken
// lock. A failure of the lab itself has nothing to explain.
func worthExplaining(m matrix) record.Cell {
	rank := func(g group) int {
		c := g.worst()
		broken := 0
		if c.Verdict.Kind == checker.Broken {
			broken = 1
		}
		switch statusOf(c) {
		case statusSurprise:
			return 4 + broken
		case statusUnknown:
			return 2
		}
		return broken
	}
	return slices.MaxFunc(m.all(), func(a, b group) int { return rank(a) - rank(b) }).worst()
}

// withSeed adds the seed that the run used, unless the command names one.
func withSeed(args []string, seed int64) []string {
	named := slices.ContainsFunc(args, func(arg string) bool { return arg == "--seed" || strings.HasPrefix(arg, "--seed=") })
	if named {
		return args
	}
	return slices.Concat(args, []string{"--seed", strconv.FormatInt(seed, 10)})
}

// withoutOut leaves out where the results went: no run writes over those of another.
func withoutOut(args []string) []string {
	var out []string
	for i, arg := range args {
		value := i > 0 && args[i-1] == "--out"
		if !value && arg != "--out" && !strings.HasPrefix(arg, "--out=") {
			out = append(out, arg)
		}
	}
	return out
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

// ShellLine are the words of a command, each quoted for a POSIX shell where it needs that.
func ShellLine(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = shellWord(arg)
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for a POSIX shell where it needs that. What cannot be shown is not made copyable: it is escaped.
func shellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(clean(s), "'", `'\''`) + "'"
}
