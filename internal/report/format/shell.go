package format

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Command is a command line to copy, and a word for what it does.
type Command struct{ Word, Line string }

// Next is the block of commands that ends a screen of that width. Each is given as a word for what it does, then its arguments.
func Next(prefix string, width int, commands ...[]string) string {
	out := make([]Command, len(commands))
	for i, args := range commands {
		out[i] = Command{args[0], prefix + " " + ShellLine(args[1:])}
	}
	return "Next\n" + Listed(out, width)
}

// Listed are commands, each on a line or, if it is wider, on several.
func Listed(commands []Command, width int) string {
	var b strings.Builder
	for _, c := range commands {
		head := "  " + Pad(c.Word, 8) + " "
		fmt.Fprintf(&b, "%s%s\n", head, FoldCommand(c.Line, len(head), width))
	}
	return b.String()
}

// FoldCommand continues a command that is wider than the room beside an indent on further lines, as a POSIX shell reads it.
func FoldCommand(line string, indent, width int) string {
	room := max(LeastBeside, width-indent-len(" \\"))
	if utf8.RuneCountInString(line) <= room+len(" \\") {
		return line
	}
	const more = 2 // by which further lines are indented
	lines := fill(unbroken(line), room-more)
	return strings.Join(lines, " \\\n"+Blanks(indent+more))
}

// unbroken are the words of a command, with their quotes, and a flag with its value.
func unbroken(line string) []string {
	var words []string
	open, flag := false, false
	for word := range strings.SplitSeq(line, " ") {
		isFlag := strings.HasPrefix(word, "-") && !open
		if open || flag && !isFlag {
			words[len(words)-1] += " " + word
		} else {
			words = append(words, word)
		}
		flag = isFlag && strings.HasPrefix(word, "--")
		open = open != (strings.Count(word, "'")%2 == 1)
	}
	return words
}

// ShellLine are the words of a command, each quoted for a POSIX shell where it needs that.
func ShellLine(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = ShellWord(arg)
	}
	return strings.Join(words, " ")
}

// ShellWord quotes a word for a POSIX shell where it needs that. What cannot be shown is not made copyable: it is escaped.
func ShellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(Clean(s), "'", `'\''`) + "'"
}
