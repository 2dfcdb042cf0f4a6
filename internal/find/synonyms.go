package find

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
)

//go:embed aliases.txt
var aliasLines string

//go:embed synonyms.txt
var synonymLines string

// synonyms are sets of words and phrases, in their stems, that are found by one another.
type synonyms struct {
	sets    [][]string
	known   map[string]bool // the words and phrases in them, and the names of anomalies
	chinese []string        // the words in Chinese
	silent  []string
	longest int // how many words a phrase has at most
}

func readSynonyms() synonyms {
	s := synonyms{silent: silent(), known: map[string]bool{}}
	for _, d := range checker.Definitions() {
		s.known[strings.Join(stems(string(d.Name), nil), " ")] = true
	}
	for _, line := range data(synonymLines) {
		var set []string
		for phrase := range strings.SplitSeq(line, ",") {
			phrase = strings.TrimSpace(phrase)
			if isHan(phrase) {
				s.chinese = append(s.chinese, phrase)
				set = append(set, phrase)
				continue
			}
			words := stems(phrase, nil)
			set = append(set, strings.Join(words, " "))
			s.longest = max(s.longest, len(words))
		}
		s.sets = append(s.sets, set)
		for _, phrase := range set {
			s.known[phrase] = true
		}
	}
	return s
}

// stems are the words of texts in their stems.
func (s synonyms) stems(texts ...string) []string { return stems(strings.Join(texts, "\n"), s.chinese) }

// readAliases are the names of a race, by its scenario.
func readAliases() map[string][]string {
	aliases := map[string][]string{}
	for _, line := range data(aliasLines) {
		scenario, names, _ := strings.Cut(line, ":")
		for name := range strings.SplitSeq(names, ",") {
			aliases[scenario] = append(aliases[scenario], strings.TrimSpace(name))
		}
	}
	return aliases
}

// data are the lines of a text that are neither empty nor comments.
func data(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// in splits a text into the longest phrases that have synonyms, and words.
func (s synonyms) in(said string) []word {
	var words []word
	stems := s.stems(said)
	for at := 0; at < len(stems); {
		n := min(s.longest, len(stems)-at)
		for n > 1 && !s.known[strings.Join(stems[at:at+n], " ")] {
			n--
		}
		phrase := strings.Join(stems[at:at+n], " ")
		at += n
		if as := s.of(phrase); !slices.Contains(s.silent, phrase) && !slices.ContainsFunc(words, func(w word) bool { return w.said == phrase }) {
			words = append(words, word{said: phrase, as: as})
		}
	}
	return words
}

// of are a phrase and its synonyms.
func (s synonyms) of(phrase string) []string {
	all := []string{phrase}
	for _, set := range s.sets {
		if slices.Contains(set, phrase) {
			for _, other := range set {
				if !slices.Contains(all, other) {
					all = append(all, other)
				}
			}
		}
	}
	return all
}
