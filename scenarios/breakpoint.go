package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/spelling"
)

// takeBreakpoint reads "hold before first DEL".
func takeBreakpoint(r *reader) (b faults.Breakpoint, err error) {
	for _, action := range faults.Actions() {
		words := action.Words()
		if !r.accept(words) {
			continue
		}
		nth := r.next()
		at := slices.Index(faults.Ordinals(), nth)
		if at < 0 {
			return b, unknownOrMissing("count", nth, words+" first DEL", faults.Ordinals())
		}
		b.Action, b.Nth = action, at+1
		b.Match, err = takeMatch(r, words+" "+nth)
		if err == nil && r.accept("on") {
			b.Server, err = takeServer(r)
		}
		return b, err
	}
	return b, unknownOption(r)
}

func takeServer(r *reader) (string, error) {
	if r.done() {
		return "", errors.New("on which server? Write it as 'hold before first write on S3'")
	}
	return r.next(), nil
}

func takeMatch(r *reader, before string) (faults.Match, error) {
	word := r.next()
	for _, kind := range []faults.MatchKind{faults.MatchAny, faults.MatchWrite, faults.MatchRemoval} {
		if m := (faults.Match{Kind: kind}); word == m.String() {
			return m, nil
		}
	}
	if isCommand(word) {
		return faults.Match{Kind: faults.MatchCommand, Command: word}, nil
	}
	if upper := strings.ToUpper(word); isCommand(upper) && spelling.Nearest(word, matches()) == "" {
		return faults.Match{}, fmt.Errorf("unknown request %q; commands are written in capitals: did you mean %q?", word, upper)
	}
	return faults.Match{}, unknownOrMissing("request", word, before+" DEL", append(matches(), "a command in capitals"))
}

func matches() []string { return []string{"request", "write", "removal"} }

// isCommand says whether the word can be the name of a Redis command.
func isCommand(word string) bool {
	strange := func(r rune) bool { return r < 'A' || r > 'Z' }
	return len(word) > 1 && len(word) <= 20 && !strings.ContainsFunc(word, strange)
}

// unknownOrMissing is the error of an unknown word, or of a line that ends too early.
func unknownOrMissing(kind, word, example string, known []string) error {
	if word == "" {
		return fmt.Errorf("the line ends too early; write it as '%s'", example)
	}
	return unknownWord(kind, word, known)
}

// unknownOption is the error of an unknown word after an operation.
func unknownOption(r *reader) error {
	known := append(options(), breakpointActions()...)
	for _, option := range known {
		if first, rest, _ := strings.Cut(option, " "); first == r.peek() && rest != "" {
			return fmt.Errorf("%q is not understood; did you mean %q?", strings.Join(r.words, " "), option)
		}
	}
	firsts := []string{"within", "in", "hold", "drop", "duplicate"}
	if meant := didYouMean(r.peek(), firsts); meant != "" {
		return fmt.Errorf("unknown word %q%s", r.peek(), meant)
	}
	return fmt.Errorf("unknown word %q; after an operation come %s", r.peek(), strings.Join(known, ", "))
}
