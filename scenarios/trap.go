package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// trapPhrase is how a script writes an action at a breakpoint.
type trapPhrase struct {
	words string
	do    Action
}

func trapPhrases() []trapPhrase {
	return []trapPhrase{
		{"hold before", HoldRequest},
		{"hold reply of", HoldReply},
		{"drop reply of", DropReply},
		{"duplicate", Duplicate},
		{"hold copy of", HoldCopy},
	}
}

// matchWords is how scripts write the matches that are no command.
func matchWords(kind MatchKind) string {
	switch kind {
	case MatchAny:
		return "request"
	case MatchWrite:
		return "write"
	case MatchRemoval:
		return "removal"
	}
	return ""
}

// takeTrap reads "hold before first DEL".
func takeTrap(r *reader) (Trap, error) {
	for _, p := range trapPhrases() {
		if !r.accept(p.words) {
			continue
		}
		nth := r.next()
		at := slices.Index(ordinals(), nth)
		if at < 0 {
			return Trap{}, unknownOrMissing("count", nth, p.words+" first DEL", ordinals())
		}
		what, err := takeMatch(r, p.words+" "+nth)
		trap := Trap{Do: p.do, Nth: at + 1, What: what}
		if err == nil && r.accept("on") {
			trap.Server, err = takeServer(r)
		}
		return trap, err
	}
	return Trap{}, unknownOption(r)
}

func takeServer(r *reader) (string, error) {
	if r.done() {
		return "", errors.New("on which server? Write it as 'hold before first write on S3'")
	}
	return r.next(), nil
}

func takeMatch(r *reader, before string) (Match, error) {
	word := r.next()
	for _, kind := range []MatchKind{MatchAny, MatchWrite, MatchRemoval} {
		if word == matchWords(kind) {
			return Match{Kind: kind}, nil
		}
	}
	if isCommand(word) {
		return Match{Kind: MatchCommand, Command: word}, nil
	}
	if upper := strings.ToUpper(word); isCommand(upper) && Nearest(word, matches()) == "" {
		return Match{}, fmt.Errorf("unknown request %q; commands are written in capitals: did you mean %q?", word, upper)
	}
	return Match{}, unknownOrMissing("request", word, before+" DEL", append(matches(), "a command in capitals"))
}

func matches() []string {
	return []string{matchWords(MatchAny), matchWords(MatchWrite), matchWords(MatchRemoval)}
}

// isCommand says whether the word can be the name of a Redis command.
func isCommand(word string) bool {
	strange := func(r rune) bool { return r < 'A' || r > 'Z' }
	return len(word) > 1 && len(word) <= 20 && !strings.ContainsFunc(word, strange)
}

// unknownOrMissing complains about a word that is none of those known, or about a line that ends too early.
func unknownOrMissing(kind, word, example string, known []string) error {
	if word == "" {
		return fmt.Errorf("the line ends too early; write it as '%s'", example)
	}
	return unknownWord(kind, word, known)
}

// unknownOption complains about the words after an operation, by the first of them.
func unknownOption(r *reader) error {
	options := []string{"within", "in background"}
	for _, p := range trapPhrases() {
		options = append(options, p.words)
	}
	for _, option := range options {
		if first, rest, _ := strings.Cut(option, " "); first == r.peek() && rest != "" {
			return fmt.Errorf("%q is not understood; did you mean %q?", strings.Join(r.words, " "), option)
		}
	}
	firsts := []string{"within", "in", "hold", "drop", "duplicate"}
	if meant := didYouMean(r.peek(), firsts); meant != "" {
		return fmt.Errorf("unknown word %q%s", r.peek(), meant)
	}
	return fmt.Errorf("unknown word %q; after an operation come %s", r.peek(), strings.Join(options, ", "))
}
